"""Before anything is trained: which languages a shallow transformer is asked, and what to run instead."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise import Experiment, InputError, with_settings
from lengthwise.experiments import EXPERIMENTS, parse_settings
from lengthwise.experiments.expressible import check_expressible
from lengthwise.experiments.populations import check_experiment
from lengthwise.languages import language_of, shallow_form
from lengthwise.models import ShallowTransformer
from lengthwise.tasks import Recognition

SMALL = {"measuring.lengths": [42]}


def asked(language: str, alphabet: str | None = None, **settings: Any) -> Experiment:
    changes = {"task.language": language, "task.alphabet": alphabet, "measuring.lengths": [42]}
    return with_settings(EXPERIMENTS["lag"], {**changes, **settings})


def refusal(experiment: Experiment) -> str:
    with pytest.raises(InputError) as error:
        check_experiment(experiment)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_language_that_letters_decide_passes() -> None:
    check_experiment(asked("(a|b)*a(a|b)*"))


@pytest.mark.parametrize(
    ("language", "says"),
    [
        (
            "(a|b)*abb",
            "language '(a|b)*abb': 'ab' is out and 'abb' is in, with the same letters and the same last one,"
            " which is what a shallow transformer goes by at every length; a 2-layer GPT sees more:"
            " lengthwise run lagging-gpt --set language='(a|b)*abb'",
        ),
        (
            "parity",
            "language 'parity': '1' is out and '11' is in, with the same letters and the same last one,"
            " which is what a shallow transformer goes by at every length; a 2-layer GPT sees more:"
            " lengthwise run lagging-gpt --set language=parity",
        ),
    ],
)
def test_a_language_that_neither_decides_names_the_deeper_experiment(language: str, says: str) -> None:
    assert refusal(asked(language)) == says
    assert refusal(asked(language, **{"model.query": "last letter"})) == says


def test_a_language_of_the_last_letter_asks_for_its_query_and_passes_with_it() -> None:
    says = (
        "language '.*a': the set of its letters and its last letter decide whether a non-empty word is in, and the"
        " query of a marker does not know the last letter: add --set model.query='last letter'"
    )
    assert refusal(asked(".*a", "ab")) == says
    told = shlex.split(says.partition(": add --set ")[2])
    check_experiment(asked(".*a", "ab", **parse_settings(told)))


def suggested(says: str) -> Experiment:
    """The experiment of the command that a refusal tells the user to type."""
    words = shlex.split(re.search(r"lengthwise run (.*)$", says).group(1))  # type: ignore[union-attr]
    name, *rest = words
    assert rest[::2] == ["--set"] * (len(rest) // 2)
    return with_settings(EXPERIMENTS[name], parse_settings(rest[1::2]))


@pytest.mark.parametrize(
    ("language", "alphabet"),
    [
        ("(a|b)*abb", None),
        ("parity", None),
        ("(a|b)*abb", "ba"),
        ("[bcd]*ab", "abcd"),
        ("(1|0)*100", "10"),
        ("'*a'*", "'a"),
    ],
)  # fmt: skip
def test_the_suggested_command_can_be_typed_and_passes(language: str, alphabet: str | None) -> None:
    e = suggested(refusal(asked(language, alphabet)))
    assert e.task.language == language
    assert language_of(e.task.language, e.task.alphabet).same_words(language_of(language, alphabet))
    check_experiment(with_settings(e, {"measuring.lengths": [8]}))


expressions = st.recursive(
    st.sampled_from(["a", "b", "c"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join), st.tuples(inner, inner).map(lambda p: f"({p[0]}|{p[1]})"),
        inner.map(lambda e: f"({e})*"),
    ),
    max_leaves=5,
)  # fmt: skip


@given(expressions, st.sampled_from(["marker", "last letter"]))
def test_what_passes_is_what_the_query_can_see(language: str, query: str) -> None:
    try:
        e = asked(language, "abc", **{"model.query": query, "measuring.lengths": None, "task.longest": 60})
    except InputError:  # no pairs of words at the lengths that are drawn
        return
    form = shallow_form(language_of(language, "abc"))
    if form.letter_set or (form.last_letter and query == "last letter"):
        check_expressible(e)
    else:
        with pytest.raises(InputError, match="last letter" if form.last_letter else "lagging-gpt"):
            check_expressible(e)


def test_other_models_and_other_tasks_are_not_judged() -> None:
    assert EXPERIMENTS["lagging-gpt"].model.module is not ShallowTransformer
    check_expressible(with_settings(EXPERIMENTS["lagging-gpt"], {"task.language": "parity"}))
    check_expressible(EXPERIMENTS["set-complement"])


SLOW = {
    (name, "full") for name in ("lag", "lag-either", "lag-no-a-ends-with-b", "lag-adamw")
}  # words of 100,000 letters
EACH = [
    pytest.param(name, scale, marks=[pytest.mark.slow] if (name, scale) in SLOW else [], id=f"{name}, {scale}")
    for name, e in EXPERIMENTS.items() for scale in e.scales
]  # fmt: skip


@pytest.mark.parametrize(("name", "scale"), EACH)
def test_every_experiment_passes_at_every_scale(name: str, scale: str) -> None:
    e = with_settings(EXPERIMENTS[name], EXPERIMENTS[name].scales[scale])
    check_experiment(e)
    for claim in e.claims:
        assert claim.rule_for(e).says


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_told_by_name_at_scales_that_exist(name: str) -> None:
    e = EXPERIMENTS[name]
    assert e.name == name
    assert {"smoke", "quick", "full"} == set(e.scales)
    assert {*e.reproduced} <= set(e.scales)
    for scale in e.scales:
        scaled = with_settings(e, e.scales[scale])
        assert scaled.replicates <= with_settings(e, e.scales["full"]).replicates
        assert isinstance(scaled.task, type(e.task))


@pytest.mark.parametrize("name", [n for n in EXPERIMENTS if n.startswith("lag")])
def test_arms_that_a_claim_compares_make_equally_many_steps(name: str) -> None:
    e = EXPERIMENTS[name]
    for claim in e.claims:
        assert len({e.plans[arm.variant].steps for arm in claim.rule_for(e).arms}) == 1
    if name.startswith("lagging"):
        assert len({plan.steps for plan in e.plans.values()}) == 1
        assert all("lagging" in arm or other in arm for arm, other in zip(
            e.variants, ["lagging", "joint", "attention first", "output, then joint"]))  # fmt: skip
    assert isinstance(e.task, Recognition) or e.task.loss in ("squared-error", "cross-entropy")
