"""Batch: shapes, padding, where answers are read, and the loss over them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lengthwise.tasks import Batch, mean_loss


def ragged(lengths: list[int], every: bool, seed: int = 0, classes: int = 5) -> Batch:
    """A padded batch of examples with the given lengths."""
    generator = torch.Generator().manual_seed(seed)
    b, s = len(lengths), max(lengths)
    mask = torch.arange(s) < torch.tensor(lengths)[:, None]
    inputs = torch.randint(classes, (b, s), generator=generator)
    labels = torch.randint(classes, (b, s) if every else (b,), generator=generator)
    return Batch(inputs, labels, "every" if every else "last", mask=mask)


def single(batch: Batch, i: int) -> Batch:
    """Example i without its padding."""
    assert batch.mask is not None
    n = int(batch.mask[i].sum())
    labels = batch.labels[i : i + 1, :n] if batch.position == "every" else batch.labels[i : i + 1]
    return Batch(batch.inputs[i : i + 1, :n], labels, batch.position)


lengths = st.lists(st.integers(1, 6), min_size=1, max_size=5)


@given(lengths, st.booleans(), st.integers(0, 1000))
def test_loss_of_a_padded_batch_is_the_loss_of_its_examples(lengths: list[int], every: bool, seed: int) -> None:
    batch = ragged(lengths, every, seed)
    outputs = torch.randn(*batch.inputs.shape, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    whole = mean_loss(batch.answers(outputs), batch, "cross-entropy")
    losses, weights = [], []
    for i, n in enumerate(lengths):
        one = single(batch, i)
        losses.append(mean_loss(one.answers(outputs[i : i + 1, :n]), one, "cross-entropy"))
        weights.append(n if every else 1)
    expected = torch.stack(losses) @ torch.tensor(weights, dtype=torch.float64) / sum(weights)
    torch.testing.assert_close(whole, expected)


@given(lengths, st.integers(0, 1000))
def test_the_answer_of_an_example_is_at_its_last_real_position(lengths: list[int], seed: int) -> None:
    batch = ragged(lengths, every=False, seed=seed)
    outputs = torch.randn(*batch.inputs.shape, 5)
    answers = batch.answers(outputs)
    assert answers.shape == (len(lengths), 5)
    assert all(torch.equal(answers[i], outputs[i, n - 1]) for i, n in enumerate(lengths))


def test_a_model_may_answer_at_the_last_position_only() -> None:
    batch = ragged([3, 2], every=False)
    answers = torch.randn(2, 5)
    assert torch.equal(batch.answers(answers), answers)


def test_answers_at_every_position_are_taken_as_they_are() -> None:
    batch = ragged([3, 2], every=True)
    outputs = torch.randn(2, 3, 5)
    assert torch.equal(batch.answers(outputs), outputs)


@pytest.mark.parametrize(("at_last", "masked"), [(False, False), (True, False), (True, True), (False, True)])
def test_answers_of_many_models_to_one_batch_per_replicate(masked: bool, at_last: bool) -> None:
    """Outputs have an axis of models that the batch has only as an axis of length 1."""
    singles = [ragged([3, 2, 4, 1], every=False, seed=r) for r in range(2)]
    stacked = Batch.stack(singles).map(lambda x: x.unsqueeze(1))
    if not masked:
        singles, stacked = [_unmasked(b) for b in singles], _unmasked(stacked)
    outputs = torch.randn(2, 3, 4, 4, 5)
    each = lambda r, m: singles[r].answers(outputs[r, m])  # noqa: E731
    expected = torch.stack([torch.stack([each(r, m) for m in range(3)]) for r in range(2)])
    assert torch.equal(stacked.answers(expected if at_last else outputs), expected)


def test_vectors_have_their_length_before_their_width() -> None:
    batch = Batch(torch.randn(3, 7, 2), torch.randn(3, 1), "last", mask=torch.ones(3, 7, dtype=torch.bool))
    assert (batch.length, batch.positions) == (7, 1)
    assert batch.answers(torch.randn(3, 7, 1)).shape == (3, 1)
    assert torch.equal(batch.answers(batch.labels), batch.labels)


def test_stacking_keeps_every_field_and_its_order() -> None:
    batches = [ragged([3, 2], every=False, seed=r) for r in range(3)]
    stacked = Batch.stack(batches)
    assert stacked.position == "last"
    assert stacked.targets is None
    for i, batch in enumerate(batches):
        for mine, theirs in (
            (stacked.inputs, batch.inputs),
            (stacked.labels, batch.labels),
            (stacked.mask, batch.mask),
        ):
            assert isinstance(mine, Tensor)
            assert isinstance(theirs, Tensor)
            assert torch.equal(mine[i], theirs)


def test_moving_moves_every_tensor() -> None:
    batch = Batch.stack([ragged([3, 2], every=True)]).to("meta")
    assert {x.device.type for x in (batch.inputs, batch.labels, batch.mask) if x is not None} == {"meta"}


@pytest.mark.parametrize("loss", ["cross-entropy", "squared-error"])
@pytest.mark.parametrize("every", [True, False])
def test_losses_of_many_models_are_the_losses_of_each(loss: str, every: bool) -> None:
    batch = ragged([3, 2, 3, 1], every)
    if loss == "squared-error":
        batch = Batch(batch.inputs, torch.randn(*batch.labels.shape, 5), batch.position, mask=batch.mask)
    outputs = torch.randn(2, 3, *batch.labels.shape[: 2 if every else 1], 5)
    losses = mean_loss(outputs, batch, loss, leading=2)  # type: ignore[arg-type]
    assert losses.shape == (2, 3)
    for index in torch.cartesian_prod(torch.arange(2), torch.arange(3)).tolist():
        expected = mean_loss(outputs[*index], batch, loss)  # type: ignore[arg-type]
        torch.testing.assert_close(losses[*index], expected)


def test_squared_error_is_the_mean_over_numbers_and_real_positions() -> None:
    mask = torch.tensor([[True, True], [True, False]])
    batch = Batch(torch.zeros(2, 2, 1), torch.zeros(2, 2, 2), mask=mask)
    outputs = torch.tensor([[[1.0, 1.0], [2.0, 0.0]], [[0.0, 2.0], [9.0, 9.0]]])
    assert mean_loss(outputs, batch, "squared-error").item() == pytest.approx((1 + 2 + 2) / 3)


@pytest.mark.parametrize("outputs", [torch.zeros(4, 1), torch.zeros(4, 4)], ids=["one number", "several"])
def test_numbers_as_labels_need_their_own_axis(outputs: Tensor) -> None:
    batch = Batch(torch.zeros(4, 3, 2), torch.arange(4.0), "last")
    with pytest.raises((RuntimeError, ValueError)):
        mean_loss(outputs, batch, "squared-error")


def _unmasked(batch: Batch) -> Batch:
    return Batch(batch.inputs, batch.labels, batch.position)
