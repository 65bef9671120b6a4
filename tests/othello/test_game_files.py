"""Files of games: whole or absent, continued shard by shard, read back or refused; repeats left out."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

from lengthwise.errors import InputError
from lengthwise.othello import distinct, games, generate, read_about, read_games, write_games
from lengthwise.othello.games import joined

KILLED = """
import os, signal, sys
from pathlib import Path
from lengthwise.othello import generate
stop = lambda done: done == 300 and os.kill(os.getpid(), signal.SIGKILL)
generate(Path(sys.argv[1]), seed=6, count=1000, board=6, shard=100, progress=stop)
"""


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def same(one, other) -> bool:
    return bool((one.moves == other.moves).all() and (one.lengths == other.lengths).all()) and one.board == other.board


@pytest.mark.parametrize("size", [6, 8])
def test_written_and_read(tmp_path, size):
    some = games(1, 0, 50, size)
    path = write_games(tmp_path / "new" / "some.safetensors", some, {"seed": "1"})
    assert same(read_games(path), some)
    assert read_about(path) == {"seed": "1", "board": str(size)}
    assert path.read_bytes() == write_games(tmp_path / "again", some, {"seed": "1"}).read_bytes()


@pytest.mark.parametrize("shard", [1, 99, 100, 1000, 1001])
@pytest.mark.parametrize("workers", [1, 3])
def test_shards_and_workers_change_nothing(tmp_path, shard, workers):
    count = 100 if shard == 1 else 1000
    made = generate(tmp_path / "some", seed=6, count=count, board=6, shard=shard, workers=workers)
    assert same(made.games, games(6, 0, count, 6))
    assert same(read_games(tmp_path / "some"), made.games)
    assert names(tmp_path) == ["some"]


def test_a_killed_generation_continues(tmp_path):
    path = tmp_path / "some"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True, timeout=100, check=False)
    assert killed.returncode == -9, killed.stderr
    shards = tmp_path / "some.shards"
    assert names(tmp_path) == ["some.shards"]
    assert names(shards) == [f"{start:012d}.safetensors" for start in (0, 100, 200)]
    cut = shards / "000000000200.safetensors"
    cut.write_bytes(cut.read_bytes()[:-7])  # and the machine lost the end of one
    kept = [(shards / name).stat().st_mtime_ns for name in names(shards)[:2]]
    seen = []

    def look(done):
        seen.append(done)
        if done == 900:
            assert [(shards / name).stat().st_mtime_ns for name in names(shards)[:2]] == kept

    made = generate(path, seed=6, count=1000, board=6, shard=100, progress=look)
    assert seen == list(range(100, 1001, 100))
    assert same(made.games, games(6, 0, 1000, 6))
    assert names(tmp_path) == ["some"]


def test_a_finished_file_is_kept(tmp_path):
    path = tmp_path / "some"
    generate(path, seed=6, count=100)
    before = path.stat().st_mtime_ns
    assert same(generate(path, seed=6, count=100).games, games(6, 0, 100))
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"seed": 7}, "its seed is 6, now 7"),
        ({"count": 101}, "its count is 100, now 101"),
        ({"board": 6}, "its board is 8, now 6"),
        ({"distinct": True}, "its distinct is false, now true"),
    ],
)
def test_other_games_are_never_overwritten(tmp_path, changed, expected):
    path = tmp_path / "some"
    generate(path, seed=6, count=100)
    before = path.read_bytes()
    with pytest.raises(InputError, match=expected):
        generate(path, **{"seed": 6, "count": 100, **changed})
    assert path.read_bytes() == before


def test_other_shards_are_never_overwritten(tmp_path):
    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path / "some", seed=6, count=100, shard=50, progress=stop)
    with pytest.raises(
        InputError, match=r"some.shards/000000000000.safetensors holds other games: its seed is 6, now 7"
    ):
        generate(tmp_path / "some", seed=7, count=100, shard=50)
    (tmp_path / "some.shards" / "mine.txt").write_text("a user's own file")
    generate(tmp_path / "some", seed=6, count=100, shard=50)
    assert names(tmp_path / "some.shards") == ["mine.txt"]


def test_nothing_half_written_stays(tmp_path, monkeypatch):
    def full(tensors, path, metadata):
        path.write_bytes(b"half")
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("lengthwise.othello.storage.save_file", full)
    with pytest.raises(InputError, match=r"cannot write .*: No space left on device"):
        generate(tmp_path / "some", seed=6, count=10)
    assert names(tmp_path) == []


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = write_games(tmp_path / "some", games(1, 0, 50))
    data = path.read_bytes()
    for broken in (data[:-1], data[:100], b"", data + b"more", b"{}", bytes(200)):
        path.write_bytes(broken)
        with pytest.raises(InputError, match="truncated or damaged, or no file of Othello games"):
            read_games(path)
    path.write_bytes(data[:-200] + bytes([data[-200] ^ 1]) + data[-199:])
    with pytest.raises(InputError, match="do not match their digest"):
        read_games(path)
    save_file({"moves": np.zeros((1, 60), dtype=np.uint8)}, tmp_path / "other")
    with pytest.raises(InputError, match="no file of Othello games"):
        read_games(tmp_path / "other")
    with pytest.raises(InputError, match="no file there"):
        read_games(tmp_path / "nowhere")


def test_padding_is_checked(tmp_path):
    some = games(1, 0, 5)
    some.lengths[2] = 20
    with pytest.raises(InputError, match="expected the file undamaged"):
        read_games(write_games(tmp_path / "some", some))


def short(count: int):
    """Random games cut to five moves, so that many repeat."""
    some = games(seed=8, start=0, count=count, board=6)
    some.moves[:, 5:], some.lengths[:] = 255, 5
    return some


@pytest.mark.parametrize("alike", [False, True])
def test_distinct_keeps_the_first_of_equals(monkeypatch, alike):
    some = short(300 if alike else 5000)
    if alike:  # every hash is the same: only the games themselves tell them apart
        monkeypatch.setitem(distinct.__globals__, "hashes", lambda moves: np.full(len(moves), 5, dtype=np.uint64))
    expected = list(dict.fromkeys(row.tobytes() for row in some.moves))
    assert len(expected) < 0.9 * len(some)
    assert [row.tobytes() for row in distinct(some).moves] == expected


def test_generate_distinct(tmp_path, monkeypatch):
    monkeypatch.setitem(
        generate.__globals__, "games", lambda seed, start, count, board, workers: short(start + count)[start:]
    )
    made = generate(tmp_path / "some", seed=8, count=5000, board=6, distinct=True, shard=1000)
    assert same(made.games, distinct(short(5000)))
    assert made.repeats == 5000 - len(made.games) > 100
    again = generate(tmp_path / "some", seed=8, count=5000, board=6, distinct=True)
    assert same(again.games, made.games)
    assert again.repeats == made.repeats


def test_no_games_and_no_repeats():
    some = games(0, 0, 300)
    assert len(distinct(some)) == 300
    assert len(distinct(some[:0])) == 0
    assert len(distinct(joined([some, some], some.board))) == 300


def test_a_wrong_shard(tmp_path):
    with pytest.raises(InputError, match="shard 0: expected 1 game or more"):
        generate(tmp_path / "some", seed=0, count=1, shard=0)
