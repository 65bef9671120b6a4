"""A position as text and as an SVG picture, the legal moves marked."""

from __future__ import annotations

from lengthwise.othello.position import Position

CELL, EDGE = 40, 24


def as_text(position: Position) -> str:
    """The board with black x, white o and legal moves *, and a line that says whose turn it is.

    >>> print(as_text(Position.start(6)))
      a b c d e f
    1 . . . . . .
    2 . . * . . .
    3 . * o x . .
    4 . . x o * .
    5 . . . * . .
    6 . . . . . .
    black to move: c2 b3 e4 d5; black 2, white 2
    """
    size = position.board.size
    marks = _marks(position)
    lines = ["  " + " ".join(chr(ord("a") + column) for column in range(size))]
    lines += [f"{row + 1} {' '.join(marks[size * row : size * (row + 1)])}" for row in range(size)]
    return "\n".join([*lines, caption(position)])


def caption(position: Position) -> str:
    """Whose turn it is, where they may move, and the score.

    >>> from lengthwise.othello.position import position_after
    >>> caption(position_after("f5 d6".split()))
    'black to move: c3 c4 c5 c6 c7; black 3, white 3'
    """
    black, white = position.discs
    score = f"black {black}, white {white}"
    if position.over:
        return f"the game is over; {score}"
    player, waiting = ("black", "white") if position.black_to_move else ("white", "black")
    turn = f"{waiting} has no move and passes; " if position.passed else ""
    return f"{turn}{player} to move: {' '.join(map(position.board.name, position.legal()))}; {score}"


def as_svg(position: Position) -> str:
    """The same as a picture: discs, and rings where the player to move may go.

    >>> drawn = as_svg(Position.start(8))
    >>> drawn.count('class="black"'), drawn.count('class="white"'), drawn.count('class="legal"')
    (2, 2, 4)
    """
    size = position.board.size
    side, extent = CELL * size, CELL * size + EDGE
    lines = "".join(
        f"M{EDGE + CELL * k} {EDGE}v{side}M{EDGE} {EDGE + CELL * k}h{side}" for k in range(size + 1)
    )  # fmt: skip
    ring = "stroke:#000" if position.black_to_move else "stroke:#fff"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {extent + 8} {extent + 8}" role="img">',
            f"<title>{caption(position)}</title>",
            "<style>text{font:12px sans-serif;text-anchor:middle;dominant-baseline:central}"
            f".black{{fill:#000}}.white{{fill:#fff}}.legal{{fill:none;{ring};stroke-width:2}}</style>",
            f'<rect x="{EDGE}" y="{EDGE}" width="{side}" height="{side}" fill="#2e8b57"/>',
            f'<path d="{lines}" stroke="#174d30" fill="none"/>',
            *_labels(size),
            *_discs(position),
            "</svg>\n",
        ]
    )


def _labels(size: int) -> list[str]:
    middles = [(k, EDGE + CELL * k + CELL // 2) for k in range(size)]
    columns = [f'<text x="{at}" y="{EDGE // 2}">{chr(ord("a") + k)}</text>' for k, at in middles]
    return columns + [f'<text x="{EDGE // 2}" y="{at}">{k + 1}</text>' for k, at in middles]


def _discs(position: Position) -> list[str]:
    kinds = {"x": ("black", 16), "o": ("white", 16), "*": ("legal", 5)}
    drawn = []
    for square, mark in enumerate(_marks(position)):
        if mark in kinds:
            row, column = divmod(square, position.board.size)
            x, y = (EDGE + CELL * k + CELL // 2 for k in (column, row))
            kind, radius = kinds[mark]
            drawn.append(f'<circle class="{kind}" cx="{x}" cy="{y}" r="{radius}"/>')
    return drawn


def _marks(position: Position) -> list[str]:
    """One letter for each square."""
    black, white = (position.own, position.other) if position.black_to_move else (position.other, position.own)
    legal = set(position.legal())
    return [
        "x" if black >> s & 1 else "o" if white >> s & 1 else "*" if s in legal else "."
        for s in range(position.board.area)
    ]
