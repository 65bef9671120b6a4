"""The readout law: verified witnesses, attained and never exceeded, with degenerate columns, norms and biases."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from lengthwise.certificates.certificate import certify
from lengthwise.certificates.radon import Radon, affine_dependencies, partition_of
from lengthwise.certificates.readout import cyclic_readout, readout_law
from lengthwise.certificates.separation import Columns
from lengthwise.certificates.tables import Weights
from lengthwise.errors import InputError


def exact_columns(readout: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(entry) for entry in column] for column in readout.T.tolist()]


def holds_exactly(radon: Radon, readout: np.ndarray, bias: np.ndarray | None = None) -> bool:
    """Positive weights that sum to one on disjoint sets, with equal means of the columns (bias: no lower inside)."""
    rows = readout if bias is None else np.vstack([readout, bias])
    columns = exact_columns(rows)
    sides = [(radon.inside, radon.inside_weights), (radon.outside, radon.outside_weights)]
    means = [[sum(w * columns[t][k] for t, w in zip(*side, strict=True)) for k in range(len(rows))] for side in sides]
    convex = all(min(weights) > 0 and sum(weights) == 1 for _, weights in sides)
    level = means[0][: len(readout)] == means[1][: len(readout)]
    return convex and level and not set(radon.inside) & set(radon.outside) and means[0][-1] >= means[1][-1]


@settings(max_examples=40)
@given(st.integers(3, 12), st.integers(1, 10), st.booleans(), st.integers(0, 2**32 - 1))
def test_a_witness_is_exact_and_within_the_bound(vocabulary: int, dimension: int, whole: bool, seed: int) -> None:
    draw = np.random.default_rng(seed)
    shape = (dimension, vocabulary)
    readout = draw.integers(-2, 3, shape).astype(float) if whole else draw.normal(size=shape)
    law = readout_law(readout, search=30)
    rank = np.linalg.matrix_rank(readout - readout.mean(axis=1, keepdims=True))
    assert law.affine_rank == rank
    if rank == vocabulary - 1:
        assert (law.largest_length, law.witness) == (vocabulary - 1, None)
    else:
        assert law.witness is not None
        assert holds_exactly(law.witness, readout)
        assert law.largest_length == len(law.witness.inside) - 1 <= rank // 2


@pytest.mark.parametrize(("vocabulary", "dimension"), [(5, 2), (6, 4), (8, 4), (8, 5), (9, 6), (12, 2)])
def test_cyclic_polytopes_attain_the_law(vocabulary: int, dimension: int) -> None:
    readout = cyclic_readout(vocabulary, dimension)
    law = readout_law(readout)
    assert (law.largest_length, law.proved) == (dimension // 2, True)
    angle = 2 * np.pi * np.arange(vocabulary) / vocabulary
    for tokens in combinations(range(vocabulary), dimension // 2):
        wanted = np.prod([1 - np.cos(angle - angle[token]) for token in tokens], axis=0)
        rows = np.vstack([readout, np.ones(vocabulary)])
        hidden = np.linalg.lstsq(rows.T, wanted, rcond=None)[0][:-1]
        logits = hidden @ readout
        assert np.delete(logits, tokens).min() > logits[list(tokens)].max()


def test_random_partitions_beat_the_bound_where_columns_allow() -> None:
    """General columns have much more lopsided partitions than the bound of 8, and than one basis shows."""
    readout = np.random.default_rng(0).normal(size=(14, 26))
    columns = Columns([[Fraction(entry) for entry in row] for row in readout.tolist()])
    assert len(columns.partition().inside) < min(len(partition_of(z).inside) for z in columns.dependencies) <= 8


@settings(max_examples=30)
@given(st.integers(3, 6), st.booleans(), st.integers(0, 2**32 - 1))
def test_each_token_set_of_a_line_is_judged_right(vocabulary: int, biased: bool, seed: int) -> None:
    """On a line the order of the logits h u + b changes only where two of them cross: every h is tried."""
    draw = np.random.default_rng(seed)
    slope, bias = draw.normal(size=vocabulary), draw.normal(size=vocabulary) * biased
    crossings = [-(bias[i] - bias[k]) / (slope[i] - slope[k]) for i, k in combinations(range(vocabulary), 2)]
    ends = np.sort([*crossings, min(crossings) - 1, max(crossings) + 1])
    logits = ((ends[1:] + ends[:-1]) / 2)[:, None] * slope + bias
    columns = Columns([[Fraction(x) for x in slope]], [Fraction(x) for x in bias] if biased else None)
    for size in range(1, vocabulary):
        for tokens in combinations(range(vocabulary), size):
            served = (logits[:, tokens].max(axis=1) < np.delete(logits, tokens, axis=1).min(axis=1)).any()
            assert columns.separates(tokens) == served
            assert (columns.meeting(tokens) is None) == served


def test_a_tie_within_rounding_is_not_called_proved() -> None:
    """The third column misses the line of the first two by one rounding: too little for a float to find a state."""
    law = readout_law(np.array([[0.0, 3.0, 1.0, 1.0], [0.0, 1.0, 1 / 3, 5.0]]))
    assert (law.affine_rank, law.largest_length, law.proved) == (2, 1, False)


def test_degenerate_columns_give_smaller_witnesses() -> None:
    """A column amid the others serves not even length 1; two equal columns neither; rank, not d, counts."""
    draw = np.random.default_rng(0)
    readout = draw.integers(-8, 8, (6, 9)).astype(float)
    readout[:, 4] = readout[:, [0, 3, 7, 8]].mean(axis=1)
    law = readout_law(readout)
    assert law.witness is not None
    assert (law.largest_length, law.witness.inside, law.tv_floor) == (0, (4,), 1 / 16)
    assert set(law.witness.outside) == {0, 3, 7, 8}
    readout[:, 4] = readout[:, 2]
    assert readout_law(readout).largest_length == 0
    tall = np.vstack([cyclic_readout(8, 4)] * 3)
    assert (readout_law(tall).affine_rank, readout_law(tall).largest_length) == (4, 2)


def test_layer_norm_takes_a_dimension_and_rms_none() -> None:
    draw = np.random.default_rng(1)
    readout, gain = draw.normal(size=(5, 6)), draw.uniform(0.5, 2, 5)
    assert readout_law(readout, gain=gain).largest_length == 5
    law = readout_law(readout, norm="layer", gain=gain)
    assert (law.dimension, law.affine_rank) == (4, 4)
    assert law.largest_length <= 2
    assert law.witness is not None
    centred = gain[:, None] * readout
    centred = centred - centred.mean(axis=0)
    weights = np.zeros(6)
    weights[list(law.witness.inside)] = [float(w) for w in law.witness.inside_weights]
    weights[list(law.witness.outside)] = [-float(w) for w in law.witness.outside_weights]
    assert centred @ weights == pytest.approx(np.zeros(5), abs=1e-12)


@settings(max_examples=30)
@given(st.integers(3, 9), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_a_bias_adds_a_dimension_to_the_bound_only(vocabulary: int, dimension: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    readout, bias = draw.normal(size=(dimension, vocabulary)), draw.normal(size=vocabulary)
    law = readout_law(readout, bias, search=30)
    if dimension >= vocabulary - 1:
        assert law.largest_length == vocabulary - 1
    else:
        assert law.witness is not None
        assert holds_exactly(law.witness, readout, bias)
        assert law.largest_length <= ((dimension + 1) // 2 if dimension + 1 <= vocabulary - 2 else vocabulary - 2)


def test_with_a_bias_d_plus_one_is_not_enough_for_all_lengths() -> None:
    """v = 3, d = 1: with the bias counted d = v - 1, yet on a line no hidden state serves the middle, or the ends."""
    readout = np.array([[0.0, 1.0, 2.0]])
    for bias, unserved in ((np.array([0.0, 1.0, 0.0]), (1,)), (np.array([0.0, -1.0, 0.0]), (0, 2))):
        logits = np.linspace(-50, 50, 100_001)[:, None] * readout + bias
        rest = [token for token in range(3) if token not in unserved]
        assert not (logits[:, unserved].max(axis=1) < logits[:, rest].min(axis=1)).any()
        law = readout_law(readout, bias)
        assert law.witness is not None
        assert (law.witness.inside, law.largest_length, law.proved) == (unserved, len(unserved) - 1, True)


def test_a_large_readout_of_full_rank_serves_all_lengths() -> None:
    readout = np.random.default_rng(2).normal(size=(96, 61)).astype(np.float32)
    law = readout_law(readout)
    assert (law.affine_rank, law.largest_length, law.witness, law.tv_floor) == (60, 60, None, None)


def test_dependencies_are_exact_where_floats_see_full_rank_or_none() -> None:
    tiny = [[Fraction(0), Fraction(0)], [Fraction(1), Fraction(0)], [Fraction(1), Fraction(1, 2**200)]]
    whole = [[int(entry * 2**200) for entry in column] for column in tiny]
    assert affine_dependencies(whole)[0] == 2
    assert affine_dependencies([[0, 0], [1, 3], [2**90, 3 * 2**90]])[0] == 1


def unpacked(flat: np.ndarray, vocabulary: int, dimension: int) -> Weights:
    """A minimal transformer of free E, W_Q, W_V and U (W_K = W_O = 1 loses nothing at d_k = d_v = d)."""
    wide, square, one = vocabulary * dimension, dimension**2, np.eye(dimension)
    e, attention, value, u = np.split(flat, np.cumsum([wide, square, square]))
    e, u = e.reshape(vocabulary, dimension), u.reshape(dimension, vocabulary)
    return Weights(e, attention.reshape(one.shape), one, value.reshape(one.shape), one, u)


def optimised(vocabulary: int, dimension: int, reach: int, seed: int) -> Weights:
    """Weights driven by the soft minimum of all displacements of the lengths up to `reach`, from a cyclic start."""
    sets = [s for size in range(1, reach + 1) for s in combinations(range(vocabulary), size)]
    member = np.array([[token in s for token in range(vocabulary)] for s in sets for _ in s])
    last = np.array([token for s in sets for token in s])

    def loss(flat: np.ndarray) -> float:
        logits = unpacked(flat, vocabulary, dimension).tables().logits_of_sets(member, last)
        low = np.where(member, np.inf, logits).min(axis=1) - np.where(member, logits, -np.inf).max(axis=1)
        return float(np.log(np.exp(-20 * low / np.abs(logits).max()).sum()))

    cyclic = cyclic_readout(vocabulary, dimension)
    noise = 0.1 * np.random.default_rng(seed).normal(size=2 * cyclic.size + 2 * dimension**2)
    square = np.eye(dimension).ravel()
    start = np.concatenate([-cyclic.T.ravel(), 0 * square, square, cyclic.ravel()]) + noise
    found = minimize(loss, start, method="L-BFGS-B", options={"maxiter": 30})
    assert found.fun < loss(start)
    return unpacked(found.x, vocabulary, dimension)


@pytest.mark.parametrize(("vocabulary", "dimension"), [(5, 2), (6, 2), (6, 3), (6, 4), (7, 4)])
@pytest.mark.parametrize("beyond", [0, 1])
def test_no_optimised_model_exceeds_the_law(vocabulary: int, dimension: int, beyond: int) -> None:
    """Driven to floor(d/2) or one further, a model is certified no further than floor(d/2), as its readout says."""
    weights = optimised(vocabulary, dimension, dimension // 2 + beyond, seed=dimension)
    certificate, law = certify(weights.tables()), readout_law(weights.U)
    assert certificate.certified_order <= law.largest_length <= dimension // 2
    assert certificate.certified_order == dimension // 2 or beyond
    assert law.witness is not None
    inside = law.witness.inside
    worst = certificate.lengths[len(inside) - 1].worst_displacement
    assert worst is not None
    assert worst <= 0
    logits = weights.tables().logits(inside)
    shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    target = np.where(np.isin(np.arange(vocabulary), inside), 0.0, 1 / (vocabulary - len(inside)))
    assert np.abs(shares - target).sum() / 2 >= law.tv_floor


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"readout": np.ones(3)}, r"readout of shape \(3,\): expected \(d, v\) with d >= 1 and v >= 2"),
        ({"readout": np.ones((2, 3)), "bias": np.ones(2)}, r"bias of shape \(2,\): expected \(3,\) for a .*"),
        ({"readout": np.ones((2, 3)), "gain": np.ones(3)}, r"gain of shape \(3,\): expected \(2,\) for a .*"),
        ({"readout": np.array([[1.0, np.inf]])}, r"readout\[0, 1\] is inf: expected a finite number"),
        ({"readout": np.ones((2, 3)), "norm": "batch"}, r"norm 'batch': expected 'layer' or None .*"),
    ],
)
def test_bad_readouts_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}$"):
        readout_law(**arguments)


@pytest.mark.parametrize(("vocabulary", "dimension"), [(4, 0), (4, 4), (1, 1)])
def test_bad_cyclic_sizes_are_refused(vocabulary: int, dimension: int) -> None:
    with pytest.raises(InputError, match=r"expected 1 <= d <= v-1$"):
        cyclic_readout(vocabulary, dimension)
