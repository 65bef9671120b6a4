"""Laws on random small automata, against enumeration, automata-lib, and definitions that share no code with ours."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice, permutations, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lengthwise.languages import (
    Automaton,
    Language,
    count_words,
    exact_next_probabilities,
    next_probabilities,
    star_freeness,
)
from lengthwise.languages.boundary import boundary_automaton
from lengthwise.languages.lengths import exact_counts_at, lengths_with_words
from lengthwise.languages.scaled import CHUNK, ScaledCounts
from lengthwise.languages.steps import Steps


def random_automaton(states: int, letters: int, seed: int) -> Automaton:
    random = np.random.default_rng(seed)
    return Automaton(random.integers(0, states, size=(states, letters)), random.random(states) < 0.4)


automata = st.builds(random_automaton, st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**32))
small = st.builds(random_automaton, st.integers(1, 4), st.integers(1, 2), st.integers(0, 2**32))


def all_words(letters: int, length: int) -> np.ndarray:
    return np.array(list(product(range(letters), repeat=length)), dtype=np.int8).reshape(letters**length, length)


def end(automaton: Automaton, word, state: int = 0) -> int:
    """The state after a word, one transition at a time."""
    for letter in word:
        state = automaton.table[state, letter]
    return int(state)


@given(automata, st.integers(0, 5))
def test_running_words_together_is_running_each(automaton, length):
    words = all_words(automaton.letters, length)
    expected = [[end(automaton, word[:i]) for i in range(length + 1)] for word in words]
    assert automaton.run(words).tolist() == expected
    assert automaton.accepts(words).tolist() == [bool(automaton.accepting[states[-1]]) for states in expected]


@given(automata, st.integers(1, 5), st.integers(1, 3))
def test_padding_changes_nothing(automaton, length, more):
    words = all_words(automaton.letters, length)
    padding = np.full((len(words), more), -1)
    for padded in (np.hstack([words, padding]), np.hstack([padding, words])):
        assert (automaton.accepts(padded) == automaton.accepts(words)).all()


@given(automata)
def test_the_minimal_automaton_has_the_same_words_and_no_two_states_alike(automaton):
    minimal = automaton.minimal()
    words = [word for length in range(7) for word in product(range(automaton.letters), repeat=length)]
    assert minimal.states <= automaton.states
    for word in words:
        assert minimal.accepting[end(minimal, word)] == automaton.accepting[end(automaton, word)]
    # Words shorter than the number of states tell all states apart and reach all.
    short = [word for word in words if len(word) < max(minimal.states, 1)]
    assert {end(minimal, word) for word in short} == set(range(minimal.states))
    rows = {tuple(minimal.accepting[end(minimal, word, q)] for word in short) for q in range(minimal.states)}
    assert len(rows) == minimal.states


@given(automata)
def test_two_automata_of_one_language_have_the_same_minimal_one(automaton):
    order = np.concatenate([[0], 1 + np.random.default_rng(0).permutation(automaton.states - 1)])
    place = np.argsort(order)
    other = Automaton(place[automaton.table[order]], automaton.accepting[order])
    assert (automaton.minimal().table == other.minimal().table).all()
    assert (automaton.minimal().accepting == other.minimal().accepting).all()


@given(automata)
def test_counts_are_those_of_enumeration(automaton):
    expected = [int(automaton.accepts(all_words(automaton.letters, length)).sum()) for length in range(7)]
    assert count_words(automaton, 6) == expected


@given(automata)
def test_lengths_with_words_are_those_with_a_count(automaton):
    flags = list(islice(lengths_with_words(automaton), 40))
    counts = count_words(automaton, 39)
    assert flags == [count > 0 for count in counts[: len(flags)]]
    assert not any(counts[len(flags) :])


@given(automata, st.sampled_from([1, 50, 700]))
def test_scaled_counts_keep_their_error_bound(automaton, length):
    counts = ScaledCounts(automaton)
    mantissas, exponents = counts.at(length)
    for mantissa, exponent, exact in zip(mantissas, exponents, exact_counts_at(automaton, length)):
        assert (mantissa == 0) == (exact == 0)
        if exact:
            value = Fraction(float(mantissa)) * Fraction(2) ** int(exponent)
            assert abs(value / exact - 1) <= counts.relative_error(length)


@given(automata, st.sampled_from([4, 20, 32]), st.sampled_from([1, 3, 200, CHUNK, CHUNK + 1, 3 * CHUNK]))
def test_every_threshold_lies_in_its_cells(automaton, bits, left):
    cells, width = Steps(ScaledCounts(automaton), bits).cells((left - 1) // CHUNK)
    exact = exact_counts_at(automaton, left - 1)
    for state, row in enumerate(automaton.table.tolist()):
        sums = np.cumsum([exact[target] for target in row], dtype=object)
        if sums[-1] == 0:
            continue
        for rank, lowest in enumerate(cells[(left - 1) % CHUNK, state].tolist()):
            cell = min(int(Fraction(sums[rank], sums[-1]) * 2**bits), 2**bits - 1)
            assert 0 <= cell - lowest <= width


def cycles(automaton: Automaton, word) -> bool:
    """Whether the powers of a word never settle, by taking them."""
    states = list(range(automaton.states))
    for _ in range(automaton.states):
        states = [end(automaton, word, q) for q in states]
    return any(end(automaton, word, q) != q for q in states)


def has_counter(automaton: Automaton) -> bool:
    """Whether some word turns distinct states around in a ring: McNaughton and Papert's definition, by search."""
    for size in range(2, automaton.states + 1):
        for ring in permutations(range(automaton.states), size):
            found, waiting = {ring}, [ring]
            while waiting:
                here = waiting.pop()
                for letter in range(automaton.letters):
                    there = tuple(int(automaton.table[q, letter]) for q in here)
                    if there not in found:
                        found.add(there)
                        waiting.append(there)
            if ring[1:] + ring[:1] in found:
                return True
    return False


