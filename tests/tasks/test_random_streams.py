"""Draws depend on where they are used, never on what was drawn before."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.tasks.randomness import integer_seed, stream

ADDRESSES = list(product([0, 1, 2**40], [0, 1, 7], [0, 1, 1500], ["batch", "measure", "attention_dropout"]))


@given(st.permutations(ADDRESSES))
def test_draws_do_not_depend_on_their_order(order: list[tuple[int, int, int, str]]) -> None:
    first = {address: stream(*address).random() for address in ADDRESSES}
    assert {address: stream(*address).random() for address in order} == first


def test_every_address_has_a_stream_of_its_own() -> None:
    draws = [tuple(stream(*address).integers(2**63, size=2)) for address in ADDRESSES]
    seeds = [integer_seed(*address) for address in ADDRESSES]
    assert len(set(draws)) == len(set(seeds)) == len(ADDRESSES)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_neighbouring_streams_never_run_into_each_other() -> None:
    """A long draw of one step shares no block with the draw of the next."""
    here, there = (set(stream(0, 0, step, "batch").integers(2**63, size=4096).tolist()) for step in (3, 4))
    assert not here & there


@pytest.mark.statistical
def test_first_draws_of_neighbouring_addresses_are_uncorrelated() -> None:
    """Correlation over n pairs has standard deviation 1/sqrt(n); 5.5 of them are passed once in 2e7."""
    draws = np.array([[stream(0, r, t, "batch").random() for t in range(60)] for r in range(60)])
    for a, b in ((draws[1:], draws[:-1]), (draws[:, 1:], draws[:, :-1])):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 5.5 / np.sqrt(a.size)
    assert abs(draws.mean() - 0.5) < 5.5 / np.sqrt(12 * draws.size)


def test_drawing_leaves_the_global_generator_alone() -> None:
    before = str(np.random.get_state())  # noqa: NPY002
    stream(0, 0, 0, "batch").random(100)
    assert str(np.random.get_state()) == before  # noqa: NPY002
