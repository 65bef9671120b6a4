"""Where a result comes from: versions, command, git state, machine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "numpy", "polars", "scipy", "pydantic", "safetensors")


def provenance(command: list[str], device: str, threads: int, seed: int) -> dict[str, Any]:
    """What a reader needs to repeat a run, as JSON.

    >>> sorted(provenance(["lengthwise", "list"], "cpu", 1, 0))[:4]
    ['command', 'cores', 'device', 'git']
    """
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "seed": seed,
        "device": device,
        "threads": threads,
        "cores": os.cpu_count(),
        "processor": _processor(),
        "platform": platform.platform(),
        "python": sys.version.split()[0],
        "packages": {"lengthwise": version("lengthwise"), **{name: version(name) for name in PACKAGES}},
        "git": git_state(Path(__file__).parent),
    }


def git_state(folder: Path) -> dict[str, Any] | None:
    """The commit of the checkout that the package runs from, and whether it was changed; None outside a checkout."""

    def ask(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *words], check=False, cwd=folder, capture_output=True, text=True, timeout=10)

    try:
        head, status = ask("rev-parse", "HEAD"), ask("status", "--porcelain", "--untracked-files=no", ".")
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": head.stdout.strip(), "changed": bool(status.stdout.strip())} if head.returncode == 0 else None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
