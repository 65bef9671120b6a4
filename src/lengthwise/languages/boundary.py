"""Pairs of a word inside a language and a word outside it that one substitution turns into each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from lengthwise.errors import InputError
from lengthwise.languages.automaton import Automaton
from lengthwise.languages.sampling import Sampler

TRANSITION_LIMIT = 1_000_000


@dataclass(frozen=True, eq=False)
class BoundaryPairs:
    """Words inside and outside, row by row one letter apart, and the place of that letter."""

    inside: Int[np.ndarray, "count length"]
    outside: Int[np.ndarray, "count length"]
    place: Int[np.ndarray, " count"]


class BoundarySampler:
    """Draws pairs (x, y) exactly uniform over all pairs of one length, x inside and y outside, one letter apart.

    A pair is as likely as any other, so a word is as likely as it has neighbours in the other class. For "contains a"
    every x has exactly one a and every y none. The pairs are the words of an automaton over pairs of letters, so they
    are counted and drawn as words are, at any length. Source: `docs/theory.md`, "Star-free decision and sampling".

    >>> contains = Automaton(np.array([[1, 0], [1, 1]]), np.array([False, True]))
    >>> pairs = BoundarySampler(contains, "contains a").sample(2, 5, np.random.default_rng(0))
    >>> (pairs.inside == 0).sum(axis=1).tolist(), (pairs.outside == 0).sum(axis=1).tolist()
    ([1, 1], [0, 0])
    """

    def __init__(self, automaton: Automaton, name: str) -> None:
        self.letters = automaton.letters
        self.pairs = Sampler(boundary_automaton(automaton, name), name, "pair of words one substitution apart")

    def sample(self, count: int, length: int, random: np.random.Generator) -> BoundaryPairs:
        """Pairs of one length, one a row.

        Errors: InputError for a length without such pairs, naming the nearest that have some.
        """
        return self.sample_lengths(np.full(count, length), random)

    def sample_lengths(self, lengths: Int[np.ndarray, " count"], random: np.random.Generator) -> BoundaryPairs:
        """Pairs of the given lengths, padded at the end with -1; each is uniform over its own length.

        Errors: InputError for a length without such pairs, naming the nearest that have some.
        """
        coded = self.pairs.sample_lengths(lengths, random)
        inside, outside = coded // self.letters, coded % self.letters
        # Padding is -1 in both words: -1 // k is -1, and its remainder is put right.
        outside[coded < 0] = -1
        return BoundaryPairs(inside, outside, (inside != outside).argmax(axis=1) if coded.size else lengths * 0)


def boundary_automaton(automaton: Automaton, name: str) -> Automaton:
    """The automaton over pairs of letters, (a, b) written a k + b, of the pairs that BoundarySampler draws.

    It reads x and y side by side, in one state while they agree, and in a pair of states once they differed.

    Errors: InputError when there would be more than a million transitions.

    >>> contains = Automaton(np.array([[1, 0], [1, 1]]), np.array([False, True]))
    >>> boundary_automaton(contains, "contains a").accepts(np.array([[3, 1], [3, 3], [1, 2]])).tolist()
    [True, False, False]
    """
    n, k, steps = automaton.states, automaton.letters, automaton.table
    size = (n + n * n) * k * k
    if size > TRANSITION_LIMIT:
        raise InputError(f"boundary of {name!r}: {size:,} transitions; expected at most {TRANSITION_LIMIT:,}")

    same = np.arange(k) * (k + 1)
    x, y = np.divmod(np.arange(n * n), n)
    # A pair of equal states stays one, so that its words are of one class: pair (0, 0) is a dead end.
    table = np.full((n + n * n, k * k), n, dtype=np.int64)
    table[:n] = (n + n * steps[:, :, None] + steps[:, None, :]).reshape(n, k * k)
    table[:n, same] = steps
    table[n:, same] = n + n * steps[x] + steps[y]
    accepting = np.concatenate([np.zeros(n, dtype=bool), automaton.accepting[x] & ~automaton.accepting[y]])
    return Automaton(table, accepting).minimal()
