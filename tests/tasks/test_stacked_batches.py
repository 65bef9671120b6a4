"""Batches of different lengths, padded and stacked: nothing real changes, and everything else is masked."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.tasks import Batch, mean_loss

lengths = st.lists(st.integers(1, 6), min_size=1, max_size=4)
seeds = st.integers(0, 1000)


def made(length: int, kind: str, position: Any, seed: int, ragged: bool) -> Batch:
    """Three examples of at most one length, with targets."""
    generator = torch.Generator().manual_seed(seed)
    shape = (3, length)
    inputs = (
        torch.randint(1, 5, shape, generator=generator) if kind == "tokens"
        else torch.rand(*shape, 2, generator=generator) + 0.5
    )  # fmt: skip
    labels = torch.randint(5, shape if position == "every" else (3,), generator=generator)
    targets = torch.rand(*labels.shape, 5, generator=generator)
    ends = torch.tensor([length, max(length - 1, 1), 1]) if ragged else torch.tensor([length] * 3)
    mask = torch.arange(length) < ends[:, None] if ragged else None
    return Batch(inputs, labels, position, targets, mask)


kinds = st.tuples(st.sampled_from(["tokens", "vectors"]), st.sampled_from(["every", "last"]))


def real(batch: Batch) -> torch.Tensor:
    return torch.ones(3, batch.length, dtype=torch.bool) if batch.mask is None else batch.mask


@given(kinds, st.integers(1, 6), st.integers(0, 5), st.booleans(), seeds)
def test_padding_keeps_what_is_real_and_masks_the_rest(
    kind: tuple[str, str], length: int, more: int, ragged: bool, seed: int
) -> None:
    batch = made(length, *kind, seed, ragged)
    longer = batch.padded(length + more)
    assert longer.length == length + more
    assert longer.mask is not None
    assert torch.equal(longer.mask[:, :length], real(batch))
    assert not longer.mask[:, length:].any()
    assert torch.equal(longer.inputs[:, :length], batch.inputs)
    assert not longer.inputs[:, length:].any()
    assert batch.targets is not None
    assert longer.targets is not None
    kept = (slice(None), slice(0, length)) if kind[1] == "every" else ()
    assert torch.equal(longer.labels[kept], batch.labels)
    assert torch.equal(longer.targets[kept], batch.targets)
    assert longer.labels.shape[1:] == ((length + more,) if kind[1] == "every" else ())


@given(kinds, lengths, st.booleans(), seeds)
def test_a_row_of_a_stack_is_its_batch_padded_to_the_longest(
    kind: tuple[str, str], each: list[int], ragged: bool, seed: int
) -> None:
    batches = [made(n, *kind, seed + k, ragged) for k, n in enumerate(each)]
    stack = Batch.stack(batches)
    assert stack.inputs.shape[0] == len(each)
    assert (stack.mask is None) == (not ragged and len(set(each)) == 1)
    for k, batch in enumerate(batches):
        row, padded = stack.map(lambda x: x[k]), batch.padded(max(each))  # noqa: B023
        assert torch.equal(row.inputs, padded.inputs)
        assert torch.equal(row.labels, padded.labels)
        assert row.mask is None or torch.equal(row.mask, padded.mask)  # type: ignore[arg-type]


@given(st.sampled_from(["every", "last"]), lengths, st.booleans(), seeds)
def test_the_loss_of_a_stack_is_that_of_each_batch(position: Any, each: list[int], ragged: bool, seed: int) -> None:
    """Answers are a function of the token, so that they are the same wherever a batch is padded."""
    batches = [made(n, "tokens", position, seed + k, ragged) for k, n in enumerate(each)]
    table = torch.randn(5, 5, dtype=torch.float64)
    loss = lambda b, leading: mean_loss(b.answers(table[b.inputs]), b, "cross-entropy", leading)  # noqa: E731
    torch.testing.assert_close(loss(Batch.stack(batches), 1), torch.stack([loss(b, 0) for b in batches]))


def test_batches_of_one_length_without_masks_stay_without() -> None:
    batches = [made(4, "tokens", "last", seed, ragged=False) for seed in range(2)]
    stack = Batch.stack(batches)
    assert stack.mask is None
    assert torch.equal(stack.inputs[1], batches[1].inputs)
