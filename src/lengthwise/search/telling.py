"""A search in words: what would be done, how far it is, and what came of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lengthwise.runs import RunFolder
from lengthwise.runs.files import read_json
from lengthwise.search.blocks import Block, in_words
from lengthwise.search.execution import Told, nothing_told
from lengthwise.search.memory import size
from lengthwise.search.search import Search
from lengthwise.statistics.searched import Trials

TELL_EVERY = 10.0  # seconds


def described(search: Search, blocks: list[Block], memory: int) -> dict[str, Any]:
    """The space, the blocks and the expected memory, as JSON."""
    return {
        "search": search.name,
        "trials": search.trials,
        "space": {name: str(d) for name, d in search.space.fields.items()},
        "blocks": [{"key": b.key, "structure": b.structure, "trials": list(b.trials)} for b in blocks],
        "memory_bytes": memory,
    }


def in_lines(search: Search, blocks: list[Block], memory: int) -> str:
    """The same in words, a line for each field and each structure."""
    kinds: dict[int, list[Block]] = {}
    for block in blocks:
        kinds.setdefault(block.structure, []).append(block)
    lines = [f"search {search.name} of {search.of}: {search.question}", "space:"]
    lines += [f"  {line}" for line in search.space.describe()]
    lines += [f"blocks: {in_words(blocks)} ({search.sampler} sampler, seed {search.seed})"]
    for k, own in kinds.items():
        first = search.trial(own[0].trials[0])
        told = ", ".join(f"{name.split('.')[-1]} {v}" for name, v in first.items() if isinstance(v, str))
        count, n = sum(len(b.trials) for b in own), len(own)
        lines.append(
            f"  structure {k}: {count} trials in {n} block{'s' * (n != 1)}; the first has {told or 'no choice'}"
        )
    lines.append(f"steps of each trial: {search.experiment.plan.steps:,}")
    return "\n".join([*lines, f"expected memory: {size(memory)}"])


def summary(folder: RunFolder, trials: Trials, page: Path | None) -> dict[str, Any]:
    """What came of a search, as JSON."""
    best = read_json(folder.path / "best.json")
    return {
        "search": str(folder.path.resolve()),
        "page": str(page.resolve()) if page else None,
        "trials": len(trials.settings),
        "failed": int(trials.failed.sum()),
        "claims": {claim["id"]: claim["decision"] for claim in folder.claims},
        "best": best[0]["command"] if best else None,
    }


def progress_line(done: float, total: int, seconds: float, before: float) -> str:
    """Trials done, their rate, and the time left; `before` were done when it began.

    >>> progress_line(64.0, 256, 30.0, before=0.0)
    '64 of 256 trials, 2.1 trials/s, about 90 s left'
    >>> progress_line(0.0, 256, 0.0, before=0.0)
    '0 of 256 trials'
    """
    rate = (done - before) / seconds if seconds > 0 else 0.0
    left = f", {rate:.2g} trials/s, about {(total - done) / rate:.0f} s left" if rate > 0 else ""
    return f"{done:.0f} of {total} trials{left}"


@contextmanager
def progress(quiet: bool) -> Iterator[Told]:
    """A bar on a terminal; elsewhere a plain line every ten seconds."""
    console = Console(stderr=True)
    start, before = time.monotonic(), list[float]()

    def line(done: float, total: int) -> str:
        if not before:
            before.append(done)
        return progress_line(done, total, time.monotonic() - start, before[0])

    if quiet:
        yield nothing_told
    elif console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("")

            def show(done: float, total: int, notice: str) -> None:
                if notice:
                    console.print(notice)
                bar.update(task, completed=done, total=total, description=line(done, total))

            yield show
    else:
        yield _plain_lines(line)


def _plain_lines(line: Callable[[float, int], str]) -> Told:
    told = [time.monotonic()]

    def show(done: float, total: int, notice: str) -> None:
        text = line(done, total)
        if notice:
            print(notice, file=sys.stderr, flush=True)
        if time.monotonic() - told[0] >= TELL_EVERY:
            told[0] = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    return show
