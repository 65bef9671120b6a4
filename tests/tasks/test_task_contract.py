"""What every task in the dictionary keeps, whatever it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.tasks import TASKS, Batch, Task


@pytest.fixture(params=TASKS, ids=str)
def task(request: pytest.FixtureRequest) -> Task:
    return TASKS[request.param]()


def draw(task: Task, kind: str, length: int, seed: int = 0, count: int = 16) -> Batch:
    return getattr(task, kind)(np.random.default_rng(seed), count, length)


def tensors(batch: Batch) -> list[torch.Tensor]:
    return [x for x in (batch.inputs, batch.labels, batch.targets, batch.mask) if x is not None]


def some_lengths(task: Task) -> list[int]:
    """At most 12 lengths, the first and the last among them."""
    picked = np.linspace(0, len(task.lengths) - 1, min(12, len(task.lengths))).round()
    return [task.lengths[int(i)] for i in picked]


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
    for length in task.lengths:
        batch = draw(task, "measure", length, seed=length, count=8)
        assert batch.targets is not None
        expected = torch.tensor([task.oracle(row) for row in _rows(batch)], dtype=torch.float64)
        torch.testing.assert_close(batch.targets.double(), expected, atol=1e-12, rtol=0)


def test_targets_are_distributions(task: Task) -> None:
    for length in some_lengths(task):
        targets = draw(task, "measure", length).targets
        assert targets is not None
        assert (targets >= 0).all()
        torch.testing.assert_close(targets.sum(-1), torch.ones(16, dtype=targets.dtype))


def test_every_label_is_legal(task: Task) -> None:
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
        assert batch.labels.shape == (5,)
        assert all(len(row) == length for row in _rows(batch))


def test_training_inputs_stay_within_the_length_asked_for(task: Task) -> None:
    batch = draw(task, "sample", task.trained_length)
    assert max(len(row) for row in _rows(batch)) <= task.trained_length


def test_distinct_is_told_truly(task: Task) -> None:
    rows = [row for length in some_lengths(task) for row in _rows(draw(task, "measure", length, count=64))]
    assert not task.distinct or all(len(set(row)) == len(row) for row in rows)


@pytest.mark.parametrize("kind", ["sample", "measure"])
@pytest.mark.parametrize("beyond", [-math.inf, -1, math.inf])
def test_lengths_outside_are_refused_in_one_line(task: Task, kind: str, beyond: float) -> None:
    length = int(task.lengths[-1] + 1 if beyond > 0 else task.lengths[0] - 1 if beyond == -1 else -3)
    with pytest.raises(InputError, match=str(length)) as caught:
        draw(task, kind, length)
    assert "\n" not in str(caught.value)


def _rows(batch: Batch) -> list[list[int]]:
    """Each example's real tokens."""
    if batch.mask is None:
        return batch.inputs.tolist()
    return [row[mask].tolist() for row, mask in zip(batch.inputs, batch.mask, strict=True)]
