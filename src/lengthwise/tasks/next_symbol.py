"""Next symbol: which letters, or the end, may follow a prefix of a word of a regular language."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import BaseModel, ConfigDict, Field, model_validator

from lengthwise.errors import InputError
from lengthwise.languages import Automaton, Language, language_of, legal_letters, legal_walks
from lengthwise.languages.lengths import exact_counts, has_words
from lengthwise.languages.scaled import ScaledCounts
from lengthwise.tasks.batch import Batch
from lengthwise.tasks.task import LossName


class NextSymbol(BaseModel):
    """Predict the next symbol after each prefix: one of k letters, or class k, the end, where the word may end.

    An input begins with a start marker, token k, so that the first letter has a context too; an input of length s is
    the marker and a prefix of s - 1 letters. `words` says how they are drawn, and so which target is exact:

    - "legal walk": each legal letter is as likely as any other; the target is uniform over legal symbols. A label is
      the walk's next letter or, with the probability that a symbol has, the end: so it is uniform over legal symbols,
      and yet every prefix goes on to the trained length.
    - "uniform": words are uniform over all those of less than `longest` letters; the target is the exact conditional of
      the next symbol (0 below 2^-1022). A text is read from its start; one that ends sooner is padded.

    `language` is a name of the suite or a regular expression, over `alphabet` (by default the letters that it names).
    (docs/theory.md, "Star-free decision and sampling".)

    >>> task = NextSymbol(language="dyck-1", s_train=4)  # (ab)*
    >>> task.oracle([2, 0]), task.oracle([2, 0, 1])
    ([0.0, 1.0, 0.0], [0.5, 0.0, 0.5])
    >>> NextSymbol(language="dyck-1", words="uniform", s_train=4, longest=6).oracle([2])  # the words '', ab, abab
    [0.6666666666666666, 0.0, 0.3333333333333333]
    >>> task.sample(np.random.default_rng(0), count=2, length=4).inputs.tolist()
    [[2, 0, 1, 0], [2, 0, 1, 0]]
    """

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)  # an alphabet may be 10

    name: ClassVar[str] = "next-symbol"
    loss: ClassVar[LossName] = "cross-entropy"
    distinct: ClassVar[bool] = False

    language: str = Field(default="dyck-2", description="a named language or a regular expression")
    alphabet: str | None = Field(default=None, description="the letters of a regular expression")
    words: Literal["legal walk", "uniform"] = "legal walk"
    s_train: int = Field(default=16, ge=1, description="longest trained length, the start marker included")
    longest: int = Field(default=256, ge=1, description="longest input, the start marker included")

    @model_validator(mode="after")
    def _can_be_asked(self) -> NextSymbol:
        try:
            if self.words == "legal walk":  # refuses a language with a word that nothing continues
                legal_walks(self._language, 0, self.longest, np.random.default_rng(0))
            known = self.lengths
        except InputError as error:
            raise ValueError(str(error)) from None
        if self.s_train not in known:
            raise ValueError(f"s_train {self.s_train}: expected 1..{known[-1]}, the longest input of {self.language!r}")
        return self

    @property
    def trained_length(self) -> int:
        return self.s_train

    @property
    def lengths(self) -> range:
        if self.words == "legal walk":
            return range(1, self.longest + 1)
        there = np.flatnonzero(has_words(self._language.automaton, self.longest - 1))
        if not len(there):
            raise InputError(f"language {self.language!r}: no word of less than longest, {self.longest}, letters")
        return range(1, int(there[-1]) + 2)

    @property
    def sizes(self) -> dict[str, int]:
        return {"vocabulary": self._end + 1, "outputs": self._end + 1}

    def sample(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        """`count` texts cut to `length` positions, with a label at each; they are padded where the word ends before."""
        inputs, labels = self._texts(rng, count, length, at_least=0)
        real = inputs >= 0
        mask = None if real.all() else torch.from_numpy(real)
        return Batch(torch.from_numpy(inputs * real), torch.from_numpy(labels * real), mask=mask)

    def measure(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        """`count` inputs of exactly `length`, of words that get so far, with the exact target at the last position."""
        inputs, labels = self._texts(rng, count, length, at_least=length - 1)
        states = self._language.automaton.run(inputs[:, 1:])[:, -1]
        targets = self._probabilities(length)[states]
        return Batch(torch.from_numpy(inputs), torch.from_numpy(labels[:, -1]), "last", torch.from_numpy(targets))

    def oracle(self, inputs: Sequence[int]) -> list[float]:
        """The exact answer to one input, in plain Python: from whole-number counts of the words that may follow."""
        automaton, state = self._language.automaton, 0
        for letter in inputs[1:]:
            state = int(automaton.table[state][letter])
        # Whether any word follows shows in words shorter than the number of states.
        letters = automaton.states if self.words == "legal walk" else self.longest - len(inputs)
        follow = [0] * automaton.states
        for counts in islice(exact_counts(automaton), letters):
            follow = [total + more for total, more in zip(follow, counts)]
        shares = [*(follow[target] for target in automaton.table[state].tolist()), int(automaton.accepting[state])]
        if self.words == "legal walk":
            shares = [int(share > 0) for share in shares]
        return [share / sum(shares) for share in shares]

    def _texts(
        self, rng: np.random.Generator, count: int, length: int, at_least: int
    ) -> tuple[Int[np.ndarray, "count length"], Int[np.ndarray, "count length"]]:
        """Inputs and labels of words of at least so many letters, both -1 after the end."""
        if length not in self.lengths:
            raise InputError(f"length {length}: expected 1..{self.lengths[-1]}")
        if self.words == "legal walk":
            text = legal_walks(self._language, count, length, rng).astype(np.int64)
            legal = legal_letters(self._language)[self._language.automaton.run(text)[:, :-1]]
            ends = legal[..., -1] & (rng.random(text.shape) * legal.sum(-1) < 1)
            labels = np.where(ends, self._end, text)
        else:
            ends = self._word_lengths(rng, count, at_least)
            words = self._language.inside.sample_lengths(ends, rng)
            text = np.full((count, max(length, words.shape[1]) + 1), -1, dtype=np.int64)
            text[:, : words.shape[1]] = words
            labels = text.copy()
            labels[np.arange(count), ends] = self._end
        start = np.full((count, 1), self._end)
        return np.hstack([start, text[:, : length - 1]]), labels[:, :length]

    def _word_lengths(self, rng: np.random.Generator, count: int, at_least: int) -> Int[np.ndarray, " count"]:
        """Lengths of uniform words of `at_least` to less than `longest` letters, as likely as they have words."""
        counts = [self._language.inside.counts.at(n) for n in range(at_least, self.longest)]
        mantissas, exponents = (np.array([x[0] for x in column]) for column in zip(*counts))
        shares = np.ldexp(mantissas, exponents - exponents.max())
        return at_least + rng.choice(len(shares), size=count, p=shares / shares.sum())

    def _probabilities(self, length: int) -> Float[np.ndarray, "states symbols"]:
        """The target after an input of that length, for each state that it may lead to."""
        if self.words == "legal walk":
            shares = legal_letters(self._language).astype(float)
        else:
            mantissas, exponents = (x[self._ended.automaton.table] for x in self._ended.at(self.longest - length))
            shares = np.ldexp(mantissas, exponents - exponents.max(axis=1, keepdims=True))
        return shares / np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(float).tiny)

    @cached_property
    def _ended(self) -> ScaledCounts:
        """Counts of words followed by any number of ends: with the end, those of one length are all shorter words."""
        table, n = self._language.automaton.table, self._language.automaton.states
        ended, dead = n, n + 1
        ends = np.where(self._language.automaton.accepting, ended, dead)[:, None]
        more = np.array([[dead] * self._end + [ended], [dead] * (self._end + 1)])
        return ScaledCounts(Automaton(np.vstack([np.hstack([table, ends]), more]), np.arange(n + 2) == ended))

    @property
    def _end(self) -> int:
        """Token k, the start marker of an input, and class k, the end of a word."""
        return len(self._language.alphabet)

    @cached_property
    def _language(self) -> Language:
        return language_of(self.language, self.alphabet)
