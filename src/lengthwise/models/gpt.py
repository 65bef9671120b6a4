"""GPT: a decoder of attention and MLP layers, in the way of GPT-1 (post-norm) and GPT-2 (pre-norm)."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch._C._functorch import is_batchedtensor

from lengthwise.errors import InputError, unknown
from lengthwise.models.dropout import Dropout, dropout
from lengthwise.models.positions import POSITIONS, PositionsKind, Visible

NormPlace = Literal["pre", "post"]


def rotated(x: Float[Tensor, "*b s d"], rotation: Float[Tensor, "2 s half"]) -> Float[Tensor, "*b s d"]:
    """Turn column i of x together with column i + d/2, at each position by its own angle.

    The paper pairs neighbouring columns; pairing halves differs in the order of columns alone, and is faster.

    >>> rotated(torch.tensor([[1.0, 0.0]]), rotation=torch.tensor([[[0.6]], [[0.8]]]))
    tensor([[0.6000, 0.8000]])
    """
    cosine, sine = rotation.to(x.dtype)
    first, second = x.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], -1)


class Attention(nn.Module):
    """Causal attention with several heads; query, key and value are layers of their own, to be trained apart.

    Weights are formed explicitly where they are dropped, as the noise is ours, and under `torch.vmap`, where PyTorch
    would run its fused kernel for the CPU one model at a time; otherwise the fused kernels serve. PyTorch has no public
    question for being under vmap, and `torch.compile` knows the answer to this one.

    Without rotary positions a key's bias moves all scores of a query alike: its gradient is 0 but for rounding, which
    Adam follows. It wanders without effect, so compare trained models by their outputs.

    >>> Attention(width=4, heads=2)(torch.zeros(3, 5, 4), Visible()).shape
    torch.Size([3, 5, 4])
    """

    def __init__(self, width: int, heads: int, rate: float = 0.0) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.output = nn.Linear(width, width), nn.Linear(width, width)
        self.dropout = dropout(rate, "attention_dropout")

    def forward(self, x: Tensor, visible: Visible) -> Tensor:
        query, key = self._queries_and_keys(x, visible)
        value = self._heads(self.value(x))
        if is_batchedtensor(query) or (self.training and isinstance(self.dropout, Dropout)):
            mixed = self.dropout(visible.weights(query, key)) @ value
        else:
            # A population learns the shape of the noise it lends from what this layer is given when nothing is dropped.
            self.dropout(query[..., :1].expand(*query.shape[:-1], query.shape[-2]))
            mixed = visible.mixed(query, key, value)
        return self.output(mixed.transpose(-2, -3).flatten(-2))

    def weights(self, x: Tensor, visible: Visible) -> Tensor:
        """How each head distributes its attention, before any is dropped: `(..., s, d)` to `(..., h, s, s)`."""
        return visible.weights(*self._queries_and_keys(x, visible))

    def _queries_and_keys(self, x: Tensor, visible: Visible) -> tuple[Tensor, Tensor]:
        query, key, turn = self._heads(self.query(x)), self._heads(self.key(x)), visible.rotation
        return (query, key) if turn is None else (rotated(query, turn), rotated(key, turn))

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(-2, -3)


class Layer(nn.Module):
    """Attention, then an MLP, each added to what it reads; normalised before it is read ("pre") or after ("post").

    >>> Layer(width=4, heads=2)(torch.zeros(3, 5, 4), Visible()).shape
    torch.Size([3, 5, 4])
    """

    def __init__(
        self,
        width: int,
        heads: int,
        mlp_ratio: int = 4,
        norm: NormPlace = "pre",
        dropouts: tuple[float, float] = (0, 0),
    ) -> None:
        super().__init__()
        attention_dropout, residual_dropout = dropouts
        self.norm_place: NormPlace = norm
        self.attention_norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, attention_dropout)
        self.mlp = nn.Sequential(nn.Linear(width, mlp_ratio * width), nn.GELU(), nn.Linear(mlp_ratio * width, width))
        self.attention_residual_dropout = dropout(residual_dropout, "residual_dropout")
        self.mlp_residual_dropout = dropout(residual_dropout, "residual_dropout")

    def forward(self, x: Tensor, visible: Visible) -> Tensor:
        if self.norm_place == "pre":
            x = x + self.attention_residual_dropout(self.attention(self.attention_norm(x), visible))
            return x + self.mlp_residual_dropout(self.mlp(self.mlp_norm(x)))
        x = self.attention_norm(x + self.attention_residual_dropout(self.attention(x, visible)))
        return self.mlp_norm(x + self.mlp_residual_dropout(self.mlp(x)))

    def weights(self, x: Tensor, visible: Visible) -> Tensor:
        """The attention of this layer's heads, `(..., h, s, s)`."""
        return self.attention.weights(self.attention_norm(x) if self.norm_place == "pre" else x, visible)


