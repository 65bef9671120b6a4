"""Exact draws from thresholds that are known only approximately: more bits are drawn when the first do not decide."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate

import numpy as np

from lengthwise.languages.lengths import exact_counts_at
from lengthwise.languages.scaled import ScaledCounts

BITS = 32


def settle(
    counts: ScaledCounts, targets: list[int], length: int, draw: int, bits: int, random: np.random.Generator
) -> int:
    """Which target a uniform number picks that begins with the given bits, in proportion to the targets' exact counts.

    The number is 0.draw in binary, and as many more bits as it takes. It is compared first with the float64 thresholds
    and their error bound, then with the exact ones.

    >>> from lengthwise.languages import Language
    >>> counts = ScaledCounts(Language.from_regex("a*b(a|b)*").automaton)
    >>> [settle(counts, [0, 1], 1, draw, 2, np.random.default_rng(0)) for draw in (0, 2, 3)]
    [0, 1, 1]
    """
    for low, high, exact in _bounds(counts, targets, length):
        while True:
            choice = _decided(low, high, draw, bits)
            if choice is not None:
                return choice
            if not exact and bits >= 2 * BITS:
                break
            draw, bits = draw << BITS | int(random.integers(1 << BITS)), bits + BITS
    raise AssertionError("exact thresholds decide every draw")


def _decided(low: list[Fraction], high: list[Fraction], draw: int, bits: int) -> int | None:
    """The interval between thresholds that certainly holds all of [draw, draw + 1) / 2^bits, if there is one."""
    first, last = Fraction(draw, 1 << bits), Fraction(draw + 1, 1 << bits)
    choice = sum(first >= threshold for threshold in high)
    return choice if choice == len(low) or last <= low[choice] else None


def _bounds(
    counts: ScaledCounts, targets: list[int], length: int
) -> Iterator[tuple[list[Fraction], list[Fraction], bool]]:
    """Lower and upper bounds on the thresholds, better and better; the last are exact."""
    mantissas, exponents = (values[targets] for values in counts.at(length))
    approximate = thresholds(mantissas, exponents).tolist()
    error = Fraction(threshold_error(counts, len(targets), length))
    yield [Fraction(t) - error for t in approximate], [Fraction(t) + error for t in approximate], False
    exact = exact_counts_at(counts.automaton, length)
    sums = list(accumulate(exact[target] for target in targets))
    shares = [Fraction(s, sums[-1]) for s in sums[:-1]]
    yield shares, shares, True


def thresholds(mantissas: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Cumulative shares of scaled counts along the last axis, without the last, which is 1; where all are 0, 0.

    >>> thresholds(np.array([0.5, 0.0, 0.75]), np.array([2, 0, 3])).tolist()
    [0.25, 0.25]
    """
    top = exponents.max(axis=-1, keepdims=True)
    sums = np.ldexp(mantissas, exponents - top).cumsum(axis=-1)
    return sums[..., :-1] / np.where(sums[..., -1:] > 0, sums[..., -1:], 1)


def threshold_error(counts: ScaledCounts, choices: int, length: int) -> float:
    """A bound on the absolute error of `thresholds`, from that of the counts, their sums and one division."""
    return 1.01 * (2 * counts.relative_error(length) + 2 * (choices + 1) * 2.0**-53)
