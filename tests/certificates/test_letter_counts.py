"""Shallow transformers on all words of a length, against every word put to the plain module; and proved lengths."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from typer.testing import CliRunner

import lengthwise
from lengthwise.certificates.letter_counts import (
    CaseModels,
    LetterModels,
    cases_of,
    compositions,
    exact_at,
    states_at,
    words_with,
)
from lengthwise.certificates.letter_lengths import CertifiedLength, certified_length, corners, hull_is_right
from lengthwise.cli.app import app
from lengthwise.errors import InputError
from lengthwise.experiments.exact_recognition import exact_rows, recognition_cases, stacked
from lengthwise.languages import Language
from lengthwise.models import GPT, ShallowTransformer
from lengthwise.tasks import Recognition

KINDS = [*product(("marker", "last letter"), (False, True), ("free", "factorised"))]
LANGUAGES = [".*a.*", "[^a]*b", "b*|.*c"]
SMALL = {("ab", 8), ("abc", 1), ("abc", 2), ("abc", 5), ("abc", 7)}


def drawn(seed: int, letters: int, **settings: object) -> ShallowTransformer:
    """A shallow transformer in double precision, with scores and an output bias that matter."""
    torch.manual_seed(seed)
    model = ShallowTransformer(letters + 1, hidden=5, **settings).double()  # pyright: ignore
    for name, p in model.named_parameters():
        p.data += torch.randn_like(p) * (1.5 if name in ("scores", "query", "key") else 0.5)
    return model


def margins_of_all(model: ShallowTransformer, language: Language, length: int) -> tuple[np.ndarray, ...]:
    """Every word of a length, whether it is inside, and the plain module's margin."""
    words = np.array([*product(range(len(language.alphabet)), repeat=length)])
    inside = language.automaton.accepts(words)
    tokens = np.concatenate([words, np.full((len(words), 1), len(language.alphabet))], 1)
    with torch.no_grad():
        said = model(torch.from_numpy(tokens)).numpy()
    return words, inside, (said[:, 1] - said[:, 0]) * np.where(inside, 1, -1)


@pytest.mark.parametrize(("query", "sees_marker", "scores"), KINDS)
@pytest.mark.parametrize(("alphabet", "length"), sorted(SMALL))
def test_the_plain_module_on_every_word(query: str, sees_marker: bool, scores: str, alphabet: str, length: int) -> None:
    models = [drawn(s, len(alphabet), query=query, sees_marker=sees_marker, scores=scores) for s in range(3)]
    for text in LANGUAGES[: len(alphabet)]:
        language = Language.from_regex(text, alphabet)
        cases = cases_of(language, query == "last letter")
        exact = exact_at(stacked(models), cases, length)
        for index, model in enumerate(models):
            words, inside, margins = margins_of_all(model, language, length)
            for said, chosen in (
                (exact.accuracy, np.ones_like(inside)),
                (exact.accuracy_inside, inside),
                (exact.accuracy_outside, ~inside),
            ):
                expected = (margins[chosen] > 0).mean() if chosen.any() else math.nan
                assert said[index] == pytest.approx(expected, abs=1e-12, nan_ok=True)
            assert exact.worst_margin[index] == pytest.approx(margins.min(), abs=1e-12)
            same = (np.apply_along_axis(np.bincount, 1, words, None, len(alphabet)) == exact.worst_counts[index]).all(1)
            if (last := exact.worst_last[index]) >= 0:
                same &= words[:, -1] == last
            assert margins[same].min() == pytest.approx(margins.min(), abs=1e-12)


