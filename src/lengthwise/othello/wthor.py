"""Tournament games in WTHOR files (.wtb) of the French Othello Federation.

A 16-byte header (the number of games: little-endian, 32 bits, at byte 4), then 68 bytes a game: tournament, black and
white (16 bits each), black's discs and the best that was possible (8 bits each), then 60 moves as 10 row + column, both
from 1; 0 is no move.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lengthwise.errors import InputError
from lengthwise.othello.board import NONE, Board
from lengthwise.othello.games import Games
from lengthwise.othello.replaying import replay
from lengthwise.runs.files import write

HEADER, RECORD, MOVES = 16, 68, 60
UNKNOWN = 254  # stands for a code of no square, so that replaying finds it


def read_wthor(path: Path) -> Games:
    """The games of a file as they are written there; `replay` tells whether they are legal.

    Errors: InputError for a file that is missing, empty, truncated, too long, or no WTHOR file of 8 x 8 games.
    Source: the format above, by the French Othello Federation.

    >>> import tempfile
    >>> from lengthwise.othello.games import games
    >>> path = write_wthor(Path(tempfile.mkdtemp()) / "WTH_2000.wtb", games(seed=0, start=0, count=3), year=2000)
    >>> read_wthor(path).names(2)[:3]
    ['d3', 'c3', 'b3']
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot read ({error.strerror or error}); expected a WTHOR file (.wtb)") from None
    count = _announced(path, data)
    records = np.frombuffer(data, dtype=np.uint8, offset=HEADER).reshape(count, RECORD)
    codes = records[:, RECORD - MOVES :]
    there = codes != 0
    lengths = np.where(there.any(1), MOVES - there[:, ::-1].argmax(1), 0).astype(np.uint8)
    moves = np.where(there, _squares()[codes], NONE).astype(np.uint8)
    return Games(moves, lengths, Board(8))


def write_wthor(path: Path, games: Games, year: int) -> Path:
    """Write 8 x 8 games as a WTHOR file without names; InputError for another board or illegal games."""
    found = replay(games)
    if games.board.size != 8 or (found.faults >= 0).any():
        raise InputError(f"{path}: a WTHOR file is written of legal games on board 8 only")
    header = np.zeros(HEADER, dtype=np.uint8)
    header[:4] = year // 100, year % 100, 1, 1
    header[4:8] = np.array([len(games)], dtype="<u4").view(np.uint8)
    header[10:12] = np.array([year], dtype="<u2").view(np.uint8)
    records = np.zeros((len(games), RECORD), dtype=np.uint8)
    records[:, 6] = records[:, 7] = found.discs[:, 0]
    rows, columns = np.divmod(games.moves, 8)
    records[:, RECORD - MOVES :] = np.where(games.moves == NONE, 0, 10 * (rows + 1) + columns + 1)
    return write(path, lambda p: p.write_bytes(header.tobytes() + records.tobytes()))


def _announced(path: Path, data: bytes) -> int:
    """The number of games, once the size of the file agrees with it."""
    if not data:
        raise InputError(f"{path}: the file is empty; expected a WTHOR file (.wtb)")
    if len(data) < HEADER or not (1 <= data[2] <= 12 and 1 <= data[3] <= 31 and data[12] in (0, 8)):
        raise InputError(f"{path}: not a WTHOR file of 8 x 8 games; expected its 16-byte header (date, games, board)")
    count, held = int.from_bytes(data[4:8], "little"), len(data) - HEADER
    if held < RECORD * count:
        whole, rest = divmod(held, RECORD)
        cut = f"game {whole + 1} is cut off after move {max(rest - RECORD + MOVES, 0)}"
        raise InputError(f"{path}: {cut}; expected {count} games as its header says, found {whole} whole ones")
    if held > RECORD * count:
        raise InputError(f"{path}: {held - RECORD * count} bytes follow game {count}; expected none")
    return count


def _squares() -> np.ndarray:
    """The square of every code."""
    squares = np.full(256, UNKNOWN, dtype=np.uint8)
    for square in range(64):
        squares[10 * (square // 8 + 1) + square % 8 + 1] = square
    return squares