class GPT(nn.Module):
    """Outputs at every position of tokens `(b, s)` or vectors `(b, s, features)`: `(b, s, outputs)`.

    Exactly one of `vocabulary` (tokens, read by an embedding) and `features` (vectors, read by a linear layer) is
    given; `outputs` is the vocabulary unless said otherwise. The output layer is untied and has no bias.

    - `norm`: "pre" is GPT-2 (a final norm before the output layer), "post" is GPT-1 (none but after each sum).
    - `positions`: "none", "learned" (up to `block`), "sinusoidal", "rotary" or "alibi"; the classes of
      `lengthwise.models.positions` say what each does beyond the trained length.
    - dropout on the embeddings, on the attention weights, and on what attention and MLP add to the residual path.
    - `initial_scale`: the standard deviation of initial weights, GPT-2's .02 unless given; matrices that write to the
      residual path get it over sqrt(2 layers). .02 suits wide models: see `lengthwise.models.presets` for small ones.

    `mask` `(b, s)` is True at real positions; what a padded position answers is finite and means nothing.

    Errors: InputError for sizes below 1, a width that the heads do not divide, rates outside [0, 1), unknown names,
    rotary positions in heads of odd width, an input longer than learned positions.

    >>> model = GPT(vocabulary=5, positions="rotary")
    >>> model(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 5])
    >>> GPT(features=2, outputs=1)(torch.zeros(1, 3, 2)).shape
    torch.Size([1, 3, 1])
    """

    numbers: ClassVar[tuple[str, ...]] = ("embedding_dropout", "attention_dropout", "residual_dropout")
    """Constructor arguments that may differ between the models of one population (each zero or nonzero in all)."""

    def __init__(
        self,
        vocabulary: int | None = None,
        features: int | None = None,
        outputs: int | None = None,
        layers: int = 2,
        heads: int = 2,
        width: int = 32,
        mlp_ratio: int = 4,
        norm: NormPlace = "pre",
        positions: PositionsKind = "learned",
        block: int = 256,
        embedding_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        residual_dropout: float = 0.0,
        initial_scale: float = 0.02,
    ) -> None:
        super().__init__()
        reads, size, outputs = _sizes(vocabulary, features, outputs)
        sizes = {"layers": layers, "heads": heads, "width": width, "mlp_ratio": mlp_ratio, "block": block}
        for name, value in {reads: size, "outputs": outputs, **sizes}.items():
            if value < 1:
                raise InputError(f"{name} {value}: expected at least 1")
        if width % heads:
            raise InputError(f"width {width}: expected a multiple of heads {heads}")
        if not 0 < initial_scale < math.inf:
            raise InputError(f"initial_scale {initial_scale}: expected a positive finite number")
        for field, value, known in (("norm", norm, get_args(NormPlace)), ("positions", positions, [*POSITIONS])):
            if value not in known:
                raise unknown(field, value, known)
        self.embedding = nn.Embedding(size, width) if reads == "vocabulary" else nn.Linear(size, width)
        self.embedding_dropout = dropout(embedding_dropout, "embedding_dropout")
        dropouts = attention_dropout, residual_dropout
        self.layers = nn.ModuleList(Layer(width, heads, mlp_ratio, norm, dropouts) for _ in range(layers))
        self.norm = nn.LayerNorm(width) if norm == "pre" else nn.Identity()
        self.unembedding = nn.Linear(width, outputs, bias=False)
        self._initialise(initial_scale)
        # Last: one seed gives models with different positions the same weights everywhere else.
        self.positions = POSITIONS[positions](width, heads, block, initial_scale)

    def _initialise(self, scale: float) -> None:
        for name, layer in self.named_modules():
            if isinstance(layer, nn.Linear | nn.Embedding):
                writes = name.endswith((".attention.output", ".mlp.2"))
                nn.init.normal_(layer.weight, std=scale / math.sqrt(2 * len(self.layers)) if writes else scale)
            if isinstance(layer, nn.Linear) and layer.bias is not None:
                nn.init.zeros_(layer.bias)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Parameter groups by globs: where the heads look (`attention`: queries and keys), and the rest (`output`)."""
        looks = ("layers.*.attention.query.*", "layers.*.attention.key.*")
        layer = [f"layers.*.{part}.*" for part in ("attention_norm", "attention.value", "attention.output", "mlp*")]
        rest = [f"{name}.*" for name, part in self.named_children() if name != "layers" and [*part.parameters()]]
        return {"attention": looks, "output": (*layer, *rest)}

    def forward(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        x, visible = self._start(inputs, mask)
        for layer in self.layers:
            x = layer(x, visible)
        return self.unembedding(self.norm(x))

    def attention(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Where every head looks, `(layers, b, heads, s, s)`: row q is position q's attention, 0 if it sees nothing.

        The state each layer reads is that of `forward`: asking for the weights changes no output.

        >>> model = GPT(vocabulary=5, layers=3, heads=2, width=4)
        >>> model.attention(torch.tensor([[3, 1]]))[:, 0, :, 0, 0].shape
        torch.Size([3, 2])
        """
        x, visible = self._start(inputs, mask)
        weights = []
        for layer in self.layers:
            assert isinstance(layer, Layer)
            weights.append(layer.weights(x, visible))
            x = layer(x, visible)
        return torch.stack(weights)

    def _start(self, inputs: Tensor, mask: Tensor | None) -> tuple[Tensor, Visible]:
        x = self.embedding(inputs)
        return self.embedding_dropout(self.positions.added(x)), Visible.of(x, self.positions, mask)


def _sizes(vocabulary: int | None, features: int | None, outputs: int | None) -> tuple[str, int, int]:
    """What is read, and the sizes of input and output."""
    if vocabulary is not None and features is None:
        return "vocabulary", vocabulary, vocabulary if outputs is None else outputs
    if features is None or vocabulary is not None:
        raise InputError(f"vocabulary {vocabulary}, features {features}: expected exactly one (tokens or vectors)")
    if outputs is None:
        raise InputError(f"outputs: expected a size, as features {features} are no vocabulary to answer with")
    return "features", features, outputs
