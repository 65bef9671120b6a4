"""Othello on 8 x 8 and 6 x 6: rules, random games at any index, legal sets, symmetries, files, tournament games."""

from __future__ import annotations

from lengthwise.othello.board import NONE, Board
from lengthwise.othello.distinct import distinct
from lengthwise.othello.drawing import as_svg, as_text, caption
from lengthwise.othello.games import Games, games, stream
from lengthwise.othello.generation import Generated, generate
from lengthwise.othello.paths import perft
from lengthwise.othello.position import Position, position_after
from lengthwise.othello.replaying import Illegal, Replay, first_illegal, legal_sets, replay, unpacked
from lengthwise.othello.storage import read_about, read_games, write_games
from lengthwise.othello.symmetry import SYMMETRIES, canonical, held_out, image
from lengthwise.othello.wthor import read_wthor, write_wthor

__all__ = [
    "Board",
    "Games",
    "Generated",
    "Illegal",
    "NONE",
    "Position",
    "Replay",
    "SYMMETRIES",
    "as_svg",
    "as_text",
    "canonical",
    "caption",
    "distinct",
    "first_illegal",
    "games",
    "generate",
    "held_out",
    "image",
    "legal_sets",
    "perft",
    "position_after",
    "read_about",
    "read_games",
    "read_wthor",
    "replay",
    "stream",
    "unpacked",
    "write_games",
    "write_wthor",
]
