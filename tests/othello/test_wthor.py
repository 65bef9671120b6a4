"""Tournament files: ours by hand and by our own writer, real ones where they lie beside the checkout, broken ones."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from lengthwise.cli import main
from lengthwise.errors import InputError
from lengthwise.othello import games, read_games, read_wthor, replay, write_wthor

OURS = Path(__file__).parents[1] / "data" / "WTH_2026.wtb"  # 11 random games and the shortest one, by write_wthor


def header(count: int, *, size: int = 8, month: int = 5) -> bytes:
    return struct.pack("<4BIHH4B", 20, 26, month, 31, count, 0, 2026, size, 0, 24, 0)


def record(*codes: int) -> bytes:
    return struct.pack("<3H2B", 1, 2, 3, 32, 32) + bytes(codes).ljust(60, b"\0")


def command(capsys, *words) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["othello", "import", *map(str, words)])
    said = capsys.readouterr()
    return stop.value.code, said.out, said.err  # pyright: ignore[reportReturnType]


def test_by_hand(tmp_path):
    path = tmp_path / "by-hand.wtb"
    path.write_bytes(header(3) + record(56, 64, 33) + record() + record(43))
    some = read_wthor(path)
    assert [some.names(game) for game in range(3)] == [["f5", "d6", "c3"], [], ["c4"]]
    assert replay(some).faults.tolist() == [-1, -1, -1]


def test_written_and_read(tmp_path, slow):
    some = games(seed=41, start=0, count=500)
    path = write_wthor(tmp_path / "WTH_1999.wtb", some, year=1999)
    back = read_wthor(path)
    assert (back.moves == some.moves).all()
    assert (back.lengths == some.lengths).all()
    data = path.read_bytes()
    assert struct.unpack("<I", data[4:8]) == (500,)
    assert struct.unpack("<H", data[10:12]) == (1999,)
    assert len(data) == 16 + 68 * 500
    board = slow(8)
    for code in data[16 + 8 : 16 + 68]:
        assert 8 * (code // 10 - 1) + code % 10 - 1 in board.legal()
        board.play(8 * (code // 10 - 1) + code % 10 - 1)
    assert data[16 + 6] == board.discs()[0]


def test_what_is_not_written(tmp_path):
    spoilt = games(0, 0, 2)
    spoilt.moves[1, 3] = 0
    for some in (games(0, 0, 1, board=6), spoilt):
        with pytest.raises(InputError, match="of legal games on board 8 only"):
            write_wthor(tmp_path / "x.wtb", some, year=2000)
    assert not list(tmp_path.iterdir())


def test_the_file_in_the_repository(capsys):
    code, out, err = command(capsys, OURS, "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert (facts["games"], facts["illegal"], facts["first_illegal"]) == (12, 0, None)
    some = read_wthor(OURS)
    assert facts["plies"] == some.lengths.sum(dtype=int)
    assert facts["passes"] == replay(some).passes.sum() > 0


def test_every_real_game_replays(tournaments, capsys):
    files = [tournaments / f"WTH_{year}.wtb" for year in (1980, 2001, 2010, 2014)]
    code, out, _ = command(capsys, *files, "--json")
    facts = json.loads(out)
    assert code == 0
    assert [file["games"] for file in facts["files"]] == [160, 5540, 2163, 1780]
    assert (facts["games"], facts["illegal"]) == (9643, 0)
    assert (facts["plies"], facts["passes"]) == tuple(sum(f[k] for f in facts["files"]) for k in ("plies", "passes"))


def test_real_games_as_the_slow_board_plays_them(tournaments, slow):
    some = read_wthor(tournaments / "WTH_1980.wtb")
    found = replay(some)
    for game in range(len(some)):
        board = slow(8)
        for square in some.moves[game, : some.lengths[game]].tolist():
            assert square in board.legal()
            board.play(square)
        assert board.discs() == found.discs[game].tolist()
        assert board.passes == found.passes[game]


def test_lines_for_people_and_a_file_of_the_games(capsys, tmp_path):
    code, out, err = command(capsys, OURS, OURS, "--out", tmp_path / "both")
    assert (code, err) == (0, "")
    one, same, both = out.splitlines()
    assert one == same
    assert one.startswith(f"{OURS}: 12 games, all legal, ")
    assert both.startswith("in all: 24 games, all legal, ")
    assert (read_games(tmp_path / "both").moves[12:] == read_wthor(OURS).moves).all()


WHOLE = OURS.read_bytes()


def with_code(game: int, move: int, code: int) -> bytes:
    at = 16 + 68 * (game - 1) + 8 + move - 1
    return WHOLE[:at] + bytes([code]) + WHOLE[at + 1 :]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "the file is empty"),
        (WHOLE[:10], "not a WTHOR file of 8 x 8 games"),
        (b"Games, as text: f5 d6 c3 d3 c4", "not a WTHOR file of 8 x 8 games"),
        (header(1, size=10) + record(56), "not a WTHOR file of 8 x 8 games"),
        (header(1, month=13) + record(56), "not a WTHOR file of 8 x 8 games"),
        (WHOLE[:-1], "game 12 is cut off after move 59; expected 12 games as its header says, found 11 whole ones"),
        (WHOLE[: 16 + 68 * 2 + 5], "game 3 is cut off after move 0; expected 12 games"),
        (WHOLE[:16], "game 1 is cut off after move 0; expected 12 games"),
        (WHOLE + b"more", "4 bytes follow game 12; expected none"),
        (with_code(3, 1, 11), "game 3, move 1: a1 is not legal there, expected one of d3 c4 f5 e6"),
        (with_code(7, 2, 99), "game 7, move 2: no square of the board, expected one of "),
        (with_code(5, 30, 0), "game 5, move 30: no square of the board, expected one of "),
        (with_code(12, 10, 11), "game 12, move 10: a1 is not legal there, expected no move, as the game is over"),
    ],
)
def test_broken_files(data, expected, tmp_path, capsys):
    path = tmp_path / "broken.wtb"
    path.write_bytes(data)
    for words in ([], ["--json"]):
        code, out, err = command(capsys, OURS, path, "--out", tmp_path / "games", *words)
        assert code == 2
        assert err.startswith(f"lengthwise: {path}: ")
        assert expected in err
        assert len(err.splitlines()) == 1
        if not words:
            assert out == ""
            continue
        facts = json.loads(out)
        assert facts["error"] == err.strip().removeprefix("lengthwise: ")
        illegal = ", expected" in expected
        assert facts["illegal"] == illegal
        assert facts["first_illegal"] == (facts["error"] if illegal else None)
        assert facts["games"] == (24 if illegal else 12)
    assert [p.name for p in tmp_path.iterdir()] == ["broken.wtb"]


def test_a_file_that_cannot_be_read(tmp_path, capsys):
    for path in (tmp_path / "nowhere.wtb", tmp_path):
        code, out, err = command(capsys, path, "--json")
        assert (code, json.loads(out)["games"]) == (2, 0)
        assert f"{path}: cannot read" in err


def test_every_illegal_game_is_counted(tmp_path, capsys):
    path = tmp_path / "two.wtb"
    path.write_bytes(header(3) + record(56, 64, 11) + record(56) + record(11))
    code, out, _ = command(capsys, path, "--json")
    facts = json.loads(out)
    assert (code, facts["games"], facts["illegal"], facts["plies"]) == (2, 3, 2, 3)
    assert f"{path}: game 1, move 3: a1" in facts["error"]
    other = tmp_path / "other.wtb"
    other.write_bytes(header(1) + record(11))
    code, out, _ = command(capsys, path, other, "--json")
    assert (code, json.loads(out)["illegal"]) == (2, 3)
    assert json.loads(out)["first_illegal"] == facts["first_illegal"]
