"""Members that cannot train together are refused, and nothing about a module is silently left out."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lengthwise import BEMA, EMA, SGD, Adam, Member, MinimalTransformer, Phase, Plan, Population
from lengthwise.errors import InputError


def lengths(*phases: tuple[int, int | None]) -> Plan:
    return Plan(phases=tuple(Phase(steps=n, rates={"all": 0.1}, lengths=s) for n, s in phases), batch=8)


def model(**settings: Any) -> Any:
    return lambda: MinimalTransformer(6, width=5, **settings)


class Scaled(nn.Module):
    """A setting that is neither a parameter nor a buffer, and that PyTorch does not print."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor, self.table = factor, nn.Embedding(6, 6)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.factor * self.table(tokens)


def scaled(factor: float) -> Any:
    return lambda: Scaled(factor)


def own_dropout(rate: float) -> Any:
    return lambda: nn.Sequential(nn.Embedding(6, 6), nn.Dropout(rate), nn.Linear(6, 6))


ONE = lengths((4, None))
PAIRS: dict[str, tuple[list[Member], str]] = {
    "shapes": ([Member("a", model(), ONE), Member("b", lambda: MinimalTransformer(6, width=4), ONE)], "'b'"),
    "optimisers": (
        [Member("a", model(), ONE), Member("b", model(), ONE.model_copy(update={"optimiser": SGD()}))],
        "optimiser",
    ),
    "batches": ([Member("a", model(), ONE), Member("b", model(), ONE.model_copy(update={"batch": 9}))], "batch"),
    "lengths": ([Member("a", model(), ONE), Member("b", model(), lengths((2, None), (2, 2)))], "lengths"),
    "lengths after the first member's end": (
        [Member(str(k), model(), p) for k, p in enumerate((ONE, lengths((4, None), (3, 2)), lengths((9, None))))],
        "lengths",
    ),
    "dropout in the second only": ([Member("a", model(), ONE), Member("b", model(residual_dropout=0.5), ONE)], "'b'"),
    "dropout in the first only": ([Member("a", model(residual_dropout=0.5), ONE), Member("b", model(), ONE)], "'b'"),
    "how many averages": ([Member("a", model(), ONE, (EMA(),)), Member("b", model(), ONE)], "averages"),
    "kinds of averages": ([Member("a", model(), ONE, (EMA(),)), Member("b", model(), ONE, (BEMA(),))], "averages"),
    "variants of averages": (
        [Member("a", model(), ONE, (BEMA(),)), Member("b", model(), ONE, (BEMA(variant="reference"),))],
        "averages",
    ),
    "steps between averages": (
        [Member("a", model(), ONE, (EMA(),)), Member("b", model(), ONE, (EMA(every=3),))],
        "averages",
    ),
    "kinds of models": ([Member("a", model(), ONE), Member("b", model(scaling="sum"), ONE)], "'b'"),
    "rates of PyTorch's own dropout": ([Member(str(r), own_dropout(r), ONE) for r in (0.1, 0.5)], "'0.5'"),
    "settings that are not printed": ([Member(str(f), scaled(f), ONE) for f in (0.1, 0.5)], "'0.5'"),
}


@pytest.mark.parametrize("what", PAIRS)
def test_members_that_differ_in_more_than_numbers(lab: SimpleNamespace, what: str) -> None:
    members, says = PAIRS[what]
    with pytest.raises(InputError, match=says) as caught:
        lab.train(members, [0], steps=1)
    assert "\n" not in str(caught.value)


def test_lengths_that_are_named_or_left_to_the_task_are_the_same_lengths(lab: SimpleNamespace) -> None:
    members = [Member("a", model(), ONE), Member("b", model(), lengths((4, lab.TASK.trained_length)))]
    assert lab.train(members, [0]).steps_done == 4


