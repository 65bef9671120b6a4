"""A user's own module trains as a population without a change to it, or in a loop that says so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lengthwise import SGD, Batch, Member, MinimalTransformer, SetComplement, Trainer


class Recurrent(nn.Module):
    """An embedding, a GRU and a head: PyTorch cannot map a GRU over models."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.cell, self.head = nn.Embedding(6, 4), nn.GRU(4, 5, batch_first=True), nn.Linear(5, 6)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.cell(self.embedding(tokens))[0])


class Encoder(nn.Module):
    """A layer of PyTorch's own, dropout, batch statistics with an integer buffer, a tied head, a frozen parameter."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(6, 4)
        self.layer = nn.TransformerEncoderLayer(4, 2, 8, dropout, batch_first=True)
        self.statistics, self.dropout = nn.BatchNorm1d(4), nn.Dropout(dropout)
        self.gain = nn.Parameter(torch.randn(4), requires_grad=False)
        self.head = nn.Linear(4, 6, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], dtype=self.gain.dtype)
        x = self.layer(self.embedding(tokens), src_mask=mask, is_causal=True)
        x = self.statistics(x.transpose(1, 2)).transpose(1, 2)
        return self.head(self.dropout(x * self.gain))


class Deciding(nn.Module):
    """Control flow that depends on the data, and buffers: vmap refuses it after the buffers have moved."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.statistics, self.head = nn.Embedding(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 6)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.statistics(self.embedding(tokens).transpose(1, 2)).transpose(1, 2)
        return self.head(x if x[0, 0, 0].item() > 0 else x.tanh())


class LastOnly(nn.Module):
    """Answers at the last position only."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(6, 4), nn.Linear(4, 6)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.embedding(tokens)
        seen = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        return self.head((x * seen[..., None]).sum(-2) / seen.sum(-1, keepdim=True))


class EveryPosition(nn.Module):
    """Answers at every position, of which only the last real one is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = MinimalTransformer(6, width=4)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.inner(tokens, mask)


class AtTheLast(SetComplement):
    """The set complement asked at the last position, with examples of different lengths padded to one."""

    def sample(self, rng: Any, count: int, length: int) -> Batch:
        tokens, lengths = self._permutations(rng, count, length), torch.from_numpy(rng.integers(1, length + 1, count))
        labels = tokens.gather(1, lengths[:, None])[:, 0]
        return Batch(tokens[:, :length], labels, "last", mask=torch.arange(length) < lengths[:, None])


def two(lab: SimpleNamespace, build: Any, steps: tuple[int, int] = (6, 6)) -> list[Member]:
    plans = [lab.plan((n, rate)) for n, rate in zip(steps, (0.05, 0.02), strict=True)]
    return [Member(str(k), build, plan, (lab.fast,)) for k, plan in enumerate(plans)]


def is_plain(lab: SimpleNamespace, trainer: Trainer) -> None:
    """Every model's whole state is that of an ordinary PyTorch loop."""
    m = len(trainer.population.members)
    for index in range(trainer.population.size):
        expected = lab.plain(trainer.population.members[index % m], trainer.population.replicates[index // m])
        state = trainer.population.model(index).state_dict()
        assert list(state) == list(expected.state_dict())
        for name, value in expected.state_dict().items():
            torch.testing.assert_close(state[name], value, rtol=1e-8, atol=1e-8, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize(
    ("module", "form"),
    [(Recurrent, "loop"), (Encoder, "vmap"), (Deciding, "loop")],
)
def test_it_trains_as_in_an_ordinary_loop(lab: SimpleNamespace, module: Any, form: str) -> None:
    trainer = lab.train(two(lab, lambda: module().double()), [0, 1], form=form)
    is_plain(lab, trainer)
    lab.alone(trainer, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("module", [Encoder, Deciding])
def test_buffers_of_a_model_that_rests_rest_too(lab: SimpleNamespace, module: Any) -> None:
    is_plain(lab, lab.train(two(lab, lambda: module().double(), steps=(3, 6)), [0, 1]))


def test_what_is_frozen_tied_or_counted_is_kept_so(lab: SimpleNamespace) -> None:
    trainer = lab.train(two(lab, Encoder), [0, 1])
    names = {name for group in trainer.population.layout.groups.values() for name in group}
    assert "head.weight" not in names
    assert "gain" not in names
    for index in range(4):
        model, start = trainer.population.model(index), lab.train(two(lab, Encoder), [0, 1], 0).population.model(index)
        assert isinstance(model, Encoder)
        assert model.head.weight is model.embedding.weight
        assert torch.equal(model.gain, start.gain)  # type: ignore[attr-defined]
        assert model.statistics.num_batches_tracked == 6
        assert model.statistics.num_batches_tracked.dtype == torch.int64


def test_its_own_dropout_differs_between_models_and_repeats_with_the_seed(lab: SimpleNamespace) -> None:
    members = [Member(str(k), lambda: Encoder(0.5), lab.plan((4, 0.05))) for k in range(2)]
    torch.manual_seed(3)
    first = lab.train(members, [0, 1], form="vmap")
    torch.manual_seed(4)
    state = torch.get_rng_state()
    again = lab.train(members, [0, 1], form="vmap")
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(first.population.weights, again.population.weights)
    assert not torch.allclose(first.population.weights[0], first.population.weights[1])


def test_a_loop_says_so_and_why(lab: SimpleNamespace) -> None:
    (notice,) = lab.train(two(lab, Deciding), steps=0, form="loop").notices
    assert notice.startswith("Deciding trains one model at a time, as vmap refuses it: ")
    assert "\n" not in notice
    assert lab.train(two(lab, Encoder), steps=0, form="vmap").notices == []


class Faulty(nn.Module):
    """A fault of its own, which no way of running it mends."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3, 6)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(tokens.float()[:, :2])


def test_a_fault_of_the_module_itself_is_raised(lab: SimpleNamespace) -> None:
    with pytest.raises(RuntimeError, match="shapes"):
        lab.train(two(lab, Faulty), steps=0)


@pytest.mark.parametrize("module", [LastOnly, EveryPosition], ids=["last only", "every position"])
def test_padded_inputs_asked_at_the_last_position(lab: SimpleNamespace, module: Any) -> None:
    """One model alone, with a mask and one label per example, is an ordinary loop; a population is its models."""
    task, member = AtTheLast(vocabulary=6, s_train=4), Member("m", lambda: module().double(), lab.plan((4, 0.1)))
    trainer = lab.train([member, member], [0, 1], task=task, form="vmap")
    lab.alone(trainer, rtol=1e-9, atol=1e-9)


def test_sgd_on_a_module_with_one_parameter(lab: SimpleNamespace) -> None:
    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(torch.randn(6, 6))

        def forward(self, tokens: Tensor) -> Tensor:
            return self.table[tokens]

    member = Member("m", lambda: Table().double(), lab.plan((5, 0.5), optimiser=SGD()))
    is_plain(lab, lab.train([member, member], [0, 1], form="vmap"))