@given(small)
def test_star_free_iff_no_counter(automaton):
    minimal = automaton.minimal()
    assume(minimal.accepting.any())
    verdict = star_freeness(Language("random", "ab"[: minimal.letters], minimal))
    assert verdict.star_free == (not has_counter(minimal))
    if verdict.star_free:
        assert verdict.witness is None
        assert verdict.period is None
        return
    assert verdict.witness is not None
    witness = tuple("ab".index(letter) for letter in verdict.witness)
    earlier = (w for n in range(1, len(witness) + 1) for w in product(range(minimal.letters), repeat=n))
    first = next(word for word in earlier if cycles(minimal, word))
    assert first == witness
    powers = [[end(minimal, witness * n, q) for q in range(minimal.states)] for n in range(40)]
    assert verdict.period == next(p for p in range(1, 20) if powers[19] == powers[19 + p])


@given(small)
def test_the_monoid_has_an_element_for_each_map_that_words_make(automaton):
    minimal = automaton.minimal()
    assume(minimal.accepting.any())
    maps, last = set(), -1
    length = 0
    while len(maps) > last:  # words of one more length that make no new map: no longer word does either
        last = len(maps)
        maps |= {
            tuple(end(minimal, word, q) for q in range(minimal.states))
            for word in product(range(minimal.letters), repeat=length)
        }
        length += 1
        assume(length < 11)
    assert star_freeness(Language("random", "ab"[: minimal.letters], minimal)).monoid == len(maps)


@given(automata, st.integers(1, 5))
def test_boundary_pairs_are_those_of_enumeration(automaton, length):
    words = all_words(automaton.letters, length)
    accepted = automaton.accepts(words)
    pairs = {(tuple(x), tuple(y)) for x in words[accepted] for y in words[~accepted] if (x != y).sum() == 1}
    assume(automaton.letters ** (2 * length) < 10_000)
    coded = all_words(automaton.letters**2, length)
    found = coded[boundary_automaton(automaton, "random").accepts(coded)]
    k = automaton.letters
    assert {(tuple(w // k), tuple(w % k)) for w in found} == pairs
    assert len(found) == len(pairs)


@given(automata, st.integers(1, 5))
def test_next_probabilities_are_those_of_enumeration(automaton, length):
    minimal = automaton.minimal()
    assume(minimal.accepting.any())
    language = Language("random", "abc"[: minimal.letters], minimal)
    words = all_words(minimal.letters, length)
    words = words[minimal.accepts(words)]
    assume(len(words))
    probabilities = next_probabilities(language.inside, words)
    for word, rows in zip(words, probabilities):
        for place, row in enumerate(rows):
            same = words[(words[:, :place] == word[:place]).all(axis=1), place]
            share = [Fraction(int((same == a).sum()), len(same)) for a in range(minimal.letters)]
            assert exact_next_probabilities(minimal, word[:place].tolist(), length) == share
            assert row == pytest.approx([float(s) for s in share], rel=1e-13, abs=0)
