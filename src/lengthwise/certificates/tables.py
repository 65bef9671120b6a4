"""The three tables that a minimal transformer is, the weights they come from, and reading them from a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from os import PathLike

import numpy as np
from jaxtyping import Bool, Float, Int
from safetensors import SafetensorError
from safetensors.numpy import load_file

from lengthwise.errors import InputError

LARGEST_SPREAD = 10_000.0
"""Widest row of S that is certified: the rational weights of such a row already have 30,000 bits."""
LARGEST_ENTRY = 1e100
"""Largest magnitude of an entry: sums and differences of such entries stay far from float64 overflow."""


@dataclass(frozen=True)
class Tables:
    """Attention scores S, residual logits B and value logits D, each v x v, of a minimal transformer.

    An input t of distinct tokens with last token y has logits B[y] + sum_i a_i D[t_i], with a the softmax of
    S[y, .] over the tokens of t (`docs/theory.md`, "The minimal transformer"). Entries are kept as read-only
    float64. Raises InputError for other shapes, v < 2, entries that are not finite or beyond 1e100, and rows
    of S that spread over more than 10,000.

    >>> import numpy as np
    >>> Tables(np.zeros((3, 3)), np.zeros((3, 3)), -np.eye(3)).vocabulary
    3
    >>> Tables(np.zeros((2, 2)), np.zeros((2, 2)), np.array([[0.0, 1.0], [np.nan, 0.0]]))
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: table D[1, 0] is nan: expected a finite number
    """

    S: Float[np.ndarray, "v v"]
    B: Float[np.ndarray, "v v"]
    D: Float[np.ndarray, "v v"]

    def __post_init__(self) -> None:
        """Copy the tables to read-only float64, checking each."""
        for field in fields(self):
            table = _checked(field.name, getattr(self, field.name))
            if table.shape != np.shape(self.S):
                expected = f"expected {np.shape(self.S)} like S"
                raise InputError(f"table {field.name} has shape {table.shape}: {expected}")
            object.__setattr__(self, field.name, table)
        spread = np.ptp(self.S, axis=1)
        if spread.max() > LARGEST_SPREAD:
            row = int(spread.argmax())
            raise InputError(f"row {row} of table S spreads over {spread[row]:g}: expected at most {LARGEST_SPREAD:g}")

    @property
    def vocabulary(self) -> int:
        """The number of tokens v.

        >>> Tables(np.eye(4), np.eye(4), np.eye(4)).vocabulary
        4
        """
        return len(self.S)

    def logits(self, tokens: Iterable[int]) -> Float[np.ndarray, " v"]:
        """The logits of one input, by the plain formula in float64.

        Raises InputError for an empty input, a repeated token or one outside 0..v-1.

        >>> Tables(np.zeros((3, 3)), np.zeros((3, 3)), -np.eye(3)).logits([2, 0])
        array([-0.5,  0. , -0.5])
        """
        chosen = [int(token) for token in tokens]
        if not chosen or len(set(chosen)) < len(chosen) or not 0 <= min(chosen) <= max(chosen) < self.vocabulary:
            raise InputError(f"input {chosen}: expected distinct tokens of 0..{self.vocabulary - 1}, at least one")
        scores = self.S[chosen[-1], chosen]
        weights = np.exp(scores - scores.max())
        return self.B[chosen[-1]] + weights @ self.D[chosen] / weights.sum()

    def logits_of_sets(self, member: Bool[np.ndarray, "n v"], last: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n v"]:
        """The logits of n inputs at once, each given as the set of its tokens and its last token.

        >>> member = np.array([[True, False, True]])
        >>> Tables(np.zeros((3, 3)), np.zeros((3, 3)), -np.eye(3)).logits_of_sets(member, np.array([0]))
        array([[-0.5,  0. , -0.5]])
        """
        scores = np.where(member, self.S[last], -np.inf)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return self.B[last] + (weights / weights.sum(axis=1, keepdims=True)) @ self.D


@dataclass(frozen=True)
class Weights:
    """The weights of a minimal transformer as plain arrays, with the tables they make.

    Shapes: E (v, d), W_Q and W_K (d, d_k), W_V (d, d_v), W_O (d_v, d), U (d, v); `docs/theory.md`, "The minimal
    transformer".

    >>> one = np.eye(3)
    >>> Weights(E=one, W_Q=0 * one, W_K=0 * one, W_V=one, W_O=-2 * one, U=one).tables().D[0]
    array([-2.,  0.,  0.])
    """

    E: Float[np.ndarray, "v d"]
    W_Q: Float[np.ndarray, "d k"]
    W_K: Float[np.ndarray, "d k"]
    W_V: Float[np.ndarray, "d w"]
    W_O: Float[np.ndarray, "w d"]
    U: Float[np.ndarray, "d v"]

    def scores(self) -> Float[np.ndarray, "v v"]:
        """The attention scores S = E W_Q W_K^T E^T / sqrt(d_k).

        >>> one = np.eye(4)
        >>> Weights(one, one, one, one, one, one).scores()[1]
        array([0. , 0.5, 0. , 0. ])
        """
        return (self.E @ self.W_Q) @ (self.E @ self.W_K).T / np.sqrt(self.W_Q.shape[1])

    def tables(self) -> Tables:
        """The tables S, B = E U and D = E W_V W_O U, in float64.

        >>> one = np.eye(3)
        >>> Weights(one, one, one, one, one, one).tables().B[2]
        array([0., 0., 1.])
        """
        return Tables(self.scores(), self.E @ self.U, self.E @ self.W_V @ self.W_O @ self.U)


def load_tables(path: str | PathLike[str]) -> Tables:
    """Read tables from a safetensors file that holds float tensors named S, B and D of shape (v, v).

    Raises InputError for a file that is missing, is no safetensors file, lacks a table, or holds a bad one.

    >>> load_tables("nowhere.safetensors")
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: nowhere.safetensors: no such file
    """
    try:
        found = load_file(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (SafetensorError, OSError, TypeError, KeyError) as fault:
        raise InputError(f"{path}: expected a safetensors file of float tensors ({fault})") from None
    missing = [name for name in "SBD" if name not in found]
    if missing:
        names = ", ".join(sorted(found)) or "nothing"
        raise InputError(f"{path}: no table {missing[0]}: expected tensors S, B and D, found {names}")
    try:
        return Tables(found["S"], found["B"], found["D"])
    except InputError as fault:
        raise InputError(f"{path}: {fault}") from None


def _checked(name: str, given: object) -> np.ndarray:
    """A read-only float64 copy of a table that is square, finite and of moderate size."""
    table = np.asarray(given)
    if not np.issubdtype(table.dtype, np.floating) and not np.issubdtype(table.dtype, np.integer):
        raise InputError(f"table {name} holds {table.dtype}: expected floating-point numbers")
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
        raise InputError(f"table {name} has shape {table.shape}: expected (v, v) with v >= 2")
    table = table.astype(np.float64)
    bad = np.argwhere(~np.isfinite(table) | (np.abs(table) > LARGEST_ENTRY))
    if len(bad):
        row, column = (int(index) for index in bad[0])
        value = table[row, column]
        wanted = f"a magnitude up to {LARGEST_ENTRY:g}" if np.isfinite(value) else "a finite number"
        raise InputError(f"table {name}[{row}, {column}] is {value:g}: expected {wanted}")
    table.setflags(write=False)
    return table
