"""The transition monoid, and whether a language is star-free."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

import numpy as np
from jaxtyping import Bool, Int

from lengthwise.errors import InputError
from lengthwise.languages.automaton import Automaton
from lengthwise.languages.language import Language

MONOID_LIMIT = 100_000
_ENTRY_LIMIT = 50_000_000


@dataclass(frozen=True, eq=False)
class TransitionMonoid:
    """The maps of states that words make, each with its shortlex-least word, in shortlex order of these words.

    `maps[i, q]` is where element i takes state q; element i is element `parent[i]` followed by letter `letter[i]`.
    `complete` is False when the enumeration stopped at its limit.
    """

    maps: Int[np.ndarray, "elements states"]
    parent: Int[np.ndarray, " elements"]
    letter: Int[np.ndarray, " elements"]
    complete: bool

    def word(self, element: int) -> list[int]:
        """The shortlex-least word of an element, as letter numbers."""
        letters = []
        while element:
            letters.append(int(self.letter[element]))
            element = self.parent[element]
        return letters[::-1]


def transition_monoid(automaton: Automaton, limit: int = MONOID_LIMIT) -> TransitionMonoid:
    """The transition monoid of a minimal automaton, breadth first over words, up to a number of elements.

    It is the syntactic monoid of the language (Pin, Mathematical Foundations of Automata Theory, chapter IV).

    >>> transition_monoid(Language.from_regex("(01)*").automaton).maps.shape
    (6, 3)
    """
    limit = max(1, min(limit, _ENTRY_LIMIT // automaton.states))
    columns = np.ascontiguousarray(automaton.table.T, dtype=np.min_scalar_type(automaton.states - 1))
    identity = np.arange(automaton.states, dtype=columns.dtype)
    maps, origins, seen = [identity], [(0, 0)], {identity.tobytes()}
    complete = True
    for parent, element in enumerate(maps):
        for letter, product in enumerate(columns[:, element]):
            key = product.tobytes()
            if key not in seen and (complete := len(maps) < limit):
                seen.add(key)
                maps.append(product)
                origins.append((parent, letter))
            if not complete:
                break
        if not complete:
            break
    parents, letters = np.array(origins).T
    return TransitionMonoid(np.array(maps), parents, letters, complete)


@dataclass(frozen=True)
class StarFreeness:
    """The verdict: the size of the transition monoid, and for a language that is not star-free why.

    `witness` is the shortlex-least word whose powers never settle, and `period` the length of the cycle they end in.
    """

    monoid: int
    star_free: bool
    witness: str | None = None
    period: int | None = None


def star_freeness(language: Language, limit: int = MONOID_LIMIT) -> StarFreeness:
    """Decide whether a language is star-free, which it is iff its transition monoid is aperiodic.

    Source: Schuetzenberger 1965; `docs/theory.md`, "Star-free decision and sampling".

    Errors: InputError when the monoid has more elements than the limit, naming the size reached. The memory of the
    enumeration bounds the limit too: at most 50 million entries, elements times states.

    >>> star_freeness(Language.from_regex("0*1*0*1*"))
    StarFreeness(monoid=9, star_free=True, witness=None, period=None)
    >>> star_freeness(Language.from_regex("(a(a|b)(a|b))*"))
    StarFreeness(monoid=22, star_free=False, witness='a', period=3)
    """
    monoid = transition_monoid(language.automaton, limit)
    cycling = np.flatnonzero(_cycles(monoid.maps))
    witness, period = None, None
    if len(cycling):
        witness = "".join(language.alphabet[a] for a in monoid.word(cycling[0]))
        period = _period(monoid.maps[cycling[0]])
    if not monoid.complete:
        size, length = len(monoid.maps), len(monoid.word(len(monoid.maps) - 1))
        known = f"; it is not star-free (witness {witness!r}, period {period})" if witness else ""
        raise InputError(
            f"transition monoid of {language.name!r}: {size:,} elements reached at words of length {length}, "
            f"and there are more; expected at most {size:,}{known}"
        )
    return StarFreeness(len(monoid.maps), witness is None, witness, period)


def _cycles(maps: Int[np.ndarray, "elements states"]) -> Bool[np.ndarray, " elements"]:
    """Whether the powers of each map end in a cycle longer than 1."""
    power = maps.astype(np.intp)
    # After at least as many steps as there are states, every state is on its cycle.
    for _ in range(int(maps.shape[1]).bit_length()):
        power = np.take_along_axis(power, power, axis=1)
    following = np.take_along_axis(maps, power, axis=1)
    return (following != power).any(axis=1)


def _period(element: Int[np.ndarray, " states"]) -> int:
    """The least common multiple of the lengths of a map's cycles."""
    lengths = []
    for state in range(len(element)):
        path = [state]
        while (state := int(element[state])) not in path:
            path.append(state)
        lengths.append(len(path) - path.index(state))
    return lcm(*lengths)
