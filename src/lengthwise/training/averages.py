"""Averages of weights along training: EMA with warm-up, and BEMA in its two published variants."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

State = dict[str, Tensor]


class _Average(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    slots: ClassVar[tuple[str, ...]]

    def numbers(self) -> dict[str, float]:
        """The settings that may differ between models of one population."""
        return {k: float(v) for k, v in self.model_dump().items() if k not in ("kind", "every")}

    def _unusual(self, *told: str) -> str:
        """The settings that are not the defaults, for a name; those `told` already are left out."""
        fields = {k: f.default for k, f in type(self).model_fields.items() if k not in told}
        return "".join(f" {k}={getattr(self, k)}" for k, default in fields.items() if getattr(self, k) != default)


class EMA(_Average):
    """Exponential moving average: `bar <- d_t bar + (1 - d_t) w`, `d_t = min(decay, (1 + t) / (10 + t))`.

    t counts the updates from 0: the warm-up lets short runs forget their initial weights. `warmup=False` holds d_t at
    `decay`. (docs/theory.md, "Averages".)

    >>> EMA(decay=0.99).name
    'ema@0.99'
    """

    kind: Literal["ema"] = "ema"
    decay: float = Field(default=0.99, ge=0, le=1)
    warmup: bool = True
    every: int = Field(default=1, ge=1)
    slots: ClassVar = ("average",)

    @property
    def name(self) -> str:
        return f"ema@{self.decay:.10g}" + self._unusual("kind", "decay")

    def update(self, w: Tensor, state: State, step: int, n: dict[str, Tensor]) -> State:
        t = step // self.every - 1
        ramp = n["decay"].clamp(max=(1 + t) / (10 + t))
        decay = torch.where(n["warmup"] > 0, ramp, n["decay"])
        return {"average": torch.lerp(w, state["average"], decay)}

    def effective_decay(self, step: int) -> float:
        """The decay in force at the update of `step`: what a short run really used.

        >>> round(EMA(decay=0.9999).effective_decay(1500), 3)
        0.994
        """
        t = step // self.every - 1
        return min(self.decay, (1 + t) / (10 + t)) if self.warmup else self.decay


class BEMA(_Average):
    """Bias-corrected EMA: `alpha_t (w_t - w_0) + EMA_t`, both weights falling as powers of the step (arXiv:2508.00180).

    With `variant="paper"`, `beta_t = (rho + gamma t)^-kappa` and `alpha_t = (rho + gamma t)^-eta`; with "reference",
    the authors' repository of December 2025, `gamma (1 + max(0, t - rho))^-kappa` and the same with eta. Until step
    `burn_in`, w_0 and the EMA are reset to the current weights. (docs/theory.md, "Averages".)

    >>> paper, reference = BEMA().coefficients(10), BEMA(variant="reference").coefficients(10)
    >>> [round(float(x), 3) for x in (*paper, *reference)]  # beta, alpha of each
    [0.224, 0.549, 1.0, 1.0]
    """

    kind: Literal["bema"] = "bema"
    variant: Literal["paper", "reference"] = "paper"
    kappa: float = Field(default=0.5, ge=0)
    eta: float = Field(default=0.2, ge=0)
    rho: float = Field(default=10.0, ge=0)
    gamma: float = Field(default=1.0, gt=0)
    burn_in: int = Field(default=0, ge=0)
    every: int = Field(default=1, ge=1)
    slots: ClassVar = ("average", "ema", "start")

    @property
    def name(self) -> str:
        return ("bema" if self.variant == "paper" else "bema-reference") + self._unusual("kind", "variant")

    def numbers(self) -> dict[str, float]:
        return {k: float(getattr(self, k)) for k in ("kappa", "eta", "rho", "gamma", "burn_in")}

    def coefficients(self, step: int, n: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """beta_t and alpha_t at a step, for this average's own numbers or a population's."""
        n = n or {k: torch.tensor(v, dtype=torch.float64) for k, v in self.numbers().items()}
        if self.variant == "paper":
            base = n["rho"] + n["gamma"] * step
            return base ** -n["kappa"], base ** -n["eta"]
        base = 1 + (step - n["rho"]).clamp(min=0)
        return n["gamma"] * base ** -n["kappa"], n["gamma"] * base ** -n["eta"]

    def update(self, w: Tensor, state: State, step: int, n: dict[str, Tensor]) -> State:
        beta, alpha = self.coefficients(step, n)
        burning = step <= n["burn_in"]
        start = torch.where(burning, w, state["start"])
        ema = torch.where(burning, w, torch.lerp(state["ema"], w, beta))
        return {"average": torch.where(burning, w, alpha * (w - start) + ema), "ema": ema, "start": start}


Average = Annotated[EMA | BEMA, Field(discriminator="kind")]
AVERAGES: dict[str, type[Any]] = {"ema": EMA, "bema": BEMA}


class Averages:
    """Several averages of one population's weights `(n, t)`, each a row per model, in float32 or float64.

    `specs` lists, for each average, what each model uses: one kind and variant for all, numbers per model. The weights
    that train are never touched.

    >>> averages = Averages([[EMA(decay=0.5, warmup=False)]], torch.zeros(1, 2))
    >>> averages.update(torch.ones(1, 2), step=1, running=torch.tensor([[True]]))
    >>> averages.weights(0)
    tensor([[0.5000, 0.5000]])
    """

    def __init__(self, specs: list[list[EMA | BEMA]], weights: Tensor) -> None:
        self.specs = specs
        wide = weights.double() if weights.dtype == torch.float64 else weights.float()
        self.numbers = [_columns([spec.numbers() for spec in row], wide) for row in specs]
        self.states: list[State] = [{slot: wide.clone() for slot in row[0].slots} for row in specs]

    def update(self, weights: Tensor, step: int, running: Tensor | None) -> None:
        """Take in the weights after `step` steps; a model that is not `running` `(n, 1)` keeps its averages."""
        for row, numbers, state in zip(self.specs, self.numbers, self.states, strict=True):
            if step % row[0].every:
                continue
            for slot, value in row[0].update(weights.to(state["average"].dtype), state, step, numbers).items():
                state[slot] = where(running, value, state[slot])

    def weights(self, index: int) -> Tensor:
        """The averaged weights `(n, t)` of one average."""
        return self.states[index]["average"]

    def names(self, index: int) -> list[str]:
        """The name of one average for each model: decays may differ."""
        return [spec.name for spec in self.specs[index]]


def where(chosen: Tensor | None, new: Tensor, old: Tensor) -> Tensor:
    """`new` for the chosen models `(n, 1)` and the exact bits of `old` for the others; None chooses all.

    >>> where(torch.tensor([[True], [False]]), torch.ones(2, 1), torch.zeros(2, 1)).tolist()
    [[1.0], [0.0]]
    """
    return new if chosen is None else torch.where(chosen, new, old)


def _columns(numbers: list[dict[str, float]], like: Tensor) -> dict[str, Tensor]:
    return {k: torch.tensor([[row[k]] for row in numbers], dtype=like.dtype, device=like.device) for k in numbers[0]}
