"""Losses along training: means over equal stretches of steps, kept as tensors so that they can be resumed."""

from __future__ import annotations

import torch
from torch import Tensor


class History:
    """The mean loss of each of n models over every `every` steps; NaN over stretches in which a model rested.

    >>> history = History(models=1, every=2)
    >>> for loss in (4.0, 2.0, 1.0):
    ...     history.add(torch.tensor([loss]))
    >>> history.table.tolist()  # the third loss waits for its stretch to be full
    [[3.0]]
    """

    def __init__(self, models: int, every: int, device: torch.device | str = "cpu") -> None:
        self.every = every
        self.rows: list[Tensor] = []
        self.sums = torch.zeros(models, device=device)
        self.counts = torch.zeros(models, device=device)
        self.waiting = 0

    def add(self, losses: Tensor) -> None:
        """Take in the losses of one step."""
        ran = ~losses.isnan()
        self.sums += torch.where(ran, losses, 0.0)
        self.counts += ran
        self.waiting += 1
        if self.waiting == self.every:
            self.flush()

    def flush(self) -> None:
        """End the present stretch, if it has any step."""
        if self.waiting:
            self.rows.append(self.sums / self.counts)
            self.sums, self.counts, self.waiting = torch.zeros_like(self.sums), torch.zeros_like(self.counts), 0

    @property
    def table(self) -> Tensor:
        """Mean losses `(stretches, n)`."""
        return torch.stack(self.rows) if self.rows else self.sums.new_zeros(0, len(self.sums))

    def state(self) -> dict[str, Tensor]:
        """Everything that the next step depends on, by name."""
        return {"table": self.table, "sums": self.sums, "counts": self.counts, "waiting": torch.tensor(self.waiting)}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from a `state()`."""
        device = self.sums.device
        self.rows = list(state["table"].to(device).unbind(0))
        self.sums, self.counts = state["sums"].to(device), state["counts"].to(device)
        self.waiting = int(state["waiting"])
