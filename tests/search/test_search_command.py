"""The command: wrong input gets one line and exit code 2, and what it prints is what it did."""

from __future__ import annotations

import json
import shlex
import socket

import polars as pl
import pytest

from lengthwise.cli import main
from lengthwise.experiments import EXPERIMENTS, parse_settings, with_settings
from lengthwise.search import SEARCHES, blocks_of, memory
from lengthwise.search.best import command
from lengthwise.search.search import BASE

SMOKE = ["search", "set-complement", "--scale", "smoke", "--trials", "6"]


def call(capsys, *arguments) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    said = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, said.out, said.err


def refused(capsys, *arguments) -> str:
    code, out, error = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert error.startswith("lengthwise: ")
    assert len(error.strip().splitlines()) == 1
    return error


def space_file(tmp_path, text: str):
    path = tmp_path / "space.py"
    path.write_text("from lengthwise.search import *\n" + text)
    return path


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["search", "set-complment"], "unknown search 'set-complment': did you mean 'set-complement'"),
        (["search", "theory"], "expected --space FILE.py"),
        (["search", "set-complement", "--scale", "quik"], "unknown scale 'quik'"),
        (["search", "set-complement", "--trials", "0"], "trials"),
        (["search", "set-complement", "--sampler", "sobl"], "unknown sampler 'sobl': did you mean 'sobol'"),
        (["search", "set-complement", "--resume"], "--resume: expected --out DIR"),
        (["search", "set-complement", "--space", "nowhere.py"], "no such file"),
        (["search", "set-complement", "--device", "quantum"], "device quantum: not usable here"),
        (["search", "set-complement", "--ray", "1.2.3.4:5", "--workers", "2"], "--workers goes without --ray"),
        (["search", "nowhere.py", "--space", __file__], "expected exactly one Space at the top level, found 0"),
    ],
)
def test_wrong_words_are_refused_in_one_line(capsys, words, says):
    assert says in refused(capsys, *words)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("s = Space(fields={})", "line 2: space: it is empty"),
        ("s = Space(fields={'model.norm':\n Uniform(2, 1)})", "line 3: Uniform from 2 to 1: expected the lower bound"),
        ("\n1 / 0", "line 3: ZeroDivisionError"),
        ("s = (", "line 2: SyntaxError"),
        ("s = Space(fields={'model.nrom': Choice(1, 2)})", "unknown setting of MinimalTransformer 'nrom'"),
        ("s = Space(fields={'s_trian': Choice(1, 2)})", "unknown field 's_trian': did you mean 's_train'"),
        ("s = Space(fields={'model.norm': Choice('pots')})", "unknown norm 'pots': did you mean 'post'"),
    ],
)
def test_a_space_file_that_is_wrong_is_said_with_its_place(capsys, tmp_path, text, says):
    error = refused(capsys, *SMOKE, "--space", space_file(tmp_path, text), "--out", tmp_path / "out")
    assert says in error
    assert not (tmp_path / "out").exists()


def test_too_little_memory_says_how_much_is_needed(capsys, tmp_path, monkeypatch):
    giant = space_file(tmp_path, "s = Space(fields={'model.width': Choice(2**20)})\n")
    monkeypatch.setattr(memory, "available_bytes", lambda: 300 * 2**20)
    error = refused(capsys, *SMOKE)
    assert "too little memory: one trial needs about 3" in error
    assert "MiB, and 300 MiB is free" in error
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**30)
    error = refused(capsys, *SMOKE, "--space", giant)
    assert "too little memory: a block of 6 trials needs about" in error
    assert "GiB" in error


def test_the_estimate_of_memory_counts_what_is_known():
    search = SEARCHES["set-complement"]
    small, wide = (memory.trial_bytes(with_settings(search.experiment, {"model.width": width})) for width in (64, 6400))
    parameters = 4 * 6400**2  # query, key, value and output; weights, gradients, updates, Adam's two, EMA, BEMA's three
    assert 4 * parameters * 9 < wide < 4 * parameters * 12
    assert small < wide / 100
    assert memory.available_bytes() > 2**27


