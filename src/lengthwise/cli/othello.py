"""`lengthwise othello`: count paths, make random games, read tournament games, look at a position."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.errors import InputError

if TYPE_CHECKING:
    from lengthwise.othello import Games

othello = typer.Typer(name="othello", help="Othello: check the rules, make random games, read tournament games.")

BoardOption = Annotated[int, typer.Option(help="squares along a side: 6 or 8", metavar="6|8")]
JsonOption = Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")]


@othello.callback(invoke_without_command=True)
def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        with redirect_stdout(sys.stderr):  # typer prints some kinds of help itself
            print(context.get_help())
        raise typer.Exit(2)


@othello.command("perft")
def count_paths(
    depth: Annotated[int, typer.Argument(min=0, help="plies; a pass is one")],
    board: BoardOption = 8,
    as_json: JsonOption = False,
) -> None:
    """Count the paths of a depth from the start: the standard check of a move generator."""
    from lengthwise.othello import perft

    paths = perft(depth, board)
    print(json.dumps({"board": board, "depth": depth, "paths": paths}) if as_json else paths)


@othello.command("generate")
def generate_games(
    games: Annotated[int, typer.Option(min=1, max=100_000_000, help="how many games", metavar="N")],
    seed: Annotated[int, typer.Option(min=0, help="the seed; game i depends on it and i alone", metavar="S")],
    out: Annotated[Path, typer.Option(help="the safetensors file to write", metavar="FILE")],
    board: BoardOption = 8,
    workers: Annotated[int, typer.Option(min=1, help="threads; the games are the same for any number")] = 1,
    distinct: Annotated[bool, typer.Option("--distinct", help="leave out games that repeat an earlier one")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write uniformly random games; after an interruption the same command continues."""
    from lengthwise.othello import generate

    try:
        made = generate(out, seed, games, board, workers, distinct, progress=_progress(games))
    except KeyboardInterrupt:
        print("lengthwise: interrupted; the same command continues after the last whole shard", file=sys.stderr)
        raise
    facts = {
        "out": str(out.resolve()),
        "board": board,
        "seed": seed,
        "games": len(made.games),
        "repeats": made.repeats,
        "plies": int(made.games.lengths.sum(dtype="int64")),
    }
    left_out = f", {made.repeats} repeats left out" if distinct else ""
    print(
        json.dumps(facts, indent=2) if as_json else f"{out}: {len(made.games)} games, {facts['plies']} plies{left_out}"
    )


@othello.command("import")
def import_games(
    files: Annotated[list[Path], typer.Argument(help="tournament games in WTHOR files", metavar="FILE.wtb ...")],
    out: Annotated[Path | None, typer.Option(help="write the games to this safetensors file", metavar="FILE")] = None,
    as_json: JsonOption = False,
) -> None:
    """Read tournament games and replay every one by the rules."""
    from lengthwise.othello import Board, write_games
    from lengthwise.othello.games import joined

    facts: dict[str, Any] = {"games": 0, "illegal": 0, "plies": 0, "passes": 0, "first_illegal": None, "files": []}
    read: list[Games] = []
    try:
        for file in files:
            read.append(_import(file, facts))
        if facts["first_illegal"]:
            raise InputError(facts["first_illegal"])
        if out is not None:
            write_games(out, joined(read, Board(8)), {"files": " ".join(file.name for file in files)})
    except InputError as error:
        if as_json:
            print(json.dumps(facts | {"error": str(error)}, indent=2))
        raise
    print(json.dumps(facts, indent=2) if as_json else "\n".join(_lines(facts)))


def _import(path: Path, facts: dict[str, Any]) -> Games:
    """Read and replay one file, and add it to the facts."""
    from lengthwise.othello import first_illegal, read_wthor, replay

    games = read_wthor(path)
    found = replay(games)
    legal = found.faults < 0
    if fault := first_illegal(games, found):
        facts["first_illegal"] = facts["first_illegal"] or f"{path}: {fault}"
    own = {
        "games": len(games),
        "illegal": int((~legal).sum()),
        "plies": int(games.lengths[legal].sum(dtype="int64") + found.faults[~legal].sum()),
        "passes": int(found.passes.sum()),
    }
    facts["files"].append({"file": str(path), **own})
    for key, value in own.items():
        facts[key] += value
    return games


@othello.command("show")
def show_position(
    moves: Annotated[list[str] | None, typer.Argument(help="moves from the start, such as f5 d6 or f5d6")] = None,
    board: BoardOption = 8,
    svg: Annotated[Path | None, typer.Option(help="also draw it to this file", metavar="FILE")] = None,
) -> None:
    """Show the board after some moves, with the legal moves marked; passes are not written."""
    from lengthwise.othello import as_svg, as_text, position_after
    from lengthwise.runs.files import write_text

    position = position_after(_moves(moves or []), board)
    if svg is not None:
        write_text(svg, as_svg(position))
    print(as_text(position))


def _moves(words: list[str]) -> list[str]:
    """Moves one by one, from words of one move or of several."""
    found = []
    for word in words:
        parts = re.findall("[a-z][0-9]", word.lower())
        found += parts if "".join(parts) == word.lower() else [word]
    return found


def _lines(facts: dict[str, Any]) -> list[str]:
    rows = [*facts["files"], *([{"file": "in all", **facts}] if len(facts["files"]) > 1 else [])]
    return [f"{r['file']}: {r['games']} games, all legal, {r['plies']} plies, {r['passes']} passes" for r in rows]


def _progress(count: int) -> Callable[[int], None]:
    """A line every two seconds or more, on standard error."""
    start = time.monotonic()
    told = [start]

    def tell(done: int) -> None:
        now = time.monotonic()
        if now - told[0] >= 2 and done < count:
            told[0] = now
            left = (count - done) * (now - start) / done
            print(f"{done:,} of {count:,} games, about {left:.0f} s left", file=sys.stderr, flush=True)

    return tell