@pytest.mark.parametrize(("letters", "length"), [(2, 6), (3, 7), (4, 6), (5, 3)])
def test_states_stand_for_all_words_exactly(letters: int, length: int) -> None:
    total, seen = Fraction(0), Counter()
    for parts in range(1, min(letters, length) + 1):
        ranks = math.comb(length - 1, parts - 1)
        rows = compositions(length, parts, 0, ranks)
        assert len({*map(tuple, rows.tolist())}) == ranks
        assert rows.min() >= 1
        assert (rows.sum(1) == length).all()
        split = [compositions(length, parts, k, k + 1)[0].tolist() for k in range(ranks)]
        assert split == rows.tolist()
        words = [math.factorial(length) // math.prod(map(math.factorial, row)) for row in rows.tolist()]
        assert sum(words) == words_with(length, parts)
        total += Fraction(sum(words) * math.comb(letters, parts), letters**length)
        seen[parts] = ranks * math.comb(letters, parts)
    assert total == 1
    cases = cases_of(Language.from_regex(".*a.*", "abcde"[:letters]), False)
    assert states_at(cases, length) == sum(seen.values()) == math.comb(length + letters - 1, letters - 1)


def always(letters: int, margin: float) -> LetterModels:
    """One model that says the same of every word."""
    v = letters + 1
    return LetterModels(
        np.zeros((1, 1, v)), np.zeros((1, v, 1)), np.zeros((1, 1)), np.zeros((1, 1, 2)), np.array([[0.0, margin]])
    )


@pytest.mark.parametrize("length", [1, 9, 100, 10_000])
def test_what_always_says_inside_is_right_as_often_as_words_are(length: int) -> None:
    """A sum over all states against an exact count: words without a are 2^-L of two letters."""
    cases = cases_of(Language.from_regex(".*a.*", "ab"), False)
    exact = exact_at(always(2, 1.0), cases, length)
    assert exact.accuracy[0] == pytest.approx(1 - 0.5**length, rel=exact.weight_error)
    assert exact.accuracy_inside[0] == 1
    assert exact.accuracy_outside[0] == pytest.approx(0, abs=exact.weight_error)
    exact = exact_at(always(2, -1.0), cases, length)
    assert exact.accuracy[0] == pytest.approx(0.5**length, abs=exact.weight_error)
    assert exact.accuracy_inside[0] == pytest.approx(0, abs=exact.weight_error)
    assert exact.accuracy_outside[0] == 1


def test_a_tie_is_a_failure_and_an_accuracy_of_1_has_none() -> None:
    cases = cases_of(Language.from_regex(".*a.*", "ab"), False)
    assert exact_at(always(2, 0.0), cases, 3).accuracy[0] == 0
    assert exact_at(always(2, 1.0), cases, 300).accuracy[0] == np.nextafter(1, 0)  # one word of 2^300 is wrong


@pytest.mark.parametrize("spread", [0.1, 5.0, 300.0, 3000.0])
def test_float_error_stays_within_the_bound(spread: float) -> None:
    """Against extended precision: the bound is never exceeded, nor a thousand times too large."""
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(50):
        arrays = [rng.normal(size=shape) for shape in ((1, 1, 4), (1, 4, 16), (1, 16), (1, 16, 2), (1, 2))]
        arrays[0] *= spread
        one, two, three, four, five = arrays
        model = CaseModels(LetterModels(one, two, three, four, five), ((0, 1, 2), None), True)
        counts = rng.integers(1, 99, (200, 3))
        scores, inward, bias, outward, offset = (x[0].astype(np.longdouble) for x in arrays)
        a = counts * np.exp(scores[0, :3] - scores[0, :3].max())
        said = np.maximum(a / a.sum(1, keepdims=True) @ inward[:3] + bias, 0) @ outward + offset
        error = np.abs(said[:, 1] - said[:, 0] - model.margins(counts)[0]).max()
        worst = max(worst, float(error / model.rounding[0]))
    assert 1e-4 < worst <= 1 if spread < 10 else worst <= 1


@pytest.mark.parametrize(("query", "sees_marker", "scores"), KINDS)
def test_certified_lengths_are_those_of_every_word(query: str, sees_marker: bool, scores: str) -> None:
    """Output layers pulled towards the truth, so that some serve a few lengths; every word up to length 7."""
    language, reached = Language.from_regex(".*a.*", "abc"), Counter()
    for seed in range(12):
        model = drawn(seed, 3, query=query, sees_marker=sees_marker, scores=scores)
        inward, outward = model.inward.data, model.outward.data
        inward[0, 0], inward[1:, 0], model.inward_bias.data[0] = 9.0, 0.0, 0.0
        outward[0], model.outward_bias.data = torch.tensor([-1.0, 1.0]), torch.tensor([3.0 + seed / 4, 0.0])
        outward[1:] *= 0.3
        right = [bool((margins_of_all(model, language, n)[2] > 0).all()) for n in range(1, 8)]
        expected = [*right, False].index(False)
        arrays, cases = stacked([model]), cases_of(language, query == "last letter")
        found = certified_length(arrays, cases, longest=7)
        assert (found.length, found.exact) == (expected, expected < 7)
        reached[expected] += 1
    assert len(reached) > 1


@pytest.mark.parametrize("marker", [None, 2.0])
@pytest.mark.parametrize(("gap", "share"), [(0.0, 0.24), (3.0, 0.24), (5.0, 0.01), (8.0, 0.001)])
def test_the_length_served_grows_like_the_exponential_of_the_gap(
    gap: float, share: float, marker: float | None
) -> None:
    """Closed form: one a among L - 1 others (and the marker) weighs e^G / (e^G + L - 1 + e^m), and must exceed it."""
    model = threshold(4, gap, share, marker)
    served = 1 + math.exp(gap) * (1 - share) / share - (0 if marker is None else math.exp(marker))
    cases = cases_of(Language.from_regex(".*a.*", "abcd"), False)
    expected = max(math.ceil(served) - 1, 0)  # a tie is a failure
    assert certified_length(model, cases, 10**7) == CertifiedLength(expected, expected + 1)
    assert certified_length(model, cases, expected) == CertifiedLength(expected, expected)


def threshold(letters: int, gap: float, share: float, marker: float | None) -> LetterModels:
    """Says inside where the attention to the first letter exceeds a share."""
    v = letters + 1
    scores, inward = np.zeros((1, 1, v)), np.zeros((1, v, 1))
    scores[0, 0, 0], inward[0, 0] = gap, 1.0
    scores[0, 0, -1] = marker or 0.0
    return LetterModels(
        scores, inward, np.zeros((1, 1)), np.array([[[0.0, 1.0]]]), np.array([[share, 0.0]]), marker is not None
    )


def tent() -> LetterModels:
    """Right on "contains a" over ab, but for words with between 0.39 and 0.41 of a: 2 of 5 is the shortest of them."""
    inward = np.zeros((1, 3, 4))
    inward[0, 0] = [-1, 1, 1, 1]
    outward = np.zeros((1, 4, 2))
    outward[0, :, 1] = [-200, -100, 200, -100]
    return LetterModels(
        np.zeros((1, 1, 3)), inward, np.array([[0.01, -0.38, -0.4, -0.42]]), outward, np.array([[0.0, 1.0]])
    )


def test_where_the_hull_is_not_right_words_are_looked_at_one_by_one() -> None:
    cases = cases_of(Language.from_regex(".*a.*", "ab"), False)
    both = CaseModels(tent(), ((0, 1), None), True)
    assert hull_is_right(both, corners(2, 2))
    assert not hull_is_right(both, corners(2, 3))
    assert (both.margins(corners(2, 3)) > 0).all()
    assert certified_length(tent(), cases, 100) == CertifiedLength(4, 5)
    assert exact_at(tent(), cases, 5).worst_counts.tolist() == [[2, 3]]
    assert certified_length(tent(), cases, 4) == CertifiedLength(4, 4)
    assert certified_length(tent(), cases, 100, budget=4) == CertifiedLength(3, 3)
    assert certified_length(tent(), cases, 100, budget=0) == CertifiedLength(2, 2)


def test_too_many_states_are_refused_with_the_number() -> None:
    cases = cases_of(Language.from_regex(".*a.*", "abcd"), False)
    with pytest.raises(InputError, match="length 1000: 167,668,501 states of 4 letters; at most 10,000,000"):
        exact_at(always(4, 1.0), cases, 1000)


def test_what_cannot_be_certified_is_said() -> None:
    with pytest.raises(InputError, match="same letters and the same last one"):
        cases_of(Language.from_regex("(a|b)*abb"), True)
    with pytest.raises(InputError, match="GPT: expected a ShallowTransformer"):
        recognition_cases(Recognition(), GPT(vocabulary=5))
    with pytest.raises(InputError, match="11 letters; expected at most 10"):
        recognition_cases(Recognition(language=".*a.*", alphabet="abcdefghijk"), ShallowTransformer(12))
    bad = ShallowTransformer(vocabulary=5)
    bad.inward.data[0, 0] = math.nan
    with pytest.raises(InputError, match="inward holds nan: expected finite numbers"):
        stacked([bad])
    good = ShallowTransformer(vocabulary=5)
    rows = exact_rows([bad, good], Recognition(longest=50), [5])
    assert rows[0] == []
    assert rows[1] == exact_rows([good], Recognition(longest=50), [5])[0]


def test_lengths_too_long_to_sum_have_rows_where_they_are_proved() -> None:
    model = ShallowTransformer(vocabulary=5, hidden=1)
    values = {"scores": [[9.0, 0, 0, 0, 0]], "inward": [[1.0], [0], [0], [0], [0]], "inward_bias": [0.0]}
    values |= {"outward": [[0.0, 1.0]], "outward_bias": [0.01, 0.0]}
    model.load_state_dict({name: torch.tensor(value) for name, value in values.items()})
    [rows] = exact_rows([model], Recognition(), [10, 1000, 100_000])
    assert {(n, m): v for n, m, v, _ in rows if n == 1000} == dict.fromkeys(
        ((1000, m) for m in ("accuracy", "accuracy_inside", "accuracy_outside")), 1.0
    )
    assert {m for n, m, _, _ in rows if n == 10} == {"accuracy", "accuracy_inside", "accuracy_outside", "worst_margin"}
    assert [(m, v) for n, m, v, _ in rows if n is None] == [("certified_length", 1e5), ("checked_length", 1e5)]


def test_a_run_has_the_rows_and_the_command_says_the_same(tmp_path: Path) -> None:
    experiment = lengthwise.Experiment(
        name="tiny",
        question="?",
        task=Recognition(mean_length=5, longest=300),
        model=lengthwise.ModelOf(module=ShallowTransformer),
        variants={"plain": lengthwise.Variant(), "marker seen": lengthwise.Variant(model={"sees_marker": True})},
        plan=lengthwise.Plan(phases=(lengthwise.Phase(steps=30, rates={"all": 0.1}),), batch=8),
        averages=(lengthwise.EMA(decay=0.9),),
        replicates=2,
        measuring=lengthwise.Measuring(inputs=4, lengths=(5, 20, 300), certified=1),
    )
    run = lengthwise.run(experiment, tmp_path / "run")
    proved = run.curve.filter(split="all")
    assert proved["replicate"].unique().to_list() == [0]
    said = json.loads(CliRunner().invoke(app, ["certify", str(run.folder.path), "--json"]).stdout)["models"]
    assert len(said) == 8
    for row in said:
        if row["replicate"] == 0:
            own = proved.filter(pl.col("length").is_null(), variant=row["variant"], weights=row["weights"])
            assert dict(own.select("metric", "value").iter_rows()) == {
                key: row[key] for key in ("certified_length", "checked_length")
            }
    words = ["certify", str(run.folder.path), "--variant", "plain", "--weights", "raw", "--replicate", "0"]
    one = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert list(one) == ["language", "letters", "certified_length", "checked_length", "lengths"]
    assert [row["length"] for row in one["lengths"]] == [5, 20]
    for row in one["lengths"]:
        own = proved.filter(length=row["length"], variant="plain", weights="raw")
        for metric, value, n in own.select("metric", "value", "n").iter_rows():
            assert (row[metric], row["states"]) == (value, n)
        assert sum(row["worst_counts"].values()) == row["length"]
    lines = CliRunner().invoke(app, words).stdout.splitlines()
    assert lines[1].startswith(f"all are right at every length up to {one['certified_length']};")
    assert len(lines) == 5
