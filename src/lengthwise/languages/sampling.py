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

_BATCH = 4096
BLOCKS = 128


class Sampler:
    """Draws words of an automaton, exactly uniform over those of the asked length, with any numpy generator.

    Each draw compares 32 random bits with float64 thresholds; within their error bound it draws more bits, and in the
    end compares with the exact counts (`settle`). So no word is drawn too often by any amount, and memory is bounded at
    any length. Several letters are drawn at once when the alphabet is small.

    Source: `docs/theory.md`, "Star-free decision and sampling"; the recursive method of Flajolet, Zimmermann and Van
    Cutsem 1994.

    >>> sampler = Sampler(Automaton(np.array([[1, 2], [2, 0], [2, 2]]), np.array([True, False, False])), "(ab)*")
    >>> sampler.sample(2, 4, np.random.default_rng(0)).tolist()
    [[0, 1, 0, 1], [0, 1, 0, 1]]
    """

    def __init__(self, automaton: Automaton, name: str, what: str = "word", bits: int = BITS) -> None:
        self.automaton, self.name, self.what, self.bits = automaton, name, what, bits
        self.counts = ScaledCounts(automaton)
        self._single = Steps(self.counts, 1, bits)
        several = next(m for m in (4, 2, 1) if m == 1 or 1 < automaton.letters**m <= BLOCKS)
        self._block = Steps(self.counts, several, bits)

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
        for length in np.unique(lengths).tolist():
            self._check(length)
        return self._words(lengths, int(lengths.max(initial=0)), random)

    def _words(
        self, lengths: Int[np.ndarray, " count"], longest: int, random: np.random.Generator
    ) -> Int[np.ndarray, "count longest"]:
        words = np.full((len(lengths), longest), -1, dtype=self._single.words.dtype)
        # The longest first, so that the words under way are always the first ones.
        order = np.argsort(-lengths, kind="stable")
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            aligned = self._draw(lengths[rows], random)
            for length in np.unique(lengths[rows]).tolist():
                same = lengths[rows] == length
                words[rows[same], :length] = aligned[same, aligned.shape[1] - length :]
        return words

    def _check(self, length: int) -> None:
        if length < 0:
            raise InputError(f"length {length}: expected 0 or more")
        if self.counts.at(length)[0][0] == 0:
            raise no_words(self.name, self.automaton, length, self.what)

    def _draw(self, lengths: Int[np.ndarray, " n"], random: np.random.Generator) -> Int[np.ndarray, "n aligned"]:
        """Words aligned at their ends; lengths descend."""
        m, longest = self._block.letters, int(lengths.max(initial=0))
        groups = -(-longest // m)
        packed = np.empty((groups, len(lengths)), dtype=self._block.packed.dtype)
        letters = packed.view(self._block.words.dtype).reshape(groups, len(lengths), m)
        states = np.zeros(len(lengths), dtype=np.intp)
        # begun[r] words have at least r letters, and so are under way when r are left.
        begun = np.searchsorted(-lengths, -np.arange(longest + m), side="right")
        for group in range(groups):
            left = (groups - group) * m
            begun_before = begun[left]
            packed[group, :begun_before] = self._block.packed[self._block.step(states[:begun_before], left, random)]
            # Words whose length is no multiple of m take single letters up to the next multiple.
            for left_now in range(left - 1, left - m, -1):
                new = slice(begun_before, begun[left_now])
                if new.stop > new.start:
                    letters[group, new, left - left_now] = self._single.step(states[new], left_now, random)
        return np.ascontiguousarray(packed.T).view(self._block.words.dtype)
