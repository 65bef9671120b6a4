"""Interrupted and resumed is uninterrupted, bit for bit, at any step."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lengthwise import BEMA, EMA, SGD, Adam, Member, Phase, Plan, Trainer

AVERAGES = (EMA(decay=0.9), EMA(decay=0.5, every=3), BEMA(burn_in=2), BEMA(variant="reference", every=2))


def copies(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """What a checkpoint holds: the values of the moment."""
    return {name: value.clone() for name, value in state.items()}


def resumed_is_uninterrupted(lab: SimpleNamespace, members: list[Member], stops: list[int], form: str) -> None:
    whole = lab.train(members, [0, 1], steps=0, form=form)
    states = [copies(whole.state())]
    for _ in range(whole.total):
        whole.step()
        states.append(copies(whole.state()))
    for stop in stops:
        torch.manual_seed(stop)
        trainer = lab.train(members, [0, 1], steps=0, form=form)
        trainer.restore(copies(states[stop]))
        equal_bits(trainer.state(), states[stop])
        while trainer.steps_done < trainer.total:
            trainer.step()
            equal_bits(trainer.state(), states[trainer.steps_done])


def equal_bits(mine: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    assert mine.keys() == theirs.keys()
    for name in mine:
        assert mine[name].dtype == theirs[name].dtype, name
        assert torch.equal(mine[name].nan_to_num(), theirs[name].nan_to_num()), name


def members(lab: SimpleNamespace, build: Any, optimiser: Any, last: float = 0.1) -> list[Member]:
    """A plan of four phases, with state carried and fresh, and a plan that ends early."""
    phases = (
        Phase(steps=4, rates={"all": 0.1}),
        Phase(steps=3, rates={"all": 0.05}, carry=True),
        Phase(steps=4, rates={"all": 0.02}),
    )
    plans = [Plan(phases=phases, optimiser=optimiser, batch=lab.BATCH), lab.plan((6, last), optimiser=optimiser)]
    return [Member(str(k), build, plan, AVERAGES) for k, plan in enumerate(plans)]


STOPS = [0, 1, 3, 4, 5, 7, 10, 11]


@pytest.mark.parametrize(
    ("form", "place"),
    [
        ("table", "attention_dropout"),
        ("table", "residual_dropout"),
        ("vmap", "embedding_dropout"),
        ("vmap", "attention_dropout"),
    ],
)
@pytest.mark.parametrize("optimiser", [SGD(momentum=0.9), Adam()], ids=lambda o: o.kind)
def test_ours_with_averages_dropout_and_phases(lab: SimpleNamespace, form: str, place: str, optimiser: Any) -> None:
    build = lab.build(form, double=False, norm="post", **{place: 0.3})
    resumed_is_uninterrupted(lab, members(lab, build, optimiser), STOPS, form)


def test_a_failed_model_stays_failed(lab: SimpleNamespace) -> None:
    build = lab.build("table", double=False)
    resumed_is_uninterrupted(lab, members(lab, build, SGD(), last=1e25), STOPS, "table")


class Noisy(nn.Module):
    """Dropout of PyTorch's own, in the place that `kind` says, and batch statistics."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.embedding, self.head = kind, nn.Embedding(6, 4), nn.Linear(4, 6)
        self.statistics = nn.BatchNorm1d(4)
        self.layer = {
            "layer": lambda: nn.Dropout(0.3),
            "attention": lambda: nn.MultiheadAttention(4, 2, dropout=0.3, batch_first=True),
            "recurrent": lambda: nn.GRU(4, 4, num_layers=2, dropout=0.3, batch_first=True),
            "function": nn.Identity,
            "rrelu": nn.RReLU,
        }[kind]()

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.statistics(self.embedding(tokens).transpose(1, 2)).transpose(1, 2)
        if self.kind == "function":
            x = nn.functional.dropout(x, 0.3, self.training)
        elif self.kind == "attention":
            x = self.layer(x, x, x, need_weights=False)[0]
        elif self.kind == "recurrent":
            x = self.layer(x)[0]
        else:
            x = self.layer(x)
        return self.head(x)


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("layer", "vmap"),
        ("attention", "vmap"),
        ("recurrent", "loop"),
        ("function", "vmap"),
        ("rrelu", "loop"),
    ],
)
def test_a_user_s_module_with_randomness_of_its_own(lab: SimpleNamespace, kind: str, form: str) -> None:
    resumed_is_uninterrupted(lab, members(lab, lambda: Noisy(kind), Adam()), [1, 5], form)


def test_state_is_whole_and_nothing_in_it_is_strange_to_safetensors(lab: SimpleNamespace) -> None:
    trainer: Trainer = lab.train(members(lab, lambda: Noisy("layer"), Adam()), [0, 1], steps=2)
    state = trainer.state()
    assert all(isinstance(value, Tensor) for value in state.values())
    assert {"weights", "counts", "failed_at", "step", "slot.mean", "slot.square"} <= state.keys()
    assert {"constant.statistics.running_mean", "average.0.average", "average.2.start"} <= state.keys()
    assert state["step"] == 2
