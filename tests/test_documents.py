"""The documents' examples run, and say what the files say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lengthwise

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def blocks(name: str) -> list[str]:
    return BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))


def test_the_readme_example_runs(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (example,) = blocks("README.md")
    exec(compile(example, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out.strip()


def test_the_guide_shows_the_file_it_names():
    shown = blocks("docs/guide.md")[0]
    assert (ROOT / "docs" / "recurrent.py").read_text(encoding="utf-8").endswith(shown)


def test_the_guide_script_trains():
    names: dict = {"__name__": "guide"}
    exec(compile(blocks("docs/guide.md")[2], "docs/guide.md", "exec"), names)
    assert names["trainer"].steps_done == 100


def test_the_language_examples_run(capsys, tmp_path):
    first, second = blocks("docs/languages.md")
    exec(compile(first, "docs/languages.md", "exec"), {"__name__": "languages"})
    assert capsys.readouterr().out.startswith("True '.*a.*b': the set of its letters and its last letter decide")
    names: dict = {"__name__": "languages"}
    exec(compile(second, "docs/languages.md", "exec"), names)
    finished = lengthwise.run(names["experiment"], tmp_path / "run")
    assert set(finished.curve["length"].drop_nulls()) == {10, 100, 1000}


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CONTRIBUTING.md",
        "docs/guide.md",
        "docs/languages.md",
        "docs/othello.md",
        "docs/search.md",
        "docs/theory.md",
    ],
)
def test_links_and_named_files_exist(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert ((ROOT / name).parent / link).exists(), link
