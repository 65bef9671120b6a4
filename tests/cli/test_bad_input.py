"""Wrong input: one clear line, exit code 2, nothing lost or half-written."""

from __future__ import annotations

import os

import pytest

from lengthwise.cli import main

SMALL = ["--set", "replicates=1", "--set", "plan.phases.0.steps=3", "--set", "measuring.inputs=2"]


def call(capsys, *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    error = capsys.readouterr().err
    assert isinstance(stop.value.code, int)
    return stop.value.code, error


def refused(capsys, *arguments: str) -> str:
    code, error = call(capsys, *arguments)
    assert code == 2
    assert error.startswith("lengthwise: ")
    assert len(error.strip().splitlines()) == 1
    assert "Traceback" not in error
    return error


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "set-complment"], "did you mean 'set-complement'"),
        (["run", "set-complement", "--scale", "quik"], "unknown scale 'quik': did you mean 'quick'"),
        (["run", "set-complement", "--set", "s_trian=3"], "unknown field 's_trian': did you mean 's_train'"),
        (["run", "set-complement", "--set", "s_train=16"], "s_train 16: expected less than vocabulary 16"),
        (["run", "set-complement", "--set", "vocabulary=1"], "vocabulary 1"),
        (["run", "set-complement", "--set", "plan.phases.0.rates.all=-0.1"], "-0.1"),
        (["run", "set-complement", "--set", "plan.phases.0.rates.atention=0.1"], "unknown group 'atention'"),
        (
            ["run", "set-complement", "--set", "model.attention_dropout=1.0"],
            "attention_dropout 1.0: expected a rate in [0, 1)",
        ),
        (["run", "set-complement", "--set", "averages.0.decay=1.5"], "decay 1.5"),
        (
            ["run", "set-complement", "--set", "measuring.lengths=[16]"],
            "measuring.lengths 16: expected lengths within 1..15",
        ),
        (["run", "set-complement", "--set", "model.norm=pots"], "unknown norm 'pots': did you mean 'post'"),
        (["run", "set-complement", "--set", "steps"], "expected key=value"),
        (["run", "set-complement", "--resume"], "expected --out DIR"),
        (["run", "nowhere.py"], "no such file"),
        (["run"], "Missing argument"),
        (["reproduce", "sc.post-nrom"], "unknown claim 'sc.post-nrom': did you mean 'sc.post-norm'"),
        (["report", "nowhere"], "expected a run folder"),
        (["run", "set-complement", "--set", "vocabulary=99999999999999999999"], "vocabulary 99999999999999999999"),
        (["run", "set-complement", "--set", "plan.optimiser.weight_decay=Infinity"], "weight_decay inf"),
        (["run", "set-complement", "--set", "averages.1.decay=0.99"], "average 'ema@0.99' is listed twice"),
        (["run", "set-complement", "--set", "seed=-1"], "seed -1"),
        (["language", "a\udcff"], "expected text in UTF-8"),
        (["language", "(a|b"], "'(' at character 1 is never closed"),
        (["language", "(ab)*", "--sample", "3", "--length", "5"], "nearest lengths with one are 4 and 6"),
        (["certify", "nowhere"], "no such file or folder"),
        (["lsit"], "No such command"),
    ],
)
def test_wrong_words(capsys, tmp_path, monkeypatch, words, expected):
    monkeypatch.chdir(tmp_path)
    extra = ["--out", "run", *SMALL] if words[:2] == ["run", "set-complement"] and "--resume" not in words else []
    assert expected in refused(capsys, *words[:2], *extra, *words[2:])
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.skipif(os.environ.get("CUDA_VISIBLE_DEVICES") not in (None, ""), reason="a CUDA device may exist here")
def test_a_device_that_is_not_there(capsys, tmp_path):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("a CUDA device exists here")
    error = refused(capsys, "run", "set-complement", "--device", "cuda", "--out", tmp_path / "run")
    assert "device cuda: not usable here" in error
    assert not (tmp_path / "run").exists()
    assert "device quantum" in refused(capsys, "run", "set-complement", "--device", "quantum", "--out", tmp_path / "r")


