"""Regular languages: from an expression or automaton to star-freeness, exact counts and exactly uniform words."""

from __future__ import annotations

from lengthwise.languages.automaton import Automaton
from lengthwise.languages.boundary import BoundaryPairs, BoundarySampler
from lengthwise.languages.decisive import decisive_letters
from lengthwise.languages.language import Language
from lengthwise.languages.lengths import count_words
from lengthwise.languages.monoid import MONOID_LIMIT, StarFreeness, TransitionMonoid, star_freeness, transition_monoid
from lengthwise.languages.next_letters import (
    exact_next_probabilities,
    legal_letters,
    legal_next,
    legal_walks,
    next_probabilities,
)
from lengthwise.languages.sampling import Sampler
from lengthwise.languages.shallow import ShallowForm, shallow_form
from lengthwise.languages.suite import SUITE, Named, language_of, named_language

__all__ = [
    "Automaton",
    "BoundaryPairs",
    "BoundarySampler",
    "Language",
    "MONOID_LIMIT",
    "Named",
    "SUITE",
    "Sampler",
    "ShallowForm",
    "StarFreeness",
    "TransitionMonoid",
    "count_words",
    "decisive_letters",
    "exact_next_probabilities",
    "language_of",
    "legal_letters",
    "legal_next",
    "legal_walks",
    "named_language",
    "next_probabilities",
    "shallow_form",
    "star_freeness",
    "transition_monoid",
]
