"""A file is whole or absent, whatever happens while it is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.runs.files import read_json, read_table, write, write_json, write_table, write_text


def one_line(error: pytest.ExceptionInfo[InputError], *says: Any) -> None:
    """An error of the user's is one line that names what it is about."""
    assert "\n" not in str(error.value)
    for what in says:
        assert str(what) in str(error.value)


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, MemoryError])
def test_a_fill_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    path = write_text(tmp_path / "file.txt", "old")

    def fill(temporary: Path) -> None:
        temporary.write_text("half of the ne")
        assert path.read_text() == "old"
        raise error

    with pytest.raises(error):
        write(path, fill)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file.txt"]


def test_a_full_disk_is_told_in_one_line_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = write_text(tmp_path / "file.txt", "old")

    def fill(temporary: Path) -> None:
        temporary.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError) as caught:
        write(path, fill)
    one_line(caught, path, "No space left on device")
    assert (path.read_text(), names(tmp_path)) == ("old", ["file.txt"])


def test_the_new_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"

    def fill(temporary: Path) -> None:
        temporary.write_text("whole")
        assert temporary.parent == path.parent  # a rename between file systems is a copy, and may stop half-way
        assert temporary.name.startswith(".")
        assert not path.exists()

    assert write(path, fill) == path
    assert (path.read_text(), names(path.parent)) == ("whole", ["file.txt"])


WRITERS: dict[str, Callable[[Path], Path]] = {
    "text": lambda path: write_text(path, "text"),
    "json": lambda path: write_json(path, {"a": 1}),
    "table": lambda path: write_table(path, pl.DataFrame({"a": [1]})),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, kind: str) -> None:
    """A file where a folder should be: the one refusal that even an administrator meets."""
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file" / "x", tmp_path / "file" / "deeper" / "x", tmp_path):
        with pytest.raises(InputError) as caught:
            WRITERS[kind](path)
        one_line(caught, "cannot write", path)
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "in the way"


words = st.text('ab "\\/\n\t\0\u00e9\u2603\U0001f600', max_size=5)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("cab"), json_values))
def test_json_comes_back_as_it_was_keys_in_order(tmp_path: Path, value: dict[str, Any]) -> None:
    again = read_json(write_json(tmp_path / "value.json", value))
    assert again == value
    assert list(again) == list(value)


@pytest.mark.parametrize("text", ["", "{", '{"a": 1', "not json", b"\xff\xfe\x00"], ids=repr)
def test_damaged_json_is_told_in_one_line(tmp_path: Path, text: str | bytes) -> None:
    path = tmp_path / "value.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        read_json(path)
    one_line(caught, path, "not valid JSON")


def test_missing_files_are_told(tmp_path: Path) -> None:
    for read, path in ((read_json, tmp_path / "a.json"), (read_table, tmp_path / "a.parquet")):
        with pytest.raises(InputError) as caught:
            read(path)
        one_line(caught, path, "no such file")


@pytest.mark.parametrize("kept", [0, 3, 0.5, -1])
def test_damaged_tables_are_told_in_one_line(tmp_path: Path, kept: float) -> None:
    path = write_table(tmp_path / "t.parquet", pl.DataFrame({"a": list(range(100)), "b": ["x"] * 100}))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole)) if isinstance(kept, float) else kept])
    with pytest.raises(InputError) as caught:
        read_table(path)
    one_line(caught, path, "not a readable Parquet table")


def test_tables_open_in_pandas_too(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = pl.DataFrame({"length": [1, None, 3], "value": [0.5, float("nan"), None], "variant": ["a", "b", "c"]})
    path = write_table(tmp_path / "t.parquet", table)
    assert read_table(path).equals(table)
    assert pandas.read_parquet(path)["variant"].tolist() == ["a", "b", "c"]
