"""The one error that is the user's to mend, and the hint it carries."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Raised for input that the user can correct: one line naming the value, what was expected, and where.

    The command prints it without a traceback and exits with code 2.

    >>> raise InputError("dropout 1.5: expected a rate in [0, 1)")
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: dropout 1.5: expected a rate in [0, 1)
    """


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """An error for a name that does not exist, with the nearest names that do.

    >>> print(unknown("experiment", "set-complment", ["set-complement", "lag"]))
    unknown experiment 'set-complment': did you mean 'set-complement'?
    >>> print(unknown("metric", "x", ["tv", "kl"]))
    unknown metric 'x': expected one of kl, tv
    """
    names = sorted(known)
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return InputError(f"unknown {kind} {name!r}: did you mean {' or '.join(repr(n) for n in near)}?")
    return InputError(f"unknown {kind} {name!r}: expected one of {', '.join(names)}")
