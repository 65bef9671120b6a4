"""Vector tasks: marks and queries lie anywhere, and the targets are what no predictor can better."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from lengthwise.tasks import LinearInContext, MarkedMean, MatchingExample, SingleLocation


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("marked", [1, 3])
def test_every_input_has_its_marks_and_none_in_the_padding(marked: int) -> None:
    batch = MarkedMean(marked=marked).sample(rng(), 200, 40)
    assert batch.mask is not None
    marks = batch.inputs[..., -1]
    assert set(marks.unique().tolist()) == {0.0, 1.0}
    assert (marks.sum(1) == marked).all()
    assert (marks[~batch.mask] == 0).all()


@pytest.mark.statistical
def test_a_mark_lies_at_every_position_alike() -> None:
    """Chi-squared over 7 positions at a bound of probability 1e-7."""
    n, length = 14_000, 7
    marks = MarkedMean(marked=2).measure(rng(1), n, length).inputs[..., -1].sum(0).numpy()
    # Two marks of 7 in each input: counts vary less than independent ones, by (7 - 2) / (7 - 1).
    assert ((marks - 2 * n / length) ** 2 / (2 * n / length)).sum() * 6 / 5 < chi2.isf(1e-7, length - 1)


def test_the_answer_reads_marked_positions_only() -> None:
    task = MarkedMean(marked=2)
    batch = task.measure(rng(2), 8, 30)
    assert batch.targets is not None
    other = batch.inputs.clone()
    other[..., :-1] += 5 * (1 - other[..., -1:])
    assert [task.oracle(x) for x in other.tolist()] == [task.oracle(x) for x in batch.inputs.tolist()]
    assert batch.labels.squeeze(1).tolist() == pytest.approx(batch.targets.squeeze(1).tolist(), abs=1e-6)


def test_the_weights_are_of_length_one_and_belong_to_the_seed() -> None:
    first, again, other = SingleLocation(), SingleLocation(), SingleLocation(seed=1)
    assert np.linalg.norm(first.weights) == pytest.approx(1)
    assert (first.weights == again.weights).all()
    assert abs(first.weights @ other.weights) < 0.999


@pytest.mark.statistical
@pytest.mark.parametrize("marked", [1, 4])
def test_answers_have_variance_one_over_the_marks_and_labels_their_noise(marked: int) -> None:
    """A variance of n normal numbers has relative standard deviation sqrt(2/n): 5.5 of them are passed once in 2e7."""
    n = 20_000
    batch = MarkedMean(marked=marked, noise=0.5).measure(rng(3), n, 9)
    assert batch.targets is not None
    bound = 5.5 * np.sqrt(2 / n)
    assert float(batch.targets.var()) * marked == pytest.approx(1, abs=bound)
    assert float((batch.labels - batch.targets).var()) / 0.25 == pytest.approx(1, abs=bound)


def test_a_look_up_finds_its_one_example() -> None:
    task = MatchingExample()
    batch = task.sample(rng(4), 300, 60)
    assert batch.mask is not None
    for rows, mask, label in zip(batch.inputs, batch.mask, batch.labels.tolist()):
        *examples, query = rows[mask]
        same = [row for row in examples if torch.equal(row[: task.dimension], query[: task.dimension])]
        assert len(same) == 1
        assert same[0][task.dimension :].tolist() == [float(c == label) for c in range(task.classes)]
        assert not query[task.dimension :].any()
        assert rows[mask][:, : task.dimension].norm(dim=-1).numpy() == pytest.approx(1, abs=1e-6)


@pytest.mark.statistical
def test_every_example_and_class_is_asked_for_alike() -> None:
    """Chi-squared at a bound of probability 1e-7, over 5 examples and over 4 classes."""
    n, task = 10_000, MatchingExample()
    batch = task.measure(rng(5), n, 6)
    x = batch.inputs[..., : task.dimension]
    place = (x[:, :-1] == x[:, -1:]).all(-1).long().argmax(1)
    for found, kinds in ((place, 5), (batch.labels, 4)):
        counts = np.bincount(found.numpy(), minlength=kinds)
        assert ((counts - n / kinds) ** 2 / (n / kinds)).sum() < chi2.isf(1e-7, kinds - 1)


@pytest.mark.statistical
@pytest.mark.parametrize(("length", "noise"), [(3, 0.3), (9, 1.0)])
def test_the_posterior_mean_leaves_the_posterior_variance(length: int, noise: float) -> None:
    """What is left of a label is normal of variance noise^2 (1 + x^T (X^T X + penalty)^-1 x), as Bayes' rule has it."""
    n, d = 20_000, 3
    task = LinearInContext(dimension=d, noise=noise)
    batch = task.measure(rng(6), n, length)
    assert batch.targets is not None
    rows = batch.inputs.double().numpy()
    x, query = rows[:, :-1, :d], rows[:, -1, :d]
    precision = np.einsum("nsi,nsj->nij", x, x) + noise**2 * d * np.eye(d)
    variance = noise**2 * (1 + np.einsum("ni,nij,nj->n", query, np.linalg.inv(precision), query))
    left = (batch.labels - batch.targets).squeeze(1).numpy() / np.sqrt(variance)
    assert (left**2).mean() == pytest.approx(1, abs=5.5 * np.sqrt(2 / n))
    assert abs(left.mean()) < 5.5 / np.sqrt(n)
    assert abs((left * batch.targets.squeeze(1).numpy()).mean()) < 5.5 / np.sqrt(n)  # nothing more to be told


def test_the_query_tells_nothing_of_its_own_number() -> None:
    for batch in (LinearInContext().sample(rng(7), 100, 50), LinearInContext().measure(rng(7), 100, 50)):
        end = torch.full((100,), batch.length - 1) if batch.mask is None else batch.mask.sum(1) - 1
        assert (batch.inputs[torch.arange(100), end, -1] == 0).all()
        assert (batch.labels != 0).all()
