"""The lengths up to which EVERY word is proved right, for shallow transformers: all words of all lengths at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from lengthwise.certificates.letter_counts import CaseModels, Cases, LetterModels, exact_at, states_at

FEASIBLE = 1_000_000
"""States that are evaluated where no proof is found."""
MOST_PIECES, MOST_SPLITS = 4096, 40


@dataclass(frozen=True)
class CertifiedLength:
    """Every word of each length 1..`length` is right; of length `length` + 1 one is not, if `checked` says so.

    `checked` is the longest length that was decided: above `length` where a failure was found there, else equal to it
    ("at least").

    >>> CertifiedLength(5, 6).exact, CertifiedLength(5, 5).exact
    (True, False)
    """

    length: int
    checked: int

    @property
    def exact(self) -> bool:
        """Whether a longer word is known to fail."""
        return self.checked > self.length


def certified_length(models: LetterModels, cases: Cases, longest: int, budget: int = FEASIBLE) -> CertifiedLength:
    """The largest L <= `longest` such that one model answers every word of every length 1..L right.

    First by proof. Attention's mixtures of the words with given letters, up to length N, lie in the convex hull of
    those of the words in which one letter occurs as often as it can, the others once (and, where the marker is seen, of
    the word with each letter once): counts are a convex combination of theirs, which division by Z keeps. The margin is
    piecewise linear in the mixture, so that it is positive on the hull if it is on each piece. These hulls grow with N;
    the largest that is proved is found by bisection, and if a word at its corners fails at the next length, that is the
    answer. Otherwise all states of the next lengths are evaluated, `budget` in total.

    >>> from lengthwise.certificates.letter_counts import cases_of
    >>> from lengthwise.languages import language_of
    >>> always = LetterModels(np.zeros((1, 1, 3)), np.zeros((1, 3, 1)), np.zeros((1, 1)), np.zeros((1, 1, 2)),
    ...                       np.array([[0.0, 1.0]]), False, np.zeros(1))  # says "inside" of every word
    >>> certified_length(always, cases_of(language_of(".*a.*", "ab"), False), 10)
    CertifiedLength(length=0, checked=1)
    """
    proved = longest
    for case, inside in cases.items():
        model, most = CaseModels(models, case, inside), proved
        low, high = 0, most + 1
        middle = most
        while high - low > 1:
            if hull_is_right(model, corners(len(case[0]), middle)):
                low = middle
            else:
                high = middle
            middle = max(min(round((max(low, 1) * high) ** 0.5), high - 1), low + 1)
        proved = low
    while proved < longest:
        if _a_corner_fails(models, cases, proved + 1):
            return CertifiedLength(proved, proved + 1)
        budget -= states_at(cases, proved + 1)
        if budget < 0:
            break
        if exact_at(models, cases, proved + 1).accuracy[0] < 1:
            return CertifiedLength(proved, proved + 1)
        proved += 1
    return CertifiedLength(proved, proved)


def corners(letters: int, longest: int) -> Int[np.ndarray, "corners letters"]:
    """The words whose mixtures span those of all words with the given letters: counts, none if `longest` is too short.

    >>> corners(2, 5).tolist()
    [[1, 1], [4, 1], [1, 4]]
    """
    if longest < letters:
        return np.empty((0, letters), dtype=np.int64)
    once = np.ones((1, letters), dtype=np.int64)
    return np.concatenate([once, once + (longest - letters) * np.eye(letters, dtype=np.int64)])


def hull_is_right(model: CaseModels, words: Int[np.ndarray, "corners letters"]) -> bool:
    """Whether the margin is proved positive on the hull of the mixtures of words, in float64 with its rounding bound.

    Branch and bound over simplices of what enters the ReLUs: concave terms are bounded by their interpolation, convex
    ones by a tangent; both are exact unless a unit changes sign on the simplex, which is then split there. Without a
    marker the word with each letter once lies in the hull of the others, and is left out. Splitting moves points by a
    few roundings each time: 8 rounding bounds cover 40 splits. False too if pieces become too many.
    """
    if not model.marker.any():
        words = words[1:]
    pieces, e, offset = model.entering(words), model.slopes[0], model.offset[0] - 8 * model.rounding[0]
    for _ in range(MOST_SPLITS):
        active = np.maximum(pieces, 0)
        if (active @ e + offset <= 0).any():
            return False
        total = np.abs(pieces).sum(1, keepdims=True)
        tangent = active.sum(1, keepdims=True) / np.where(total > 0, total, 1)
        bound = np.where(e > 0, tangent * pieces, active) @ e + offset
        pieces = pieces[~(bound > 0).all(1)]
        if not len(pieces):
            return True
        if len(pieces) > MOST_PIECES or (split := _split(pieces, e)) is None:
            return False
        pieces = split
    return False


def _split(pieces: Float[np.ndarray, "b n h"], e: Float[np.ndarray, " h"]) -> Float[np.ndarray, "b2 n h"] | None:
    """Each simplex as two, cut where the unit that matters most changes sign along an edge; None where none does."""
    n, units, each = pieces.shape[1], pieces.shape[2], np.arange(len(pieces))
    one, other = np.triu_indices(n, 1)
    a, b = pieces[:, one], pieces[:, other]
    matters = np.abs(e) * np.minimum(np.abs(a), np.abs(b)) * (a * b < 0)
    edge, unit = np.divmod(matters.reshape(len(pieces), -1).argmax(1) if n > 1 else each * 0, units)
    if n == 1 or not matters[each, edge, unit].all():
        return None
    i, j = one[edge], other[edge]
    from_, to = pieces[each, i], pieces[each, j]
    share = from_[each, unit] / (from_[each, unit] - to[each, unit])
    cut = from_ + share[:, None] * (to - from_)
    cut[each, unit] = 0
    halves = pieces.copy(), pieces.copy()
    halves[0][each, i], halves[1][each, j] = cut, cut
    return np.concatenate(halves)


def _a_corner_fails(models: LetterModels, cases: Cases, length: int) -> bool:
    for case, inside in cases.items():
        model, words = CaseModels(models, case, inside), corners(len(case[0]), length)[1:]
        if (model.margins(words) <= model.rounding[0]).any():
            return True
    return False
