"""Certificates of plain modules, against every input put to the module itself."""

from __future__ import annotations

import json
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import lengthwise
from lengthwise.certificates import Tables, minimal, readout_law
from lengthwise.errors import InputError
from lengthwise.experiments import certifying
from lengthwise.experiments.certifying import (
    SHAPES,
    certify_model,
    certify_run,
    model_of_tensors,
    models_of,
    readout_of,
    tables_at,
)
from lengthwise.experiments.weights import Run
from lengthwise.models import MinimalTransformer
from lengthwise.tasks import SetComplement

V = 5
NORMS = [
    {"norm": "none"},
    *({"norm": norm, "norm_kind": kind} for norm in ("pre", "post") for kind in ("layer", "rms")),
]
SCALINGS = ["none", "log-length scores", "sum", "length logits"]


WIDTH = 2 * (V - 1)


def construction() -> dict[str, np.ndarray]:
    """The exact construction beside its negative: the state has mean 0, and values ignore what all entries share."""
    E, _, _, value, output, U = vars(minimal(V, 4.0, 2.0)).values()
    draw = np.random.default_rng(9).normal(size=(2, WIDTH, 3))
    value, output, U = np.vstack([value, -value]) / 2, np.hstack([output, -output]), np.vstack([U, np.zeros_like(U)])
    matrices = (np.hstack([E, -E]), 0.03 * draw[0], 0.03 * draw[1], value, output, U)
    return dict(zip(SHAPES, matrices, strict=True))


def noisy(seed: int = 0, noise: float = 0.02, **settings: Any) -> MinimalTransformer:
    """The construction with noise, in double precision, its norm with weights of its own."""
    draw = np.random.default_rng(seed)
    bias = {"norm_bias": False} if settings.get("norm") == "post" else {}
    model = MinimalTransformer(V, WIDTH, 3, V - 1, **{**bias, **settings}).double().eval()
    for name, exact in construction().items():
        model.get_parameter(name).data = torch.from_numpy(exact + noise * draw.normal(size=exact.shape))
    for parameter in model.norm.parameters():
        parameter.data = torch.from_numpy(draw.uniform(0.9, 1.1, WIDTH))
    if model.norm_place == "post" and model.norm_kind == "layer":
        model.embedding.data += 0.7  # which only centring takes away
    return model


def every_input(model: MinimalTransformer, length: int) -> dict[tuple[int, ...], tuple[float, float]]:
    """Displacement and legal spread of every input of a length, by the plain module."""
    inputs = list(permutations(range(V), length))
    with torch.no_grad():
        logits = model(torch.tensor(inputs))[:, -1].numpy()
    found = {}
    for tokens, f in zip(inputs, logits, strict=True):
        legal, illegal = np.delete(f, tokens), f[list(tokens)]
        found[tokens] = (float(legal.min() - illegal.max()), float(np.ptp(legal)))
    return found


@pytest.mark.parametrize(("settings", "scaling"), [*product(NORMS, SCALINGS)], ids=str)
def test_the_certificate_is_the_worst_of_every_input(settings: dict[str, Any], scaling: str) -> None:
    model = noisy(**settings, scaling=scaling)
    orders = []
    for row in certify_model(model).lengths:
        every = every_input(model, row.length)
        worst = min(displacement for displacement, _ in every.values())
        assert row.ordered == (worst > 0)
        orders.append(row.ordered)
        if settings["norm"] == "post":
            assert (row.worst_displacement, row.legal_spread, row.tv_bound) == (None, None, None)
            continue
        assert row.worst_displacement == pytest.approx(worst, abs=1e-9)
        assert every[row.worst_input][0] == pytest.approx(worst, abs=1e-9)
        assert row.legal_spread == pytest.approx(max(spread for _, spread in every.values()), abs=1e-9)
    assert any(orders)


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_signs_of_post_norm_models_that_fail_somewhere(kind: str) -> None:
    reached = set()
    for seed, noise in product(range(4), (0.02, 0.06, 0.12)):
        model = noisy(seed, noise, norm="post", norm_kind=kind)
        certificate = certify_model(model)
        for row in certificate.lengths:
            every = every_input(model, row.length)
            assert row.ordered == all(displacement > 0 for displacement, _ in every.values())
            assert row.ordered == (every[row.worst_input][0] > 0)
        reached.add(certificate.certified_order)
    assert len(reached) >= 3


