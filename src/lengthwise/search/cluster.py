"""Ray: a local cluster of its own, or one that exists, by address; one block is one task."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from lengthwise.errors import InputError
from lengthwise.search.blocks import Block
from lengthwise.search.evaluation import evaluate
from lengthwise.search.execution import TRIES, from_bytes, to_bytes
from lengthwise.search.processes import Plan

LOCAL = "local"
WAIT = 20.0  # seconds
_made: dict[bytes, dict[int, Block]] = {}
PROBE = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False, logging_level='ERROR'); ray.shutdown()"


@dataclass
class Cluster:
    """A Ray cluster: `local` starts one on this machine, anything else is the address of one that runs.

    A task whose worker is lost is done again, TRIES times. On a CUDA device each task asks for one GPU. Machines of a
    cluster need this package, and a user's own files at the same paths.

    Errors: InputError where Ray is not installed, or the address is not reached within WAIT seconds.
    """

    address: str
    plan: Plan
    workers: int = 1
    gpus: int = 0

    def results(
        self, blocks: list[Block], progress: Callable[[int, float], None], notice: Callable[[str], None]
    ) -> Iterator[tuple[int, pl.DataFrame]]:
        ray = connect(self.address, self.workers)
        try:
            options = {"num_cpus": 1, "num_gpus": self.gpus, "max_retries": TRIES}
            task = ray.remote(**options)(_evaluated)
            waiting = {task.remote(self.plan, block.index): block.index for block in blocks}
            while waiting:
                ready, _ = ray.wait(list(waiting), num_returns=1, timeout=1.0)
                progress(next(iter(waiting.values())), 0.0)
                for reference in ready:
                    yield waiting.pop(reference), from_bytes(_result(ray, reference))
        finally:
            ray.shutdown()


def connect(address: str, workers: int) -> Any:
    """The module `ray`, connected; a local cluster has so many processors as there are workers."""
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InputError("--ray: Ray is not installed; expected `pip install lengthwise[ray]`") from None
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == LOCAL:
        ray.init(address=LOCAL, num_cpus=workers, include_dashboard=False, **quiet)
        return ray
    _check_reachable(address)
    ray.init(address=address, **quiet)
    return ray


def _check_reachable(address: str) -> None:
    """Raise InputError unless a cluster answers at an address; Ray itself may wait for minutes, or abort."""
    refusal = InputError(
        f"--ray {address}: no Ray cluster answers there within {WAIT:.0f} s; expected HOST:PORT or local"
    )
    if address != "auto":
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if not host or not port.isdigit() or int(port) > 65535:
            raise InputError(f"--ray {address}: expected HOST:PORT, ray://HOST:PORT, auto or local")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=WAIT).close()
        except OSError as error:
            reason = str(error) or type(error).__name__
            raise InputError(f"--ray {address}: no Ray cluster answers there ({reason})") from None
    try:
        found = subprocess.run([sys.executable, "-c", PROBE, address], capture_output=True, timeout=WAIT, check=False)
    except subprocess.TimeoutExpired:
        raise refusal from None
    if found.returncode:
        raise refusal


def _evaluated(plan: Plan, index: int) -> bytes:
    """One task: the blocks made again, once in each process of Ray's, and the one asked for trained."""
    told = pickle.dumps(plan)
    if told not in _made:
        _made.clear()
        _made[told] = {block.index: block for block in plan()}
    return to_bytes(evaluate(_made[told][index]))


def _result(ray: Any, reference: Any) -> bytes:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        raise (InputError(str(cause)) if isinstance(cause, InputError) else error) from None
    except ray.exceptions.RayError as error:
        raise InputError(f"--ray: a block was lost more than {TRIES} times ({type(error).__name__})") from None
