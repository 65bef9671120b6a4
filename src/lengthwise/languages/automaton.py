"""Complete deterministic automata as numpy arrays: running many words at once, minimising, complementing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from automata.fa.dfa import DFA
from jaxtyping import Bool, Int


@dataclass(frozen=True, eq=False)
class Automaton:
    """A complete deterministic automaton that starts in state 0.

    `table[q, a]` is the state after letter a in state q; `accepting[q]` says whether a word may end there. Letters and
    states are numbers; a Language gives the letters their names.

    >>> even = Automaton(np.array([[1], [0]]), np.array([True, False]))
    >>> even.accepts(np.array([[0, 0], [0, -1]])).tolist()
    [True, False]
    """

    table: Int[np.ndarray, "states letters"]
    accepting: Bool[np.ndarray, " states"]

    def __post_init__(self) -> None:
        states, letters = self.table.shape
        assert states > 0
        assert letters > 0
        assert self.accepting.shape == (states,)
        assert 0 <= self.table.min() <= self.table.max() < states

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.table)

    @property
    def letters(self) -> int:
        """The number of letters."""
        return self.table.shape[1]

    @cached_property
    def live(self) -> Bool[np.ndarray, " states"]:
        """Whether some word leads from each state into acceptance."""
        live, before = self.accepting, None
        while before is None or (live != before).any():
            before, live = live, live | live[self.table].any(axis=1)
        return live

    def complement(self) -> Automaton:
        """The automaton of all other words."""
        return Automaton(self.table, ~self.accepting)

    def run(self, words: Int[np.ndarray, "n length"]) -> Int[np.ndarray, "n length+1"]:
        """The states before each letter and after the last; padding (-1) stays where it is.

        >>> Automaton(np.array([[1], [0]]), np.array([True, False])).run(np.array([[0, 0, -1]])).tolist()
        [[0, 1, 0, 0]]
        """
        states = np.zeros((words.shape[1] + 1, len(words)), dtype=np.intp)
        for before, after, column in zip(states, states[1:], words.T):
            after[:] = self._with_padding[before, column]
        return states.T

    def accepts(self, words: Int[np.ndarray, "n length"]) -> Bool[np.ndarray, " n"]:
        """Whether each row is accepted; padding (-1) at either end changes nothing."""
        state = np.zeros(len(words), dtype=np.intp)
        for column in np.ascontiguousarray(words.T):
            state = self._with_padding[state, column]
        return self.accepting[state]

    @cached_property
    def _with_padding(self) -> Int[np.ndarray, "states letters+1"]:
        # Letter -1 reads the last column, which stays.
        return np.hstack([self.table, np.arange(self.states)[:, None]]).astype(np.intp)

    def minimal(self) -> Automaton:
        """The smallest automaton of the same words, states numbered breadth first from the start, so that it is unique.

        Source: Hopcroft's algorithm, as automata-lib has it.

        >>> Automaton(np.array([[1], [2], [3], [0]]), np.array([True, False, True, False])).minimal().states
        2
        """
        names = [chr(a) for a in range(self.letters)]
        return from_dfa(self.to_dfa(names).minify(), names)

    def to_dfa(self, alphabet: Sequence[str]) -> DFA:
        """The same automaton for automata-lib."""
        rows = self.table.tolist()
        return DFA(
            states=set(range(self.states)),
            input_symbols=set(alphabet),
            transitions={q: dict(zip(alphabet, row)) for q, row in enumerate(rows)},
            initial_state=0,
            final_states=set(np.flatnonzero(self.accepting).tolist()),
        )


def from_dfa(dfa: DFA, alphabet: Sequence[str]) -> Automaton:
    """The reachable part of an automata-lib DFA; a missing transition leads to a state from which nothing is accepted.

    >>> from_dfa(DFA.from_prefix({"a", "b"}, "ab"), "ab").table.tolist()
    [[1, 2], [2, 3], [2, 2], [3, 3]]
    """
    # Only a partial automaton may use None, so no state of the DFA can be called that.
    rows, found = [], {dfa.initial_state: 0}
    for state in (order := [dfa.initial_state]):
        row = [dfa.transitions[state].get(a) if state is not None else None for a in alphabet]
        for target in row:
            if target not in found:
                found[target] = len(order)
                order.append(target)
        rows.append([found[target] for target in row])
    accepting = np.array([state is not None and state in dfa.final_states for state in order])
    return Automaton(np.array(rows, dtype=np.int64), accepting)