def test_what_is_certified_is_the_float64_function_of_float32_weights() -> None:
    single, double = noisy().float(), noisy().float().double()
    assert certify_model(single) == certify_model(double)
    assert certify_model(single) != certify_model(noisy())


def test_dropouts_are_inactive_and_the_model_stays_as_it_is() -> None:
    model = noisy(embedding_dropout=0.1, attention_dropout=0.5, residual_dropout=0.9).train()
    before, state = {k: x.clone() for k, x in model.state_dict().items()}, torch.get_rng_state()
    certificate = certify_model(model)
    assert torch.equal(torch.get_rng_state(), state)
    assert certificate == certify_model(noisy())
    assert model.training
    assert all(torch.equal(x, before[k]) for k, x in model.state_dict().items())


class Louder(MinimalTransformer):
    """A subclass may say anything."""


def test_what_cannot_be_certified_is_refused_with_the_reason() -> None:
    biased = noisy(norm="post", norm_bias=True)
    with pytest.raises(InputError, match="post-norm with a bias: the norm does not divide its share"):
        certify_model(biased)
    biased.norm.get_parameter("bias").data.zero_()
    assert certify_model(biased) == certify_model(noisy(norm="post"))
    for other in (torch.nn.Linear(2, 2), Louder(4)):
        with pytest.raises(InputError, match=f"{type(other).__name__}: expected a MinimalTransformer"):
            certify_model(other)
    broken = noisy()
    broken.value.data[2, 1] = torch.nan
    for refuse in (certify_model, readout_of):
        with pytest.raises(InputError, match=r"value\[2, 1\] is nan: expected a finite number"):
            refuse(broken)
    sharp = noisy()
    sharp.query.data *= 1e6
    with pytest.raises(InputError, match="of table S spreads over"):
        certify_model(sharp)


@pytest.mark.parametrize("settings", [*NORMS, {"norm": "none", "scaling": "length logits"}], ids=str)
def test_a_wrong_table_is_a_loud_fault_of_ours(monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]) -> None:
    """A table that is off by a millionth does not pass."""

    def off(model: MinimalTransformer, length: int) -> Tables:
        tables = tables_at(model, length)
        return Tables(tables.S, tables.B, tables.D * (1 + 1e-6))

    monkeypatch.setattr(certifying, "tables_at", off)
    with pytest.raises(ArithmeticError, match="a fault of lengthwise"):
        certify_model(noisy(**settings))


@pytest.mark.parametrize("settings", NORMS, ids=str)
@pytest.mark.parametrize("size", [1e-6, 1e4])
def test_large_and_cancelling_weights_raise_no_false_alarm(settings: dict[str, Any], size: float) -> None:
    model = noisy(**settings)
    model.embedding.data += size * 100
    model.unembedding.data *= size
    model.query.data *= 1e-6
    assert certify_model(model).vocabulary == V


@pytest.mark.parametrize("scaling", SCALINGS[:2])
def test_progress_counts_lengths(scaling: str) -> None:
    heard: list[tuple[int, int]] = []
    certify_model(noisy(scaling=scaling), lambda done, total: heard.append((done, total)))
    assert heard == [(done, V - 1) for done in range(1, V)]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Run:
    plan = lengthwise.Plan(phases=(lengthwise.Phase(steps=4, rates={"all": 0.1}),), batch=4)
    experiment = lengthwise.Experiment(
        name="tiny",
        question="?",
        task=SetComplement(vocabulary=V, s_train=2),
        model=lengthwise.ModelOf(module=MinimalTransformer, settings={"width": 3}),
        variants={
            "no norm": lengthwise.Variant(),
            "post-norm": lengthwise.Variant(model={"norm": "post"}, averages=()),
        },
        plan=plan,
        averages=(lengthwise.EMA(decay=0.9),),
        replicates=2,
        measuring=lengthwise.Measuring(inputs=4),
    )
    return lengthwise.run(experiment, tmp_path_factory.mktemp("tiny") / "run")


