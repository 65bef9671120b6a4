"""Certified rows of a curve: what is proved of a trained model over ALL inputs of each length."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import polars as pl
from torch import Tensor, nn

from lengthwise.certificates import Certificate, balance
from lengthwise.errors import InputError
from lengthwise.experiments.certifying import certify_model, readout_of, tables_at
from lengthwise.experiments.exact_recognition import exact_rows, serves
from lengthwise.experiments.experiment import Experiment
from lengthwise.models import MinimalTransformer
from lengthwise.runs import CURVE_SCHEMA
from lengthwise.training import Trainer

Row = tuple[int | None, str, float | None, int]
"""Length (None for a property of the whole model), metric, value, inputs."""


def certified_table(experiment: Experiment, trainer: Trainer, weights: list[tuple[list[str], Tensor]]) -> pl.DataFrame:
    """Rows of split `all` for the first `measuring.certified` replicates: exact worst cases, and what follows.

    Minimal transformers have certificates, shallow ones exact accuracies. A model that cannot be certified (post-norm
    with a bias, another architecture) or that failed has none.
    """
    population, members = trainer.population, trainer.population.members
    models = {}
    for index in range(min(experiment.measuring.certified, len(population.replicates)) * len(members)):
        if trainer.failed_at[index] >= 0:
            continue
        for names, matrix in weights:
            model = population.model(index, matrix)
            same = (members[index % len(members)].name, population.replicates[index // len(members)], names[index])
            models[same] = model
    if models and serves(population.template, experiment.task):
        found = exact_rows(list(models.values()), experiment.task, experiment.lengths)
    else:
        found = [certified_rows(model) for model in models.values()]
    rows = [(*same, *row) for same, own in zip(models, found, strict=True) for row in own]
    named = ["variant", "replicate", "weights", "length", "metric", "value", "n"]
    kinds = {name: CURVE_SCHEMA[name] for name in named}
    same = {"experiment": experiment.name, "setting": "", "step": trainer.steps_done, "split": "all"}
    table = pl.DataFrame(rows, schema=kinds, orient="row").with_columns(pl.lit(v).alias(k) for k, v in same.items())
    return table.select(pl.col(name).cast(kind) for name, kind in CURVE_SCHEMA.items())


def certified_rows(model: nn.Module) -> Iterator[Row]:
    """What can be proved of one model: its certificate, and the lengths that its readout alone leaves possible."""
    try:
        certificate = certify_model(model)
    except InputError:  # the certify command says why; here the model simply has no certified rows
        return
    assert isinstance(model, MinimalTransformer)
    yield from _of_certificate(certificate)
    if model.norm_place != "post" and model.scaling == "none" and certificate.vocabulary > 2:
        form = balance(tables_at(model, 1))
        yield None, "attention_spread", float(form.attention_spread.mean()), 1
        yield from ((s, "predicted_displacement", form.predicted(s).worst, 1) for s in range(1, certificate.vocabulary))
    yield None, "readout_order", float(readout_of(model).largest_length), 1


def _of_certificate(certificate: Certificate) -> Iterator[Row]:
    v = certificate.vocabulary
    inputs = sum(comb(v, s) * s for s in range(1, v))
    yield None, "certified_order", float(certificate.certified_order), inputs
    for tau, reach in certificate.certified_tv.items():
        if reach is not None:
            yield None, f"certified_tv@{tau:g}", float(reach), inputs
    for row in certificate.lengths:
        n = comb(v, row.length) * row.length  # the set of tokens, and which of them is the last
        for metric in ("worst_displacement", "legal_spread", "tv_bound"):
            if (value := getattr(row, metric)) is not None:
                yield row.length, metric, value, n
