"""The training loop: plan and population to trained state, as a pure function of (seed, step)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from lengthwise.tasks import Batch, Task, mean_loss
from lengthwise.tasks.randomness import integer_seed, stream
from lengthwise.training.averages import Averages, where
from lengthwise.training.compilation import compiled_or_eager
from lengthwise.training.forward import TableForward, choose_forward
from lengthwise.training.optimisers import OPTIMISERS, State
from lengthwise.training.plan import check_lengths, compile_plans
from lengthwise.training.population import Population


class Trainer:
    """Trains a population step by step; its whole state is `state()`, so that any step can be resumed bit for bit.

    A model whose loss stops being finite is marked as failed at that step and rests from then on; the others go on.

    >>> from lengthwise import MinimalTransformer, SetComplement, Plan, Phase, Member
    >>> task = SetComplement(vocabulary=6, s_train=3)
    >>> plan = Plan(phases=(Phase(steps=20, rates={"all": 0.03}),), batch=64)
    >>> member = Member("no norm", lambda: MinimalTransformer(6, width=4), plan)
    >>> trainer = Trainer(Population.start([member], replicates=[0, 1], seed=0), task, seed=0)
    >>> losses = [trainer.step() for _ in range(20)]
    >>> bool((losses[-1] < losses[0]).all()), trainer.steps_done
    (True, 20)
    """

    def __init__(self, population: Population, task: Task, seed: int, compiled: bool = False) -> None:
        self.population, self.task, self.seed = population, task, seed
        plans = [member.plan for member in population.members]
        self.plan, self.steps_done, device = plans[0], 0, population.weights.device
        schedules = compile_plans(plans, population.layout.groups)
        self.schedules, self.total = schedules, schedules.total
        check_lengths(plans, task.trained_length)
        longest = max(plans, key=lambda plan: plan.steps)
        self.lengths = longest.lengths(task.trained_length)
        self.rule = OPTIMISERS[plans[0].optimiser.kind]
        n, groups = population.size, len(population.layout.groups)
        numbers = [plan.optimiser.numbers() for plan in plans] * len(population.replicates)
        wide = torch.float64 if population.weights.dtype == torch.float64 else torch.float32
        like = {"dtype": wide, "device": device}  # .999 in bfloat16 is 1
        self.numbers = {k: torch.tensor([[row[k]] for row in numbers], **like) for k in numbers[0]}
        self.slots: State = {slot: torch.zeros_like(population.weights, dtype=wide) for slot in self.rule.slots}
        self.counts = torch.zeros(n, groups, **like)
        self.failed_at = torch.full((n,), -1, device=device)
        specs = [list(row) for row in zip(*(member.averages for member in population.members), strict=True)]
        self.averages = Averages([row * len(population.replicates) for row in specs], population.weights)
        self.forward, notice = choose_forward(population, task, self.batch(0))
        self.losses: Callable[..., Tensor] = self._losses
        self.notices = [notice] if notice else []
        if compiled:
            self.losses, notice = compiled_or_eager(self._losses, device)
            self.notices += [notice] if notice else []
        # Only our table form is known to do nothing besides its answer: draw random numbers, move buffers.
        self.reseeds = not isinstance(self.forward, TableForward)
        self.moves_buffers = self.reseeds and bool(population.constants)

    def batch(self, step: int) -> Batch:
        """The training batch of a step: one draw for each replicate, shared by its members."""
        draw = lambda r: self.task.sample(stream(self.seed, r, step, "batch"), self.plan.batch, int(self.lengths[step]))  # noqa: E731
        return Batch.stack([draw(r) for r in self.population.replicates]).to(self.population.weights.device)

    def noise(self, step: int, batch: Batch) -> dict[str, Tensor]:
        """The dropout noise of a step: one draw for each replicate and place, thresholded at each model's rate."""
        return {
            place: torch.stack(
                [
                    torch.from_numpy(stream(self.seed, r, step, place).random(shape, dtype=np.float32))
                    for r in self.population.replicates
                ]
            ).to(batch.inputs.device)
            for place, shape in self.forward.noise_shapes(batch).items()
        }

    def step(self) -> Tensor:
        """Make one step; the loss `(n,)` of every model before it, NaN for those that rest."""
        step, population, layout = self.steps_done, self.population, self.population.layout
        batch = self.batch(step)
        moving = [g for k, g in enumerate(layout.groups) if self.schedules.active[:, k, step].any()]
        views = {k: v.detach() for k, v in layout.views(population.weights, population.shape).items()}
        names = [name for group in moving for name in layout.groups[group]]
        for name in names:
            views[name].requires_grad_()
        kept = {name: value.clone() for name, value in population.constants.items()} if self.moves_buffers else {}
        with torch.random.fork_rng(devices=[], enabled=self.reseeds):
            if self.reseeds:
                torch.manual_seed(integer_seed(self.seed, 0, step, "module"))
            losses = self.losses(views, batch, self.noise(step, batch))
        gradients = torch.autograd.grad(losses.sum(), [views[name] for name in names]) if names else ()
        by_name = dict(zip(names, gradients, strict=True))
        losses = losses.detach()
        running = self._running(step) & (self.failed_at < 0)
        self.failed_at = torch.where(running & ~losses.isfinite(), step, self.failed_at)
        alive = running & losses.isfinite()
        for name, value in kept.items():  # the buffers of a model that rests rest too
            population.constants[name] = _chosen(alive, population.constants[name], value)
        for group in moving:
            members = layout.groups[group]
            self._move(group, layout.gather([by_name[name] for name in members], members), step, alive)
        self.steps_done += 1
        self._check_ends(step, alive)
        self.averages.update(population.weights, self.steps_done, None if alive.all() else alive.unsqueeze(1))
        return torch.where(running, losses, torch.nan)

    def _losses(self, views: dict[str, Tensor], batch: Batch, noise: dict[str, Tensor]) -> Tensor:
        outputs = self.forward(views, batch, noise, training=True)
        expanded = batch.map(lambda x: x.unsqueeze(1))
        return mean_loss(outputs, expanded, self.task.loss, leading=2).flatten()

    def _move(self, group: str, gradient: Tensor, step: int, alive: Tensor) -> None:
        index, at = list(self.population.layout.groups).index(group), self.population.layout.columns[group]
        active = self._each(self.schedules.active[:, index, step]) & alive
        reset = self._each(self.schedules.reset[:, index, step])
        fresh = reset & active
        chosen = None if active.all() else active.unsqueeze(1)
        state = {k: torch.where(fresh.unsqueeze(1), 0.0, v[:, at]) for k, v in self.slots.items()}
        count = torch.where(fresh, 0.0, self.counts[:, index]) + active
        rate = self._each(self.schedules.rate[:, index, step]).to(self.counts.dtype).unsqueeze(1)
        old, gradient = self.population.weights[:, at], gradient.to(self.counts.dtype)
        safe = count.clamp(min=1).unsqueeze(1)
        new, slots = self.rule.update(old.to(gradient.dtype), gradient, state, safe, rate, self.numbers)
        self.population.weights[:, at] = where(chosen, new, old)
        for slot, value in slots.items():
            self.slots[slot][:, at] = where(chosen, value, self.slots[slot][:, at])
        self.counts[:, index] = torch.where(active, count, self.counts[:, index])

    def _check_ends(self, step: int, alive: Tensor) -> None:
        """Mark models that fail in their last step: no loss comes after it to tell."""
        ending = self._each(self.schedules.steps == step + 1)
        if ending.any():
            finite = self.population.weights.isfinite().all(1)
            self.failed_at = torch.where(alive & ending & ~finite, step, self.failed_at)

    def _running(self, step: int) -> Tensor:
        return self._each(self.schedules.steps > step)

    def _each(self, values: np.ndarray) -> Tensor:
        """One value per member as one per model."""
        return torch.from_numpy(values).to(self.population.weights.device).repeat(len(self.population.replicates))

    def weights_by_name(self) -> Iterator[tuple[list[str], Tensor]]:
        """The names (one per model: decays may differ) and the matrix of raw weights and of each average."""
        yield ["raw"] * self.population.size, self.population.weights
        for index in range(len(self.averages.specs)):
            yield self.averages.names(index), self.averages.weights(index)

    def state(self) -> dict[str, Tensor]:
        """Everything that the next step depends on, by name; views, not copies."""
        averages = {
            f"average.{i}.{slot}": value
            for i, state in enumerate(self.averages.states)
            for slot, value in state.items()
        }
        return {
            "weights": self.population.weights,
            "counts": self.counts,
            "failed_at": self.failed_at,
            "step": torch.tensor(self.steps_done),
            **{f"slot.{k}": v for k, v in self.slots.items()},
            **{f"constant.{k}": v for k, v in self.population.constants.items()},
            **averages,
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from a `state()` of the same population; the names and shapes must be the same."""
        device = self.population.weights.device
        for name, mine in self.state().items():
            if name == "step":
                self.steps_done = int(state[name])
            elif name == "failed_at":
                self.failed_at = state[name].to(device)
            elif name.startswith("average."):
                _, index, slot = name.split(".", 2)
                self.averages.states[int(index)][slot] = state[name].to(device)
            else:
                mine.copy_(state[name])


def _chosen(models: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """`new` for the models `(n,)` that are chosen and `old` for the others; the leading axis is that of the models."""
    return torch.where(models.view(-1, *[1] * (new.dim() - 1)), new, old)
