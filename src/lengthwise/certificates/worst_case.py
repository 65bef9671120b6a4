"""Exact worst displacement and worst legal spread over all inputs of a length, with the least input that attains each.

Dinkelbach's method over all triples (last token y, legal i, other j) at once: floats propose inputs whose exact value
becomes the incumbent and exclude triples that provably stay above it; every triple left is decided in exact rational
arithmetic (`docs/theory.md`, "Exact certificate").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter

import numpy as np

from lengthwise.certificates.candidates import WIDEST_FLOAT_ROW, FloatRow, Pairs, pairs_of, scale_of
from lengthwise.certificates.rational import Exact, Programme
from lengthwise.certificates.tables import Tables
from lengthwise.errors import InputError

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class WorstCase:
    """Worst displacement and legal spread of one length: exact in the certified model, up to `slack` for true exp.

    >>> worst = worst_case(Tables(np.zeros((4, 4)), np.zeros((4, 4)), -np.eye(4)), 2)
    >>> worst.displacement, worst.displacement_input, worst.spread, worst.spread_input
    (Fraction(1, 2), (0, 1), Fraction(0, 1), (0, 1))
    """

    length: int
    displacement: Fraction
    displacement_input: tuple[int, ...]
    spread: Fraction
    spread_input: tuple[int, ...]
    slack: Fraction


def worst_case(tables: Tables, length: int) -> WorstCase:
    """The worst case of one length, 1..v-1; raises InputError for another length.

    >>> worst_case(Tables(np.zeros((3, 3)), np.zeros((3, 3)), -np.eye(3)), 1).displacement
    Fraction(1, 1)
    """
    if not 1 <= length < tables.vocabulary:
        raise InputError(f"length {length}: expected 1..{tables.vocabulary - 1} for {tables.vocabulary} tokens")
    return next(_Search(tables).lengths([length]))


def worst_cases(tables: Tables, progress: Progress | None = None) -> list[WorstCase]:
    """The worst cases of all lengths 1..v-1; `progress(done, total)` is called after each length.

    >>> [str(w.displacement) for w in worst_cases(Tables(np.zeros((4, 4)), np.zeros((4, 4)), -np.eye(4)))]
    ['1', '1/2', '1/3']
    """
    found: list[WorstCase] = []
    for worst in _Search(tables).lengths(range(1, tables.vocabulary)):
        found.append(worst)
        if progress is not None:
            progress(len(found), tables.vocabulary - 1)
    return found


def rounded_up(x: Fraction) -> float:
    """The least float64 that is not below x.

    >>> rounded_up(Fraction(1, 4)), rounded_up(Fraction(1, 3)) > Fraction(1, 3)
    (0.25, True)
    """
    nearest = x.numerator / x.denominator
    return nearest if Fraction(nearest) >= x else nextafter(nearest, inf)


class _Search:
    """The search over all lengths: rows made once, and the worst input of a length a start for the next."""

    def __init__(self, tables: Tables) -> None:
        self.exact = Exact(tables)
        self.vocabulary = tables.vocabulary
        self.scale = Fraction(scale_of(self.exact)) * self.exact.unit
        self.floats = {
            last: FloatRow(self.exact, last)
            for last in range(self.vocabulary)
            if self.exact.spreads[last] <= WIDEST_FLOAT_ROW
        }

    def lengths(self, lengths: list[int] | range) -> Iterator[WorstCase]:
        starts: dict[bool, tuple[int, ...]] = {True: (0,), False: (0,)}
        for length in lengths:
            found: list[tuple[Fraction, tuple[int, ...]]] = []
            for displacement in (True, False):
                best = _Best(self, displacement, length, starts[displacement])
                starts[displacement] = best.tokens
                found.append((best.value * self.exact.unit, best.tokens))
            (low, low_input), (negative, spread_input) = found
            yield WorstCase(length, low, low_input, -negative, spread_input, self.exact.slack)


class _Best:
    """The best input found so far of one length, and the search that ends with it proved least.

    `value` and `tokens` always belong to an input that was evaluated exactly.
    """

    def __init__(self, search: _Search, displacement: bool, length: int, start: tuple[int, ...]) -> None:
        self.search, self.displacement, self.length = search, displacement, length
        self._begin(start)
        if displacement or length < search.vocabulary - 1:
            left = {last: self._candidates(last) for last in self._rows_by_promise()}
            for last in sorted(left, key=self._least_of_row):
                self._decide(last, left[last])

    def _value(self, tokens: tuple[int, ...]) -> Fraction:
        row = self.search.exact.row(tokens[-1])
        return row.displacement(tokens) if self.displacement else row.negative_spread(tokens)

    def _begin(self, start: tuple[int, ...]) -> None:
        """Start from the least input if the length left one legal token, else from an extension of `start`."""
        *others, last = start
        if not self.displacement and self.length == self.search.vocabulary - 1:
            others, last = [], self.length - 1
        for token in range(self.search.vocabulary):
            if len(others) < self.length - 1 and token != last and token not in others:
                others.append(token)
        self.tokens = (*sorted(others[: self.length - 1]), last)
        self.value = self._value(self.tokens)

    def _rows_by_promise(self) -> list[int]:
        """The incumbent's row first, then those that floats can prune, then the rest."""
        rows = range(self.search.vocabulary)
        return sorted(rows, key=lambda last: (last != self.tokens[-1], last not in self.search.floats))

    def _offer(self, tokens: tuple[int, ...]) -> bool:
        """Take an input as the incumbent if its exact value is lower."""
        value = self._value(tokens)
        if value < self.value:
            self.value, self.tokens = value, tokens
            return True
        return False

    def _ratio(self) -> float:
        return rounded_up(self.value * self.search.scale)

    def _candidates(self, last: int) -> list[Pairs]:
        """Improve the incumbent by floats within one row, and return the pairs that they cannot exclude."""
        every = pairs_of(self.search.vocabulary, last, self.displacement)
        fitting = [pairs for pairs in every if pairs.forced <= self.length]
        row = self.search.floats.get(last)
        return fitting if row is None else [self._prune(row, pairs, improve=True) for pairs in fitting]

    def _prune(self, row: FloatRow, pairs: Pairs, improve: bool) -> Pairs:
        """Drop the pairs proved above the incumbent, lowering it first if asked to and as long as floats can."""
        while len(pairs.i):
            sums, terms = row.lower_bounds(pairs, self.length, self._ratio())
            kept = np.flatnonzero(~(sums > 0))
            pairs = pairs.take(kept)
            if not improve or not len(kept):
                break
            _, tokens = row.likeliest(pairs, self.length, terms[kept], sums[kept])
            if not self._offer(tokens):
                break
        return pairs

    def _decide(self, last: int, left: list[Pairs]) -> None:
        """Decide exactly every pair that is left of a row, and take the least input of those that attain the value."""
        row, floats = self.search.exact.row(last), self.search.floats.get(last)
        programme = Programme(row, self.value)
        ties: dict[int, bool] = {}  # kinds proved not below the value, and whether they attained it when decided
        for pairs in left:
            kept = pairs if floats is None else self._prune(floats, pairs, improve=False)
            for i, j in zip(kept.i.tolist(), kept.j.tolist(), strict=True):
                kind = row.kind(i, j, kept.inside)
                if kind in ties and not (ties[kind] and self._least_of_row(last) < self.tokens):
                    continue
                total, tokens = programme.lowest(i, j, kept.inside, self.length)
                while total < 0:
                    self._offer(tokens)
                    programme = Programme(row, self.value)
                    total, tokens = programme.lowest(i, j, kept.inside, self.length)
                if total == 0:
                    self.tokens = min(self.tokens, tokens)
                if kind is not None:
                    ties[kind] = total == 0

    def _least_of_row(self, last: int) -> tuple[int, ...]:
        """The least input of this length with a given last token."""
        return (*range(min(last, self.length - 1)), *range(last + 1, self.length), last)
