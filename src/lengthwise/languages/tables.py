"""Automata written as JSON: an alphabet, a start, the accepting states, and every transition."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lengthwise.errors import InputError
from lengthwise.languages.automaton import Automaton

KEYS = ("alphabet", "start", "accepting", "transitions")


def read_table(path: Path) -> dict[str, Any]:
    """The object in a JSON file.

    Errors: InputError for a file that cannot be read or is not a JSON object, with the place.
    """
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot read ({error.strerror}); expected a transition table in JSON") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); expected a transition table") from None
    if not isinstance(table, dict):
        raise InputError(f"{path}: expected a JSON object with {', '.join(KEYS)}")
    return table


def compile_table(name: str, table: Mapping[str, Any]) -> tuple[str, Automaton]:
    """The alphabet and the minimal automaton of a transition table.

    Errors: InputError for a key, state or transition that is missing or unknown.

    >>> rows = {"even": {"a": "odd", "b": "even"}, "odd": {"a": "even", "b": "odd"}}
    >>> table = {"alphabet": "ab", "start": "even", "accepting": ["even"], "transitions": rows}
    >>> alphabet, automaton = compile_table("even", table)
    >>> automaton.table.tolist(), automaton.accepting.tolist()
    ([[1, 0], [0, 1]], [True, False])
    >>> compile_table("even", table | {"start": "evne"})
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: even: start 'evne' is not a state; expected one of even, odd
    """
    _check_keys(name, table)
    alphabet, transitions = "".join(table["alphabet"]), table["transitions"]
    states = list(transitions)
    _check_state(name, "start", table["start"], states)
    for state in table["accepting"]:
        _check_state(name, "accepting", state, states)
    for state, row in transitions.items():
        _check_row(name, state, row, alphabet, states)
    # The start is state 0; the others follow in the order of the table.
    states.sort(key=lambda state: state != table["start"])
    number = {state: q for q, state in enumerate(states)}
    rows = np.array([[number[transitions[state][a]] for a in alphabet] for state in states], dtype=np.int64)
    accepting = np.array([state in table["accepting"] for state in states])
    return alphabet, Automaton(rows, accepting).minimal()


def _check_keys(name: str, table: Mapping[str, Any]) -> None:
    for key in KEYS:
        if key not in table:
            raise InputError(f"{name}: {key!r} is missing; expected {', '.join(KEYS)}")
    for key in table:
        if key not in KEYS:
            raise InputError(f"{name}: unknown key {key!r}; expected {', '.join(KEYS)}")
    alphabet = table["alphabet"]
    letters = isinstance(alphabet, str | list) and all(isinstance(a, str) and len(a) == 1 for a in alphabet)
    if not letters or not alphabet or len(set(alphabet)) < len(alphabet):
        raise InputError(f"{name}: alphabet {alphabet!r}: expected one or more different characters")
    if not isinstance(table["accepting"], list):
        raise InputError(f"{name}: accepting {table['accepting']!r}: expected a list of states")
    transitions = table["transitions"]
    if not isinstance(transitions, dict) or not transitions:
        raise InputError(f"{name}: transitions: expected an object of states, each with a state for every letter")


def _check_state(name: str, what: str, state: Any, states: list[str]) -> None:
    if state not in states:
        known = ", ".join(states[:10]) + (", ..." if len(states) > 10 else "")
        raise InputError(f"{name}: {what} {state!r} is not a state; expected one of {known}")


def _check_row(name: str, state: str, row: Any, alphabet: str, states: list[str]) -> None:
    if not isinstance(row, dict):
        raise InputError(f"{name}: transitions of {state!r}: expected an object with a state for every letter")
    for letter in alphabet:
        if letter not in row:
            raise InputError(f"{name}: state {state!r} has no transition on {letter!r}; expected one for every letter")
    for letter, target in row.items():
        if letter not in alphabet:
            raise InputError(f"{name}: state {state!r} moves on {letter!r}, outside the alphabet {alphabet!r}")
        _check_state(name, f"target of {state!r} on {letter!r},", target, states)
