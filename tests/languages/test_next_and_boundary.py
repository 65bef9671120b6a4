"""Legal letters and walks, conditionals at long lengths, and pairs across the boundary of a language."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from lengthwise.errors import InputError
from lengthwise.languages import (
    Language,
    exact_next_probabilities,
    legal_next,
    legal_walks,
    named_language,
    next_probabilities,
)


@pytest.mark.parametrize("name", ["dyck-2", "a*b*c*", "tomita-4", "flip-flop", "no-3-in-a-row"])
def test_a_letter_is_legal_iff_a_word_goes_on_with_it(name):
    language = named_language(name)
    words = {"".join(w) for n in range(7) for w in product(language.alphabet, repeat=n)}
    accepted = {word for word in words if word in language}
    # In these languages what can be finished at all can be with four more letters.
    for prefix in ("".join(w) for w in product(language.alphabet, repeat=2)):
        legal = legal_next(language, language.encode([prefix]))[0, -1]
        expected = [any(word.startswith(prefix + letter) for word in accepted) for letter in language.alphabet]
        assert legal.tolist() == [*expected, prefix in language]


@pytest.mark.statistical
def test_walks_take_each_legal_letter_equally_often():
    language = named_language("no-3-in-a-row")
    walks = legal_walks(language, 4000, 6, np.random.default_rng(0))
    assert walks.shape == (4000, 6)
    legal = legal_next(language, walks)[:, :-1, :2]
    assert np.take_along_axis(legal, walks[..., None].astype(np.int64), axis=2).all()
    free = legal[..., 0] & legal[..., 1]
    assert not free.all()
    for place in range(6):  # where both letters are legal, each is taken equally often, whatever came before
        taken = walks[free[:, place], place]
        assert chisquare(np.bincount(taken, minlength=2)).pvalue > 1e-7
        after = np.bincount(taken + 2 * walks[free[:, place], place - 1], minlength=4).reshape(2, 2)
        assert place == 0 or min(chisquare(row).pvalue for row in after) > 1e-7


@pytest.mark.statistical
def test_walks_with_ends_are_words_and_their_end_is_one_choice_of_many():
    language = named_language("a*b*c*")
    walks = legal_walks(language, 4000, 200, np.random.default_rng(0), ends=True)
    ended = walks == 3
    assert (ended.sum(axis=1) == 1).all()
    lengths = ended.argmax(axis=1)
    for walk, length in zip(walks[:200], lengths):
        assert (walk[length + 1 :] == -1).all()
        assert language.decode(walk[None, :length])[0] in language
    # Of the four choices at the start (a, b, c, end) each is taken equally often.
    assert chisquare(np.bincount(walks[:, 0], minlength=4)).pvalue > 1e-7


def test_a_walk_that_would_get_stuck_is_refused():
    language = Language.from_regex("a*b|a*ca*", "abc")
    with pytest.raises(InputError, match="legal walk of 5 letters: nothing continues 'b'"):
        legal_walks(language, 3, 5, np.random.default_rng(0))
    assert legal_walks(language, 3, 1, np.random.default_rng(0)).shape == (3, 1)


@pytest.mark.statistical
def test_long_words_follow_their_conditionals():
    language = named_language("tomita-3")
    words = language.inside.sample(400, 300, np.random.default_rng(0))
    probabilities = next_probabilities(language.inside, words)
    assert probabilities.sum(axis=2) == pytest.approx(1, abs=1e-12)
    surprise = (words == 1) - probabilities[..., 1]
    z = surprise.sum() / np.sqrt((probabilities[..., 1] * probabilities[..., 0]).sum())
    assert abs(z) < 5.4
    prefix = words[0, :20].tolist()
    exact = exact_next_probabilities(language.automaton, prefix, 300)
    assert probabilities[0, 20] == pytest.approx([float(share) for share in exact], rel=1e-12)


def test_conditionals_outside_and_of_impossible_prefixes():
    language = Language.from_regex("(ab)*")
    assert next_probabilities(language.outside, language.encode(["ba"]))[0, 0].tolist() == pytest.approx([1 / 3, 2 / 3])
    with pytest.raises(InputError, match=r"letters \[1\]: no word of length 2 in '\(ab\)\*' begins with them"):
        next_probabilities(language.inside, language.encode(["ba"]))
    with pytest.raises(InputError, match="without padding"):
        next_probabilities(language.inside, language.encode(["ab", ""]))


def one_apart(language: Language, length: int) -> list[tuple[str, str]]:
    words = ["".join(w) for w in product(language.alphabet, repeat=length)]
    inside = {word for word in words if word in language}
    changed = ((x, x[:i] + b + x[i + 1 :]) for x in inside for i in range(length) for b in language.alphabet)
    return sorted((x, y) for x, y in changed if y not in inside)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "length"), [("contains", 4), ("tomita-3", 6), ("a*b*c*", 4), ("dyck-2", 6), ("flip-flop", 4)]
)
def test_boundary_pairs_are_uniform(name, length):
    language = named_language(name)
    expected = one_apart(language, length)
    pairs = language.boundary.sample(30 * len(expected), length, np.random.default_rng(0))
    found = list(zip(language.decode(pairs.inside), language.decode(pairs.outside)))
    place = {pair: i for i, pair in enumerate(expected)}
    assert chisquare(np.bincount([place[pair] for pair in found], minlength=len(place))).pvalue > 1e-7


@pytest.mark.parametrize("name", ["contains", "tomita-4", "a*b*c*", "dyck-4", "flip-flop", "parity", "(00|11)*"])
def test_boundary_pairs_differ_in_one_place_and_in_class(name):
    language = named_language(name)
    dfa = language.automaton.to_dfa(language.alphabet)
    lengths = np.array([4, 20, 20, 400])
    pairs = language.boundary.sample_lengths(lengths, np.random.default_rng(0))
    differ = pairs.inside != pairs.outside
    assert (differ.sum(axis=1) == 1).all()
    assert differ[np.arange(4), pairs.place].all()
    assert all(dfa.accepts_input(word) for word in language.decode(pairs.inside))
    assert not any(dfa.accepts_input(word) for word in language.decode(pairs.outside))
    assert ((pairs.inside >= 0).sum(axis=1) == lengths).all()
    assert ((pairs.outside >= 0).sum(axis=1) == lengths).all()


def test_the_boundary_of_contains_is_one_letter_against_none_at_any_length():
    pairs = named_language("contains").boundary.sample(50, 20_000, np.random.default_rng(0))
    assert ((pairs.inside == 0).sum(axis=1) == 1).all()
    assert not (pairs.outside == 0).any()
    assert pairs.place.min() < 4000
    assert pairs.place.max() > 16_000


def test_a_language_without_a_boundary():
    with pytest.raises(InputError, match="'even-length' has no pair of words one substitution apart of it; nor of any"):
        named_language("even-length").boundary.sample(1, 4, np.random.default_rng(0))
    with pytest.raises(InputError, match="the nearest lengths with one are 4 and 6"):
        named_language("dyck-2").boundary.sample(1, 5, np.random.default_rng(0))
