"""What a search folder holds, checked and arranged for a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from lengthwise.errors import InputError
from lengthwise.reports.checks import ClaimRecord, checked_claims, checked_provenance, checked_table
from lengthwise.runs import RunFolder
from lengthwise.runs.files import read_json, read_table
from lengthwise.statistics.searched import KEYS, Trials

EFFECTS = (
    "family", "among", "weights", "setting", "contrast", "kind", "length", "scale", "n", "failed", "blocks", "effect",
    "low", "high", "p", "p_holm",
)  # fmt: skip
SMOOTH = ("among", "weights", "setting", "length", "x", "y", "low", "high")
CURVE = ("trial", "weights", "length", "metric", "value")
NEEDED = ("search", "question", "of", "seed", "trials", "block", "said", "log", "numeric", "metric", "marks", "trained")
ALL, FIFTH = "all", "best fifth"


@dataclass(frozen=True)
class SearchRecord:
    """A finished search as its folder tells it.

    `SearchRecord.read(folder)` raises InputError for a folder that holds no search, one that has not finished, and
    files that are damaged or missing.
    """

    name: str
    config: dict[str, Any]
    provenance: dict[str, Any]
    claims: tuple[ClaimRecord, ...]
    trials: Trials
    effects: pl.DataFrame
    smooth: pl.DataFrame
    best: list[dict[str, Any]]

    @classmethod
    def read(cls, path: Path) -> SearchRecord:
        """The record of a search folder."""
        folder = RunFolder.existing(path)
        config = folder.config
        if not is_search(path):
            raise InputError(f"{path}: expected the folder of a search, this is a run's")
        if missing := [name for name in NEEDED if name not in config]:
            raise InputError(f"{path / 'config.json'}: {missing[0]}: field required")
        if not folder.finished:
            raise InputError(f"{path}: the search has not finished; continue it with --resume --out {path}")

        def table(name: str, columns: tuple[str, ...]) -> pl.DataFrame:
            return checked_table(read_table(path / name), columns, path / name)

        provenance = path / "provenance.json"
        return cls(
            name=path.resolve().name,
            config=config,
            provenance=checked_provenance(read_json(provenance), provenance),
            claims=checked_claims(folder.claims, path / "claims.json"),
            trials=Trials(table("trials.parquet", KEYS), table("curve.parquet", CURVE)),
            effects=table("effects.parquet", EFFECTS),
            smooth=table("smooth.parquet", SMOOTH),
            best=read_json(path / "best.json"),
        )

    @property
    def metric(self) -> str:
        return self.config["metric"]

    @property
    def marks(self) -> list[int]:
        """The shortest length, the longest trained one, and the longest."""
        return self.config["marks"]

    @property
    def weights(self) -> list[str]:
        """Raw first, then the averages."""
        return sorted(set(self.trials.curve["weights"]), key=lambda w: (w != "raw", w))

    def short(self, setting: str) -> str:
        """A setting's name without the path to it, where no other setting ends alike.

        A rate goes by `rate` and its group.
        """
        parts = setting.split(".")
        if "rates" in parts:
            group = parts[-1]
            return "rate" if group == "all" else f"rate of {group}"
        last = parts[-1].replace("_", " ")
        alike = [s for s in self.config["said"] if s.split(".")[-1] == parts[-1]]
        return last if len(alike) == 1 else setting


def is_search(path: Path) -> bool:
    """Whether a folder holds a search, finished or not."""
    file = path / "config.json"
    config = read_json(file) if file.is_file() else None
    return isinstance(config, dict) and config.get("kind") == "search"
