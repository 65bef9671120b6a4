"""Random games into a file, shard by shard: an interrupted generation continues where it stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lengthwise.errors import InputError
from lengthwise.othello.board import Board
from lengthwise.othello.distinct import distinct as without_repeats
from lengthwise.othello.games import Games, games, joined
from lengthwise.othello.storage import read_about, read_games, write_games

SHARD = 1_000_000


@dataclass(frozen=True, eq=False)
class Generated:
    """The games of a file, and how many were left out as repeats of others."""

    games: Games
    repeats: int


def generate(
    path: Path,
    seed: int,
    count: int,
    board: int = 8,
    workers: int = 1,
    distinct: bool = False,
    shard: int = SHARD,
    progress: Callable[[int], object] = lambda done: None,
) -> Generated:
    """Write the random games numbered 0 to `count - 1` to one file; `distinct` leaves out all but the first of equals.

    More than `shard` games are first written in shards, to the folder `PATH.shards`. Called again after an
    interruption, it keeps every shard that is whole, and a finished file as it is. It needs about 125 bytes of memory
    for an 8 x 8 game, 195 with `distinct`. `progress` is told the games done.

    Errors: InputError where the file or a shard holds games of other settings, or cannot be written.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "some.safetensors"
    >>> made = generate(path, seed=3, count=1000, board=6, shard=300)
    >>> len(made.games), made.repeats, [p.name for p in path.parent.iterdir()]
    (1000, 0, ['some.safetensors'])
    """
    if shard < 1:
        raise InputError(f"shard {shard}: expected 1 game or more")
    about = _about(seed, 0, count, board) | {"distinct": str(distinct).lower()}
    if path.exists():
        _same(path, about)
        kept = read_games(path)
        return Generated(kept, count - len(kept))
    shards = path.with_name(f"{path.name}.shards")
    parts = []
    for start in range(0, count, shard):
        parts.append(_part(shards, seed, start, min(shard, count - start), board, workers, alone=count <= shard))
        progress(start + len(parts[-1]))
    whole = joined(parts, Board(board))
    made = without_repeats(whole) if distinct else whole
    write_games(path, made, about)
    _remove(shards, count, shard)
    return Generated(made, count - len(made))


def _part(shards: Path, seed: int, start: int, count: int, board: int, workers: int, alone: bool) -> Games:
    if alone:
        return games(seed, start, count, board, workers)
    path, about = _shard(shards, start), _about(seed, start, count, board)
    if path.exists() and (kept := _whole(path, about)) is not None:
        return kept
    made = games(seed, start, count, board, workers)
    write_games(path, made, about)
    return made


def _whole(path: Path, about: dict[str, str]) -> Games | None:
    """The shard's games; None where it is damaged. A whole shard of other games is not ours to replace."""
    try:
        kept = read_games(path)
    except InputError:
        return None
    _same(path, about)
    return kept


def _same(path: Path, about: dict[str, str]) -> None:
    found = read_about(path)
    for key in about:
        if found.get(key) != about[key]:
            there = f"its {key} is {found.get(key, 'not told')}, now {about[key]}"
            raise InputError(f"{path} holds other games: {there}; remove it or choose another place")


def _about(seed: int, start: int, count: int, board: int) -> dict[str, str]:
    return {"seed": str(seed), "start": str(start), "count": str(count), "board": str(board)}


def _shard(shards: Path, start: int) -> Path:
    return shards / f"{start:012d}.safetensors"


def _remove(shards: Path, count: int, shard: int) -> None:
    """Remove the shards that are in the file now, and their folder unless something else is in it."""
    if shards.is_dir():
        for start in range(0, count, shard):
            _shard(shards, start).unlink(missing_ok=True)
        if not any(shards.iterdir()):
            shards.rmdir()
