"""Which lengths have words, and exactly how many."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from jaxtyping import Bool

from lengthwise.errors import InputError
from lengthwise.languages.automaton import Automaton

SEARCHED = 100_000


def exact_counts(automaton: Automaton) -> Iterator[list[int]]:
    """For lengths 0, 1, 2, ... the exact number of words that lead from each state into acceptance.

    >>> from lengthwise.languages import named_language
    >>> counts = exact_counts(named_language("parity").automaton)
    >>> next(counts), next(counts), next(counts)
    ([1, 0], [1, 1], [2, 2])
    """
    counts = [int(a) for a in automaton.accepting]
    rows = automaton.table.tolist()
    while True:
        yield counts
        counts = [sum([counts[target] for target in row]) for row in rows]


def count_words(automaton: Automaton, lengths: int) -> list[int]:
    """The exact number of words of each length 0..lengths.

    >>> from lengthwise.languages import named_language
    >>> count_words(named_language("contains").automaton, 3)
    [0, 1, 7, 37]
    """
    return [counts[0] for _, counts in zip(range(lengths + 1), exact_counts(automaton))]


def exact_counts_at(automaton: Automaton, length: int) -> list[int]:
    """The exact number of words of one length that lead from each state into acceptance, in memory of one length."""
    counts = exact_counts(automaton)
    for _ in range(length):
        next(counts)
    return next(counts)


def lengths_with_words(automaton: Automaton) -> Iterator[bool]:
    """For lengths 0, 1, 2, ... whether there is a word of that length; ends when there are no more.

    >>> from lengthwise.languages import Language
    >>> list(lengths_with_words(Language.from_regex("aa|aaaa").automaton))
    [False, False, True, False, True]
    """
    # Sets of states as bits of one integer: those with a word of this length into acceptance.
    bits = [1 << q for q in range(automaton.states)]
    targets = [sum({bits[target] for target in row}) for row in automaton.table.tolist()]
    into = sum(bit for bit, accepts in zip(bits, automaton.accepting) if accepts)
    known: dict[int, int] = {}
    while into:
        yield bool(into & 1)
        if into not in known:
            known[into] = sum([bit for bit, target in zip(bits, targets) if target & into])
        into = known[into]


def has_words(automaton: Automaton, longest: int) -> Bool[np.ndarray, " longest+1"]:
    """For each length 0..longest, whether there is a word of it.

    >>> from lengthwise.languages import Language
    >>> has_words(Language.from_regex("aa|aaaa").automaton, 5).tolist()
    [False, False, True, False, True, False]
    """
    found = np.zeros(longest + 1, dtype=bool)
    known = np.fromiter(islice(lengths_with_words(automaton), longest + 1), dtype=bool)
    found[: len(known)] = known
    return found


def no_words(name: str, automaton: Automaton, length: int, what: str = "word") -> InputError:
    """The error for a length without words, which names the nearest lengths that have some.

    >>> from lengthwise.languages import named_language
    >>> print(no_words("(ab)*", named_language("dyck-1").automaton, 5))
    length 5: '(ab)*' has no word of it; the nearest lengths with one are 4 and 6
    """
    below = above = None
    for size, present in zip(range(length + 1 + SEARCHED), lengths_with_words(automaton)):
        if present and size < length:
            below = size
        if present and size > length:
            above = size
            break
    near = " and ".join(str(size) for size in (below, above) if size is not None)
    lengths = "lengths" if below is not None and above is not None else "length"
    verb = "are" if lengths == "lengths" else "is"
    known = f"the nearest {lengths} with one {verb} {near}" if near else f"nor of any other up to {length + SEARCHED:,}"
    return InputError(f"length {length}: {name!r} has no {what} of it; {known}")
