"""One run from the command line: its folder, its progress, Ctrl-C, its page."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lengthwise.experiments import Experiment
from lengthwise.experiments.execute import Interrupted, Options, execute
from lengthwise.runs import RunFolder, slug


def say(text: str) -> None:
    """A line for people, on standard error, so that standard output stays for results."""
    print(text, file=sys.stderr, flush=True)


def default_folder(name: str, scale: str | None) -> Path:
    """A fresh folder below `runs`, named after what is run and when."""
    return Path("runs") / "-".join(filter(None, [slug(name), scale, datetime.now().strftime("%Y%m%d-%H%M%S")]))


def carry_out(experiment: Experiment, folder: RunFolder, options: Options, quiet: bool) -> None:
    """Execute a run with progress and a Ctrl-C that saves first; KeyboardInterrupt once everything is saved."""
    with folder.locked(), _stopping() as stop, _progress(quiet) as progress:
        options = replace(options, progress=progress, notice=say, stop=stop)
        try:
            execute(experiment, folder, options)
        except Interrupted:
            say(f"saved; continue with --resume --out {folder.path}")
            raise KeyboardInterrupt from None


def summary(folder: RunFolder, page: Path | None) -> dict[str, Any]:
    """What `--json` prints of a run."""
    return {
        "run": str(folder.path.resolve()),
        "page": str(page.resolve()) if page else None,
        "curve": str((folder.path / "curve.parquet").resolve()),
        "claims": {claim["id"]: claim["decision"] for claim in folder.claims},
        "failed": len(folder.failures),
    }


@contextmanager
def _stopping() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a question that the loop asks; a second one interrupts at once."""
    asked = []

    def ask(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        say("stopping after this step ...")

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on a terminal; elsewhere a plain line every ten seconds."""
    console = Console(stderr=True)
    if quiet:
        yield lambda done, total, doing: None
    elif console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("model-steps"),
                   TimeElapsedColumn(), TimeRemainingColumn())  # fmt: skip
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("")
            yield lambda done, total, doing: bar.update(task, completed=done, total=total, description=doing)
    else:
        yield _plain_lines(time.monotonic())


def _plain_lines(start: float) -> Callable[[int, int, str], None]:
    first: list[int] = []
    told = [start]

    def tell(done: int, total: int, doing: str) -> None:
        now = time.monotonic()
        first.append(done) if not first else None
        if now - told[0] >= 10:
            told[0] = now
            left = (total - done) * (now - start) / max(done - first[0], 1)
            say(f"{100 * done / total:3.0f}%  {doing}, about {left:.0f} s left")

    return tell
