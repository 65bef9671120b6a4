"""Norms of groups and gaps between scores, against each model taken out and read on its own."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise import MinimalTransformer, SetComplement
from lengthwise.experiments.mechanism import score_gap, weight_norms
from lengthwise.languages import decisive_letters
from lengthwise.models import ShallowTables, ShallowTransformer
from lengthwise.tasks import Recognition
from lengthwise.training import Member, Phase, Plan, Population
from lengthwise.training.forward import TableForward

PLAN = Plan(phases=(Phase(steps=1, rates={"all": 0.1}),))
TASKS = {
    "contains": Recognition(language="contains"),
    "either": Recognition(language=".*[ab].*", alphabet="abcd"),
    "no a, ends with b": Recognition(language="[bcd]*b", alphabet="abcd"),
}


def population(build: Any) -> Population:
    """Two members and two replicates at random weights, each of its own."""
    made = Population.start([Member("a", build, PLAN), Member("b", build, PLAN)], [0, 1], seed=0)
    made.weights.copy_(torch.randn(made.weights.shape, generator=torch.Generator().manual_seed(1)))
    return made


def shallow(**settings: Any) -> Any:
    return lambda: ShallowTransformer(vocabulary=5, hidden=3, width=4, key_width=2, **settings)


@pytest.mark.parametrize("scores", ["free", "factorised"])
def test_norms_are_those_of_the_parameters_of_each_group(scores: str) -> None:
    models = population(shallow(scores=scores))
    rows = {r.metric: r for r in weight_norms(models, models.weights)}
    names = {"free": ["scores"], "factorised": ["query", "key"]}[scores]
    for group, parameters in (("attention", names), ("output", ["inward", "inward_bias", "outward", "outward_bias"])):
        row = rows.pop(f"norm_{group}")
        expected = [
            math.sqrt(sum(x * x for p in parameters for x in models.model(i).get_parameter(p).flatten().tolist()))
            for i in range(4)
        ]
        assert row.values.tolist() == pytest.approx(expected, rel=1e-6)
        assert row.length is None
    assert not rows


def test_a_model_of_one_group_has_no_norms() -> None:
    one = Population.start([Member("a", lambda: torch.nn.Linear(2, 2), PLAN)], [0], seed=0)
    assert not list(weight_norms(one, one.weights))


def gaps(task: Recognition, models: Population) -> list[list[float]]:
    forward = TableForward(models)
    assert isinstance(forward.form, ShallowTables)
    views = {**models.layout.views(models.weights, models.shape), **forward.frozen}
    return [row.values.tolist() for row in score_gap(task, forward.form, views)]


def by_reading(task: Recognition, model: Any) -> float:
    """The least score of a letter that decides minus the largest of another, over last letters that do not decide."""
    k, decides = 4, decisive_letters(task.automaton).tolist()
    if hasattr(model, "scores"):
        table = model.scores.tolist()
    else:
        e = model.embedding
        asks = e[-1:] if model.of_query == "marker" else e
        table = (asks @ model.query @ (e @ model.key).T / math.sqrt(model.query.shape[1])).tolist()
    rows = table if model.of_query == "marker" else [table[x] for x in range(k) if not decides[x]]
    return min(
        min(row[x] for x in range(k) if decides[x]) - max(row[x] for x in range(k) if not decides[x]) for row in rows
    )


@pytest.mark.parametrize("scores", ["free", "factorised"])
@pytest.mark.parametrize("query", ["marker", "last letter"])
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_the_score_gap_is_that_of_each_model_read_alone(task: Recognition, query: str, scores: str) -> None:
    models = population(shallow(query=query, scores=scores))
    found = gaps(task, models)
    expected = [by_reading(task, models.model(i)) for i in range(4)]
    assert found == [pytest.approx(expected, rel=1e-4, abs=1e-5)]
    assert len(set(expected)) == 4


def test_there_is_no_gap_where_every_letter_decides_or_none() -> None:
    models = population(lambda: ShallowTransformer(vocabulary=3, query="last letter"))
    assert not gaps(Recognition(language=".*a", alphabet="ab"), models)
    models = population(lambda: ShallowTransformer(vocabulary=4))
    assert not gaps(Recognition(language="a*b*c*"), models)


@given(st.integers(2, 200), st.integers(0, 1000))
def test_a_lone_letter_that_decides_weighs_at_least_what_the_gap_promises(length: int, seed: int) -> None:
    """e^G / (e^G + L - 1), in a boundary word of "contains"."""
    model = ShallowTransformer(vocabulary=5)
    model.scores.data = torch.randn(1, 5, generator=torch.Generator().manual_seed(seed)) * 2
    task, form = TASKS["contains"], ShallowTables(model)
    weights = {name: p.detach()[None, None] for name, p in model.named_parameters()}
    gap = next(iter(score_gap(task, form, weights))).values.item()
    generator = torch.Generator().manual_seed(seed)
    word = torch.cat([torch.tensor([0]), torch.randint(1, 4, (length - 1,), generator=generator), torch.tensor([4])])
    weight = form.attention(weights, form.seen(word[None, None], True))[0, 0, 0, 0].item()
    assert weight >= math.exp(gap) / (math.exp(gap) + length - 1) * (1 - 1e-5)


def test_the_gap_is_of_recognition_only() -> None:
    """A minimal transformer has other tables, and set complement no letters that decide."""
    assert not hasattr(SetComplement(vocabulary=6, s_train=3), "automaton")
    assert not hasattr(MinimalTransformer(5), "scores")
