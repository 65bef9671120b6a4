"""The folder of a search: what it was told, a file for each block, and the tables, effects and claims made of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl

from lengthwise.experiments.configuration import configuration
from lengthwise.experiments.populations import check_experiment
from lengthwise.runs import RunFolder, provenance
from lengthwise.search.analysis import Analysis, marks, metric_of, trained_lengths
from lengthwise.search.best import best_trials
from lengthwise.search.blocks import THREADS, Block, settings_table
from lengthwise.search.distributions import Choice, IntegerUniform, LogUniform, Switch, Uniform, When, label
from lengthwise.search.execution import gathered
from lengthwise.search.search import Search
from lengthwise.statistics.searched import Trials

KIND = "search"


def told(search: Search, scale: str | None, device: str, source: Path | None) -> dict[str, Any]:
    """Everything that the result depends on, as JSON, and what a page needs to name it."""
    base = configuration(search.experiment, scale, device, THREADS, False, source)
    return {
        "kind": KIND,
        "search": search.name,
        "question": search.question,
        "of": search.of,
        "scale": scale,
        "seed": search.seed,
        "trials": search.trials,
        "block": search.block,
        "sampler": search.sampler,
        "space": {name: d.model_dump(mode="json") for name, d in search.space.fields.items()},
        "said": {name: str(d) for name, d in search.space.fields.items()},
        "log": [name for name, d in search.space.fields.items() if isinstance(_then(d), LogUniform)],
        "numeric": [name for name, d in search.space.fields.items() if not isinstance(_then(d), Choice | Switch)],
        "metric": metric_of(search),
        "marks": marks(search),
        "trained": trained_lengths(search),
        "claims": [{"id": c.id, "statement": c.statement, "says": c.rule.says} for c in search.claims],
        "experiment": base,
    }


def open_search(
    search: Search, blocks: list[Block], out: Path, scale: str | None, source: Path | None = None, resume: bool = False
) -> RunFolder:
    """The folder of a search, new or (with `resume`) one that holds the very same search.

    Everything that can be wrong with a block is found before anything is written: the first of every structure is
    built and asked.

    Errors: InputError for settings that a module refuses, and a place that holds something else.
    """
    for block in {b.structure: b for b in reversed(blocks)}.values():
        check_experiment(block.experiment)
    folder = RunFolder.open(out, told(search, scale, blocks[0].device, source), resume)
    if not (folder.path / "provenance.json").exists():
        folder.write_json("provenance.json", provenance(sys.argv, blocks[0].device, THREADS, search.seed))
    if not (folder.path / "claims.json").exists():
        folder.write_json("claims.json", _claims(search, None))
    return folder


def finish(search: Search, blocks: list[Block], folder: RunFolder) -> Trials:
    """Put the blocks' results together: the trials, their curve, effects, smooth curves, the best, and the claims."""
    curve = gathered(folder.path, blocks)
    trials = Trials(trials_table(search, blocks, curve), curve.drop("failed_at"))
    analysis = Analysis(search, trials)
    folder.write_table("trials.parquet", trials.settings)
    folder.write_table("curve.parquet", trials.curve)
    folder.write_table("effects.parquet", analysis.table())
    folder.write_table("smooth.parquet", analysis.curves())
    folder.write_json("best.json", best_trials(search, analysis))
    folder.write_json("claims.json", _claims(search, trials))
    folder.write_json("finished.json", {"trials": len(trials.settings), "failed": int(trials.failed.sum())})
    return trials


def trials_table(search: Search, blocks: list[Block], curve: pl.DataFrame) -> pl.DataFrame:
    """A row for each trial, exactly once and in order: its block, its structure, when it failed, and its settings."""
    rows = settings_table(search, blocks)
    keys = ("trial", "block", "structure")
    columns = {name: pl.Series(name, [row[name] for row in rows], pl.Int64) for name in keys}
    fields = [_column(search, name, [row.get(name) for row in rows]) for name in search.space.fields]
    failed = curve.group_by("trial").agg(pl.col("failed_at").first())
    table = pl.DataFrame(columns).join(failed, on="trial", how="left", maintain_order="left")
    return table.with_columns(fields)


def _column(search: Search, name: str, values: list[Any]) -> pl.Series:
    distribution = _then(search.space.fields[name])
    if isinstance(distribution, Uniform | LogUniform):
        return pl.Series(name, values, pl.Float64)
    if isinstance(distribution, IntegerUniform):
        return pl.Series(name, values, pl.Int64)
    return pl.Series(name, [None if v is None else label(v) for v in values], pl.String)


def _then(distribution: Any) -> Any:
    return distribution.then if isinstance(distribution, When) else distribution


def _claims(search: Search, trials: Trials | None) -> list[dict[str, Any]]:
    """Every claim with its rule and, once there are trials, its verdict."""
    pending = {"decision": "not run", "parts": []}
    return [
        {
            "id": claim.id,
            "statement": claim.statement,
            "rule": claim.rule.says,
            **(pending if trials is None else claim.rule.decide(trials).model_dump()),
        }
        for claim in search.claims
    ]
