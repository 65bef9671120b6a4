"""Othello: the next move of random games, measured at every ply against the legal moves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator

from lengthwise.errors import InputError
from lengthwise.othello import Board, Games, Position, games, legal_sets
from lengthwise.tasks.batch import Batch
from lengthwise.tasks.task import LossName


class NextMove(BaseModel):
    """Inputs are the first `length` moves of a random game; the target is uniform over the legal next moves.

    That is the exact conditional of random games, as each move is drawn uniformly from the legal ones; a label is the
    move that was drawn. Tokens 0, 1, ... are the squares that a move can take, in order; the last token is padding.
    Games are made as they are asked for. Those that end before they are asked are drawn again when measuring, and
    padded in training. (arXiv:2210.13382; docs/othello.md.)

    >>> task = NextMove(board=6, s_train=12)
    >>> task.sizes, task.lengths
    ({'vocabulary': 33, 'outputs': 33}, range(1, 32))
    >>> task.measure(np.random.default_rng(0), count=2, length=3).targets.shape
    torch.Size([2, 33])
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str] = "next-move"
    loss: ClassVar[LossName] = "cross-entropy"
    distinct: ClassVar[bool] = True

    board: Literal[6, 8] = Field(default=6, description="squares along a side")
    s_train: int = Field(default=16, ge=1, description="plies that are trained: moves 1..s_train are inputs")

    @model_validator(mode="after")
    def _within_a_game(self) -> NextMove:
        if self.s_train not in self.lengths:
            raise ValueError(f"s_train {self.s_train}: expected 1..{self.lengths[-1]} on a board of {self.board}")
        return self

    @property
    def trained_length(self) -> int:
        return self.s_train

    @property
    def lengths(self) -> range:
        return range(1, Board(self.board).plies)

    @property
    def sizes(self) -> dict[str, int]:
        return {"vocabulary": len(self._squares) + 1, "outputs": len(self._squares) + 1}

    def sample(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        """The first `length` moves of `count` new games, with the next move at each position."""
        self._check(length)
        tokens = self._tokens(games(int(rng.integers(2**63)), 0, count, self.board).moves[:, : length + 1])
        real = tokens[:, 1:] != len(self._squares)
        mask = None if real.all() else torch.from_numpy(real)
        labels = np.where(real, tokens[:, 1:], 0)
        return Batch(torch.from_numpy(tokens[:, :-1] * real), torch.from_numpy(labels), mask=mask)

    def measure(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        """The first `length` moves of `count` games that go on, with the exact target."""
        self._check(length)
        played = self._going_on(rng, count, length)
        tokens = self._tokens(played.moves[:, : length + 1])
        legal = legal_sets(played)[:, length, self._squares].astype(float)
        targets = np.pad(legal / legal.sum(1, keepdims=True), [(0, 0), (0, 1)])
        inputs, labels = torch.from_numpy(tokens[:, :-1].copy()), torch.from_numpy(tokens[:, -1].copy())
        return Batch(inputs, labels, "last", torch.from_numpy(targets))

    def oracle(self, inputs: Sequence[int]) -> list[float]:
        """The exact answer to one input, move by move."""
        position = Position.start(self.board)
        for token in inputs:
            position = position.after(int(self._squares[token]))
        legal = position.legal()
        return [(square in legal) / len(legal) for square in self._squares.tolist()] + [0.0]

    def _going_on(self, rng: np.random.Generator, count: int, length: int) -> Games:
        """Games of more than `length` moves: nearly all, until the last plies."""
        drawn = 2 * count + 64
        found = games(int(rng.integers(2**63)), 0, drawn, self.board)
        while (on := np.flatnonzero(found.lengths > length)).size < count:
            drawn *= 2
            found = games(int(rng.integers(2**63)), 0, drawn, self.board)
        return found[on[:count]]

    def _check(self, length: int) -> None:
        if length not in self.lengths:
            raise InputError(f"length {length}: expected 1..{self.lengths[-1]} on a board of {self.board}")

    def _tokens(self, moves: np.ndarray) -> np.ndarray:
        return self._token[moves]

    @cached_property
    def _squares(self) -> np.ndarray:
        """The squares that a move can take: all but those taken at the start."""
        board = Board(self.board)
        taken = board.start[0] | board.start[1]
        return np.array([square for square in range(board.area) if not taken >> square & 1])

    @cached_property
    def _token(self) -> np.ndarray:
        """The token of each square, and padding for whatever is none."""
        token = np.full(256, len(self._squares))
        token[self._squares] = np.arange(len(self._squares))
        return token
