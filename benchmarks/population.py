"""Model-steps per second of a population, beside a plain PyTorch loop and JAX, in one run on one thread.

    python benchmarks/population.py [--seconds 4] [--sizes 1 8 32 128]

All train the same minimal transformer (v = d = 16, no norm) with Adam on the same batches (128 permutations of length
8), drawn by the same sampler within the timed region. A population of N has N/8 replicates of 8 members (one replicate
below 8), and each replicate draws its own batch; the loop and JAX draw as many batches and share them alike.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import nn

from lengthwise import Adam, Batch, Member, MinimalTransformer, Phase, Plan, Population, SetComplement, Trainer
from lengthwise.tasks.randomness import stream

V, WIDTH, LENGTH, BATCH, RATE = 16, 16, 8, 128, 1e-2
TASK = SetComplement(vocabulary=V, s_train=LENGTH)
PLAN = Plan(phases=(Phase(steps=100_000, rates={"all": RATE}),), optimiser=Adam(), batch=BATCH)


class Plain(nn.Module):
    """The same module behind another class, so that the table form is not chosen for it."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = MinimalTransformer(V, WIDTH)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.inner(tokens)


def shape(n: int) -> tuple[int, int]:
    """(replicates, members of each)."""
    return (n // 8, 8) if n >= 8 else (1, n)


def population(n: int, build: Callable[[], nn.Module], compiled: bool) -> Callable[[], None]:
    replicates, members = shape(n)
    start = Population.start([Member(str(k), build, PLAN) for k in range(members)], range(replicates), seed=0)
    trainer = Trainer(start, TASK, seed=0, compiled=compiled)

    def run() -> None:
        trainer.step()

    return run


def batches(n: int, step: int) -> list[Batch]:
    return [TASK.sample(stream(0, r, step, "batch"), BATCH, LENGTH) for r in range(shape(n)[0])]


def loop(n: int) -> Callable[[], None]:
    """What most people write: one module and one torch.optim.Adam after the other."""
    models = [MinimalTransformer(V, WIDTH) for _ in range(n)]
    optimisers = [torch.optim.Adam(model.parameters(), RATE) for model in models]
    done = [0]

    def run() -> None:
        drawn = batches(n, done[0])
        for k, (model, optimiser) in enumerate(zip(models, optimisers, strict=True)):
            batch = drawn[k // shape(n)[1]]
            loss = nn.functional.cross_entropy(model(batch.inputs).view(-1, V), batch.labels.reshape(-1))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        done[0] += 1

    return run


def jax_scan(n: int, chunk: int = 10) -> Callable[[], None]:
    """JAX: vmap over models, scan over a chunk of steps; one call makes `chunk` steps."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax

    replicates, members = shape(n)
    names = {
        "e": (V, WIDTH),
        "q": (WIDTH, WIDTH),
        "k": (WIDTH, WIDTH),
        "w": (WIDTH, WIDTH),
        "o": (WIDTH, WIDTH),
        "u": (WIDTH, V),
    }
    keys = jax.random.split(jax.random.PRNGKey(0), len(names))
    weights = {
        name: jax.random.normal(key, (replicates, members, *size)) / size[0] ** 0.5
        for key, (name, size) in zip(keys, names.items(), strict=True)
    }
    optimiser = optax.adam(RATE)
    causal = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))

    def loss(w, tokens, labels):
        x = w["e"][tokens]
        scores = (x @ w["q"]) @ (x @ w["k"]).swapaxes(-1, -2) / WIDTH**0.5
        attention = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), -1)
        logits = (x + attention @ (x @ w["w"] @ w["o"])) @ w["u"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    over = jax.vmap(jax.vmap(jax.grad(loss), (0, None, None)), (0, 0, 0))

    @jax.jit
    def many(w, state, tokens, labels):
        def one(carry, data):
            w, state = carry
            updates, state = optimiser.update(over(w, *data), state)
            return (optax.apply_updates(w, updates), state), None

        return jax.lax.scan(one, (w, state), (tokens, labels))[0]

    carry, done = (weights, optimiser.init(weights)), [0]

    def run() -> None:
        nonlocal carry
        drawn = [batches(n, done[0] + k) for k in range(chunk)]
        tokens = np.stack([np.stack([b.inputs.numpy() for b in row]) for row in drawn])
        labels = np.stack([np.stack([b.labels.numpy() for b in row]) for row in drawn])
        carry = many(*carry, tokens, labels)
        jax.block_until_ready(carry)
        done[0] += chunk

    run.steps = chunk  # type: ignore[attr-defined]
    return run


def rate(run: Callable[[], None], n: int, seconds: float) -> float:
    """Model-steps per second, after two warm calls."""
    for _ in range(2):
        run()
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        run()
        steps += getattr(run, "steps", 1)
    return n * steps / (time.perf_counter() - start)


def matmul_rate() -> float:
    """Floating-point operations per second of a 512 x 512 product on one thread."""
    a = torch.randn(512, 512)
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < 1:
        torch.mm(a, a)
        count += 1
    return count * 2 * 512**3 / (time.perf_counter() - start)


def table_operations() -> float:
    """Multiplications and additions of matrix products in one model-step of the table form, forward and backward."""
    positions = BATCH * LENGTH
    tables = 2 * (2 * V * WIDTH * WIDTH * 2 + V * V * WIDTH * 3)
    return 3.0 * (2 * positions * V * V + tables)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1, 8, 32, 128])
    options = parser.parse_args()
    torch.set_num_threads(1)
    forms: dict[str, Callable[[int], Callable[[], None]]] = {
        "PyTorch loop": loop,
        "table, eager": lambda n: population(n, lambda: MinimalTransformer(V, WIDTH), compiled=False),
        "table, compiled": lambda n: population(n, lambda: MinimalTransformer(V, WIDTH), compiled=True),
        "vmap, eager": lambda n: population(n, Plain, compiled=False),
        "vmap, compiled": lambda n: population(n, Plain, compiled=True),
        "JAX vmap + scan": jax_scan,
    }
    peak = matmul_rate()
    print(f"one thread; matmul {peak / 1e9:.0f} Gflop/s; v = d = {V}, s = {LENGTH}, batch {BATCH}, Adam")
    print(f"{'form':18s}" + "".join(f"{f'N = {n}':>12s}" for n in options.sizes) + "   (model-steps/s)")
    table: dict[str, list[float]] = {}
    for name, make in forms.items():
        table[name] = []
        for n in options.sizes:
            torch._dynamo.reset()
            table[name].append(rate(make(n), n, options.seconds))
        print(f"{name:18s}" + "".join(f"{x:12,.0f}" for x in table[name]), flush=True)
    last = {name: row[-1] for name, row in table.items()}
    print(f"\nat N = {options.sizes[-1]}:")
    for name, other, bar in (
        ("table, compiled", "PyTorch loop", 6.0),
        ("table, compiled", "JAX vmap + scan", 2.5),
        ("table, eager", "PyTorch loop", 3.0),
        ("vmap, compiled", "PyTorch loop", 2.0),
        ("vmap, eager", "PyTorch loop", 1.3),
    ):
        print(f"  {name:16s} / {other:16s} {last[name] / last[other]:5.2f}   (bar {bar})")
    share = last["table, compiled"] * table_operations() / peak
    print(f"  matrix products of the compiled table form: {100 * share:.0f}% of the matmul rate")


if __name__ == "__main__":
    main()
