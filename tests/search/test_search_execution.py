"""Where blocks run changes nothing, and whatever is killed, every trial stands in the table exactly once."""

from __future__ import annotations

import multiprocessing
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lengthwise.errors import InputError
from lengthwise.runs.files import read_table
from lengthwise.search import blocks_of
from lengthwise.search.execution import BLOCKS, Here, block_file, complete, gathered
from lengthwise.search.folder import finish, open_search
from lengthwise.search.processes import Processes, plan_of

TABLES = ("trials", "curve", "effects", "smooth")


def searched(search, out: Path, pool=None, resume: bool = False, told=None):
    blocks = blocks_of(search)
    folder = open_search(search, blocks, out, None, resume=resume)
    complete(out, blocks, pool or Here(), *([told] if told else []))
    return finish(search, blocks, folder)


def same(a: Path, b: Path) -> bool:
    return all((a / f"{name}.parquet").read_bytes() == (b / f"{name}.parquet").read_bytes() for name in TABLES)


def once(out: Path, trials: int) -> bool:
    return read_table(out / "trials.parquet")["trial"].to_list() == list(range(trials))


def test_one_process_equals_two_bit_for_bit_also_when_a_worker_is_killed(tiny, tmp_path):
    searched(tiny, tmp_path / "one")
    notices = []

    def kill_one_worker(done, total, notice):
        notices.append(notice) if notice else None
        if not killed and (workers := multiprocessing.active_children()):
            killed.append(workers[0])
            workers[0].kill()  # SIGKILL

    killed = []
    searched(tiny, tmp_path / "two", Processes(2, plan_of(tiny)), told=kill_one_worker)
    assert killed
    assert same(tmp_path / "one", tmp_path / "two")
    assert once(tmp_path / "two", 14)
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_a_worker_that_is_lost_is_said_and_its_block_done_again(searching, tmp_path):
    search = searching(steps=3000, trials=2)
    notices: list[str] = []

    def kill_it_while_it_trains():
        while not multiprocessing.active_children():
            time.sleep(0.05)
        time.sleep(random.Random(1).uniform(0.2, 0.5))
        for worker in multiprocessing.active_children():
            worker.kill()  # SIGKILL

    thread = threading.Thread(target=kill_it_while_it_trains)
    thread.start()
    searched(search, tmp_path, Processes(1, plan_of(search)), told=lambda d, n, notice: notices.append(notice))
    thread.join()
    assert any("a worker was lost" in notice for notice in notices)
    assert once(tmp_path, 2)


def test_resuming_does_what_is_missing_and_nothing_else(tiny, tmp_path):
    whole, part = tmp_path / "whole", tmp_path / "part"
    searched(tiny, whole)
    searched(tiny, part)
    blocks = blocks_of(tiny)
    lost = [blocks[1], blocks[3]]
    for block in lost:
        block_file(part, block).unlink()
    before = {p.name: p.stat().st_mtime_ns for p in (part / BLOCKS).iterdir()}
    told: list[float] = []
    searched(tiny, part, resume=True, told=lambda done, total, notice: told.append(done))
    after = {p.name: p.stat().st_mtime_ns for p in (part / BLOCKS).iterdir()}
    assert before.items() <= after.items()
    assert set(after) - set(before) == {f"{block.key}.parquet" for block in lost}
    assert min(told) >= 14 - sum(len(block.trials) for block in lost)
    assert same(whole, part)
    with pytest.raises(InputError, match="add --resume"):
        searched(tiny, part)
    with pytest.raises(InputError, match="holds another run: its seed is 0, now 1"):
        searched(tiny.changed(seed=1), part, resume=True)


