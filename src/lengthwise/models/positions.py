"""Five ways to tell a transformer where a token stands, what each does beyond the trained length, and what is seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lengthwise.errors import InputError

PositionsKind = Literal["none", "learned", "sinusoidal", "rotary", "alibi"]


def sinusoids(length: int, width: int, device: torch.device | None = None) -> Float[Tensor, "s d"]:
    """Sines (even columns) and cosines (odd columns) of p / 10000^(2i/d), in float64 (arXiv:1706.03762, section 3.5).

    >>> sinusoids(2, 4).round(decimals=3)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8410, 0.5400, 0.0100, 1.0000]], dtype=torch.float64)
    """
    angles = _angles(length, width, device)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[:, :width]


def rotations(length: int, width: int, device: torch.device | None = None) -> Float[Tensor, "2 s half"]:
    """Cosine and sine of the angle by which each pair of columns turns at each position, in float64.

    The angles p / 10000^(2i/d) are those of arXiv:2104.09864, section 3.2.2; `width` is even.

    >>> rotations(2, 2)[0].round(decimals=3)
    tensor([[1.0000],
            [0.5400]], dtype=torch.float64)
    """
    angles = _angles(length, width, device)
    return torch.stack([angles.cos(), angles.sin()])


def slopes(heads: int) -> Float[Tensor, " h"]:
    """How much each head's scores lose per step of distance, in float64 (arXiv:2108.12409, section 3).

    Powers 2^(-8/h), 2^(-16/h), ... for h a power of two; other h take those of the power of two below, then every
    other slope of the power of two above.

    >>> slopes(2).tolist(), slopes(3).tolist()
    ([0.0625, 0.00390625], [0.0625, 0.00390625, 0.25])
    """
    below = 1 << (heads.bit_length() - 1)
    powers = lambda n: [2.0 ** (-8 * k / n) for k in range(1, n + 1)]  # noqa: E731
    return torch.tensor(powers(below) + powers(2 * below)[::2][: heads - below], dtype=torch.float64)


def _angles(length: int, width: int, device: torch.device | None) -> Tensor:
    pairs = torch.arange(0, width, 2, dtype=torch.float64, device=device)
    places = torch.arange(length, dtype=torch.float64, device=device)
    return places[:, None] * 10_000.0 ** (-pairs / width)


class Positions(nn.Module):
    """What all kinds share: a kind changes one of the three methods and leaves the others as they are here.

    `block` counts learned positions; `scale` is the standard deviation of new embeddings. Every other table is computed
    in float64 for the length at hand: it has no longest length, is in no checkpoint, and populations carry no copies.

    >>> NoPositions(width=4, heads=2, block=8).bias(torch.zeros(1, 3, 4)) is None
    True
    """

    def __init__(self, width: int, heads: int, block: int, scale: float = 1.0) -> None:
        super().__init__()
        self.width, self.heads, self.block = width, heads, block

    def added(self, x: Tensor) -> Tensor:
        """Embeddings `(..., s, d)` with positions added to them."""
        return x

    def rotation(self, x: Tensor) -> Tensor | None:
        """By how much queries and keys turn for embeddings like `x (..., s, d)`: `(2, s, d / heads / 2)`."""
        return None

    def bias(self, x: Tensor) -> Tensor | None:
        """What is added to the scores (query by key) for embeddings like `x (..., s, d)`: `(heads, s, s)`."""
        return None


class NoPositions(Positions):
    """No positions: order is known only through the causal mask, each position seeing those before it.

    Beyond the trained length: nothing to continue; attention has more tokens to average over.

    >>> NoPositions(width=4, heads=2, block=8).added(torch.ones(1, 2))
    tensor([[1., 1.]])
    """


class LearnedPositions(Positions):
    """One learned vector for each of `block` positions, added to the embeddings (GPT-1, GPT-2).

    Beyond the trained length: positions that no training input reached keep their initial vectors, and an input longer
    than `block` is refused (InputError). The same seed gives a longer table the rows of the shorter one.

    >>> LearnedPositions(width=2, heads=1, block=3).added(torch.zeros(5, 4, 2))
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: length 4: learned positions end at block 3; use a larger block, or rotary or alibi
    """

    def __init__(self, width: int, heads: int, block: int, scale: float = 1.0) -> None:
        super().__init__(width, heads, block)
        # Row by row: one draw of all rows would depend on how many there are.
        self.table = nn.Parameter(torch.stack([torch.randn(width) for _ in range(block)]) * scale)

    def added(self, x: Tensor) -> Tensor:
        if (s := x.shape[-2]) > self.block:
            hint = "use a larger block, or rotary or alibi"
            raise InputError(f"length {s}: learned positions end at block {self.block}; {hint}")
        return x + self.table[:s]


class SinusoidalPositions(Positions):
    """Fixed sines and cosines of the position, added to the embeddings (arXiv:1706.03762).

    The paper brings embeddings to standard deviation 1 and adds sinusoids of amplitude 1; here both are `scale`, as
    sinusoids of amplitude 1 drown embeddings of .02.

    Beyond the trained length: the formula continues, with angles that training never showed.

    >>> SinusoidalPositions(width=2, heads=1, block=1).added(torch.zeros(3, 2)).round(decimals=3)
    tensor([[ 0.0000,  1.0000],
            [ 0.8410,  0.5400],
            [ 0.9090, -0.4160]])
    """

    def __init__(self, width: int, heads: int, block: int, scale: float = 1.0) -> None:
        super().__init__(width, heads, block)
        self.amplitude = scale

    def added(self, x: Tensor) -> Tensor:
        return x + (self.amplitude * sinusoids(x.shape[-2], self.width, x.device)).to(x.dtype)


class RotaryPositions(Positions):
    """Queries and keys turned by their positions, so that scores know distances alone (arXiv:2104.09864).

    Beyond the trained length: the formula continues, with distances that training never showed.

    Errors: InputError for an odd head width.

    >>> RotaryPositions(width=4, heads=2, block=1).rotation(torch.zeros(3, 4)).shape
    torch.Size([2, 3, 1])
    """

    def __init__(self, width: int, heads: int, block: int, scale: float = 1.0) -> None:
        super().__init__(width, heads, block)
        if width // heads % 2:
            raise InputError(f"width {width}, heads {heads}: rotary positions expect an even head width")

    def rotation(self, x: Tensor) -> Tensor:
        return rotations(x.shape[-2], self.width // self.heads, x.device)


class AlibiPositions(Positions):
    """Scores lowered in proportion to distance, by each head at its own slope (arXiv:2108.12409).

    Beyond the trained length: the lines continue, so that attention stays near the query.

    >>> AlibiPositions(width=2, heads=1, block=1).bias(torch.zeros(3, 2))[0] * 2**8
    tensor([[ 0.,  1.,  2.],
            [-1.,  0.,  1.],
            [-2., -1.,  0.]])
    """

    def bias(self, x: Tensor) -> Tensor:
        places = torch.arange(x.shape[-2], device=x.device)
        distance = places - places[:, None]
        return (slopes(self.heads).to(x.device)[:, None, None] * distance).to(x.dtype)


POSITIONS: dict[PositionsKind, type[Positions]] = {
    "none": NoPositions,
    "learned": LearnedPositions,
    "sinusoidal": SinusoidalPositions,
    "rotary": RotaryPositions,
    "alibi": AlibiPositions,
}


@dataclass(frozen=True)
class Visible:
    """What every layer is told of an input: how queries and keys turn, what is added to scores, who sees nothing.

    `shift` is `(..., s, s)`, minus infinity where a query does not see a key, None if causality alone says so.
    `some` is `(..., s, 1)`, False at queries that see nothing, None if there are none such.
    """

    rotation: Tensor | None = None
    shift: Tensor | None = None
    some: Tensor | None = None

    @staticmethod
    def of(x: Tensor, positions: Positions, mask: Tensor | None = None) -> Visible:
        """What is seen in embeddings like `x` `(..., s, d)`; `mask` `(..., s)` is True at real positions.

        >>> Visible.of(torch.zeros(1, 2, 4), NoPositions(4, 2, 8), torch.tensor([[True, False]])).shift
        tensor([[[[0., -inf],
                  [0., -inf]]]])
        """
        rotation, bias = positions.rotation(x), positions.bias(x)
        if mask is None:
            return Visible(rotation, None if bias is None else bias + _causal(x))
        visible = (_causal(x) == 0) & mask[..., None, None, :]
        some = visible.any(-1, keepdim=True)
        # A query that sees nothing is shown everything and then silenced: of nothing, some kernels make 0, others NaN.
        shift = torch.where(visible | ~some, x.new_zeros(()) if bias is None else bias, -math.inf)
        return Visible(rotation, shift, some)

    def weights(self, query: Tensor, key: Tensor) -> Tensor:
        """Attention `(..., h, s, s)` of queries to keys `(..., h, s, k)`, formed explicitly.

        >>> Visible().weights(torch.zeros(1, 2, 3), torch.zeros(1, 2, 3))
        tensor([[[1.0000, 0.0000],
                 [0.5000, 0.5000]]])
        """
        shift = _causal(query) if self.shift is None else self.shift.to(query.dtype)
        weights = (query / math.sqrt(query.shape[-1]) @ key.transpose(-1, -2) + shift).softmax(-1).to(query.dtype)
        return weights if self.some is None else weights * self.some

    def mixed(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """`weights(query, key) @ value` by PyTorch's fused kernels, which keep no weights.

        >>> Visible().mixed(torch.zeros(1, 2, 3), torch.zeros(1, 2, 3), torch.tensor([[[2.0], [4.0]]]))
        tensor([[[2.],
                 [3.]]])
        """
        if self.shift is None:
            return nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, self.shift.to(query.dtype))
        return mixed if self.some is None else mixed * self.some


def _causal(x: Tensor) -> Tensor:
    """0 where a query stands at or behind a key, minus infinity where it would look ahead."""
    s = x.shape[-2]
    return torch.full((s, s), -math.inf, dtype=x.dtype, device=x.device).triu(1)
