"""The examples of docs/search.md run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lengthwise.experiments import EXPERIMENTS
from lengthwise.search import Space, blocks_of, search_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "search.md"
SPACE, OPTUNA = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


def test_the_space_of_the_document_can_be_searched():
    names: dict = {}
    exec(compile(SPACE, str(DOCUMENT), "exec"), names)
    assert isinstance(names["space"], Space)
    assert blocks_of(search_of(EXPERIMENTS["set-complement"], names["space"], trials=12))


@pytest.mark.slow
def test_the_optuna_example_runs(capsys):
    pytest.importorskip("optuna")
    exec(compile(OPTUNA, str(DOCUMENT), "exec"), {})
    assert "rate" in capsys.readouterr().out
