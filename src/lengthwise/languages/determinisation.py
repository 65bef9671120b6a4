"""From a nondeterministic automaton to a deterministic one, within bounds."""

from __future__ import annotations

import numpy as np
from automata.fa.nfa import NFA

from lengthwise.errors import InputError
from lengthwise.languages.automaton import Automaton

STATE_LIMIT = 10_000
WORK_LIMIT = 3_000_000


def determinise(name: str, nfa: NFA, alphabet: str) -> Automaton:
    """The subset construction (Rabin and Scott 1959), which stops at a limit instead of at the end of memory.

    Errors: InputError beyond 10,000 states, or 3 million members of subsets in all (about ten seconds).

    >>> determinise("ab", NFA.from_regex("ab"), "ab").accepts(np.array([[0, 1], [1, 1]])).tolist()
    [True, False]
    """
    start = _closure(nfa, {nfa.initial_state})
    number, rows, work = {start: 0}, [], 0
    for subset in (order := [start]):
        row = []
        for letter in alphabet:
            moved = set().union(*(nfa.transitions.get(q, {}).get(letter, ()) for q in subset))
            target = _closure(nfa, moved)
            if target not in number:
                number[target] = len(order)
                order.append(target)
            row.append(number[target])
        rows.append(row)
        work += len(subset) * len(alphabet)
        if len(order) > STATE_LIMIT or work > WORK_LIMIT:
            raise InputError(
                f"regular expression {name!r}: its deterministic automaton is too large "
                f"({len(order):,} states reached); expected at most {STATE_LIMIT:,}"
            )
    accepting = np.array([not nfa.final_states.isdisjoint(subset) for subset in order])
    return Automaton(np.array(rows, dtype=np.int64), accepting)


def _closure(nfa: NFA, states: set) -> frozenset:
    found, waiting = set(states), list(states)
    while waiting:
        for state in nfa.transitions.get(waiting.pop(), {}).get("", ()):
            if state not in found:
                found.add(state)
                waiting.append(state)
    return frozenset(found)
