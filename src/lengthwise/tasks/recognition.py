"""Recognition: is a word in a regular language, asked of words of any length."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import torch
from pydantic import Field, model_validator

from lengthwise.errors import InputError
from lengthwise.languages import Automaton, Language, language_of
from lengthwise.languages.lengths import has_words
from lengthwise.tasks.batch import Batch
from lengthwise.tasks.drawn_lengths import DrawnLengths
from lengthwise.tasks.task import LossName


class Recognition(DrawnLengths):
    """Words of a regular language and words outside it, in equal number; the answer is 1 for inside, 0 for outside.

    Each word ends in a marker, token k of k letters. A length is that of the word, without the marker. Trained lengths
    are drawn from a distribution without an upper bound (`drawn`, of the given mean); pairs of words of one length come
    from the boundary of the language (one letter apart: the hard cases at long lengths) or are uniform over the words
    inside and outside. (arXiv:2610.20337; docs/theory.md, "Attention lag".)

    `language` is a name of the suite or a regular expression, over `alphabet` (by default the letters that it names).

    >>> task = Recognition(language="contains")
    >>> task.oracle([1, 0, 2, 4]), task.oracle([1, 1, 2, 4])  # b a c and b b c, with the marker
    ([0.0, 1.0], [1.0, 0.0])
    >>> batch = task.measure(np.random.default_rng(0), count=4, length=6)
    >>> batch.inputs.shape, batch.labels.tolist()
    (torch.Size([4, 7]), [1, 0, 1, 0])
    """

    name: ClassVar[str] = "recognition"
    loss: ClassVar[LossName] = "cross-entropy"
    distinct: ClassVar[bool] = False

    language: str = Field(default="contains", description="a named language or a regular expression")
    alphabet: str | None = Field(default=None, description="the letters of a regular expression")
    words: Literal["boundary", "uniform"] = "boundary"
    longest: int = Field(default=100_000, ge=1, description="the longest word")

    @model_validator(mode="after")
    def _can_be_asked(self) -> Recognition:
        try:
            found = self._language
        except InputError as error:
            raise ValueError(str(error)) from None
        if found.everything:
            raise ValueError(f"language {self.language!r} is every word over {found.alphabet!r}: nothing to recognise")
        if not self.lengths or self.shortest > self._distribution.quantile(0.5):
            raise ValueError(f"language {self.language!r}: no {self._what} of a length that is drawn")
        return self

    @property
    def shortest(self) -> int:
        return self.lengths[0] if self.lengths else 1

    @property
    def trained_length(self) -> int:
        return self._nearest(super().trained_length)

    @property
    def longest_quartile(self) -> int:
        return self._nearest(super().longest_quartile)

    @cached_property
    def lengths(self) -> Sequence[int]:
        """The lengths of which there are words inside and outside (of the boundary, pairs)."""
        there = self._has_words
        return range(1, self.longest + 1) if there[1:].all() else tuple((np.flatnonzero(there[1:]) + 1).tolist())

    @property
    def sizes(self) -> dict[str, int]:
        return {"vocabulary": len(self._language.alphabet) + 1, "outputs": 2}

    @property
    def automaton(self) -> Automaton:
        """The minimal automaton of the language."""
        return self._language.automaton

    def sample(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        """`count` words of lengths drawn up to `length`; unbounded for the task's own trained length."""
        lengths = self.drawn_lengths(rng, (count + 1) // 2, length)
        while not (there := self._has_words[lengths]).all():
            lengths[~there] = self.drawn_lengths(rng, int((~there).sum()), length)
        return self._batch(rng, count, lengths)

    def measure(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        """`count` words of exactly `length`, every other one inside, with the exact answer."""
        return self._batch(rng, count, self.equal_lengths((count + 1) // 2, length), measuring=True)

    def oracle(self, inputs: Sequence[int]) -> list[float]:
        """The exact answer, in plain Python: the automaton reads the word before the marker."""
        *word, marker = inputs
        assert marker == len(self._language.alphabet)
        automaton = self._language.automaton
        state = 0
        for letter in word:
            state = automaton.table[state][letter]
        return [0.0, 1.0] if automaton.accepting[state] else [1.0, 0.0]

    def _batch(self, rng: np.random.Generator, count: int, lengths: np.ndarray, measuring: bool = False) -> Batch:
        if self.words == "boundary":
            pairs = self._language.boundary.sample_lengths(lengths, rng)
            sides = pairs.inside, pairs.outside
        else:
            sides = tuple(s.sample_lengths(lengths, rng) for s in (self._language.inside, self._language.outside))
        words = np.stack(sides, 1).reshape(2 * len(lengths), -1)[:count]
        ends = lengths.repeat(2)[:count]
        inputs = np.concatenate([words, np.full((count, 1), -1, words.dtype)], 1).astype(np.int64)
        inputs[np.arange(count), ends] = len(self._language.alphabet)
        mask = torch.from_numpy(np.arange(inputs.shape[1]) <= ends[:, None]) if (ends < ends.max()).any() else None
        labels = torch.arange(1, count + 1) % 2
        targets = torch.nn.functional.one_hot(labels, 2).double() if measuring else None
        return Batch(torch.from_numpy(np.maximum(inputs, 0)), labels, "last", targets, mask)

    def check_length(self, length: int) -> None:
        if not (1 <= length <= self.longest and self._has_words[length]):
            near = self._nearest(length)
            raise InputError(f"length {length}: {self.language!r} has no {self._what} of it; the nearest is {near}")

    def _nearest(self, length: int) -> int:
        known = np.flatnonzero(self._has_words[1:]) + 1
        return int(known[np.abs(known - length).argmin()]) if len(known) else length

    @cached_property
    def _language(self) -> Language:
        return language_of(self.language, self.alphabet)

    @property
    def _what(self) -> str:
        return "pair of words one letter apart" if self.words == "boundary" else "word inside and outside"

    @cached_property
    def _has_words(self) -> np.ndarray:
        """For each length 0..longest, whether it can be asked."""
        own = self._language
        samplers = (own.boundary.pairs,) if self.words == "boundary" else (own.inside, own.outside)
        return np.logical_and.reduce([has_words(sampler.automaton, self.longest) for sampler in samplers])
