"""Which languages letters alone decide, against all words up to length 8, one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.languages import Automaton, Language, named_language
from lengthwise.languages.shallow import SHALLOW_LETTER_LIMIT, shallow_form

LONGEST = 8


def random_language(states: int, letters: int, seed: int) -> Language | None:
    random = np.random.default_rng(seed)
    table = random.integers(0, states, size=(states, letters))
    automaton = Automaton(table, random.random(states) < 0.5).minimal()
    return Language("random", "abc"[:letters], automaton) if automaton.accepting.any() else None


def language_of_letters(letters: int, seed: int, by_last: bool) -> Language:
    """A random function of the set of letters, or of it and the last letter: a state for each pair."""
    random = np.random.default_rng(seed)
    pairs = [(0, 0), *product(range(1, 2**letters), range(letters))]
    number = {pair: i for i, pair in enumerate(pairs)}
    table = [[number[(letter_set | 1 << a, a)] for a in range(letters)] for letter_set, _ in pairs]
    says = random.random((2**letters, letters)) < 0.5
    accepting = [bool(says[letter_set, last if by_last else 0]) for letter_set, last in pairs]
    accepting[number[(1, 0)]] = True  # a language has some word
    accepting = np.array(accepting)
    return Language("of letters", "abc"[:letters], Automaton(np.array(table), accepting).minimal())


def short_words(language: Language) -> list[str]:
    """All non-empty words up to length 8, in shortlex order."""
    return ["".join(w) for n in range(1, LONGEST + 1) for w in product(language.alphabet, repeat=n)]


def by_definition(language: Language) -> tuple[bool, bool, tuple[str, str] | None]:
    """The same from the membership of all short words, read in shortlex order."""
    words = short_words(language)
    sets: dict[frozenset[str], set[bool]] = {}
    first: dict[tuple[frozenset[str], str, bool], str] = {}
    witness = None
    for word, inside in zip(words, language.accepts(language.encode(words)).tolist()):
        letters = frozenset(word)
        sets.setdefault(letters, set()).add(inside)
        first.setdefault((letters, word[-1], inside), word)
        if witness is None and (other := first.get((letters, word[-1], not inside))) is not None:
            witness = other, word
    return all(len(both) == 1 for both in sets.values()), witness is None, witness


@settings(max_examples=60)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32))
def test_random_automata_are_judged_as_all_short_words_are(states: int, letters: int, seed: int) -> None:
    language = random_language(states, letters, seed)
    if language is not None:
        form = shallow_form(language)
        if form.witness is None or len(form.witness[1]) <= LONGEST:
            assert (form.letter_set, form.last_letter, form.witness) == by_definition(language)
        else:
            assert by_definition(language)[1]


@settings(max_examples=40)
@given(st.integers(1, 3), st.integers(0, 2**32), st.booleans())
def test_functions_of_letters_are_recognised_and_told_apart(letters: int, seed: int, by_last: bool) -> None:
    language = language_of_letters(letters, seed, by_last)
    form = shallow_form(language)
    assert form.last_letter
    assert form.letter_set or by_last
    assert (form.letter_set, True, form.witness) == by_definition(language)


@given(st.integers(1, 9), st.integers(1, 3), st.integers(0, 2**32))
def test_a_witness_is_two_words_of_the_same_letters_one_in_one_out(states: int, letters: int, seed: int) -> None:
    language = random_language(states, letters, seed)
    form = shallow_form(language) if language is not None else None
    if language is not None and form is not None and form.witness is not None:
        one, other = form.witness
        assert (len(one), one) < (len(other), other)
        assert (set(one), one[-1]) == (set(other), other[-1])
        assert (one in language) != (other in language)
        assert one in form.says
        assert other in form.says
        assert ("is in and" in form.says) == (one in language)


@pytest.mark.parametrize(
    ("name", "letter_set", "last_letter", "witness"),
    [
        ("contains", True, True, None),
        ("tomita-1", True, True, None),
        ("ends-with", False, True, None),
        ("starts-with", False, False, ("ba", "aba")),
        ("a*b*c*", False, False, ("ab", "bab")),
        ("parity", False, False, ("1", "11")),
        ("no-3-in-a-row", False, False, ("a", "aaa")),
    ],
)
def test_named_languages(name: str, letter_set: bool, last_letter: bool, witness: tuple[str, str] | None) -> None:
    form = shallow_form(named_language(name))
    assert (form.letter_set, form.last_letter, form.witness) == (letter_set, last_letter, witness)


@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32))
def test_the_complement_is_decided_by_the_same_letters(states: int, letters: int, seed: int) -> None:
    language = random_language(states, letters, seed)
    if language is not None and not language.everything:
        ours, theirs = shallow_form(language), shallow_form(language.complement())
        assert (ours.letter_set, ours.last_letter, ours.witness) == (
            theirs.letter_set,
            theirs.last_letter,
            theirs.witness,
        )


def test_the_empty_word_is_ignored() -> None:
    assert shallow_form(Language.from_regex("a+")).letter_set
    assert shallow_form(Language.from_regex("(a|b)+")).letter_set


def test_more_letters_than_the_limit_are_refused_with_their_number() -> None:
    most = "abcdefghijklmnop"
    assert len(most) == SHALLOW_LETTER_LIMIT
    assert shallow_form(Language.from_regex(".*a.*", most)).letter_set
    with pytest.raises(InputError, match="17 letters; expected at most 16"):
        shallow_form(Language.from_regex(".*a.*", most + "q"))
