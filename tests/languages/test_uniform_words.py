"""Words are exactly uniform, valid, and can be a hundred thousand letters long."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from lengthwise.errors import InputError
from lengthwise.languages import Language, Sampler, named_language, scaled, steps
from lengthwise.languages.draws import _decided, settle
from lengthwise.languages.lengths import exact_counts_at
from lengthwise.languages.scaled import ScaledCounts

# A language and a length with enough words on both sides to count.
UNIFORM = {
    "contains": 4,
    "first-equals-last": 8,
    "a*b*c*": 5,
    "tomita-3": 8,
    "tomita-4": 8,
    "tomita-5": 8,
    "tomita-6": 7,
    "tomita-7": 8,
    "dyck-2": 8,
    "dyck-4": 9,
    "flip-flop": 4,
    "no-3-in-a-row": 9,
    "parity": 8,
    "(00|11)*": 8,
}


def frequencies(words: np.ndarray, letters: int) -> np.ndarray:
    """How often each word of one length occurs, in lexicographic order."""
    codes = words.astype(np.int64) @ letters ** np.arange(words.shape[1])[::-1]
    return np.bincount(codes, minlength=letters ** words.shape[1])


def assert_uniform(words: np.ndarray, letters: int, allowed: np.ndarray) -> None:
    counts = frequencies(words, letters)
    assert counts[~allowed].sum() == 0
    if allowed.sum() > 1:
        assert chisquare(counts[allowed]).pvalue > 1e-7


def enumeration(language: Language, length: int) -> np.ndarray:
    """Which of all words of a length automata-lib accepts, in lexicographic order."""
    dfa = language.automaton.to_dfa(language.alphabet)
    return np.array([dfa.accepts_input("".join(w)) for w in product(language.alphabet, repeat=length)])


@pytest.mark.statistical
@pytest.mark.parametrize("side", ["inside", "outside"])
@pytest.mark.parametrize("name", UNIFORM)
def test_words_are_uniform(name, side):
    language, length = named_language(name), UNIFORM[name]
    allowed = enumeration(language, length) == (side == "inside")
    if not allowed.any():  # dyck-4 has no word of an odd length
        with pytest.raises(InputError):
            getattr(language, side).sample(1, length, np.random.default_rng(0))
        return
    words = getattr(language, side).sample(40 * int(allowed.sum()), length, np.random.default_rng(1))
    assert_uniform(words, len(language.alphabet), allowed)


@pytest.mark.statistical
@pytest.mark.parametrize("bits", [1, 3, 7])
@pytest.mark.parametrize("name", ["contains", "a*b*c*", "tomita-3", "dyck-2"])
def test_words_are_uniform_when_few_bits_leave_most_draws_to_exact_arithmetic(name, bits):
    language, length = named_language(name), min(UNIFORM[name], 6)
    allowed = enumeration(language, length)
    sampler = Sampler(language.automaton, name, bits=bits)
    words = sampler.sample(10 * int(allowed.sum()), length, np.random.default_rng(2))
    assert_uniform(words, len(language.alphabet), allowed)


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["contains", "tomita-4", "a*b*c*", "flip-flop", "tomita-6"])
def test_words_of_many_lengths_are_each_uniform(name):
    language = named_language(name)
    choices = [n for n in range(6) if enumeration(language, n).any() and len(language.alphabet) ** n < 700]
    lengths = np.random.default_rng(3).choice(choices, size=20_000)
    words = language.inside.sample_lengths(lengths, np.random.default_rng(4))
    assert ((words >= 0).sum(axis=1) == lengths).all()
    for length in choices:
        assert (words[lengths == length, length:] == -1).all()
        assert_uniform(words[lengths == length, :length], len(language.alphabet), enumeration(language, length))


def test_a_draw_is_settled_by_its_own_bits_where_they_decide():
    counts = ScaledCounts(named_language("tomita-3").automaton)
    targets, random = counts.automaton.table[0].tolist(), np.random.default_rng(5)
    following = [exact_counts_at(counts.automaton, 90)[target] for target in targets]
    # With 8 bits the approximate thresholds decide; 200 bits tell more than they know, and the exact ones decide.
    for bits in (8, 200):
        cell = following[0] * 2**bits // sum(following)
        for draw in (0, cell - 1, cell + 1, 2**bits - 1):
            assert settle(counts, targets, 90, draw, bits, random) == (draw > cell)
        assert {settle(counts, targets, 90, cell, bits, random) for _ in range(40)} == {0, 1}


@pytest.mark.parametrize(
    ("draw", "choice"),
    [(0, 0), (3, 0), (4, None), (5, None), (6, 1), (11, 1), (12, None), (13, None), (14, 2), (15, 2)],
)
def test_a_draw_is_decided_only_outside_every_bound(draw, choice):
    low, high = [Fraction(9, 32), Fraction(3, 4)], [Fraction(11, 32), Fraction(27, 32)]
    assert _decided(low, high, draw, 4) == choice


@pytest.mark.parametrize("name", UNIFORM)
def test_every_word_is_accepted_by_automata_lib(name):
    language = named_language(name)
    dfa = language.automaton.to_dfa(language.alphabet)
    for sampler, inside in ((language.inside, True), (language.outside, False)):
        lengths = np.array([0, 1, 2, 30, 31, 66, 67, 300, 302] * 8)
        lengths = lengths[[bool(sampler.counts.at(n)[0][0]) for n in lengths.tolist()]]
        words = language.decode(sampler.sample_lengths(lengths, np.random.default_rng(6)))
        assert [len(word) for word in words] == lengths.tolist()
        assert {dfa.accepts_input(word) for word in words} == {inside}


def test_words_are_a_function_of_the_seed():
    sampler = named_language("contains").inside
    first, again, other = (sampler.sample(5, 50, np.random.default_rng(seed)) for seed in (7, 7, 8))
    assert (first == again).all()
    assert (first != other).any()


def test_counts_of_wildly_different_size_do_not_underflow():
    # Of odd length there is one word, though its states lie beside others with 2^length words.
    language = Language.from_regex("((a|b)(a|b))*|a(aa)*")
    words = language.inside.sample(3, 5001, np.random.default_rng(0))
    assert (words == 0).all()
    even = language.inside.sample(200, 5000, np.random.default_rng(0))
    assert 0.49 < even.mean() < 0.51


def test_a_hundred_thousand_letters():
    language = named_language("tomita-3")
    words = language.inside.sample(20, 100_000, np.random.default_rng(0))
    assert words.shape == (20, 100_000)
    assert language.accepts(words).all()
    dfa = language.automaton.to_dfa("01")
    assert all(dfa.accepts_input(word) for word in language.decode(words[:2]))
    assert len({row.tobytes() for row in words}) == 20


def test_memory_is_that_of_two_caches_at_any_length(monkeypatch):
    monkeypatch.setattr(scaled, "MEMORY", 2**20)
    monkeypatch.setattr(steps, "MEMORY", 2**20)
    language = Language.from_regex(".*a{80}.*", "ab").complement("no 80 in a row")
    kept = []
    for length in (2000, 8000):
        sampler = Sampler(language.automaton, language.name)
        tracemalloc.start()
        words = sampler.sample(2, length, np.random.default_rng(0))
        kept.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert language.accepts(words).all()
    # All counts and thresholds of the longer ones would be 18 MB.
    assert kept[1] < 7e6
    assert kept[1] < 2 * kept[0]


@pytest.mark.parametrize(
    ("regex", "length", "expected"),
    [
        ("(ab)*", 5, "length 5: '(ab)*' has no word of it; the nearest lengths with one are 4 and 6"),
        ("aaa|aaaaa", 9, "length 9: 'aaa|aaaaa' has no word of it; the nearest length with one is 5"),
        ("aaa(aaaa)*", 1, "length 1: 'aaa(aaaa)*' has no word of it; the nearest length with one is 3"),
        ("(ab)*", -1, "length -1: expected 0 or more"),
    ],
)
def test_a_length_without_words(regex, length, expected):
    with pytest.raises(InputError) as error:
        Language.from_regex(regex).inside.sample(1, length, np.random.default_rng(0))
    assert str(error.value) == expected


def test_nothing_lies_outside_everything():
    language = Language.from_regex("(a|b)*")
    assert language.everything
    with pytest.raises(InputError, match="no word of it; nor of any other"):
        language.outside.sample(1, 5, np.random.default_rng(0))


def test_no_words_and_empty_words():
    language = Language.from_regex("(ab)*")
    assert language.inside.sample(0, 4, np.random.default_rng(0)).shape == (0, 4)
    assert language.inside.sample(3, 0, np.random.default_rng(0)).shape == (3, 0)
