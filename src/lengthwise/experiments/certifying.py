"""Certificates of trained models: which modules are functions of tables, at which lengths, and why others are not."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from lengthwise.certificates import Certificate, Readout, Tables, Weights, WorstCase, readout_law, sign_tables
from lengthwise.certificates.certificate import certificate_of_cases
from lengthwise.certificates.worst_case import Progress, worst_case, worst_cases
from lengthwise.errors import InputError, unknown
from lengthwise.models import MinimalTransformer, TableForm
from lengthwise.models.normalisation import NormKind
from lengthwise.tasks import SetComplement

if TYPE_CHECKING:
    from lengthwise.experiments.weights import Run

SHAPES = {"embedding": "vd", "query": "dk", "key": "dk", "value": "dw", "output": "wd", "unembedding": "dv"}
"""The parameters of a minimal transformer in the order of `Weights`; equal letters are equal sizes."""


@dataclass(frozen=True)
class CertifiedModel:
    """One model of a run with its certificate, or with the reason why it has none.

    >>> CertifiedModel("post-norm", 0, "raw", None, "a bias").to_json()["refused"]
    'a bias'
    """

    variant: str
    replicate: int
    weights: str
    certificate: Certificate | None
    refused: str | None = None

    def to_json(self) -> dict[str, object]:
        """The row as plain data: the lengths reached, null where refused."""
        found = self.certificate.to_json() if self.certificate else {}
        reached = {key: found.get(key) for key in ("certified_order", "certified_tv")}
        row = {"variant": self.variant, "replicate": self.replicate, "weights": self.weights, **reached}
        return row if self.refused is None else {**row, "refused": self.refused}


def certify_model(model: nn.Module, progress: Progress | None = None) -> Certificate:
    """Certify a plain minimal transformer at every length 1..v-1, in float64 arithmetic from its weights.

    Its dropouts are inactive, as when measuring. Every scaling is certified: at one length it only multiplies tables
    (S by log s, D by s, or B and D by s). Post-norm without bias: order only, sizes are None. The inputs of the
    worst cases are put to the plain module, which must agree to float error: ArithmeticError, a fault of ours, if not.
    Raises InputError for other modules, post-norm with a bias, and weights that are not finite (`docs/theory.md`,
    "Exact certificate").

    >>> from lengthwise.certificates import minimal
    >>> tensors = {name: torch.from_numpy(x) for name, x in zip(SHAPES, vars(minimal(4, 12.0)).values())}
    >>> [row.worst_displacement for row in certify_model(model_of_tensors(tensors)).lengths]
    [13.0, 6.0, 4.0]
    """
    plain = _known(model)
    if plain.norm_place == "post" and (bias := getattr(plain.norm, "bias", None)) is not None and bias.any():
        raise InputError("post-norm with a bias: the norm does not divide its share, so tables do not give the order")
    vocabulary = len(plain.embedding)
    worst: list[WorstCase] = []
    if plain.scaling == "none":
        worst = worst_cases(tables_at(plain, 1), progress)
    else:
        for length in range(1, vocabulary):
            worst.append(worst_case(tables_at(plain, length), length))
            if progress is not None:
                progress(length, vocabulary - 1)
    for case in worst:
        _check(plain, case)
    return certificate_of_cases(vocabulary, worst, sized=plain.norm_place != "post")


def tables_at(model: MinimalTransformer, length: int) -> Tables:
    """The tables that a model is at one length, its scaling included; for post-norm those with its signs.

    >>> model = MinimalTransformer(4, scaling="sum")
    >>> bool(np.all(tables_at(model, 3).D == 3 * tables_at(model, 1).D))
    True
    """
    weights = {name: p.detach().double().cpu() for name, p in model.named_parameters()}
    if model.norm_place == "post":
        plain = Weights(*(weights[name].numpy() for name in SHAPES))
        tables = sign_tables(plain, weights["norm.weight"].numpy(), model.norm_kind)
    else:
        stacked = {name: value[None, None] for name, value in weights.items()}
        tables = Tables(*(table[0, 0].numpy() for table in TableForm(model).tables(stacked)))
    factors = {"log-length scores": (log(length), 1, 1), "sum": (1, 1, length), "length logits": (1, length, length)}
    return Tables(*(f * t for f, t in zip(factors.get(model.scaling, (1, 1, 1)), vars(tables).values(), strict=True)))


def certify_run(
    run: Run,
    variant: str | None = None,
    replicate: int | None = None,
    weights: str | None = None,
    progress: Progress | None = None,
) -> list[CertifiedModel]:
    """Certify the models of a run, all of them or those asked for; one that cannot be is a row with the reason.

    `progress` hears (lengths done, lengths in all). Raises InputError for a task other than the set complement, names
    that the run does not have, and weights that are missing or damaged.

    >>> import tempfile, lengthwise as lw
    >>> plan, task = lw.Plan(phases=(lw.Phase(steps=2, rates={"all": 0.1}),)), SetComplement(vocabulary=4, s_train=2)
    >>> tiny = lw.Experiment(name="tiny", question="?", task=task, model=MinimalTransformer, plan=plan, replicates=2)
    >>> len(certify_run(lw.run(tiny, tempfile.mkdtemp()), weights="raw"))
    2
    """
    if (task := run.config["task"]["name"]) != SetComplement.name:
        raise InputError(f"task {task!r}: expected 'set-complement', where every absent token is legal and no other")
    rows: list[CertifiedModel] = []
    asked = models_of(run, variant, replicate, weights)
    for index, name in enumerate(asked):
        model = run.model(*name)
        tell = progress and (lambda done, total, k=index: progress(k * total + done, len(asked) * total))
        try:
            rows.append(CertifiedModel(*name, certify_model(model, tell)))
        except InputError as refusal:
            rows.append(CertifiedModel(*name, None, str(refusal)))
    return rows


def models_of(
    run: Run, variant: str | None = None, replicate: int | None = None, weights: str | None = None
) -> list[tuple[str, int, str]]:
    """Variant, replicate and weights of every model of a run that fits what is asked; None asks for all.

    Raises InputError with the nearest names for one that the run does not have.
    """
    variants, replicates = run.config["variants"], range(run.config["replicates"])
    if variant is not None and variant not in variants:
        raise unknown("variant", variant, variants)
    if replicate is not None and replicate not in replicates:
        raise InputError(f"replicate {replicate}: expected 0..{len(replicates) - 1}")
    kept = [variant] if variant is not None else list(variants)
    names = {v: ["raw", *(average["name"] for average in variants[v]["averages"])] for v in kept}
    if weights is not None and weights not in (known := {name for v in kept for name in names[v]}):
        raise unknown("weights", weights, known)
    seeds = replicates if replicate is None else [replicate]
    return [(v, r, w) for v in kept for r in seeds for w in names[v] if weights in (None, w)]


def model_of_tensors(tensors: dict[str, torch.Tensor]) -> MinimalTransformer:
    """A minimal transformer without norm from its six weight matrices, in float64.

    Raises InputError for a matrix that is missing, does not fit the others or holds no floats, and for others beside
    them: the weights of a norm do not say where it stands, or of which kind it is.

    >>> model_of_tensors(dict(MinimalTransformer(5, width=4).named_parameters())).norm_place
    'none'
    """
    found = sorted(name for name in tensors if not name.endswith("_dropout.rate"))
    if found != sorted(SHAPES):
        raise InputError(f"tensors {found[:8]}: expected {', '.join(SHAPES)} (a norm's weights do not say where it is)")
    sizes: dict[str, int] = {}
    for name, letters in SHAPES.items():
        shape = tuple(tensors[name].shape)
        wanted = tuple(sizes.get(letter, letter) for letter in letters)
        if len(shape) != 2 or any(sizes.setdefault(x, n) != n for x, n in zip(letters, shape)) or 0 in shape:
            raise InputError(f"{name} has shape {shape}: expected ({wanted[0]}, {wanted[1]})")
        if not tensors[name].is_floating_point():
            raise InputError(f"{name} holds {tensors[name].dtype}: expected floating-point numbers")
    with torch.random.fork_rng(devices=[]):
        model = MinimalTransformer(sizes["v"], sizes["d"], sizes["k"], sizes["w"]).double()
    model.load_state_dict({name: tensors[name].double() for name in SHAPES})
    return model.eval()


def readout_of(model: nn.Module) -> Readout:
    """The readout law of a minimal transformer: from U, and from the norm before it if there is one.

    Raises InputError for other modules: what stands between their hidden states and logits is not known.

    >>> readout_of(MinimalTransformer(6, width=3)).dimension
    3
    """
    plain = _known(model)
    w = {name: p.detach().numpy() for name, p in plain.named_parameters()}
    readout, bias = w["unembedding"], w.get("norm.bias")
    if plain.norm_place != "post":
        return readout_law(readout)
    bias = bias @ readout if bias is not None and bias.any() else None
    return readout_law(readout, bias, "layer" if plain.norm_kind == "layer" else None, w["norm.weight"])


def _known(model: nn.Module) -> MinimalTransformer:
    """A float64 copy in evaluation mode of a minimal transformer with finite weights."""
    if type(model) is not MinimalTransformer:
        expected = "expected a MinimalTransformer: only one layer with one head and no positions has tables"
        raise InputError(f"{type(model).__name__}: {expected}")
    for name, parameter in model.named_parameters():
        if bad := (~parameter.isfinite()).nonzero().tolist():
            raise InputError(f"{name}{bad[0]} is {parameter[tuple(bad[0])].item():g}: expected a finite number")
    return deepcopy(model).double().cpu().eval()


def _check(model: MinimalTransformer, worst: WorstCase) -> None:
    """Put the worst inputs to the plain module."""
    legal, illegal = _logits(model, worst.displacement_input)
    spread_legal, _ = _logits(model, worst.spread_input)
    for what, tokens, exact, said in (
        ("displacement", worst.displacement_input, float(worst.displacement), legal.min() - illegal.max()),
        ("legal spread", worst.spread_input, float(worst.spread), np.ptp(spread_legal)),
    ):
        if not abs(exact - said) <= (allowed := _float_error(model, worst.length)):
            fault = f"certified {what} {exact!r} of input {list(tokens)}, but the model itself has {float(said)!r}"
            raise ArithmeticError(f"{fault} (float error at most {allowed:.1g}): a fault of lengthwise")


def _logits(model: MinimalTransformer, tokens: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Legal and illegal logits of one input by the plain module, times what a post-norm divides by."""
    with torch.no_grad():
        x = model.embedding[torch.tensor([tokens])]
        logits = model(torch.tensor([tokens]))[0, -1]
        if model.norm_place == "post":
            logits = logits * _divisor((x + model.attend(x))[0, -1], model.norm_kind)
    member = np.isin(np.arange(len(logits)), tokens)
    return logits.numpy()[~member], logits.numpy()[member]


