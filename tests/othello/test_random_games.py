"""Random games: the generator by its definition, any workers, uniform moves, known frequencies."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lengthwise.errors import InputError
from lengthwise.othello import engine, games, replay, stream
from lengthwise.othello.games import CHUNK

ONCE_IN_TEN_MILLION = 1e-7
VECTORS = {  # the known answers that Random123 publishes for philox4x32-10: counter, key, words
    (0, 0, 0, 0, 0, 0): (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
    (0xFFFFFFFF,) * 6: (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0): (
        0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1
    ),
}  # fmt: skip


def words(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10 in plain integers."""
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * counter[0], 2**32)
        high1, low1 = divmod(0xCD9E8D57 * counter[2], 2**32)
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return counter


def plain_game(seed: int, index: int, board, refused: list[int]) -> list[int]:
    """The definition: word after word of the game's own counter, each a fraction of the legal moves in order."""
    counter, key = [index % 2**32, index >> 32], [seed % 2**32, seed >> 32]
    stream = (word for block in range(99) for word in words([*counter, block, 0], key))
    moves = []
    while places := board.legal():
        while (word := next(stream)) * len(places) % 2**32 < 2**32 % len(places):
            refused.append(word)
        moves.append(places[word * len(places) // 2**32])
        board.play(moves[-1])
    return moves


@pytest.mark.parametrize("numbers", VECTORS)
def test_philox(numbers):
    assert engine.philox(*map(np.uint64, numbers)) == VECTORS[numbers]
    assert tuple(words(list(numbers[:4]), list(numbers[4:]))) == VECTORS[numbers]


@pytest.mark.parametrize("size", [6, 8])
@pytest.mark.parametrize(("seed", "start"), [(0, 0), (2**64 - 2, 2**40 + 5)])
def test_games_are_what_their_definition_says(size, seed, start, slow):
    some = games(seed, start, 10, size)
    for game in range(10):
        expected = plain_game(seed, start + game, slow(size), [])
        assert some.moves[game].tolist() == expected + [255] * (some.board.plies - len(expected))
        assert some.lengths[game] == len(expected)


def test_a_word_that_would_favour_a_move_is_drawn_again(slow):
    """Once in many millions of games; this one was searched for."""
    refused, index = [], 18_567_262
    expected = plain_game(0, index, slow(8), refused)
    assert len(refused) == 1
    assert games(0, index, 1).moves[0].tolist() == expected


@given(st.integers(0, 2**63), st.integers(0, 2**63), st.integers(0, 50), st.integers(0, 50), st.sampled_from([6, 8]))
def test_any_window_of_games(seed, start, before, count, size):
    whole, part = games(seed, start, before + count, size), games(seed, start + before, count, size)
    assert (whole.moves[before:] == part.moves).all()
    assert (whole.lengths[before:] == part.lengths).all()


def test_any_number_of_workers():
    count = 2 * CHUNK + 77
    alone = games(9, 3, count, board=6)
    for workers in (2, 3, 16):
        together = games(9, 3, count, board=6, workers=workers)
        assert (together.moves == alone.moves).all()
        assert (together.lengths == alone.lengths).all()


def test_streams_are_windows():
    batches = stream(seed=4, batch=7, board=6, start=100)
    for k in range(3):
        assert (next(batches).moves == games(4, 100 + 7 * k, 7, 6).moves).all()


def test_seeds_and_games_differ():
    one, other = games(0, 0, 500), games(1, 0, 500)
    assert len({row.tobytes() for row in np.concatenate([one.moves, other.moves])}) == 1000


@pytest.mark.statistical
def test_moves_are_uniform_over_the_legal_ones():
    """Chi-square over the rank of every move among its legal set, for each size of the set."""
    for size in (6, 8):
        some = games(seed=21, start=0, count=20_000, board=size)
        sets = replay(some).sets
        there = sets != 0
        below = (np.uint64(1) << some.moves[there].astype(np.uint64)) - np.uint64(1)
        choices, ranks = np.bitwise_count(sets[there]), np.bitwise_count(sets[there] & below)
        total, freedom = 0.0, 0
        for n in range(2, 20):
            seen = np.bincount(ranks[choices == n], minlength=n)
            assert len(seen) == n
            if seen.sum() >= 20 * n:
                total += stats.chisquare(seen).statistic
                freedom += n - 1
        assert freedom > 60
        assert total < stats.chi2.isf(ONCE_IN_TEN_MILLION, freedom)


@pytest.mark.statistical
def test_openings_have_their_exact_probabilities():
    """The first five moves together, so that the moves of a game are independent too."""
    some = games(seed=22, start=0, count=100_000)
    openings = some.moves[:, :5].astype(np.int64) @ 64 ** np.arange(5)
    _, first, counts = np.unique(openings, return_index=True, return_counts=True)
    assert len(counts) == 1396
    expected = len(some) / np.bitwise_count(replay(some).sets[first, :5]).astype(float).prod(1)
    assert expected.sum() == pytest.approx(len(some))
    assert stats.chisquare(counts, expected).pvalue > ONCE_IN_TEN_MILLION


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("size", "with_pass", "short"),
    [(8, 0.346, 0.0098), (6, 0.4011, 0.0356)],
)
def test_passes_and_early_ends(size, with_pass, short):
    """Shares found in 100,000 games by another program (8 x 8), and in 3,000,000 other games by this one (6 x 6).

    The first are as uncertain as those of the 100,000 games here, so that a difference has twice the variance.
    """
    some = games(seed=23, start=0, count=100_000, board=size)
    for share, expected in [
        ((replay(some).passes > 0).mean(), with_pass),
        ((some.lengths < some.board.plies).mean(), short),
    ]:
        error = np.sqrt(2 * expected * (1 - expected) / len(some))
        assert abs(share - expected) < 5.4 * error


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"seed": -1}, "seed -1: expected 0 to 2^64 - 1"),
        ({"seed": 2**64}, "seed 18446744073709551616"),
        ({"start": -5}, "start -5"),
        ({"count": -1}, "count -1"),
        ({"start": 2**64 - 1, "count": 1}, "start + count 18446744073709551616"),
        ({"workers": 0}, "workers 0: expected 1 or more"),
    ],
)
def test_wrong_numbers(numbers, expected):
    with pytest.raises(InputError, match=re.escape(expected)):
        games(**{"seed": 0, "start": 0, "count": 1, **numbers})


def test_no_games():
    assert games(0, 0, 0).moves.shape == (0, 60)
    assert len(replay(games(0, 0, 0)).sets) == 0
