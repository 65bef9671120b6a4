"""Which letters decide: those whose presence alone can change whether a word is in a language."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from lengthwise.languages.automaton import Automaton
from lengthwise.languages.shallow import least_words


def decisive_letters(automaton: Automaton) -> Bool[np.ndarray, " letters"]:
    """For each letter, whether two words with the same last letter, alike in their letters but for this one, differ.

    Of "contains a", only a decides. Words are looked at through their set of letters, last letter and state, so that
    any number of repetitions is covered.

    >>> from lengthwise.languages import named_language
    >>> decisive_letters(named_language("contains").automaton).tolist()
    [True, False, False, False]
    """
    answers: dict[tuple[int, int], set[bool]] = {}
    for _, letters, last, inside in least_words(automaton):
        answers.setdefault((letters, last), set()).add(inside)
    decides = np.zeros(automaton.letters, dtype=bool)
    for (letters, last), said in answers.items():
        for x in range(automaton.letters):
            more = answers.get((letters | 1 << x, last))
            if not letters >> x & 1 and more is not None and len(said | more) > 1:
                decides[x] = True
    return decides
