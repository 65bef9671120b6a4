"""Which letters decide: those whose presence alone can change whether a word is in a language."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from lengthwise.languages.automaton import Automaton


def decisive_letters(automaton: Automaton) -> Bool[np.ndarray, " letters"]:
    """For each letter, whether two words with the same last letter, alike in their letters but for this one, differ.

    Of "contains a", only a decides. Words are looked at through their set of letters, last letter and state, so that
    any number of repetitions is covered.

    >>> from lengthwise.languages import named_language
    >>> decisive_letters(named_language("contains").automaton).tolist()
    [True, False, False, False]
    """
    answers: dict[tuple[int, int], set[bool]] = {}
    for letters, last, state in _reached(automaton):
        answers.setdefault((letters, last), set()).add(bool(automaton.accepting[state]))
    decides = np.zeros(automaton.letters, dtype=bool)
    for (letters, last), said in answers.items():
        for x in range(automaton.letters):
            more = answers.get((letters | 1 << x, last))
            if not letters >> x & 1 and more is not None and len(said | more) > 1:
                decides[x] = True
    return decides


def _reached(automaton: Automaton) -> set[tuple[int, int, int]]:
    """Every (set of letters as bits, last letter, state) of a word that is not empty."""
    rows = automaton.table.tolist()
    ahead = [(1 << x, x, rows[0][x]) for x in range(automaton.letters)]
    found = set(ahead)
    while ahead:
        letters, _, state = ahead.pop()
        for x, target in enumerate(rows[state]):
            new = (letters | 1 << x, x, target)
            if new not in found:
                found.add(new)
                ahead.append(new)
    return found
