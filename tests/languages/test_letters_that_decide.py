"""Which letters decide, which lengths have words, and which language a text names: against all short words."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.languages import Automaton, decisive_letters, language_of, named_language
from lengthwise.languages.lengths import has_words
from lengthwise.languages.suite import SUITE


def automaton_of(states: int, letters: int, seed: int) -> Automaton:
    random = np.random.default_rng(seed)
    return Automaton(random.integers(0, states, size=(states, letters)), random.random(states) < 0.5)


def words(automaton: Automaton, longest: int) -> list[tuple[tuple[int, ...], bool]]:
    """Every word up to a length and whether it is in, read letter by letter."""
    found = []
    for length in range(longest + 1):
        for word in product(range(automaton.letters), repeat=length):
            state = 0
            for letter in word:
                state = automaton.table[state, letter]
            found.append((word, bool(automaton.accepting[state])))
    return found


@settings(max_examples=60)
@given(st.sampled_from([(1, 2), (2, 2), (3, 2), (2, 3), (4, 1)]), st.integers(0, 2**32))
def test_a_letter_decides_where_two_words_that_differ_in_its_presence_do(sizes: tuple[int, int], seed: int) -> None:
    automaton = automaton_of(*sizes, seed)
    said: dict[tuple[frozenset[int], int], set[bool]] = {}
    for word, inside in words(automaton, 9 if sizes[1] < 3 else 7)[1:]:
        said.setdefault((frozenset(word), word[-1]), set()).add(inside)
    expected = [
        any(
            inside != other
            for (letters, last), one in said.items() if x not in letters
            for inside in one for other in said.get((letters | {x}, last), set())
        )
        for x in range(automaton.letters)
    ]  # fmt: skip
    assert decisive_letters(automaton).tolist() == expected


@pytest.mark.parametrize(
    ("text", "alphabet", "expected"),
    [
        ("contains", None, "a"),
        (".*[ab].*", "abcd", "ab"),
        ("[bcd]*b", "abcd", "a"),
        (".*a", "ab", ""),
        ("tomita-1", None, "0"),
        ("a*b*c*", None, "abc"),
    ],
)
def test_the_letters_that_decide_known_languages(text: str, alphabet: str | None, expected: str) -> None:
    language = language_of(text, alphabet)
    decides = decisive_letters(language.automaton)
    assert "".join(letter for letter, yes in zip(language.alphabet, decides) if yes) == expected


@given(st.integers(1, 4), st.integers(1, 2), st.integers(0, 2**32), st.integers(0, 7))
def test_the_lengths_with_words_are_those_of_all_short_words(states: int, letters: int, seed: int, most: int) -> None:
    automaton = automaton_of(states, letters, seed)
    there = {len(word) for word, inside in words(automaton, most) if inside}
    assert has_words(automaton, most).tolist() == [n in there for n in range(most + 1)]


def test_a_finite_language_has_no_long_words() -> None:
    found = has_words(language_of("aa|aaaa").automaton, 1000)
    assert np.flatnonzero(found).tolist() == [2, 4]


@pytest.mark.parametrize("name", SUITE)
def test_a_name_of_the_suite_is_its_language_with_its_alphabet_or_none(name: str) -> None:
    assert language_of(name) is language_of(name, SUITE[name].alphabet) is named_language(name)


def test_an_expression_is_a_language_over_the_letters_that_it_names() -> None:
    assert language_of("ba*").alphabet == "ab"
    assert language_of("ba*", "bac").alphabet == "bac"
    assert "bb" not in language_of("ba*")


@pytest.mark.parametrize(
    ("text", "alphabet", "says"),
    [
        ("contain", None, "unknown language 'contain': did you mean 'contains'?"),
        ("dyck-", None, "unknown language 'dyck-': did you mean 'dyck-"),
        ("parity", "ab", "alphabet 'ab': language 'parity' has its own, '01'"),
        ("(ab", None, "regular expression"),
    ],
)
def test_what_names_no_language_is_refused_in_one_line(text: str, alphabet: str | None, says: str) -> None:
    with pytest.raises(InputError) as error:
        language_of(text, alphabet)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["tomita-8", "dyck-22", "no-3-in-a-rwo", "multiples-of-4"])
def test_a_mistyped_name_with_a_digit_is_refused_too(text: str) -> None:
    with pytest.raises(InputError, match=f"unknown language '{text}': did you mean"):
        language_of(text)
