"""Random Othello games per second on one core, beside OpenSpiel and pgx, and legal-move sets per second.

    python benchmarks/othello.py [--games 200000] [--seconds 4] [--rounds 3]

All play uniformly random games of 8 x 8 to the end and are compiled before they are timed, turn by turn; the median of
the rounds is shown. OpenSpiel plays one game after another from Python; pgx plays a batch at once on one thread, the
best of some sizes. Neither is needed by lengthwise: a library that is missing is shown so.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from lengthwise.othello import games, legal_sets, replay

BATCHES = (256, 1024, 4096)
Rate = Callable[[float], float]  # games a second, measured for about that many seconds


def ours(count: int) -> Rate:
    def rate(seconds: float) -> float:
        start = time.perf_counter()
        games(seed=1, start=0, count=count)
        return count / (time.perf_counter() - start)

    return rate


def openspiel() -> Rate | None:
    try:
        import pyspiel  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    game = pyspiel.load_game("othello")

    def rate(seconds: float) -> float:
        start, played = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            state = game.new_initial_state()
            while not state.is_terminal():
                state.apply_action(random.choice(state.legal_actions()))
            played += 1
        return played / (time.perf_counter() - start)

    return rate


def pgx() -> Rate | None:
    try:
        import jax
        import pgx  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    environment = pgx.make("othello")
    start_all, step_all = jax.vmap(environment.init), jax.vmap(environment.step)

    def play(key, batch: int):
        def step(state, key):
            logits = jax.numpy.where(state.legal_action_mask, 0.0, -jax.numpy.inf)
            return step_all(state, jax.random.categorical(key, logits)), None

        def more(carry):
            return ~carry[0].terminated.all()

        def body(carry):
            key, now = jax.random.split(carry[1])
            return step(carry[0], now)[0], key

        return jax.lax.while_loop(more, body, (start_all(jax.random.split(key, batch)), key))[0].terminated

    play = jax.jit(play, static_argnums=1)
    for batch in BATCHES:
        play(jax.random.key(0), batch).block_until_ready()

    def rate_of(batch: int, seconds: float) -> float:
        start, played = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            assert bool(play(jax.random.key(played), batch).all())
            played += batch
        return played / (time.perf_counter() - start)

    return lambda seconds: max(rate_of(batch, seconds / len(BATCHES)) for batch in BATCHES)


def legal_rates(count: int) -> tuple[float, float]:
    """Legal sets a second, as 64-bit words and as rows of booleans."""
    some = games(seed=2, start=0, count=count)
    sets, rates = int(some.lengths.sum(dtype="int64")), []
    for work in (replay, legal_sets):
        work(some[:1])
        start = time.perf_counter()
        work(some)
        rates.append(sets / (time.perf_counter() - start))
    return rates[0], rates[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core for everyone
    games(seed=0, start=0, count=1)
    rates = {"lengthwise": ours(options.games), "OpenSpiel": openspiel(), "pgx": pgx()}
    turns = [{name: rate and rate(options.seconds) for name, rate in rates.items()} for _ in range(options.rounds)]
    fast = statistics.median(turn["lengthwise"] or 0.0 for turn in turns)
    print("random games a second, 8 x 8, one core   (bars: OpenSpiel 50 x, pgx 20 x)")
    for name, rate in rates.items():
        if rate is None:
            print(f"  {name:12s} not installed")
            continue
        speed = statistics.median(turn[name] or 0.0 for turn in turns)
        print(f"  {name:12s} {speed:10,.0f} {'' if name == 'lengthwise' else f'{fast / speed:8,.0f} x'}")
    columns = zip(*(legal_rates(options.games // 4) for _ in range(options.rounds)))
    words, booleans = (statistics.median(column) for column in columns)
    print(f"legal-move sets a second: {words:,.0f} as 64-bit words, {booleans:,.0f} as 64 booleans")


if __name__ == "__main__":
    main()