def test_a_run_gives_a_row_for_each_model(tiny: Run) -> None:
    heard: list[tuple[int, int]] = []
    rows = certify_run(tiny, progress=lambda done, total: heard.append((done, total)))
    names = [(row.variant, row.replicate, row.weights) for row in rows]
    expected = [("no norm", replicate, weights) for replicate in (0, 1) for weights in ("raw", "ema@0.9")]
    assert names == [*expected, ("post-norm", 0, "raw"), ("post-norm", 1, "raw")]
    assert heard[-1] == (4 * (V - 1), 6 * (V - 1))
    for row in rows[:4]:
        assert row.certificate == certify_model(tiny.model(row.variant, row.replicate, row.weights))
    assert rows[4].certificate is None
    assert rows[4].to_json()["refused"] == rows[5].refused
    assert str(rows[4].refused).startswith("post-norm with a bias")
    assert certify_run(tiny, "no norm", 1, "ema@0.9") == [rows[3]]


def test_a_run_names_what_it_has(tiny: Run) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"variant": "no nrom"}, "unknown variant 'no nrom': did you mean 'no norm'"),
        ({"replicate": 2}, r"replicate 2: expected 0\.\.1"),
        ({"weights": "ema@0.99"}, "unknown weights 'ema@0.99': did you mean 'ema@0.9'"),
        ({"variant": "post-norm", "weights": "ema@0.9"}, "unknown weights 'ema@0.9': expected one of raw"),
    ]
    for asked, expected in wrong:
        with pytest.raises(InputError, match=expected):
            models_of(tiny, **asked)
    assert models_of(tiny, weights="ema@0.9") == [("no norm", 0, "ema@0.9"), ("no norm", 1, "ema@0.9")]


def test_another_task_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"task": {"name": "parity"}}))
    with pytest.raises(InputError, match="task 'parity': expected 'set-complement'"):
        certify_run(lengthwise.load(tmp_path))


def test_tensors_make_a_model_or_say_why_not() -> None:
    tensors = {name: getattr(noisy(), name).data for name in SHAPES}
    assert certify_model(model_of_tensors({**tensors, "residual_dropout.rate": torch.ones(())})) == certify_model(
        noisy()
    )
    state = torch.get_rng_state()
    assert torch.equal(model_of_tensors(tensors).value, tensors["value"])
    assert torch.equal(torch.get_rng_state(), state)
    half = {name: x.bfloat16() for name, x in tensors.items()}
    assert torch.equal(model_of_tensors(half).value, tensors["value"].bfloat16().double())
    for change, expected in (
        ({"norm.weight": torch.ones(4)}, "a norm's weights do not say where it is"),
        ({"key": torch.ones(8, 4)}, r"key has shape \(8, 4\): expected \(8, 3\)"),
        ({"value": torch.ones(4)}, r"value has shape \(4,\): expected \(8, w\)"),
        ({"unembedding": torch.ones(8, V, dtype=torch.int64)}, "unembedding holds torch.int64"),
    ):
        with pytest.raises(InputError, match=expected):
            model_of_tensors({**tensors, **change})
    with pytest.raises(InputError, match=r"tensors \[\]: expected embedding, query"):
        model_of_tensors({})


def test_the_readout_law_knows_of_the_norm() -> None:
    torch.manual_seed(3)
    dimensions = {}
    for name, settings in {"none": {}, "layer": {"norm": "post"}, "rms": {"norm": "post", "norm_kind": "rms"}}.items():
        model = MinimalTransformer(V, V - 1, **settings)
        law = readout_of(model)
        dimensions[name] = (law.dimension, law.affine_rank, law.largest_length == V - 1)
    assert dimensions == {"none": (4, 4, True), "layer": (3, 3, False), "rms": (4, 4, True)}
    torch.manual_seed(6)
    biased = MinimalTransformer(V, 3, norm="post", norm_kind="layer")
    without = readout_of(biased)
    biased.norm.get_parameter("bias").data.uniform_(-1, 1)
    weight, bias = (biased.norm.get_parameter(name).detach().double().numpy() for name in ("weight", "bias"))
    U = biased.unembedding.detach().double().numpy()
    assert readout_of(biased) == readout_law(U, bias @ U, "layer", weight) != without
