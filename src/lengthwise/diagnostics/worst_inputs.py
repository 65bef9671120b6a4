"""Search for the worst input at each length, for models of which no certificate can be had.

What is found is an input, not a proof: a worse one may exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from lengthwise.errors import InputError

Answers = Callable[[Int[Tensor, "i s"]], Float[Tensor, "i v"]]
"""Logits after each of i inputs of one length."""
Legality = Callable[[Int[Tensor, "i s"]], Bool[Tensor, "i v"]]
"""Which tokens are legal after each of i inputs of one length (targets above 0)."""
Input = tuple[int, ...]

CHUNK = 4096
"""Inputs answered at once."""


@dataclass(frozen=True)
class WorstInput:
    """The worst input found at one length: its displacement, least legal minus greatest illegal logit.

    `tried` counts the inputs that were answered. A tie, displacement 0, is a failure.

    >>> WorstInput(2, (0, 3), -0.5, tried=10).fails
    True
    """

    length: int
    tokens: Input
    displacement: float
    tried: int

    @property
    def fails(self) -> bool:
        """Whether an illegal token is at least as likely as a legal one."""
        return self.displacement <= 0


@dataclass(frozen=True)
class Limits:
    """How far a search goes: inputs answered at each length (`budget`), and places held at once (`beam`).

    `order` tells whether the order of the tokens before the last may matter; it does not for one layer without
    positions, and a search that knows it spends nothing on orders. Raises InputError for a budget or beam below 1.

    >>> Limits(order=False).named((3, 1, 2))
    (1, 3, 2)
    """

    budget: int = 10_000
    beam: int = 8
    order: bool = True

    def __post_init__(self) -> None:
        for name in ("budget", "beam"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} {getattr(self, name)}: expected at least 1")

    def named(self, tokens: Input) -> Input:
        """An input as it is known: the least of those that are answered alike."""
        return tokens if self.order else (*sorted(tokens[:-1]), tokens[-1])


def worst_inputs(
    answer: Answers,
    vocabulary: int,
    lengths: Sequence[int] | None = None,
    legal: Legality | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> list[WorstInput]:
    """The worst inputs of distinct tokens that a search finds, one for each length (1..v-1 by default), in order.

    Each length starts from the worst inputs of the length before, longer by every token at either end, and from random
    ones. They climb to the worst input that differs in one token or in the exchange of two, until none is worse; then
    others take their place, until the budget of the length is spent. `legal` says which tokens are legal (by default
    those absent). The same seed finds the same inputs. Raises InputError for lengths outside 1..v-1, answers of
    another shape, and logits that are not numbers.

    >>> def answer(tokens):  # token 2 is illegal when seen, unless 0 is the last
    ...     seen = torch.nn.functional.one_hot(tokens, 4).sum(1).double()
    ...     return -seen * torch.where(tokens[:, -1:] == 0, torch.tensor([1, 1, -1, 1]), 1)
    >>> [(w.tokens, w.displacement) for w in worst_inputs(answer, 4)]
    [((0,), 1.0), ((2, 0), -1.0), ((1, 2, 0), -1.0)]
    """
    asked = range(1, vocabulary) if lengths is None else sorted(set(lengths))
    if wrong := [length for length in asked if not 1 <= length < vocabulary]:
        raise InputError(f"length {wrong[0]}: expected 1..{vocabulary - 1} for {vocabulary} tokens")
    judge, limits = _Judge(answer, legal or absent(vocabulary), device), limits or Limits()
    random = np.random.default_rng(seed)
    found, worst = [], []
    for length in range(1, asked[-1] + 1) if asked else ():
        search = _Search(judge, vocabulary, length, limits, random)
        worst = search.run([limits.named(tokens) for tokens in _longer(worst, vocabulary)])
        if length in asked:
            found.append(WorstInput(length, worst[0], search.known[worst[0]], len(search.known)))
    return found


def shortest_failure(found: Iterable[WorstInput]) -> WorstInput | None:
    """The failing input of the least length among those found; None if none fails, which proves nothing.

    >>> shortest_failure([WorstInput(1, (0,), 1.0, 4), WorstInput(2, (0, 1), 0.0, 9)]).length
    2
    """
    return min((worst for worst in found if worst.fails), key=lambda worst: worst.length, default=None)


def absent(vocabulary: int) -> Legality:
    """The legality of the set complement: a token is legal if the input lacks it.

    >>> absent(3)(torch.tensor([[2, 0]]))
    tensor([[False,  True, False]])
    """
    return lambda tokens: torch.ones(len(tokens), vocabulary, dtype=torch.bool, device=tokens.device).scatter_(
        1, tokens, False
    )


@dataclass(frozen=True)
class _Judge:
    """The displacement of inputs of one length."""

    answer: Answers
    legal: Legality
    device: torch.device | str

    def __call__(self, inputs: list[Input]) -> list[float]:
        values: list[float] = []
        for start in range(0, len(inputs), CHUNK):
            tokens = torch.tensor(inputs[start : start + CHUNK], device=self.device)
            with torch.no_grad():
                logits, legal = self.answer(tokens).double(), self.legal(tokens)
            if logits.shape != legal.shape:
                raise InputError(f"answers of shape {tuple(logits.shape)}: expected {tuple(legal.shape)}")
            if logits.isnan().any():
                place = int(logits.isnan().any(1).nonzero()[0])
                raise InputError(f"logits of input {tokens[place].tolist()} are not numbers: expected a working model")
            least = logits.masked_fill(~legal, torch.inf).amin(1)
            values += (least - logits.masked_fill(legal, -torch.inf).amax(1)).tolist()
        return values


class _Search:
    """The search at one length; `known` holds every input that was answered, with its displacement."""

    def __init__(
        self, judge: _Judge, vocabulary: int, length: int, limits: Limits, random: np.random.Generator
    ) -> None:
        self.judge, self.vocabulary, self.length, self.limits, self.random = judge, vocabulary, length, limits, random
        self.known: dict[Input, float] = {}
        self.left: set[Input] = set()  # those of which not every neighbour was asked for

    def run(self, starts: list[Input]) -> list[Input]:
        """Search until the budget is spent or three rounds bring nothing new; the worst inputs, the worst first."""
        self._answer(starts, self.limits.budget // 2)
        idle = 0
        while len(self.known) < self.limits.budget and idle < 3:
            before, half = len(self.known), self.limits.beam // 2
            drawn = [self._random_input() for _ in range(self.limits.beam - half)]
            self._answer(drawn, len(drawn))
            fresh = [tokens for tokens in drawn if tokens in self.left]
            self._climb(list(dict.fromkeys(self._worst(self.left, half) + fresh)))
            idle = idle + 1 if len(self.known) == before else 0
        return self._worst(self.known, self.limits.beam)

    def _climb(self, places: list[Input]) -> None:
        """Move every place to its worst neighbour, until none has a worse one or the budget is spent."""
        while places and len(self.known) < self.limits.budget:
            around = {place: self._neighbours(place) for place in places}
            self._answer([tokens for near in around.values() for tokens in near], self.limits.budget)
            self.left -= around.keys()
            best = [(place, min(near, key=self._value)) for place, near in around.items() if near]
            moved = [near for place, near in best if self._value(near) < self.known[place]]
            places = [near for near in dict.fromkeys(moved) if near in self.left]

    def _answer(self, inputs: list[Input], most: int) -> None:
        """Ask for inputs that are not known, at most so many and within the budget; a random part of too many."""
        new = [tokens for tokens in dict.fromkeys(inputs) if tokens not in self.known]
        room = min(most, self.limits.budget - len(self.known))
        if len(new) > room:
            new = [new[k] for k in self.random.permutation(len(new))[:room]]
        self.known.update(zip(new, self.judge(new), strict=True))
        self.left.update(new)

    def _neighbours(self, tokens: Input) -> list[Input]:
        """Inputs that differ in one token, or in the exchange of two (of the last with another without `order`)."""
        free = [token for token in range(self.vocabulary) if token not in tokens]
        near = [(*tokens[:k], token, *tokens[k + 1 :]) for k in range(self.length) for token in free]
        for b in range(1, self.length) if self.limits.order else [self.length - 1]:
            near += [(*tokens[:a], tokens[b], *tokens[a + 1 : b], tokens[a], *tokens[b + 1 :]) for a in range(b)]
        return [self.limits.named(x) for x in near]

    def _random_input(self) -> Input:
        return self.limits.named(tuple(self.random.permutation(self.vocabulary)[: self.length].tolist()))

    def _value(self, tokens: Input) -> float:
        return self.known.get(tokens, np.inf)

    def _worst(self, among: Iterable[Input], count: int) -> list[Input]:
        """The worst of some inputs; of equally bad ones the least."""
        return nsmallest(count, among, key=lambda tokens: (self.known[tokens], tokens))


def _longer(inputs: list[Input], vocabulary: int) -> list[Input]:
    """Inputs with one token more, at the front or at the end."""
    more = [(x, [token for token in range(vocabulary) if token not in x]) for x in inputs or [()]]
    return [y for x, free in more for token in free for y in ((token, *x), (*x, token))]
