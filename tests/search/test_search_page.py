"""The page of a search: it shows what the folder holds, and a folder that is not whole is said."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from lengthwise.errors import InputError
from lengthwise.reports.search_page import write_search_page
from lengthwise.reports.search_record import SearchRecord, is_search
from lengthwise.reports.sections.search_trials import best_fifth
from lengthwise.search import SEARCHES, blocks_of
from lengthwise.search.analysis import FIFTH, Analysis
from lengthwise.search.execution import Here, complete
from lengthwise.search.folder import finish, open_search


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    search = SEARCHES["set-complement"].sized("smoke").changed(trials=20)
    blocks, out = blocks_of(search), tmp_path_factory.mktemp("search") / "run"
    opened = open_search(search, blocks, out, "smoke")
    complete(out, blocks, Here())
    finish(search, blocks, opened)
    write_search_page(out)
    return out


def test_the_page_shows_claims_effects_trials_and_the_command(folder):
    page = (folder / "index.html").read_text()
    for text in ("sc.ema", "sc.dropout", "Best at trained lengths", "lengthwise run set-complement", "Interactions"):
        assert text in page
    best = json.loads((folder / "best.json").read_text())
    shown = html.unescape(page).replace(" \\\n    --set ", " --set ")
    assert all(best[k]["command"] in shown for k in (0, 5))
    figures = sorted(path.stem for path in (folder / "figures").glob("*.svg"))
    assert figures == ["parallel", "ranks", "scatter-bema", "scatter-ema", "scatter-raw"]
    assert page.count('role="img"') == 5
    effects = pl.read_csv(folder / "tables" / "effects-averages-all-ema.csv")
    assert len(effects) == 6  # three lengths, as is and scale-matched
    assert len(pl.read_csv(folder / "tables" / "trials.csv")) == 20


def test_the_page_and_the_analysis_agree_on_the_best_fifth(folder):
    search = SEARCHES["set-complement"].sized("smoke").changed(trials=20)
    record = SearchRecord.read(folder)
    assert (best_fifth(record) == Analysis(search, record.trials).among()[FIFTH]).all()
    assert record.short("plan.phases.0.rates.all") == "rate"
    assert record.short("model.attention_dropout") == "attention dropout"


@pytest.mark.slow
def test_the_page_is_the_same_when_written_again(folder):
    before = (folder / "index.html").read_bytes()
    write_search_page(folder)
    assert (folder / "index.html").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("effects.parquet", "no such file"),
        ("trials.parquet", "no such file"),
        ("best.json", "no such file"),
        ("finished.json", "the search has not finished; continue it with --resume"),
    ],
)
def test_what_is_missing_is_said(folder, tmp_path, name, says):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / name).unlink()
    with pytest.raises(InputError, match=says):
        write_search_page(copy)


def test_a_run_is_no_search(tmp_path):
    (tmp_path / "config.json").write_text('{"experiment": "x"}')
    assert not is_search(tmp_path)
    with pytest.raises(InputError, match="expected the folder of a search"):
        write_search_page(tmp_path)


@pytest.mark.slow
def test_the_page_opens_in_a_browser_without_a_complaint(folder, tmp_path):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no browser found")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr"]
    command = [browser, *flags, f"--user-data-dir={tmp_path}", "--dump-dom", (folder / "index.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.count('role="img"') == 5
    assert not [line for line in done.stderr.splitlines() if "CONSOLE" in line or "net::ERR" in line]
