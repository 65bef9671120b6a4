"""Exactly uniform words of given lengths, many at once."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from lengthwise.errors import InputError
from lengthwise.languages.automaton import Automaton
from lengthwise.languages.draws import BITS
from lengthwise.languages.lengths import no_words
from lengthwise.languages.scaled import ScaledCounts
from lengthwise.languages.steps import Steps


class Sampler:
    """Draws words of an automaton, exactly uniform over those of the asked length, with any numpy generator.

    Each draw compares 32 random bits with float64 thresholds; within their error bound it draws more bits, and in the
    end compares with the exact counts (`settle`). So no word is drawn too often by any amount, and memory is bounded at
    any length.

    Source: `docs/theory.md`, "Star-free decision and sampling"; the recursive method of Flajolet, Zimmermann and Van
    Cutsem 1994.

    >>> sampler = Sampler(Automaton(np.array([[1, 2], [2, 0], [2, 2]]), np.array([True, False, False])), "(ab)*")
    >>> sampler.sample(2, 4, np.random.default_rng(0)).tolist()
    [[0, 1, 0, 1], [0, 1, 0, 1]]
    """

    def __init__(self, automaton: Automaton, name: str, what: str = "word", bits: int = BITS) -> None:
        self.automaton, self.name, self.what, self.bits = automaton, name, what, bits
        self.counts = ScaledCounts(automaton)
        self._steps = Steps(self.counts, bits)
        self._there: set[int] = set()  # lengths known to have words

    def sample(self, count: int, length: int, random: np.random.Generator) -> Int[np.ndarray, "count length"]:
        """Words of one length, one a row.

        Errors: InputError for a length without words, naming the nearest that have some.
        """
        self._check(length)
        return self._words(np.full(count, length), length, random)

    def sample_lengths(
        self, lengths: Int[np.ndarray, " count"], random: np.random.Generator
    ) -> Int[np.ndarray, "count longest"]:
        """Words of the given lengths, one a row, padded at the end with -1; each is uniform over its own length.

        Errors: InputError for a length without words, naming the nearest that have some.
        """
        lengths = np.asarray(lengths)
        for length in {*lengths.tolist()} - self._there:
            self._check(length)
        return self._words(lengths, int(lengths.max(initial=0)), random)

    def _words(
        self, lengths: Int[np.ndarray, " count"], longest: int, random: np.random.Generator
    ) -> Int[np.ndarray, "count longest"]:
        words = np.full((len(lengths), longest), -1, dtype=np.int8 if self.automaton.letters <= 128 else np.int16)
        self._steps.walk(words, np.asarray(lengths, dtype=np.int64), random)
        return words

    def _check(self, length: int) -> None:
        if length < 0:
            raise InputError(f"length {length}: expected 0 or more")
        if self.counts.at(length)[0][0] == 0:
            raise no_words(self.name, self.automaton, length, self.what)
        self._there.add(length)
