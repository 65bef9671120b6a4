"""A population of N is N models trained alone, whatever differs between them and whichever way it runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from lengthwise import BEMA, EMA, SGD, Adam, AdamW, Member
from lengthwise.training.plan import Schedule

OPTIMISERS: dict[str, list[Any]] = {
    "sgd": [SGD(), SGD(weight_decay=0.1), SGD()],
    "momentum": [SGD(momentum=0.9), SGD(momentum=0.5, weight_decay=0.1), SGD(momentum=0.2)],
    "adam": [Adam(), Adam(beta1=0.5, beta2=0.9), Adam(weight_decay=0.1)],
    "adamw": [AdamW(), AdamW(beta1=0.5, weight_decay=0.3), AdamW(weight_decay=0)],
}
DROPOUTS = [
    ("table", "attention_dropout"),
    ("table", "residual_dropout"),
    ("vmap", "attention_dropout"),
    ("vmap", "residual_dropout"),
    ("vmap", "embedding_dropout"),
]


def different(lab: SimpleNamespace, optimisers: list[Any], builds: list[Any]) -> list[Member]:
    """Three members that differ in rates, phases and their boundaries, total steps, and averages' decay."""
    warm = Schedule(peak=0.1, warmup=3, shape="cosine", final=0.01)
    phases = [
        [(4, {"output": 0.1}), (3, {"attention": 0.5}), (4, {"output": 0.05})],
        [(7, {"all": 0.02})],
        [(2, {"attention": 0.2}), (8, {"all": warm, "output": 0.03})],
    ]
    plans = [lab.plan(*p, optimiser=o) for p, o in zip(phases, optimisers, strict=True)]
    decays = [EMA(decay=0.5), EMA(decay=0.9, warmup=False), EMA(decay=0.99)]
    bemas = [BEMA(), BEMA(eta=0.5, burn_in=3), BEMA(kappa=0.2, rho=2)]
    return [Member(f"m{k}", builds[k], plans[k], (decays[k], bemas[k])) for k in range(3)]


@pytest.mark.parametrize("form", ["table", "vmap"])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_for_every_optimiser(lab: SimpleNamespace, form: str, optimiser: str) -> None:
    members = different(lab, OPTIMISERS[optimiser], [lab.build(form, norm="post")] * 3)
    lab.alone(lab.train(members, [0, 3], form=form), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("form", "place"), DROPOUTS)
def test_with_each_of_our_dropouts(lab: SimpleNamespace, form: str, place: str) -> None:
    builds = [lab.build(form, **{place: rate}) for rate in (0.1, 0.5, 0.8)]
    trainer = lab.train(different(lab, OPTIMISERS["adam"], builds), [0, 3], form=form)
    lab.alone(trainer, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("form", "place"), DROPOUTS)
def test_dropout_rates_and_replicates_make_a_difference(lab: SimpleNamespace, form: str, place: str) -> None:
    members = [Member(str(rate), lab.build(form, **{place: rate}), lab.plan((2, 0.1))) for rate in (0.1, 0.5)]
    weights = lab.train(members, [0, 1], form=form).population.weights
    assert all(not torch.allclose(weights[a], weights[b]) for a in range(4) for b in range(a))


def test_in_float32_to_its_precision(lab: SimpleNamespace) -> None:
    members = different(lab, OPTIMISERS["momentum"], [lab.build("table", double=False)] * 3)
    lab.alone(lab.train(members, [0, 1, 2], form="table"), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm", ["none", "pre", "post"])
def test_tables_train_as_vmap_does(lab: SimpleNamespace, norm: str) -> None:
    through = [
        lab.train(different(lab, OPTIMISERS["adamw"], [lab.build(form, norm=norm)] * 3), [0, 1], form=form)
        for form in ("table", "vmap")
    ]
    for index in range(6):
        lab.same(through[0], index, through[1], index, rtol=1e-9, atol=1e-9)


def test_the_order_and_number_of_variants_do_not_matter(lab: SimpleNamespace) -> None:
    members = different(lab, OPTIMISERS["adam"], [lab.build("table", attention_dropout=r) for r in (0.2, 0.3, 0.4)])
    whole = lab.train(members, [0, 1])
    turned = lab.train([members[2], members[0]], [1])
    lab.same(whole, 3 + 2, turned, 0, rtol=1e-9, atol=1e-9)
    lab.same(whole, 3 + 0, turned, 1, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", ["table", "vmap"])
def test_the_same_seed_gives_the_same_bits_and_another_seed_another_model(lab: SimpleNamespace, form: str) -> None:
    members = different(lab, OPTIMISERS["adam"], [lab.build(form, residual_dropout=0.2)] * 3)
    first, again, other = (lab.train(members, [0, 1], seed=seed) for seed in (5, 5, 6))
    for index in range(6):
        lab.same(first, index, again, index)
    assert not torch.allclose(first.population.weights, other.population.weights)


def test_global_randomness_changes_nothing_and_is_not_changed(lab: SimpleNamespace) -> None:
    member = Member("m", lab.build("vmap", embedding_dropout=0.3), lab.plan((3, 0.1)))
    torch.manual_seed(1)
    first = lab.train(member)
    torch.manual_seed(2)
    state = torch.get_rng_state()
    lab.same(first, 0, lab.train(member))
    assert torch.equal(torch.get_rng_state(), state)


def test_members_of_a_replicate_start_alike_and_replicates_do_not(lab: SimpleNamespace) -> None:
    members = [Member("a", lab.build("table"), lab.plan((1, 0.1))), Member("b", lab.build("table"), lab.plan((1, 0.2)))]
    trainer = lab.train(members, [0, 1], steps=0)
    weights = trainer.population.weights
    assert torch.equal(weights[0], weights[1])
    assert torch.equal(weights[2], weights[3])
    assert not torch.allclose(weights[0], weights[2])
    assert torch.equal(trainer.batch(0).inputs, lab.train(members, [0, 1], steps=0).batch(0).inputs)
    assert not torch.equal(trainer.batch(0).inputs[0], trainer.batch(0).inputs[1])


@pytest.mark.parametrize(("form", "place"), DROPOUTS)
def test_a_trained_population_drops_nothing_when_it_is_asked(lab: SimpleNamespace, form: str, place: str) -> None:
    members = [Member(str(rate), lab.build(form, **{place: rate}), lab.plan((2, 0.1))) for rate in (0.1, 0.5)]
    trainer = lab.train(members, [0, 1], form=form)
    batch, population = trainer.batch(0), trainer.population
    views = population.layout.views(population.weights, population.shape)
    answers = trainer.forward(views, batch, {}, training=False).flatten(0, 1)
    for index in range(4):
        expected = population.model(index)(batch.inputs[index // 2])
        torch.testing.assert_close(answers[index], expected)


def test_a_model_comes_back_as_a_plain_module(lab: SimpleNamespace) -> None:
    builds = [lab.build("table", norm="post", residual_dropout=rate) for rate in (0.1, 0.5)]
    trainer = lab.train([Member(str(k), b, lab.plan((3, 0.1)), (lab.fast,)) for k, b in enumerate(builds)], [0, 1])
    for index in range(4):
        module, averaged = (trainer.population.model(index, w) for w in (None, trainer.averages.weights(0)))
        layout = trainer.population.layout
        assert torch.equal(layout.row(module), trainer.population.weights[index])
        assert torch.equal(layout.row(averaged), trainer.averages.weights(0)[index])
        assert module.residual_dropout.rate.item() == pytest.approx((0.1, 0.5)[index % 2])
        assert not module.training
