"""A regular language: its alphabet, its minimal automaton, and its words as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from automata.fa.dfa import DFA
from jaxtyping import Bool, Int

from lengthwise.errors import InputError
from lengthwise.languages.automaton import Automaton, from_dfa
from lengthwise.languages.boundary import BoundarySampler
from lengthwise.languages.expressions import compile_expression
from lengthwise.languages.sampling import Sampler
from lengthwise.languages.tables import compile_table, read_table

LETTER_LIMIT = 127


@dataclass(frozen=True, eq=False)
class Language:
    """A regular language over an alphabet of single characters, held as its minimal complete automaton.

    Words are strings, or rows of letter numbers padded with -1. Two languages are compared by `same_words`.

    >>> language = Language.from_regex("(a|b)*abb")
    >>> "aabb" in language, "abba" in language
    (True, False)
    >>> language.alphabet, language.automaton.states
    ('ab', 4)
    """

    name: str
    alphabet: str
    automaton: Automaton

    def __post_init__(self) -> None:
        if len(self.alphabet) > LETTER_LIMIT:
            raise InputError(f"language {self.name!r}: {len(self.alphabet)} letters; expected at most {LETTER_LIMIT}")
        if not self.automaton.accepting.any():
            raise InputError(f"language {self.name!r} is empty; expected one with at least one word")

    @classmethod
    def from_regex(cls, regex: str, alphabet: str | None = None) -> Language:
        """The language of a regular expression as automata-lib reads it; by default over the letters that it names.

        Errors: InputError for an expression that does not parse, with the character (from 1), for letters outside the
        alphabet, for a language without words, and for more than 10,000 states.

        >>> Language.from_regex(".*a.*", alphabet="abc").automaton.states
        2
        """
        return cls(regex, *compile_expression(regex, alphabet))

    @classmethod
    def from_dfa(cls, dfa: DFA, name: str = "automaton") -> Language:
        """The language of an automata-lib DFA, complete or partial; the alphabet is sorted.

        Errors: InputError for input symbols that are not single characters, and for a language without words.

        >>> "xxay" in Language.from_dfa(DFA.from_substring({"x", "y", "a"}, "xa"))
        True
        """
        alphabet = sorted(dfa.input_symbols)
        if not alphabet or any(len(letter) != 1 for letter in alphabet):
            raise InputError(f"{name}: input symbols {alphabet}: expected single characters")
        return cls(name, "".join(alphabet), from_dfa(dfa, alphabet).minimal())

    @classmethod
    def from_table(cls, table: Mapping[str, Any] | str | Path, name: str | None = None) -> Language:
        """The language of a transition table, given as an object or as the path of a JSON file.

        The keys are `alphabet`, `start`, `accepting` (a list of states) and `transitions` (for every state an object
        with a state for every letter).

        Errors: InputError for a file that is not JSON, for a key, state or transition that is missing or unknown, and
        for a language without words.

        >>> rows = {"no": {"a": "yes", "b": "no"}, "yes": {"a": "yes", "b": "yes"}}
        >>> table = {"alphabet": "ab", "start": "no", "accepting": ["yes"], "transitions": rows}
        >>> "bba" in Language.from_table(table, "contains a")
        True
        """
        if isinstance(table, Mapping):
            return cls(name or "table", *compile_table(name or "table", table))
        return cls(name or str(table), *compile_table(str(table), read_table(Path(table))))

    def complement(self, name: str | None = None) -> Language:
        """All words over the alphabet that are not in the language.

        Errors: InputError when there are none.

        >>> "aa" in Language.from_regex("(aa)*").complement()
        False
        """
        return Language(name or f"not {self.name}", self.alphabet, self.automaton.complement())

    @cached_property
    def everything(self) -> bool:
        """Whether every word over the alphabet is in the language, so that there is nothing to recognise."""
        return bool(self.automaton.accepting.all())

    @cached_property
    def inside(self) -> Sampler:
        """Draws words of the language, exactly uniform at each length.

        >>> language = Language.from_regex("(ab)*")
        >>> language.decode(language.inside.sample(1, 6, np.random.default_rng(0)))
        ['ababab']
        """
        return Sampler(self.automaton, self.name)

    @cached_property
    def outside(self) -> Sampler:
        """Draws words over the alphabet that are not in the language, exactly uniform at each length."""
        return Sampler(self.automaton.complement(), f"not {self.name}")

    @cached_property
    def boundary(self) -> BoundarySampler:
        """Draws pairs of a word inside and one outside that differ in one letter, exactly uniform at each length."""
        return BoundarySampler(self.automaton, self.name)

    def same_words(self, other: Language) -> bool:
        """Whether two languages have the same words over the same letters, in the same order.

        >>> Language.from_regex("a*").same_words(Language.from_regex("(a?)*"))
        True
        """
        if self.alphabet != other.alphabet or self.automaton.states != other.automaton.states:
            return False
        ours, theirs = self.automaton.minimal(), other.automaton.minimal()
        return bool((ours.table == theirs.table).all() and (ours.accepting == theirs.accepting).all())

    def __contains__(self, word: str) -> bool:
        return bool(self.accepts(self.encode([word]))[0])

    def accepts(self, words: Int[np.ndarray, "n length"]) -> Bool[np.ndarray, " n"]:
        """Whether each row of letter numbers, padded with -1, is a word of the language.

        >>> Language.from_regex("(ab)*").accepts(np.array([[0, 1], [1, 0], [-1, -1]])).tolist()
        [True, False, True]
        """
        return self.automaton.accepts(words)

    def encode(self, words: Sequence[str]) -> Int[np.ndarray, "n length"]:
        """Words as rows of letter numbers, padded at the end with -1.

        Errors: InputError for a letter outside the alphabet, with its place.

        >>> Language.from_regex("(ab)*").encode(["ab", "b"]).tolist()
        [[0, 1], [1, -1]]
        """
        number = {letter: a for a, letter in enumerate(self.alphabet)}
        rows = np.full((len(words), max(map(len, words), default=0)), -1, dtype=np.int8)
        for row, word in zip(rows, words):
            for place, letter in enumerate(word):
                if letter not in number:
                    raise InputError(
                        f"word {word!r}: letter {letter!r} at character {place + 1} is outside the alphabet "
                        f"{self.alphabet!r}"
                    )
                row[place] = number[letter]
        return rows

    def decode(self, words: Int[np.ndarray, "n length"]) -> list[str]:
        """Rows of letter numbers as strings, without the padding.

        >>> Language.from_regex("(ab)*").decode(np.array([[0, 1], [1, -1]]))
        ['ab', 'b']
        """
        letters = np.array([*self.alphabet, ""])
        return ["".join(letters[row].tolist()) for row in np.asarray(words)]
