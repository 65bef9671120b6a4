"""A run folder holds one run, says what differs from another, and lets one process write."""

from __future__ import annotations

import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.runs import CURVE_SCHEMA, RunFolder, provenance, slug
from lengthwise.runs.folder import difference
from lengthwise.runs.provenance import git_state

CONFIG = {"experiment": "x", "seed": 0, "plan": {"phases": [{"steps": 5, "rates": {"all": 0.1}}], "batch": 64}}


def changed(*path: Any, to: Any) -> dict[str, Any]:
    config: Any = deepcopy(CONFIG)
    inner = config
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return config


def refused(path: Path, config: dict[str, Any], resume: bool) -> str:
    with pytest.raises(InputError) as caught:
        RunFolder.open(path, config, resume)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_new_folder_is_made_and_an_empty_one_is_taken(tmp_path: Path) -> None:
    for path in (tmp_path / "deep" / "run", tmp_path / "empty"):
        if path.name == "empty":
            path.mkdir()
        folder = RunFolder.open(path, CONFIG, resume=False)
        assert folder.config == CONFIG
        assert not folder.finished


def test_the_same_run_is_continued_only_when_asked(tmp_path: Path) -> None:
    first = RunFolder.open(tmp_path / "run", CONFIG, resume=False)
    assert "--resume" in refused(first.path, CONFIG, resume=False)
    assert RunFolder.open(first.path, CONFIG, resume=True).digest == first.digest
    assert RunFolder.open(tmp_path / "none yet", CONFIG, resume=True).config == CONFIG


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize(
    ("path", "to", "says"),
    [
        (("seed",), 1, "its seed is 0, now 1"),
        (("plan", "batch"), 32, "its plan.batch is 64, now 32"),
        (("plan", "phases", 0, "steps"), 6, "its plan.phases.0.steps is 5, now 6"),
        (("plan", "phases", 0, "rates", "all"), 0.2, "its plan.phases.0.rates.all is 0.1, now 0.2"),
        (("new",), True, "now True"),
    ],
    ids=str,
)
def test_another_run_is_refused_by_the_field_that_differs(
    tmp_path: Path, path: tuple, to: Any, says: str, resume: bool
) -> None:
    folder = RunFolder.open(tmp_path / "run", CONFIG, resume=False)
    assert says in refused(folder.path, changed(*path, to=to), resume)
    assert folder.config == CONFIG


def test_what_is_no_run_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert "not a run folder" in refused(tmp_path, CONFIG, resume=False)
    assert "not a run folder" in refused(tmp_path / "notes.txt", CONFIG, resume=True)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(InputError, match=r"config\.json"):
        RunFolder.existing(tmp_path)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert "cannot write" in refused(tmp_path / "file" / "run", CONFIG, resume=False)


def test_a_configuration_is_what_json_makes_of_it(tmp_path: Path) -> None:
    """A tuple in the settings is a list on disk, and no difference when the run is resumed."""
    config = {"lengths": (1, 2), "scales": {1: "a"}}
    RunFolder.open(tmp_path / "run", config, resume=False)
    assert RunFolder.open(tmp_path / "run", config, resume=True).config == {"lengths": [1, 2], "scales": {"1": "a"}}


def test_digests_depend_on_every_setting_and_not_on_their_order(tmp_path: Path) -> None:
    turned = dict(reversed(CONFIG.items()))
    variations = [CONFIG, turned, changed("seed", to=1), changed("plan", "phases", 0, "steps", to=6)]
    digests = [RunFolder.open(tmp_path / str(k), c, resume=False).digest for k, c in enumerate(variations)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b"])
trees = st.recursive(
    leaves, lambda t: st.lists(t, max_size=3) | st.dictionaries(st.sampled_from("abc"), t, max_size=3), max_leaves=8
)


@given(trees, trees)
def test_a_difference_is_told_exactly_where_there_is_one(old: Any, new: Any) -> None:
    found = difference(old, new)
    assert (found is None) == (old == new)
    assert difference(old, deepcopy(old)) is None


@given(st.dictionaries(st.sampled_from("abc"), trees, min_size=1, max_size=3), st.data())
def test_a_lost_or_new_field_is_a_difference_even_if_it_is_null(config: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(config)))
    less = {k: v for k, v in config.items() if k != key}
    for told in (difference(config, less), difference(less, config)):
        assert told is not None
        assert f"its {key}" in told


HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "run", CONFIG, resume=False)
    with folder.locked():
        pass
    command = [sys.executable, "-S", "-c", HOLDER, str(folder.path / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="another process is writing this run") as caught, folder.locked():
            pass
        assert "\n" not in str(caught.value)
        other.kill()
    with folder.locked(), pytest.raises(InputError), RunFolder(folder.path).locked():
        pass


def test_a_lock_falls_when_what_it_guards_fails(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "run", CONFIG, resume=False)
    with pytest.raises(ZeroDivisionError), folder.locked():
        raise ZeroDivisionError
    with folder.locked():
        assert RunFolder.open(folder.path, CONFIG, resume=True).config == CONFIG


def test_an_empty_place_with_a_lock_is_still_empty(tmp_path: Path) -> None:
    with RunFolder(tmp_path).locked():
        assert RunFolder.open(tmp_path, CONFIG, resume=False).config == CONFIG


def test_a_kill_during_the_very_first_write_leaves_a_place_that_can_be_used(tmp_path: Path) -> None:
    (tmp_path / ".config.json.4321.partial").write_text('{"exper')
    assert RunFolder.open(tmp_path, CONFIG, resume=True).config == CONFIG


def test_a_lock_in_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"), RunFolder(tmp_path / "nowhere").locked():
        pass


@given(st.text("aZ09 .-_/\\:~\n\0\u00e9\u2603", max_size=12))
def test_slugs_are_safe_names_of_files(name: str) -> None:
    made = slug(name)
    assert made
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-")
    assert made[0] not in ".-"
    assert made[-1] not in ".-"
    assert slug(made) == made


@pytest.mark.parametrize("name", ["../../etc", "..", "a/b", ".hidden", "", "~", "x\ny"])
def test_slugs_never_leave_their_folder(tmp_path: Path, name: str) -> None:
    assert (tmp_path / f"{slug(name)}.parquet").resolve().parent == tmp_path.resolve()


def test_provenance_says_where_a_result_comes_from() -> None:
    import torch

    found = provenance(["lengthwise", "run", "x"], "cpu", threads=1, seed=7)
    assert found["command"] == ["lengthwise", "run", "x"]
    assert (found["seed"], found["device"], found["threads"]) == (7, "cpu", 1)
    assert found["packages"]["torch"] == torch.__version__
    assert found["python"] == sys.version.split()[0]
    assert {"started", "cores", "processor", "platform", "git"} <= found.keys()


def test_git_state_is_the_commit_and_whether_it_changed(tmp_path: Path) -> None:
    assert git_state(tmp_path) is None
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false"]
    (tmp_path / "file").write_text("one")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert git_state(tmp_path) == {"commit": head.stdout.strip(), "changed": False}
    (tmp_path / "file").write_text("two")
    assert git_state(tmp_path) == {"commit": head.stdout.strip(), "changed": True}


def test_the_curve_has_the_columns_that_readers_know() -> None:
    assert list(CURVE_SCHEMA) == [
        "experiment", "setting", "variant", "replicate", "weights", "step", "split", "length", "metric", "value", "n"
    ]  # fmt: skip
