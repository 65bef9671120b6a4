"""The symmetries of the start: legal sets follow them, splits do not cross them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.othello import SYMMETRIES, Board, canonical, games, held_out, image, legal_sets, replay
from lengthwise.othello.games import joined
from lengthwise.othello.symmetry import symmetry_tables

sizes = pytest.mark.parametrize("size", [6, 8])


@sizes
def test_they_are_all_the_symmetries_that_fix_the_start(size):
    board, grid = Board(size), np.arange(size**2).reshape(size, size)
    fixing = set()
    for turns in range(4):
        for turned in (np.rot90(grid, turns), np.rot90(grid, turns).T):
            moved = [sum(1 << int(turned.flat[s]) for s in board.squares(discs)) for discs in board.start]
            if moved == list(board.start):
                fixing.add(tuple(turned.ravel().tolist()))
    tables = symmetry_tables(board)
    assert {tuple(table[: board.area].tolist()) for table in tables} == fixing
    assert len(fixing) == len(SYMMETRIES) == len(tables)
    assert (tables[:, board.area :] == 255).all()


@sizes
@pytest.mark.parametrize("symmetry", SYMMETRIES)
def test_legal_sets_follow_them(size, symmetry):
    some = games(seed=31, start=0, count=1000, board=size)
    seen, turned = replay(some), image(some, symmetry)
    found = replay(turned)
    assert (found.faults == -1).all()
    assert (found.passes == seen.passes).all()
    assert (found.discs == seen.discs).all()
    table = symmetry_tables(some.board)[SYMMETRIES.index(symmetry)][: some.board.area]
    assert (legal_sets(turned)[..., table] == legal_sets(some)).all()


@sizes
def test_each_is_its_own_inverse_and_the_last_is_the_product_of_the_others(size):
    some = games(seed=32, start=0, count=50, board=size)
    for symmetry in SYMMETRIES:
        assert (image(image(some, symmetry), symmetry).moves == some.moves).all()
    assert (image(image(some, "half turn"), "diagonal").moves == image(some, "antidiagonal").moves).all()


@given(st.integers(0, 2**40), st.sampled_from([6, 8]))
def test_the_canonical_form_is_the_least_image(start, size):
    some = games(seed=33, start=start, count=20, board=size)
    images = [image(some, symmetry).moves.tolist() for symmetry in SYMMETRIES]
    assert canonical(some).moves.tolist() == [min(rows) for rows in zip(*images)]


@given(st.integers(0, 2**40), st.floats(0, 1), st.integers(0, 2**64 - 1))
def test_a_split_is_the_same_for_all_images_and_any_cut(start, share, seed):
    some = games(seed=34, start=start, count=50)
    test = held_out(some, share, seed)
    for symmetry in SYMMETRIES:
        assert (held_out(image(some, symmetry), share, seed) == test).all()
    assert (np.concatenate([held_out(some[:20], share, seed), held_out(some[20:], share, seed)]) == test).all()


def test_no_test_game_is_an_image_of_a_train_game():
    """Games cut to four moves repeat often, up to symmetry too, so that a leak would show."""
    some = games(seed=35, start=0, count=20_000, board=6)
    some.moves[:, 4:], some.lengths[:] = 255, 4
    test = held_out(some, share=0.5)
    train = {row.tobytes() for row in some[~test].moves}
    images = joined([image(some[test], symmetry) for symmetry in SYMMETRIES], some.board)
    assert 5000 < test.sum() < 15_000
    assert not train & {row.tobytes() for row in images.moves}


@pytest.mark.statistical
def test_the_share_is_kept_by_every_seed():
    some = games(seed=36, start=0, count=20_000)
    parts = [held_out(some, 0.1, seed) for seed in range(4)]
    for test in parts:
        assert abs(test.mean() - 0.1) < 5.4 * np.sqrt(0.09 / len(some))
    for k in range(3):
        assert abs((parts[k] & parts[k + 1]).mean() - 0.01) < 5.4 * np.sqrt(0.0099 / len(some))
    assert not held_out(some, 0).any()
    assert held_out(some, 1).all()


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_wrong_shares(share):
    with pytest.raises(InputError, match="expected a number in"):
        held_out(games(0, 0, 1), share)
    with pytest.raises(InputError, match="seed -1: expected 0"):
        held_out(games(0, 0, 1), 0.1, seed=-1)