USER_FILES = {
    "raises.py": ("1 / 0", "raises.py line 1: ZeroDivisionError: division by zero"),
    "syntax.py": ("def", "SyntaxError"),
    "exits.py": ("import sys; sys.exit(3)", "SystemExit"),
    "none.py": ("x = 1", "expected exactly one Experiment at the top level, found none"),
    "metric.py": (
        "from lengthwise import *\nfrom lengthwise.statistics import *\n"
        "e = Experiment(name='e', question='?', task=SetComplement(), model=MinimalTransformer, "
        "plan=Plan(phases=(Phase(steps=1, rates={'all': .1}),)), claims=(Claim(id='c', statement='s', "
        "rule=Slope(metric='tvv', lengths=(1, 2), arm=Arm(variant='base'), inside=(-1, 1))),))",
        "unknown metric 'tvv': did you mean 'tv'",
    ),
    "shape.py": (
        "from torch import nn\nfrom lengthwise import *\n"
        "e = Experiment(name='e', question='?', task=SetComplement(vocabulary=8, s_train=4), "
        "model=lambda vocabulary: nn.Embedding(vocabulary, 3), "
        "plan=Plan(phases=(Phase(steps=1, rates={'all': .1}),)))",
        "answers of shape (2, 4, 3) to inputs of shape (2, 4): expected (2, 4, 8)",
    ),
    "forward.py": (
        "from torch import nn\nfrom lengthwise import *\nclass M(nn.Linear):\n    def forward(self, tokens):\n"
        "        raise KeyError('mine')\n"
        "e = Experiment(name='e', question='?', task=SetComplement(), model=lambda: M(1, 1), "
        "plan=Plan(phases=(Phase(steps=1, rates={'all': .1}),)))",
        "forward.py line 5: KeyError: 'mine'",
    ),
    "field.py": (
        "from lengthwise import *\ne = Experiment(name='e', question='?', task=3, model=MinimalTransformer, "
        "plan=Plan(phases=(Phase(steps=1, rates={'all': .1}),)))",
        "task 3: expected an object with the members of lengthwise.Task",
    ),
}


@pytest.mark.parametrize("name", USER_FILES)
def test_a_user_file_that_is_wrong(capsys, tmp_path, name):
    text, expected = USER_FILES[name]
    (tmp_path / name).write_text(text)
    assert expected in refused(capsys, "run", tmp_path / name, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_out_in_a_place_that_cannot_be_written(capsys, tmp_path):
    (tmp_path / "file").write_text("mine")
    assert "cannot write" in refused(capsys, "run", "set-complement", "--out", tmp_path / "file" / "run")
    assert "not a run folder" in refused(capsys, "run", "set-complement", "--out", tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_out_that_holds_something_else_is_left_alone(capsys, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    assert "not a run folder" in refused(capsys, "run", "set-complement", "--out", tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


TINY = """
from lengthwise import *

tiny = Experiment(
    name="tiny", question="?", task=SetComplement(vocabulary=5, s_train=2), model=MinimalTransformer, replicates=1,
    plan=Plan(phases=(Phase(steps=3, rates={"all": 0.1}),), batch=2), measuring=Measuring(inputs=2),
    variants={"no norm": Variant(), "post-norm": Variant(model={"norm": "post"})},
)
"""


def test_out_that_holds_a_run(capsys, tmp_path):
    out, file = tmp_path / "run", tmp_path / "tiny.py"
    file.write_text(TINY)
    words = ["run", file, "--no-page", "--out", out]
    assert call(capsys, *words)[0] == 0
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    assert "holds this run already; add --resume" in refused(capsys, *words)
    changed = refused(capsys, *words, "--set", "seed=5", "--resume")
    assert "holds another run: its seed is 0, now 5" in changed
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before
    checkpoint = out / "checkpoints" / "no-norm.safetensors"
    other = out / "checkpoints" / "post-norm.safetensors"
    (out / "finished.json").unlink()
    for damage, expected in (
        (lambda: checkpoint.write_bytes(checkpoint.read_bytes()[:-10]), "truncated or damaged"),
        (lambda: checkpoint.write_bytes(b"hello"), "truncated or damaged"),
        (checkpoint.unlink, "the checkpoint is missing"),
    ):
        damage()
        assert expected in refused(capsys, *words, "--resume")
        checkpoint.write_bytes(before[checkpoint])
    foreign = tmp_path / "other"
    again = ["run", file, "--no-page", "--out", foreign, "--set", "seed=9"]
    assert call(capsys, *again)[0] == 0
    other.write_bytes((foreign / "checkpoints" / other.name).read_bytes())
    assert "belongs to another run" in refused(capsys, *words, "--resume")
