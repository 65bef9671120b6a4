"""What every task in the dictionary keeps, whatever it is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.tasks import TASKS, Batch, Task

ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in TASKS},
    "next-symbol, uniform words": ("next-symbol", {"language": "a*b*c*", "words": "uniform", "longest": 40}),
    "marked-mean, uniform lengths": ("marked-mean", {"drawn": "uniform", "noise": 0.5, "marked": 2}),
    "matching-example, equal examples": ("matching-example", {"dimension": 1}),
    "recognition, uniform words": ("recognition", {"language": "parity", "words": "uniform", "longest": 300}),
    "recognition, even lengths": ("recognition", {"language": "dyck-2", "longest": 400}),
    "linear-in-context, heavy tail": ("linear-in-context", {"drawn": "heavy-tailed", "mean_length": 5, "noise": 1}),
}


@pytest.fixture(params=ASKED, ids=str)
def task(request: pytest.FixtureRequest) -> Task:
    name, settings = ASKED[request.param]
    return TASKS[name](**settings)


def draw(task: Task, kind: str, length: int, seed: int = 0, count: int = 16) -> Batch:
    return getattr(task, kind)(np.random.default_rng(seed), count, length)


def tensors(batch: Batch) -> list[torch.Tensor]:
    return [x for x in (batch.inputs, batch.labels, batch.targets, batch.mask) if x is not None]


def some_lengths(task: Task, most: int = 12) -> list[int]:
    """All of few lengths; of many at most 12, the first and the last among them, closer where they are short."""
    n = len(task.lengths)
    places = range(n) if n <= 4 * most else np.unique(np.geomspace(1, n, most).round().astype(int) - 1)
    return [task.lengths[int(i)] for i in places]


def surplus(task: Task) -> int:
    """How many positions an input has beyond its length: 1 where an end marker is not counted."""
    length = task.lengths[0]
    return draw(task, "measure", length).length - length


def test_the_protocol_is_kept(task: Task) -> None:
    assert isinstance(task, Task)
    assert TASKS[task.name] is type(task)
    assert list(task.lengths) == sorted(set(task.lengths))
    assert task.lengths[0] <= task.trained_length <= task.lengths[-1]


@pytest.mark.parametrize("kind", ["sample", "measure"])
def test_the_same_generator_state_gives_the_same_batch(task: Task, kind: str) -> None:
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002 - the global state is what must not matter
    first = draw(task, kind, task.trained_length)
    torch.manual_seed(2)
    np.random.seed(2)  # noqa: NPY002
    again, other = draw(task, kind, task.trained_length), draw(task, kind, task.trained_length, seed=1)
    assert all(torch.equal(a, b) for a, b in zip(tensors(first), tensors(again), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(tensors(first), tensors(other), strict=True))


@pytest.mark.parametrize("kind", ["sample", "measure"])
def test_drawing_leaves_the_global_generators_alone(task: Task, kind: str) -> None:
    before = torch.get_rng_state(), str(np.random.get_state())  # noqa: NPY002
    draw(task, kind, task.trained_length)
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == str(np.random.get_state())  # noqa: NPY002


def test_vectorised_targets_equal_the_oracle_at_every_length(task: Task) -> None:
    for length in some_lengths(task):
        batch = draw(task, "measure", length, seed=length, count=4 if length > 1000 else 8)
        assert batch.targets is not None
        expected = torch.tensor([task.oracle(row) for row in _rows(batch)], dtype=torch.float64)
        torch.testing.assert_close(batch.targets.double(), expected, atol=1e-12, rtol=0)


def test_targets_are_distributions_or_of_the_shape_of_numbers(task: Task) -> None:
    for length in some_lengths(task):
        batch = draw(task, "measure", length)
        targets = batch.targets
        assert targets is not None
        if task.loss == "squared-error":
            assert targets.shape == batch.labels.shape == (16, task.sizes["outputs"])
            continue
        assert (targets >= 0).all()
        torch.testing.assert_close(targets.sum(-1), torch.ones(16, dtype=targets.dtype))


def test_every_label_is_legal(task: Task) -> None:
    if task.loss == "squared-error":
        pytest.skip("labels are numbers")
    for length in some_lengths(task):
        batch = draw(task, "measure", length)
        assert batch.targets is not None
        assert (batch.targets.gather(-1, batch.labels[:, None]) > 0).all()
    batch = draw(task, "sample", task.trained_length)
    for row, labels in zip(_rows(batch), batch.labels.tolist(), strict=True):
        queries = range(1, len(row) + 1) if batch.position == "every" else [len(row)]
        for query, label in zip(queries, labels if batch.position == "every" else [labels], strict=False):
            assert task.oracle(row[:query])[label] > 0


def test_measuring_answers_at_the_last_position_of_exactly_that_length(task: Task) -> None:
    for length in some_lengths(task):
        batch = draw(task, "measure", length, count=5)
        assert batch.position == "last"
        assert batch.labels.shape == ((5,) if task.loss == "cross-entropy" else (5, task.sizes["outputs"]))
        assert {len(row) for row in _rows(batch)} == {length + surplus(task)}


def test_training_inputs_stay_within_the_length_asked_for(task: Task) -> None:
    """But for the task's own trained length, above which lengths without a bound may reach."""
    for length in (length for length in some_lengths(task) if length < task.trained_length):
        assert max(len(row) for row in _rows(draw(task, "sample", length))) <= length + surplus(task)


def test_inputs_are_what_the_sizes_say(task: Task) -> None:
    assert surplus(task) in (0, 1)
    for kind in ("sample", "measure"):
        batch = draw(task, kind, task.trained_length)
        if "features" in task.sizes:
            assert batch.inputs.dtype == torch.float32
            assert batch.inputs.shape[-1] == task.sizes["features"]
        else:
            assert batch.inputs.dtype == torch.int64
            assert 0 <= batch.inputs.min() <= batch.inputs.max() < task.sizes["vocabulary"]
        if task.loss == "cross-entropy":
            assert batch.labels.dtype == torch.int64
            classes = task.sizes["outputs"] if "outputs" in task.sizes else task.sizes["vocabulary"]
            assert 0 <= batch.labels.min() <= batch.labels.max() < classes


def test_padding_is_zero_and_comes_last(task: Task) -> None:
    batch = draw(task, "sample", task.trained_length)
    if batch.mask is not None:
        assert batch.mask[:, 0].all()
        assert not (~batch.mask[:, :-1] & batch.mask[:, 1:]).any()
        assert batch.mask.any(0).all()
        assert (batch.inputs[~batch.mask] == 0).all()


def test_distinct_is_told_truly(task: Task) -> None:
    if task.distinct:
        rows = [row for length in some_lengths(task) for row in _rows(draw(task, "measure", length, count=64))]
        assert all(len(set(row)) == len(row) for row in rows)


@pytest.mark.parametrize("kind", ["sample", "measure"])
@pytest.mark.parametrize("beyond", [-math.inf, -1, math.inf])
def test_lengths_outside_are_refused_in_one_line(task: Task, kind: str, beyond: float) -> None:
    length = int(task.lengths[-1] + 1 if beyond > 0 else task.lengths[0] - 1 if beyond == -1 else -3)
    with pytest.raises(InputError, match=str(length)) as caught:
        draw(task, kind, length)
    assert "\n" not in str(caught.value)


def _rows(batch: Batch) -> list[list[Any]]:
    """Each example's real tokens or vectors."""
    if batch.mask is None:
        return batch.inputs.tolist()
    return [row[mask].tolist() for row, mask in zip(batch.inputs, batch.mask, strict=True)]
