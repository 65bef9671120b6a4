"""The compiled rules against an independent slow board, OpenSpiel where installed, and the known numbers of paths."""

from __future__ import annotations

import random

import numpy as np
import pytest

from lengthwise.errors import InputError
from lengthwise.othello import (
    Board,
    Games,
    Position,
    caption,
    engine,
    games,
    legal_sets,
    paths,
    perft,
    position_after,
    replay,
    unpacked,
)

PATHS = [1, 4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288, 24571284]
SHORTEST = ["e6", "f4", "e3", "f6", "g5", "d6", "e7", "f5", "c5"]  # black takes every disc


def written(board: Board, played: list[list[int]]) -> Games:
    moves = np.full((len(played), board.plies), 255, dtype=np.uint8)
    for row, squares in zip(moves, played):
        row[: len(squares)] = squares
    return Games(moves, np.array([len(squares) for squares in played], dtype=np.uint8), board)


@pytest.mark.parametrize("depth", range(len(PATHS)))
def test_perft(depth):
    assert perft(depth) == PATHS[depth]


@pytest.mark.slow
def test_perft_deeper():
    assert perft(11) == 212258800
    assert perft(12) == 1939886636


@pytest.mark.parametrize("size", [6, 8])
def test_perft_as_the_slow_board_counts(size, slow):
    assert [perft(depth, size) for depth in range(6)] == [slow(size).paths(depth) for depth in range(6)]


def test_perft_counts_a_pass_as_a_ply_and_ends_with_the_game(monkeypatch, slow):
    monkeypatch.setattr(paths, "COMPILED", 1)
    some = games(seed=1, start=0, count=30, board=6)
    for game, passes in enumerate(replay(some).passes):
        board, position = slow(6), Position.start(6)
        for square in some.moves[game, : some.lengths[game] - 5 - passes]:
            board.legal()
            board.play(int(square))
            position = position.after(int(square))
        board.legal()
        for depth in range(7):
            assert paths._paths(position, depth) == board.paths(depth)
            own, other = np.uint64(position.own), np.uint64(position.other)
            assert engine.perft(own, other, depth, position.board.masks) == board.paths(depth)


@pytest.mark.parametrize("size", [6, 8])
def test_every_legal_set_of_a_thousand_random_games(size, slow):
    some = games(seed=11, start=0, count=1000, board=size)
    found = replay(some)
    sets = unpacked(found.sets, some.board)
    assert (found.passes > 0).sum() > 100
    assert (some.lengths < some.board.plies).sum() > 3
    assert (found.faults == -1).all()
    for game in range(len(some)):
        board = slow(size)
        for ply in range(some.lengths[game]):
            assert board.legal() == np.flatnonzero(sets[game, ply]).tolist()
            board.play(int(some.moves[game, ply]))
        assert not board.legal()
        assert not sets[game, some.lengths[game] :].any()
        assert board.passes == found.passes[game]
        assert board.discs() == found.discs[game].tolist()


@pytest.mark.parametrize("size", [6, 8])
@pytest.mark.parametrize("greedy", [False, True])
def test_games_of_the_slow_board_replay(size, greedy, slow):
    draw, boards = random.Random(3), [slow(size) for _ in range(100)]
    some = written(Board(size), [board.game(draw, greedy) for board in boards])
    found = replay(some)
    assert (found.faults == -1).all()
    assert found.passes.tolist() == [board.passes for board in boards]
    assert found.discs.tolist() == [board.discs() for board in boards]


def test_as_openspiel_plays():
    pyspiel = pytest.importorskip("pyspiel")
    theirs, some = pyspiel.load_game("othello"), games(seed=12, start=0, count=1000)
    sets, passes = legal_sets(some), replay(some).passes
    for game in range(len(some)):
        state, passed = theirs.new_initial_state(), 0
        for ply in range(some.lengths[game]):
            if state.legal_actions() == [64]:
                state.apply_action(64)
                passed += 1
            assert state.legal_actions() == np.flatnonzero(sets[game, ply]).tolist()
            state.apply_action(int(some.moves[game, ply]))
        assert state.is_terminal()
        assert passed == passes[game]


@pytest.mark.parametrize("size", [6, 8])
def test_positions_one_by_one_agree_with_games_at_once(size):
    some = games(seed=5, start=0, count=60, board=size)
    found = replay(some)
    for game in range(len(some)):
        position, passes = Position.start(size), 0
        for ply in range(some.lengths[game]):
            assert position.legal() == some.board.squares(int(found.sets[game, ply]))
            passes += position.passed
            position = position.after(int(some.moves[game, ply]))
        assert position.over
        assert not position.passed
        assert passes == found.passes[game]
        assert list(position.discs) == found.discs[game].tolist()


def test_the_shortest_game():
    position = position_after(SHORTEST)
    assert position.over
    assert position.discs == (13, 0)
    assert caption(position) == "the game is over; black 13, white 0"
    found = replay(written(Board(8), [[Board(8).number(name) for name in SHORTEST]]))
    assert (found.faults[0], found.passes[0], found.discs[0].tolist()) == (-1, 0, [13, 0])
    with pytest.raises(InputError, match="move 10, a1 is not legal there: the game is over, expected no move"):
        position_after([*SHORTEST, "a1"])


def test_one_pass_does_not_end_a_game():
    some = games(seed=0, start=0, count=200, board=6)
    game = int(np.flatnonzero(replay(some).passes)[0])
    names = some.names(game)
    passed = next(k for k in range(len(names)) if position_after(names[:k], 6).passed)
    position = position_after(names[:passed], 6)
    assert not position.over
    assert position.black_to_move == position_after(names[: passed - 1], 6).black_to_move
    player, waiting = ("black", "white") if position.black_to_move else ("white", "black")
    assert caption(position).startswith(f"{waiting} has no move and passes; {player} to move: ")


@pytest.mark.parametrize(
    ("ply", "square", "fault"),
    [(0, 27, 0), (0, 0, 0), (5, 64, 5), (5, 254, 5), (30, 255, 30), (59, 28, 59)],
)
def test_an_illegal_move_is_found_where_it_is(ply, square, fault):
    some = games(seed=2, start=0, count=3)
    some.moves[1, ply] = square
    assert replay(some).faults.tolist() == [-1, fault, -1]
    with pytest.raises(InputError, match=f"game 2, move {fault + 1}: .*, expected one of "):
        legal_sets(some)


def test_a_move_after_the_end_is_illegal():
    some = written(Board(8), [[Board(8).number(name) for name in [*SHORTEST, "a1"]]])
    with pytest.raises(
        InputError, match="game 1, move 10: a1 is not legal there, expected no move, as the game is over"
    ):
        legal_sets(some)


def test_wrong_boards_squares_and_depths():
    for size in (7, 0, 10):
        with pytest.raises(InputError, match=f"board {size}: expected 6 or 8"):
            games(0, 0, 1, board=size)
    for name in ("g1", "a7", "A1", "", "a", "a10", "1a"):
        with pytest.raises(InputError, match="expected a letter a-f and a number 1-6"):
            Board(6).number(name)
    with pytest.raises(InputError, match="depth -1: expected 0 or more"):
        perft(-1)


def test_names_and_numbers_are_inverse():
    for size in (6, 8):
        board = Board(size)
        assert [board.number(board.name(square)) for square in range(board.area)] == list(range(board.area))
    assert [Board(6).name(square) for square in (0, 5, 6, 35)] == ["a1", "f1", "a2", "f6"]
