"""Local worker processes: each spawned once, told which block to do, and replaced if it is lost."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any

import polars as pl

from lengthwise.errors import InputError
from lengthwise.search.blocks import Block, blocks_of
from lengthwise.search.evaluation import evaluate
from lengthwise.search.execution import TRIES, from_bytes, to_bytes
from lengthwise.search.search import Search

Plan = Callable[[], list[Block]]
"""Makes the blocks again in another process: a picklable function, such as a partial of one in a module."""

TOLD_EVERY = 20  # steps


def plan_of(search: Search) -> Plan:
    """A plan for a search whose model and task can be pickled, as those defined in a module can.

    Errors: InputError for one that cannot.
    """
    plan = partial(blocks_of, search)
    try:
        pickle.dumps(plan)
    except Exception as error:  # pickle refuses with many types
        raise InputError(
            f"search {search.name!r} cannot be sent to other processes ({error}); expected its model and task to be"
            " defined in a module"
        ) from None
    return plan


@dataclass
class Processes:
    """So many processes of this machine, one thread each; a block whose process is lost is done again, TRIES times."""

    workers: int
    plan: Plan

    def results(
        self, blocks: list[Block], progress: Callable[[int, float], None], notice: Callable[[str], None]
    ) -> Iterator[tuple[int, pl.DataFrame]]:
        team = _Team(self.plan, min(self.workers, len(blocks)), [block.index for block in blocks])
        try:
            while team.busy:
                for kind, index, what in team.news():
                    if kind == "share":
                        progress(index, what)
                    elif kind == "result":
                        yield index, from_bytes(what)
                    elif kind == "lost":
                        progress(index, 0.0)
                        notice(f"a worker was lost; block {index} is done again")
                    elif kind == "refused":
                        raise InputError(what)
                    else:
                        raise RuntimeError(f"block {index} failed in a worker:\n{what}")
        finally:
            team.stop()


class _Team:
    """The processes, what each is doing, and what is still to do."""

    def __init__(self, plan: Plan, count: int, waiting: list[int]) -> None:
        self.plan, self.waiting, self.lost = plan, waiting, Counter[int]()
        self.context = multiprocessing.get_context("spawn")
        self.doing: dict[Connection, tuple[Any, int]] = {}
        for _ in range(count):
            self._hire()

    @property
    def busy(self) -> bool:
        return bool(self.doing)

    def news(self) -> Iterator[tuple[str, int, Any]]:
        """What the workers say next: (kind, block, what)."""
        for ready in wait(list(self.doing)):
            assert isinstance(ready, Connection)
            process, index = self.doing[ready]
            try:
                kind, what = ready.recv()
            except (EOFError, OSError):  # the process is gone
                yield self._replace(ready, process, index)
                continue
            if kind == "result":
                self._next(ready, process)
            yield kind, index, what

    def stop(self) -> None:
        for connection, (process, _) in self.doing.items():
            process.kill()
            process.join()
            connection.close()
        self.doing = {}

    def _hire(self) -> None:
        index = self.waiting.pop(0)
        mine, theirs = self.context.Pipe()
        process = self.context.Process(target=_work, args=(theirs, self.plan, os.getpid()), daemon=True)
        process.start()
        theirs.close()
        with contextlib.suppress(OSError):  # one that is gone already is found by `news`
            mine.send(index)
        self.doing[mine] = (process, index)

    def _next(self, connection: Connection, process: Any) -> None:
        del self.doing[connection]
        if self.waiting:
            index = self.waiting.pop(0)
            self.doing[connection] = (process, index)
            with contextlib.suppress(OSError):
                connection.send(index)
        else:
            with contextlib.suppress(OSError):
                connection.send(None)
            process.join()
            connection.close()

    def _replace(self, connection: Connection, process: Any, index: int) -> tuple[str, int, Any]:
        process.join()
        connection.close()
        del self.doing[connection]
        self.lost[index] += 1
        if self.lost[index] > TRIES:
            return (
                "refused",
                index,
                (
                    f"block {index}: {self.lost[index]} workers were lost over it, the last with exit code"
                    f" {process.exitcode}; expected enough memory for each (see --dry-run)"
                ),
            )
        self.waiting.insert(0, index)
        self._hire()
        return "lost", index, None


def _work(connection: Connection, plan: Plan, parent: int) -> None:
    """What a worker does: blocks by their index until it is told None, or until nobody listens any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever asked, and that one ends its workers
    with contextlib.suppress(EOFError, OSError):
        index = connection.recv()
        try:
            blocks = {block.index: block for block in plan()}
            while index is not None:
                connection.send(("result", to_bytes(evaluate(blocks[index], partial(_tell, connection, parent)))))
                index = connection.recv()
        except InputError as error:
            connection.send(("refused", str(error)))
        except (EOFError, OSError):
            raise
        except Exception:
            connection.send(("failed", traceback.format_exc()))


def _tell(connection: Connection, parent: int, done: int, total: int) -> None:
    if done % TOLD_EVERY == 0:
        if os.getppid() != parent:  # whoever asked for this was killed
            os._exit(1)
        connection.send(("share", done / total))
