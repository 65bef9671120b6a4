"""The page in a real browser: it opens from disk, draws its figures, asks for nothing and complains of nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
)  # fmt: skip


def test_the_page_opens_in_a_browser_without_a_complaint(run: Path, tmp_path: Path):
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"no browser found: none of {', '.join(BROWSERS)}")
    page = (run / "index.html").as_uri()
    command = [browser, *FLAGS, f"--user-data-dir={tmp_path}", "--dump-dom", page]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0
    assert done.stdout.count('role="img"') == len(list((run / "figures").glob("*.svg"))) == 9
    assert done.stdout.count("<text") > 100  # drawn, not only placed
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line or "net::ERR" in line]
    assert not complaints
