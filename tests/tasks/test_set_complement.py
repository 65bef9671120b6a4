"""Set complement: permutations are uniform, and every prefix is an input of its own."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import chi2

from lengthwise.tasks import SetComplement


@st.composite
def sizes(draw: st.DrawFn) -> tuple[int, int]:
    vocabulary = draw(st.integers(2, 20))
    return vocabulary, draw(st.integers(1, vocabulary - 1))


@given(sizes(), st.integers(0, 2**32))
def test_every_prefix_has_distinct_tokens_and_a_label_that_is_absent_from_it(size: tuple[int, int], seed: int) -> None:
    vocabulary, length = size
    batch = SetComplement(vocabulary=vocabulary, s_train=length).sample(np.random.default_rng(seed), 6, length)
    assert batch.inputs.shape == batch.labels.shape == (6, length)
    for tokens, labels in zip(batch.inputs.tolist(), batch.labels.tolist(), strict=True):
        assert set(tokens) | set(labels) <= set(range(vocabulary))
        assert tokens[1:] == labels[:-1]
        assert all(label not in tokens[: k + 1] for k, label in enumerate(labels))
        assert len(set(tokens)) == length


@given(sizes(), st.integers(0, 2**32))
def test_the_target_is_uniform_over_what_is_absent(size: tuple[int, int], seed: int) -> None:
    vocabulary, length = size
    batch = SetComplement(vocabulary=vocabulary, s_train=1).measure(np.random.default_rng(seed), 6, length)
    assert batch.targets is not None
    for tokens, target in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        assert {x for x, share in enumerate(target) if share == 0} == set(tokens)
        assert {share for share in target if share} == {1 / (vocabulary - length)}


@pytest.mark.statistical
def test_training_permutations_are_uniform() -> None:
    """Chi-squared over all 24 permutations of 4 tokens, at a bound of probability 1e-7."""
    n, v = 24_000, 4
    batch = SetComplement(vocabulary=v, s_train=3).sample(np.random.default_rng(5), n, v - 1)
    counts = Counter(map(tuple, torch.cat([batch.inputs, batch.labels[:, -1:]], dim=1).tolist()))
    expected = n / 24
    statistic = sum((counts[p] - expected) ** 2 / expected for p in permutations(range(v)))
    assert sum(counts.values()) == sum(counts[p] for p in permutations(range(v)))
    assert statistic < chi2.isf(1e-7, 23)


@pytest.mark.statistical
@pytest.mark.parametrize("length", [1, 2, 4])
def test_measured_inputs_and_labels_are_uniform(length: int) -> None:
    n, v = 30_000, 5
    batch = SetComplement(vocabulary=v, s_train=1).measure(np.random.default_rng(6), n, length)
    for tokens in (batch.labels, batch.inputs[:, 0], batch.inputs[:, -1]):
        counts = np.bincount(tokens.numpy(), minlength=v)
        assert ((counts - n / v) ** 2 / (n / v)).sum() < chi2.isf(1e-7, v - 1)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"vocabulary": 1, "s_train": 1}, "greater than or equal to 2"),
        ({"vocabulary": 4, "s_train": 4}, "s_train 4"),
        ({"vocabulary": 4, "s_train": 0}, "s_train"),
        ({"vocabulary": 20, "s_trian": 2}, "s_trian"),
    ],
)
def test_impossible_settings_are_refused_by_name(settings: dict[str, int], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        SetComplement(**settings)
