"""`lengthwise othello`: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lengthwise.cli import main
from lengthwise.othello import Position, as_svg, games, position_after, read_games

ROOT = Path(__file__).parents[2]


def call(capsys, *words) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["othello", *map(str, words)])
    said = capsys.readouterr()
    return stop.value.code, said.out, said.err  # pyright: ignore[reportReturnType]


def test_perft(capsys):
    assert call(capsys, "perft", 7) == (0, "55092\n", "")
    code, out, _ = call(capsys, "perft", 5, "--board", 6, "--json")
    assert (code, json.loads(out)) == (0, {"board": 6, "depth": 5, "paths": 1364})


def test_generate(capsys, tmp_path):
    path = tmp_path / "some.safetensors"
    words = ("generate", "--games", 500, "--seed", 4, "--out", path, "--workers", 2)
    code, out, err = call(capsys, *words, "--json")
    assert (code, err) == (0, "")
    expected = games(4, 0, 500)
    plies = expected.lengths.sum(dtype=int)
    assert json.loads(out) == {
        "out": str(path), "board": 8, "seed": 4, "games": 500, "repeats": 0, "plies": plies
    }  # fmt: skip
    assert (read_games(path).moves == expected.moves).all()
    assert call(capsys, *words) == (0, f"{path}: 500 games, {plies} plies\n", "")
    code, out, _ = call(
        capsys, "generate", "--games", 50, "--seed", 4, "--out", tmp_path / "6", "--board", 6, "--distinct"
    )
    assert out.endswith("plies, 0 repeats left out\n")
    assert (read_games(tmp_path / "6").moves == games(4, 0, 50, 6).moves).all()


def test_progress_is_told_on_standard_error(capsys, tmp_path, monkeypatch):
    clock = iter(range(0, 1000, 5))
    monkeypatch.setattr("lengthwise.cli.othello.time.monotonic", lambda: next(clock))
    monkeypatch.setattr("lengthwise.othello.generation.generate.__defaults__", (8, 1, False, 100, lambda done: None))
    code, out, err = call(capsys, "generate", "--games", 300, "--seed", 4, "--out", tmp_path / "some", "--json")
    assert (code, json.loads(out)["games"]) == (0, 300)
    assert err.splitlines() == ["100 of 300 games, about 10 s left", "200 of 300 games, about 5 s left"]


def test_an_interruption_is_told(capsys, tmp_path, monkeypatch):
    def interrupted(*words):
        raise KeyboardInterrupt

    monkeypatch.setattr("lengthwise.othello.generation.games", interrupted)
    code, out, err = call(capsys, "generate", "--games", 300, "--seed", 4, "--out", tmp_path / "some")
    assert (code, out) == (130, "")
    assert "interrupted; the same command continues" in err


def test_show(capsys, tmp_path):
    drawn = tmp_path / "drawn.svg"
    code, out, err = call(capsys, "show", "f5", "d6", "--svg", drawn)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "  a b c d e f g h",
        "1 . . . . . . . .",
        "2 . . . . . . . .",
        "3 . . * . . . . .",
        "4 . . * o x . . .",
        "5 . . * o x x . .",
        "6 . . * o . . . .",
        "7 . . * . . . . .",
        "8 . . . . . . . .",
        "black to move: c3 c4 c5 c6 c7; black 3, white 3",
    ]
    for words in (["f5d6"], ["F5", "D6"]):
        assert call(capsys, "show", *words)[1] == out
    assert drawn.read_text() == as_svg(position_after(["f5", "d6"]))
    assert call(capsys, "show", "--board", 6)[1].splitlines()[-1] == "black to move: c2 b3 e4 d5; black 2, white 2"


@pytest.mark.parametrize("size", [6, 8])
def test_the_picture_has_every_disc_in_its_place(size):
    some = games(seed=51, start=0, count=1, board=size)
    position = Position.start(size)
    for square in some.moves[0, :20].tolist():
        picture = ElementTree.fromstring(as_svg(position))
        found = {"black": set(), "white": set(), "legal": set()}
        for circle in picture.iter("{http://www.w3.org/2000/svg}circle"):
            column, row = ((int(circle.attrib[k]) - 24) // 40 for k in ("cx", "cy"))
            found[circle.attrib["class"]].add(size * row + column)
        own, other = (set(position.board.squares(bits)) for bits in (position.own, position.other))
        assert (found["black"], found["white"]) == ((own, other) if position.black_to_move else (other, own))
        assert found["legal"] == set(position.legal())
        position = position.after(square)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["show", "f5", "a1"], "move 2, a1 is not legal there: expected white on one of f4 d6 f6"),
        (["show", "f5", "f9"], "move 2, square 'f9': expected a letter a-h and a number 1-8"),
        (["show", "f5d"], "move 1, square 'f5d'"),
        (["show", "g1", "--board", "6"], "square 'g1': expected a letter a-f and a number 1-6"),
        (["show", "--board", "7"], "board 7: expected 6 or 8"),
        (["show", "--svg", "/dev/null/x.svg"], "cannot write /dev/null/x.svg"),
        (["perft", "-1"], "-1"),
        (["perft", "many"], "'depth'"),
        (["perft", "3", "--board", "10"], "board 10: expected 6 or 8"),
        (["generate", "--games", "0", "--seed", "1", "--out", "x"], "--games"),
        (["generate", "--games", "5", "--out", "x"], "--seed"),
        (["generate", "--games", "5", "--seed", "99999999999999999999", "--out", "x"], "seed 99999999999999999999"),
        (["generate", "--games", "5", "--seed", "1", "--out", "/dev/null/x"], "cannot write /dev/null/x"),
        (["generate", "--games", "5", "--seed", "1", "--out", "."], "no file there; expected one of Othello games"),
        (["generate", "--games", "5", "--seed", "1", "--out", "x", "--workers", "0"], "--workers"),
        (["import"], "Missing argument"),
        (["play"], "No such command 'play'"),
    ],
)
def test_wrong_words(words, expected, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("lengthwise: ")
    assert expected in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_no_words_show_the_verbs(capsys):
    code, out, err = call(capsys)
    assert (code, out) == (2, "")
    assert all(verb in err for verb in ("perft", "generate", "import", "show"))


def test_the_document_runs(capsys, monkeypatch, tmp_path):
    """Every Python block of docs/othello.md runs, and so does every command."""
    text = (ROOT / "docs" / "othello.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "WTH_2014.wtb").write_bytes((ROOT / "tests" / "data" / "WTH_2026.wtb").read_bytes())
    names: dict = {"__name__": "document"}
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for block in blocks:
        exec(compile(block, "docs/othello.md", "exec"), names)
    commands = [
        shlex.split(line, comments=True) for line in re.findall(r"^lengthwise othello (.*)$", text, re.MULTILINE)
    ]
    assert blocks
    assert {words[0] for words in commands} == {"perft", "generate", "import", "show"}
    for words in commands:
        code, out, err = call(capsys, *words)
        assert (code, err) == (0, "")
        assert out
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (ROOT / "docs" / link).exists(), link
