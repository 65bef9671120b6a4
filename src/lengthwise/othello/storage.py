"""Games on disk: one safetensors file with `moves` (n, plies) and `lengths` (n), both uint8. No pickle.

Its metadata has one entry, JSON with sorted keys, so that equal games make equal files: what the games are (`about`),
the board's size and a digest of the content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from lengthwise.errors import InputError
from lengthwise.othello.board import NONE, Board
from lengthwise.othello.games import Games
from lengthwise.runs.files import write

ENTRY, FORMAT = "games", "lengthwise othello games 1"


def write_games(path: Path, games: Games, about: Mapping[str, str] | None = None) -> Path:
    """Write games whole or not at all.

    >>> import tempfile
    >>> from lengthwise.othello.games import games
    >>> path = write_games(Path(tempfile.mkdtemp()) / "some.safetensors", games(seed=0, start=0, count=2))
    >>> read_games(path).names(1)[:3]
    ['e6', 'd6', 'c6']
    """
    tensors = {"moves": np.ascontiguousarray(games.moves), "lengths": np.ascontiguousarray(games.lengths)}
    own = {"format": FORMAT, "board": str(games.board.size), "content": _digest(games)}
    metadata = {ENTRY: json.dumps({**(about or {}), **own}, sort_keys=True)}
    return write(path, lambda p: save_file(tensors, p, metadata=metadata))


def read_games(path: Path) -> Games:
    """Read games back; InputError for a file that is missing, truncated, damaged, or of another kind."""
    metadata, tensors = _read(path, tensors=True)
    games = Games(tensors["moves"], tensors["lengths"], Board(int(metadata["board"])))
    if metadata.get("content") != _digest(games) or not _sound(games):
        raise InputError(f"{path}: the games do not match their digest; expected the file undamaged")
    return games


def read_about(path: Path) -> dict[str, str]:
    """What the file says its games are, without reading them; InputError as `read_games`."""
    return {k: v for k, v in _read(path, tensors=False)[0].items() if k not in ("format", "content")}


def _read(path: Path, tensors: bool) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    if not path.is_file():
        raise InputError(f"{path}: no file there; expected one of Othello games")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = json.loads((file.metadata() or {}).get(ENTRY, "{}"))
            if metadata.get("format") != FORMAT:
                raise InputError(f"{path}: no file of Othello games; expected one that this program wrote")
            return metadata, {name: file.get_tensor(name) for name in ("moves", "lengths") if tensors}
    except (SafetensorError, OSError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: truncated or damaged, or no file of Othello games ({error})") from None


def _sound(games: Games) -> bool:
    """Whether the arrays have the shapes and the padding that games have."""
    moves, lengths = games.moves, games.lengths
    return (
        moves.dtype == lengths.dtype == np.uint8
        and moves.shape == (len(lengths), games.board.plies)
        and bool(((moves == NONE) == (np.arange(games.board.plies) >= lengths[:, None])).all())
    )


def _digest(games: Games) -> str:
    total = hashlib.blake2b(digest_size=16)
    for values in (games.moves, games.lengths):
        total.update(f"{values.dtype} {values.shape}".encode())
        total.update(np.ascontiguousarray(values).data)
    return total.hexdigest()
