"""Next symbol: labels are what the targets say, and the targets what all words say, one by one."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from scipy.stats import binom

from lengthwise.languages import language_of
from lengthwise.tasks import NextSymbol

LANGUAGES = ["dyck-1", "a*b*c*", "no-3-in-a-row", "parity", "ends-with", "even-length"]


def words_of(name: str, below: int) -> list[tuple[int, ...]]:
    """All words of less than so many letters, as letter numbers."""
    language = language_of(name)
    every = [w for n in range(below) for w in product(range(len(language.alphabet)), repeat=n)]
    return [w for w in every if "".join(language.alphabet[a] for a in w) in language]


def following(words: list[tuple[int, ...]], end: int) -> dict[tuple[int, ...], Counter[int]]:
    """For every prefix, how many of the words go on with each symbol."""
    found: dict[tuple[int, ...], Counter[int]] = {}
    for word in words:
        for n, symbol in enumerate((*word, end)):
            found.setdefault(word[:n], Counter())[symbol] += 1
    return found


@pytest.mark.parametrize("name", LANGUAGES)
def test_targets_of_uniform_words_are_shares_of_all_words(name: str) -> None:
    task = NextSymbol(language=name, words="uniform", s_train=2, longest=6)
    end = task.sizes["outputs"] - 1
    for prefix, counts in following(words_of(name, 6), end).items():
        expected = [counts[symbol] / counts.total() for symbol in range(end + 1)]
        assert task.oracle([end, *prefix]) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("name", LANGUAGES)
def test_targets_of_legal_walks_are_uniform_over_what_some_word_goes_on_with(name: str) -> None:
    """Every state of these automata has a word within 3 letters, so that words below 8 tell of prefixes up to 4."""
    task = NextSymbol(language=name)
    end = task.sizes["outputs"] - 1
    for prefix, counts in following(words_of(name, 8), end).items():
        if len(prefix) <= 4:
            expected = [float(symbol in counts) / len(counts) for symbol in range(end + 1)]
            assert task.oracle([end, *prefix]) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("words", ["legal walk", "uniform"])
@pytest.mark.parametrize("name", LANGUAGES)
def test_each_label_is_the_next_letter_or_the_end(name: str, words: str) -> None:
    task = NextSymbol(language=name, words=words, s_train=8, longest=20)  # type: ignore[arg-type]
    end = task.sizes["outputs"] - 1
    batch = task.sample(np.random.default_rng(0), 200, 8)
    mask = torch.ones_like(batch.labels, dtype=torch.bool) if batch.mask is None else batch.mask
    assert (batch.inputs[:, 0] == end).all()
    for row, labels, real in zip(batch.inputs.tolist(), batch.labels.tolist(), mask.sum(1).tolist(), strict=True):
        for place, (label, after) in enumerate(zip(labels[:real], row[1:real])):
            assert label in (after, end)
            assert words == "legal walk" or place == real - 1 or label == after
        assert real == 8 or labels[real - 1] == end  # uniform words are padded after their end, and only there


def improbable(found: int, n: int, share: float) -> bool:
    """Whether a binomial count lies in a tail of probability below 1e-10."""
    return bool(min(binom.cdf(found, n, share), binom.sf(found - 1, n, share)) < 1e-10)


@pytest.mark.statistical
@pytest.mark.parametrize("words", ["legal walk", "uniform"])
@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("kind", ["sample", "measure"])
def test_labels_follow_the_target_of_their_prefix(name: str, words: str, kind: str) -> None:
    """At most 500 counts in each of 24 cases, each with two tails of 1e-10."""
    task = NextSymbol(language=name, words=words, s_train=4, longest=9)  # type: ignore[arg-type]
    batch = getattr(task, kind)(np.random.default_rng(1), 4000, 4)
    labels = batch.labels.reshape(len(batch.inputs), -1)
    real = torch.ones_like(labels) if batch.mask is None else batch.mask
    found: dict[tuple[int, ...], Counter[int]] = {}
    for row, known, there in zip(batch.inputs.tolist(), labels.tolist(), real.tolist(), strict=True):
        first = len(row) - len(known)  # of measured inputs only the last position has a label
        for place in range(len(known)):
            if there[place]:
                found.setdefault(tuple(row[: first + place + 1]), Counter())[known[place]] += 1
    assert any(counts.total() > 40 for counts in found.values())
    for prefix, counts in found.items():
        for symbol, share in enumerate(task.oracle(prefix)):
            assert not improbable(counts[symbol], counts.total(), share), (prefix, symbol)


@pytest.mark.statistical
@pytest.mark.parametrize("name", LANGUAGES)
def test_measured_prefixes_are_those_of_uniform_words_that_get_so_far(name: str) -> None:
    n, task = 5000, NextSymbol(language=name, words="uniform", s_train=4, longest=6)
    inputs = task.measure(np.random.default_rng(2), n, 4).inputs.tolist()
    found = Counter(tuple(row[1:]) for row in inputs)
    expected = Counter(word[:3] for word in words_of(name, 6) if len(word) >= 3)
    assert set(found) <= set(expected)
    for prefix, words in expected.items():
        assert not improbable(found[prefix], n, words / expected.total()), prefix


def test_a_word_of_one_length_only_ends_there() -> None:
    task = NextSymbol(language="even-length", words="uniform", s_train=4, longest=8)
    assert list(task.lengths) == [1, 2, 3, 4, 5, 6, 7]  # no word of 7 letters
    assert task.oracle([2] + [0] * 6) == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"language": "a*b"}, "nothing continues 'b'"),
        ({"language": "partiy"}, "did you mean 'parity'"),
        ({"language": "dyck-1", "s_train": 300}, r"s_train 300: expected 1\.\.256"),
        ({"language": "aaa", "words": "uniform"}, r"s_train 16: expected 1\.\.4"),
        ({"language": "aaa", "words": "uniform", "longest": 3, "s_train": 1}, "no word of less than longest, 3"),
        ({"words": "some"}, "'legal walk' or 'uniform'"),
    ],
)
def test_impossible_settings_are_refused_by_name(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says) as caught:
        NextSymbol(**settings)  # type: ignore[arg-type]
    assert len(caught.value.errors()) == 1


def test_a_language_with_a_last_word_can_be_read_as_uniform_words() -> None:
    task = NextSymbol(language="a*b", words="uniform", s_train=4, longest=6)
    assert task.oracle([2, 0, 1]) == [0.0, 0.0, 1.0]