def test_a_phase_with_an_unknown_group_is_refused_before_anything_trains(lab: SimpleNamespace) -> None:
    plan = Plan(phases=(Phase(steps=1, rates={"attention": 1}), Phase(steps=1, rates={"heads": 1})), batch=8)
    with pytest.raises(InputError, match="phase 2: unknown group 'heads'"):
        lab.train(Member("m", model(), plan), steps=0)


class Louder(MinimalTransformer):
    """A user's variation of the minimal transformer, by overriding."""

    def attend(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return 3 * super().attend(x, mask)


def test_a_subclass_that_computes_something_else_is_taken_at_its_word(lab: SimpleNamespace) -> None:
    member = Member("m", lambda: Louder(6, width=5).double(), lab.plan((4, 0.1)))
    trainer = lab.train(member)
    expected = trainer.population.layout.row(lab.plain(member, 0))
    torch.testing.assert_close(trainer.population.weights[0], expected, rtol=1e-9, atol=1e-9)


def test_a_parameter_of_the_minimal_transformer_may_be_frozen_for_good(lab: SimpleNamespace) -> None:
    def build() -> nn.Module:
        made = MinimalTransformer(6, width=5).double()
        made.embedding.requires_grad_(False)
        return made

    globs = {"attention": ["query", "key"], "output": ["value", "output", "unembedding"]}
    trainer = lab.train(Member("m", build, lab.plan((4, 0.1))), [0, 1], globs=globs)
    start = lab.train(Member("m", build, lab.plan((4, 0.1))), [0, 1], 0, globs=globs)
    for index in (0, 1):
        mine, before = trainer.population.model(index), start.population.model(index)
        assert isinstance(mine, MinimalTransformer)
        assert isinstance(before, MinimalTransformer)
        assert torch.equal(mine.embedding, before.embedding)
        assert not torch.allclose(mine.query, before.query)


class Marked(nn.Module):
    """A buffer of random numbers drawn when it is built, under a name of the user's choice."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, self.head = name, nn.Linear(6, 6)
        self.register_buffer(name, torch.randn(6, 6))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(getattr(self, self.name)[tokens])


@pytest.mark.parametrize("name", ["marks", "noise"])
def test_every_buffer_belongs_to_its_model_whatever_its_name(lab: SimpleNamespace, name: str) -> None:
    member = Member("m", lambda: Marked(name).double(), lab.plan((4, 0.1)))
    trainer = lab.train(member, [0, 1])
    for index in (0, 1):
        expected = lab.plain(member, index)
        torch.testing.assert_close(trainer.population.model(index).state_dict(), expected.state_dict())


def test_names_know_nothing_of_compilation(lab: SimpleNamespace) -> None:
    """A user may hand over a module that torch.compile has wrapped; wrapping is lazy, so nothing is compiled here."""
    member = Member("m", lambda: torch.compile(nn.Linear(6, 6)), lab.plan((1, 0.1)))  # type: ignore[arg-type,return-value]
    population = Population.start([member], [0], seed=0, globs={"weights": ["weight"], "rest": ["bias"]})
    assert list(population.layout.places) == ["weight", "bias"]
    assert list(population.model(0).state_dict()) == ["weight", "bias"]


@pytest.mark.parametrize("optimiser", [SGD(), Adam()], ids=lambda o: o.kind)
def test_a_module_in_bfloat16_trains(lab: SimpleNamespace, optimiser: Any) -> None:
    """The settings of an optimiser are not those of a low precision: .999 in bfloat16 is 1."""

    def build() -> nn.Module:
        return nn.Sequential(nn.Embedding(6, 6), nn.Linear(6, 6)).bfloat16()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = lab.train(Member("m", build, lab.plan((300, 0.01), optimiser=optimiser), (EMA(decay=0.999),)))
    assert trainer.population.weights.dtype == torch.bfloat16
    assert trainer.failed_at.tolist() == [-1]
    assert trainer.averages.weights(0).isfinite().all()
    assert trainer.counts.tolist() == [[300]]