def _float_error(model: MinimalTransformer, length: int) -> float:
    """What float64 may move in a logit: the sums' number of terms times the size of products without cancellation."""
    w = {name: p.detach().abs().numpy() for name, p in model.named_parameters()}
    read, readout = w["embedding"], w["unembedding"]
    if model.norm_place == "pre":
        large = (read + read.mean(-1, keepdims=True)) / _divisor(model.embedding.detach(), model.norm_kind).numpy()
        read = large * w["norm.weight"] + w.get("norm.bias", 0.0)
    if model.norm_place == "post":
        readout = 2 * w["norm.weight"][:, None] * readout
    scores = ((read @ w["query"]) @ (read @ w["key"]).T).max() / sqrt(w["query"].shape[1]) * (1 + np.log(length))
    size = (w["embedding"] @ readout).max() + (read @ w["value"] @ w["output"] @ readout).max() * (1 + scores)
    terms = sum(w["query"].shape) + sum(w["value"].shape) + len(read)
    return float(8 * terms * 2.0**-53 * size * (1 if model.scaling == "none" else length))


def _divisor(x: torch.Tensor, kind: NormKind) -> torch.Tensor:
    """What a norm divides by: `(..., d)` to `(..., 1)`."""
    centred = x - x.mean(-1, keepdim=True) if kind == "layer" else x
    return centred.square().mean(-1, keepdim=True).add(1e-5).sqrt()