@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "ray://127.0.0.1:{port}"])
def test_a_ray_address_where_nobody_answers_is_refused(capsys, tmp_path, address):
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = refused(capsys, *SMOKE, "--ray", address.format(port=port), "--out", tmp_path / "out")
    assert "no Ray cluster answers there" in error


def test_a_dry_run_prints_the_space_the_blocks_and_the_memory_and_does_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = call(capsys, *SMOKE, "--dry-run")
    assert code == 0
    for text in (
        "log-uniform from 0.001 to 0.1",
        "blocks: 6 trials of",
        "expected memory: 3",
        "steps of each trial: 30",
    ):
        assert text in out
    told = json.loads(call(capsys, *SMOKE, "--dry-run", "--json")[1])
    assert sorted(k for block in told["blocks"] for k in block["trials"]) == list(range(6))
    assert told["memory_bytes"] > 2**28
    assert not list(tmp_path.iterdir())


def test_a_search_of_ones_own_space_runs_resumes_and_writes_its_page(capsys, tmp_path):
    space = space_file(
        tmp_path,
        "space = Space(fields={'rates': Choice({'all': 0.01}, {'all': 0.03}), 'model.norm': Choice('none', 'post'),"
        " 'batch': IntegerUniform(4, 5)})\n",
    )
    words = ["search", "set-complement", "--scale", "smoke", "--trials", "5", "--space", space]
    out = tmp_path / "out"
    code, said, _ = call(capsys, *words, "--out", out, "--sampler", "sobol", "--seed", "3", "--json")
    assert code == 0
    told = json.loads(said)
    assert (told["trials"], told["claims"]) == (5, {})
    assert pl.read_parquet(out / "trials.parquet")["batch"].is_in([4, 5]).all()
    page = (out / "index.html").read_text()
    assert "lengthwise run set-complement" in page
    assert "add --resume" in refused(capsys, *words, "--out", out, "--sampler", "sobol", "--seed", "3")
    assert "its seed is 3, now 4" in refused(
        capsys, *words, "--out", out, "--sampler", "sobol", "--seed", "4", "--resume"
    )
    code, said, _ = call(capsys, *words, "--out", out, "--sampler", "sobol", "--seed", "3", "--resume", "--json")
    assert (code, json.loads(said)) == (0, told)


@pytest.mark.parametrize("name", SEARCHES)
def test_the_command_of_a_trial_is_the_trial(name):
    search = SEARCHES[name]
    for number in range(4):
        words = shlex.split(command(search, number))
        assert words[:3] == ["lengthwise", "run", search.of]
        again = with_settings(EXPERIMENTS[search.of], parse_settings(words[4::2]))
        trial = search.experiment_of(number)
        assert list(again.variants) == ["trial"]
        assert again.arguments("trial") == trial.arguments(BASE)
        assert (again.plans["trial"], again.averages_of("trial")) == (trial.plan, trial.averages)
        assert (again.task, again.seed) == (trial.task, trial.seed)


def test_a_trial_file_of_a_users_own_experiment_is_named_in_its_command(tmp_path):
    from lengthwise.cli.search import Asked

    file = tmp_path / "mine.py"
    file.write_text(
        "from lengthwise import *\nmine = Experiment(name='mine', question='?', task=SetComplement(),"
        " model=MinimalTransformer, plan=Plan(phases=(Phase(steps=5, rates={'all': 0.1}),)))\n"
    )
    asked = Asked(str(file), space=space_file(tmp_path, "s = Space(fields={'model.width': Choice(3, 4)})"), trials=3)
    search = asked.search()
    assert command(search, 0).startswith(f"lengthwise run {file} ")
    keys = [block.key for block in asked.blocks()]
    assert keys == [block.key for block in asked.blocks()]
    assert set(keys).isdisjoint(block.key for block in blocks_of(search))  # the file is part of what a block is
