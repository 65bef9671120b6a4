"""The run folder: everything that one run was told and found, in files that other tools can open."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from lengthwise.errors import InputError
from lengthwise.runs.files import read_json, read_table, write_json, write_table

CURVE_SCHEMA = {
    "experiment": pl.String,
    "setting": pl.String,
    "variant": pl.String,
    "replicate": pl.Int64,
    "weights": pl.String,
    "step": pl.Int64,
    "split": pl.String,
    "length": pl.Int64,
    "metric": pl.String,
    "value": pl.Float64,
    "n": pl.Int64,
}


class RunFolder:
    """One run on disk: `config.json`, `provenance.json`, `curve.parquet`, `history.parquet`, `claims.json`, weights.

    >>> import tempfile
    >>> folder = RunFolder.open(Path(tempfile.mkdtemp()) / "run", {"experiment": "x"}, resume=False)
    >>> folder.config
    {'experiment': 'x'}
    >>> RunFolder.open(folder.path, {"experiment": "y"}, resume=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: ...run holds another run: its experiment is 'x', now 'y'; choose another --out
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    def open(path: Path, config: Mapping[str, Any], resume: bool) -> RunFolder:
        """A folder for the run of `config`: new, or (with `resume`) one that holds the very same configuration.

        Errors: InputError if the place holds something else, or cannot be written.
        """
        config = json.loads(json.dumps(config))
        folder = RunFolder(path)
        if (path / "config.json").exists():
            if change := difference(folder.config, config):
                raise InputError(f"{path} holds another run: {change}; choose another --out")
            if not resume:
                raise InputError(f"{path} holds this run already; add --resume to continue it, or choose another --out")
            return folder
        if path.exists() and (not path.is_dir() or any(not _ours(p.name) for p in path.iterdir())):
            raise InputError(f"{path} is not a run folder; expected a new or empty place for --out")
        write_json(path / "config.json", config)
        return folder

    @staticmethod
    def existing(path: Path) -> RunFolder:
        """A folder that holds a run; InputError if it does not."""
        if not (path / "config.json").is_file():
            raise InputError(f"{path}: expected a run folder, but there is no config.json in it")
        return RunFolder(path)

    @property
    def config(self) -> dict[str, Any]:
        return read_json(self.path / "config.json")

    @property
    def digest(self) -> str:
        """A digest of the configuration, which every checkpoint carries."""
        return hashlib.sha256(json.dumps(self.config, sort_keys=True).encode()).hexdigest()

    @property
    def curve(self) -> pl.DataFrame:
        return read_table(self.path / "curve.parquet")

    @property
    def history(self) -> pl.DataFrame:
        return read_table(self.path / "history.parquet")

    @property
    def claims(self) -> list[dict[str, Any]]:
        return read_json(self.path / "claims.json")

    @property
    def failures(self) -> list[dict[str, Any]]:
        return read_json(self.path / "failures.json")

    @property
    def finished(self) -> bool:
        """Whether every part of the run has been written."""
        return (self.path / "finished.json").is_file()

    def write_json(self, name: str, value: Any) -> Path:
        return write_json(self.path / name, value)

    def write_table(self, name: str, table: pl.DataFrame) -> Path:
        return write_table(self.path / name, table)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep a second process from writing here; the lock falls with the process that holds it."""
        import fcntl

        try:
            file = (self.path / ".lock").open("w")
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror}") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(f"{self.path}: another process is writing this run; wait for it, or stop it") from None
            yield


def difference(old: Any, new: Any, at: str = "") -> str | None:
    """Where two configurations first differ, in words; None where they are equal.

    >>> difference({"plan": {"batch": 64}}, {"plan": {"batch": 32}})
    'its plan.batch is 64, now 32'
    """
    if old == new:
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(k for k in new if k not in old)]:
            place = f"{at}.{key}" if at else key
            if key not in old or key not in new:
                was, now = (repr(side[key]) if key in side else "not there" for side in (old, new))
                return f"its {place} is {was}, now {now}"
            if found := difference(old[key], new[key], place):
                return found
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return next(d for i, (a, b) in enumerate(zip(old, new, strict=True)) if (d := difference(a, b, f"{at}.{i}")))
    return f"its {at} is {old!r}, now {new!r}"


def _ours(name: str) -> bool:
    """Whether a file is one that a killed process of ours may have left in a place that holds no run yet."""
    return name == ".lock" or (name.startswith(".") and name.endswith(".partial"))


def slug(name: str) -> str:
    """A name as part of a file's name.

    >>> slug("attention dropout 0.1")
    'attention-dropout-0.1'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.") or "x"