def test_progress_counts_trials_up_to_all_of_them(tiny, tmp_path):
    told: list[tuple[float, int]] = []
    searched(tiny, tmp_path, told=lambda done, total, notice: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (14, 14)


def test_a_damaged_block_is_said(tiny, tmp_path):
    searched(tiny, tmp_path)
    first, second = blocks_of(tiny)[:2]
    block_file(tmp_path, first).write_bytes(b"no table")
    with pytest.raises(InputError, match="not a readable Parquet table"):
        searched(tiny, tmp_path, resume=True)
    block_file(tmp_path, second).replace(block_file(tmp_path, first))
    with pytest.raises(InputError, match="expected the result of trials"):
        searched(tiny, tmp_path, resume=True)


def test_diverged_trials_stand_in_the_table(searching, tmp_path):
    trials = searched(searching(top=1e6), tmp_path)
    assert once(tmp_path, 14)
    assert 0 < trials.failed.sum() < 14
    effects = read_table(tmp_path / "effects.parquet")
    ranks = effects.filter(kind="rank correlation", among="all", setting="plan.phases.0.rates.all", weights="raw")
    assert set(ranks["n"]) == {14}  # those that failed rank last
    assert set(ranks["failed"]) == {int(trials.failed.sum())}


@pytest.mark.slow
def test_what_a_model_raises_in_a_worker_reaches_the_user(searching):
    search = searching()
    bad = search.changed(experiment=search.experiment.model_copy(update={"groups": {"no": ("nothing*",)}}))
    with pytest.raises(InputError, match="nothing"):
        list(Processes(1, plan_of(bad)).results(blocks_of(bad), lambda i, share: None, lambda text: None))


DRIVER = """
import sys
from pathlib import Path
from lengthwise.cli import main
if __name__ == "__main__":
    main(["search", "set-complement", "--scale", "smoke", "--trials", "12", "--out", sys.argv[1], "--no-page", "--json",
          *sys.argv[2:]])
"""


def killed_at_random(out: Path, script: Path, chance: random.Random, *more: str) -> int:
    """Start the command, kill it at a random moment among its blocks, and count those that are done by then."""
    driver = subprocess.Popen(
        [sys.executable, str(script), str(out), *more], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    enough, moment = done_in(out) + chance.randrange(4), chance.uniform(0.0, 0.1)
    while driver.poll() is None and not ((out / "provenance.json").exists() and done_in(out) >= enough):
        time.sleep(0.005)
    time.sleep(moment)
    driver.kill()
    driver.wait()
    return done_in(out)


def done_in(out: Path) -> int:
    return len(list((out / BLOCKS).glob("[!.]*"))) if (out / BLOCKS).exists() else 0


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "workers"), [(1, "1"), (2, "1"), (3, "2"), (4, "2")])
def test_a_driver_killed_at_random_moments_loses_nothing(tmp_path, seed, workers):
    script, out, chance = tmp_path / "driver.py", tmp_path / "search", random.Random(seed)
    script.write_text(DRIVER)
    resume: list[str] = []
    for _ in range(2):
        killed_at_random(out, script, chance, "--workers", workers, *resume)
        resume = ["--resume"]
    subprocess.run([sys.executable, str(script), str(out), "--resume"], check=True, capture_output=True)
    reference = tmp_path / "reference"
    subprocess.run([sys.executable, str(script), str(reference)], check=True, capture_output=True)
    assert once(out, 12)
    assert same(out, reference)
    assert {p.name for p in (out / BLOCKS).iterdir()} >= {p.name for p in (reference / BLOCKS).iterdir()}


def test_a_driver_killed_once_is_resumed(tmp_path):
    from lengthwise.search import SEARCHES

    script, out = tmp_path / "driver.py", tmp_path / "search"
    script.write_text(DRIVER)
    done = killed_at_random(out, script, random.Random(0))
    search = SEARCHES["set-complement"].sized("smoke").changed(trials=12)
    blocks = blocks_of(search)
    assert done < len(blocks)
    folder = open_search(search, blocks, out, "smoke", resume=True)
    complete(out, blocks, Here())
    finish(search, blocks, folder)
    assert once(out, 12)
    assert gathered(out, blocks)["trial"].n_unique() == 12
