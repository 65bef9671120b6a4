"""The shallow transformer on ALL words of a length, through letter counts; and lengths up to which all are right."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations
from math import comb, lgamma, log

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln

from lengthwise.errors import InputError
from lengthwise.languages import Language, shallow_form

MOST_STATES, CHUNK, UNIT = 10_000_000, 1 << 18, 2.0**-53

Case = tuple[tuple[int, ...], int | None]
"""The letters of a word, each at least once; and its last letter, None where nothing depends on it."""
Cases = dict[Case, bool]
"""Whether the words of each case are in the language."""


@dataclass(frozen=True)
class LetterModels:
    """m shallow transformers as float64 arrays: v tokens of which the last is the marker, k = v - 1 letters, h units.

    A query that knows the last letter has a row of scores for each, and reads 2 v inputs. `score_error` is what
    rounding has moved in the scores. Errors: InputError for weights that are not finite, and unless 2 outputs.
    """

    scores: Float[np.ndarray, "m q v"]
    inward: Float[np.ndarray, "m r h"]
    inward_bias: Float[np.ndarray, "m h"]
    outward: Float[np.ndarray, "m h 2"]
    outward_bias: Float[np.ndarray, "m 2"]
    sees_marker: bool = False
    score_error: Float[np.ndarray, " m"] | float = 0.0

    def __post_init__(self) -> None:
        if (outputs := self.outward.shape[-1]) != 2:
            raise InputError(f"{outputs} outputs: expected 2, outside and inside")
        for name in ("scores", "inward", "inward_bias", "outward", "outward_bias"):
            if not np.isfinite(values := getattr(self, name)).all():
                raise InputError(f"{name} holds {values[~np.isfinite(values)][0]}: expected finite numbers")

    @property
    def letters(self) -> int:
        """The number of letters k."""
        return self.scores.shape[-1] - 1

    @property
    def knows_last(self) -> bool:
        """Whether the answer depends on the last letter."""
        return self.inward.shape[1] == 2 * self.scores.shape[-1]

    def one(self, index: int) -> LetterModels:
        """One model of the stack."""
        at, error = slice(index, index + 1), np.broadcast_to(self.score_error, len(self.scores))
        inner, outer = (self.inward[at], self.inward_bias[at]), (self.outward[at], self.outward_bias[at])
        return LetterModels(self.scores[at], *inner, *outer, self.sees_marker, error[at])


@dataclass(frozen=True)
class ExactLength:
    """What is exact of m models over all words of one length; NaN where no word is inside, or none outside.

    `worst_margin` is the least logit of the right answer minus the other, of a word with `worst_counts` (m, k) and
    `worst_last` (the last letter; -1 where nothing depends on it). Weights of words have a relative error of at most
    `weight_error`, and only those of wrong words are summed: an accuracy of 1 says that all are right, and where few
    are not it is the next float below 1.
    """

    length: int
    states: int
    accuracy: Float[np.ndarray, " m"]
    accuracy_inside: Float[np.ndarray, " m"]
    accuracy_outside: Float[np.ndarray, " m"]
    worst_margin: Float[np.ndarray, " m"]
    worst_counts: Int[np.ndarray, "m k"]
    worst_last: Int[np.ndarray, " m"]
    weight_error: float


def cases_of(language: Language, knows_last: bool) -> Cases:
    """The cases of a language: by letters alone where neither it nor the model's query depends on the last one.

    Errors: InputError, with two words, for a language that is no function of its letters and the last one.

    >>> cases_of(Language.from_regex(".*a.*", "ab"), knows_last=False)
    {((0,), None): True, ((1,), None): False, ((0, 1), None): True}
    """
    form, automaton = shallow_form(language), language.automaton
    if not form.last_letter:
        raise InputError(f"language {form.says}: expected one that its letters and the last one decide")
    letters = range(automaton.letters)
    supports = chain.from_iterable(combinations(letters, size) for size in range(1, automaton.letters + 1))
    by_last = knows_last or not form.letter_set
    cases = [(s, y) for s in supports for y in (s if by_last else (None,))]
    return {(s, y): bool(automaton.accepts(np.array([[*s, s[0] if y is None else y]]))[0]) for s, y in cases}


def states_at(cases: Cases, length: int) -> int:
    """How many states stand for all words of a length: letter counts, times last letters where these matter.

    >>> states_at(cases_of(Language.from_regex(".*a.*", "abcd"), knows_last=False), 100)
    176851
    """
    return sum(comb(length - 1, len(support) - 1) for support, _ in cases)


def words_with(length: int, letters: int) -> int:
    """The number of words of a length with exactly the given number of letters, each at least once.

    >>> words_with(3, 2)
    6
    """
    return sum((-1) ** i * comb(letters, i) * (letters - i) ** length for i in range(letters))


def compositions(length: int, parts: int, start: int, stop: int) -> Int[np.ndarray, "n parts"]:
    """Compositions of a length into positive parts, those of rank start..stop-1 in colexicographic order of the cuts.

    >>> compositions(4, 2, 0, comb(3, 1)).tolist()
    [[1, 3], [2, 2], [3, 1]]
    """
    ranks, cuts = np.arange(start, stop), []
    below = [np.ones(length, dtype=np.int64)]  # of each size, the subsets of 0..c-1
    for _ in range(parts - 1):
        below.append(np.concatenate([[0], below[-1].cumsum()[:-1]]))
    for column in reversed(below[1:]):
        cuts.append(np.searchsorted(column, ranks, side="right") - 1)
        ranks = ranks - column[cuts[-1]]
    edges = [np.full(stop - start, -1), *reversed(cuts), np.full(stop - start, length - 1)]
    return np.diff(np.stack(edges, 1), axis=1)


def exact_at(models: LetterModels, cases: Cases, length: int, most_states: int = MOST_STATES) -> ExactLength:
    """Accuracy over all k^L words of a length, over those inside and those outside, and the worst word.

    The answer is a function of the counts and, where known, the last letter, and so is the truth: sums over these
    states, weighed by the number of words of each (docs/theory.md, "Exact certificate"). A margin counts as right if it
    is above its rounding bound (float64; `CaseModels.rounding`), so that no wrong word counts as right.

    Errors: InputError, with the number, for more than `most_states` states.
    """
    if (states := states_at(cases, length)) > most_states:
        raise InputError(f"length {length}: {states:,} states of {models.letters} letters; at most {most_states:,}")
    m, chunk = len(models.scores), max(CHUNK // (models.inward_bias.size + len(models.scores)), 1)
    wrong, fails = dict.fromkeys(cases, np.zeros(m)), dict.fromkeys(cases, np.zeros(m, dtype=bool))
    worst, last = np.full(m, np.inf), np.full(m, -1)
    counts = np.zeros((m, models.letters), dtype=np.int64)
    for parts in range(1, min(models.letters, length) + 1):
        asked = {case: CaseModels(models, case, inside) for case, inside in cases.items() if len(case[0]) == parts}
        for start in range(0, ranks := comb(length - 1, parts - 1), chunk):
            here = compositions(length, parts, start, min(start + chunk, ranks))
            weights = np.exp(lgamma(length + 1) - gammaln(here + 1.0).sum(1) - log(words_with(length, parts)))
            for (support, y), model in asked.items():
                margins = model.margins(here)
                of_last = weights if y is None else weights * here[:, support.index(y)] * parts / length
                failed = margins <= model.rounding[:, None]
                wrong[support, y] = wrong[support, y] + failed @ of_last
                fails[support, y] = fails[support, y] | failed.any(1)
                lowest = margins.argmin(1)
                value = margins[np.arange(m), lowest]
                less = value < worst
                worst, last = np.where(less, value, worst), np.where(less, -1 if y is None else y, last)
                counts[less] = 0
                counts[np.ix_(less, np.array(support))] = here[lowest[less]]
    both, inside, outside = (_accuracy(wrong, fails, cases, length, side) for side in ({True, False}, {True}, {False}))
    error = 8 * (models.letters + 2) * UNIT * (lgamma(length + 1) + 1)
    return ExactLength(length, states, both, inside, outside, worst, counts, last, error)


def _accuracy(
    wrong: dict[Case, np.ndarray], fails: dict[Case, np.ndarray], cases: Cases, length: int, side: set[bool]
) -> np.ndarray:
    """1 less the shares of wrong words, from exact numbers of words, most of them too large for floats."""
    own = [case for case, inside in cases.items() if inside in side]
    words = [words_with(length, len(s)) // (1 if y is None else len(s)) for s, y in own]
    if not (total := sum(words)):
        return np.full_like(next(iter(wrong.values())), np.nan)
    share = 1 - sum(np.minimum(wrong[case], 1) * (n / total) for case, n in zip(own, words))
    return np.where(np.any([fails[case] for case in own], axis=0), np.minimum(share, 1 - UNIT), share)


class CaseModels:
    """The models on the words of one case: linear in the counts up to a ReLU and one division.

    Attention weighs letter x by c_x a_x / Z with a = exp(score - the largest present) and Z = sum of c a, at least 1,
    and Z times what enters a ReLU is a matrix product with the counts.

    `rounding` bounds what float64 moves in a margin: 2 u (2 D + 2 t + h + 20) times the size of the sums without
    cancellation, for u = 2^-53, scores of spread D, t tokens and h units: a relative error of (D + 3) u in a, a few u
    in each product, t u and h u in the sums. Errors of the scores count as D.
    """

    def __init__(self, models: LetterModels, case: Case, inside: bool) -> None:
        (support, last), v = case, models.letters + 1
        y = last if models.knows_last else None
        assert not models.knows_last or y is not None
        tokens = [*support, *([v - 1] if models.sees_marker else [])]
        scores = models.scores[:, y or 0][:, tokens]
        attended = np.exp(scores - scores.max(1, keepdims=True))[..., None]
        own = np.zeros_like(models.inward_bias) if y is None else models.inward[:, v + y]
        inner = models.inward[:, tokens] + (models.inward_bias + own)[:, None]
        table = attended * np.concatenate([inner, np.ones_like(attended)], -1)
        self.table, self.marker = table[:, : len(support)], table[:, len(support) :].sum(1, keepdims=True)
        sign = 1 if inside else -1
        self.slopes, self.offset = (sign * (x[..., 1] - x[..., 0]) for x in (models.outward, models.outward_bias))
        large = np.abs(models.inward[:, tokens]).max(1) + np.abs(models.inward_bias) + np.abs(own)
        size = (np.abs(self.slopes) * large).sum(1) + np.abs(self.offset)
        spread = np.ptp(scores, axis=1) + models.score_error / UNIT
        self.rounding = 2 * UNIT * (2 * spread + 2 * len(tokens) + large.shape[1] + 20) * size

    def entering(self, counts: Int[np.ndarray, "n j"]) -> Float[np.ndarray, "m n h"]:
        """What enters each ReLU."""
        scaled = self._scaled(counts)
        return scaled[..., :-1] / scaled[..., -1:]

    def margins(self, counts: Int[np.ndarray, "n j"]) -> Float[np.ndarray, "m n"]:
        """The logit of the right answer minus the other."""
        scaled = self._scaled(counts)
        answers = np.maximum(scaled[..., :-1], 0) @ self.slopes[..., None]
        return answers[..., 0] / scaled[..., -1] + self.offset[:, None]

    def _scaled(self, counts: Int[np.ndarray, "n j"]) -> Float[np.ndarray, "m n h+1"]:
        return counts.astype(float) @ self.table + self.marker
