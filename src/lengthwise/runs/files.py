"""Files that are whole or absent: written to a temporary name, then renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from lengthwise.errors import InputError


def write(path: Path, fill: Callable[[Path], Any]) -> Path:
    """Let `fill` write a temporary file beside `path`, then rename it over `path`; nothing half-written stays.

    Errors: InputError where the place cannot be written.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a" / "b.txt"
    >>> write(path, lambda p: p.write_text("whole")).read_text()
    'whole'
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fill(temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True) if temporary.parent.is_dir() else None
    return path


def write_text(path: Path, text: str) -> Path:
    """Write text whole or not at all."""
    return write(path, lambda p: p.write_text(text, encoding="utf-8"))


def write_json(path: Path, value: Any) -> Path:
    """Write JSON whole or not at all, keys in the order given."""
    return write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Read JSON; InputError if the file is missing or is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; expected a run folder of lengthwise there") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid JSON ({error})") from None


def write_table(path: Path, table: pl.DataFrame) -> Path:
    """Write a Parquet table whole or not at all."""
    return write(path, table.write_parquet)


def read_table(path: Path) -> pl.DataFrame:
    """Read a Parquet table; InputError if the file is missing or damaged."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected a table of a finished run there")
    try:
        return pl.read_parquet(path)
    except Exception as error:  # polars raises many types for a damaged file
        raise InputError(f"{path}: not a readable Parquet table ({str(error).splitlines()[0]})") from None
