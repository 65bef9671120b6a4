"""`lengthwise certify`: the JSON it prints, tables for people, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import typer
from safetensors.torch import save_file
from typer.testing import CliRunner

import lengthwise
from lengthwise.certificates import Weights, cyclic_readout, minimal
from lengthwise.certificates import certify as certificate_of
from lengthwise.cli import certify as verb
from lengthwise.cli.certify import certify
from lengthwise.errors import InputError
from lengthwise.experiments.certifying import SHAPES, certify_model
from lengthwise.models import MinimalTransformer
from lengthwise.tasks import SetComplement

app = typer.Typer()
app.command()(certify)


def call(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def called(*words: object) -> dict[str, Any]:
    return json.loads(call(*words, "--json"))


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    noise = np.random.default_rng(0).normal(size=(3, 6, 6))
    named = {"S": noise[0], "B": 0.2 * noise[1], "D": 0.2 * noise[2] - 9 * np.eye(6)}
    return written(tmp_path / "tables.safetensors", named)


def written(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    save_file({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}, path)
    return path


def named(weights: Weights) -> dict[str, np.ndarray]:
    return dict(zip(SHAPES, vars(weights).values(), strict=True))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Variants without norm, and with a post-norm whose bias trains; two replicates; raw and averaged weights."""
    experiment = lengthwise.Experiment(
        name="tiny",
        question="?",
        task=SetComplement(vocabulary=6, s_train=3),
        model=lengthwise.ModelOf(module=MinimalTransformer, settings={"width": 4}),
        variants={"no norm": lengthwise.Variant(), "post-norm": lengthwise.Variant(model={"norm": "post"})},
        plan=lengthwise.Plan(phases=(lengthwise.Phase(steps=4, rates={"all": 0.1}),), batch=4),
        averages=(lengthwise.EMA(decay=0.9),),
        replicates=2,
        measuring=lengthwise.Measuring(inputs=4),
    )
    return lengthwise.run(experiment, tmp_path_factory.mktemp("tiny") / "run").folder.path


def test_tables_give_exactly_the_json_of_their_certificate(tables: Path) -> None:
    said = called(tables)
    assert list(said) == ["vocabulary", "certified_order", "certified_tv", "lengths"]
    assert list(said["certified_tv"]) == ["0.05", "0.1", "0.25", "0.5"]
    keys = ["length", "worst_displacement", "worst_input", "legal_spread", "tv_bound"]
    assert [list(row) for row in said["lengths"]] == [keys] * 5
    from lengthwise.certificates import load_tables

    assert said == certificate_of(load_tables(tables)).to_json()


def test_a_checkpoint_of_one_model_is_certified_like_the_model(tmp_path: Path) -> None:
    path = written(tmp_path / "model.safetensors", named(minimal(5, 12.0)))
    said = called(path)
    assert [row["worst_displacement"] for row in said["lengths"]] == [13.0, 6.0, 4.0, 3.0]
    assert (said["vocabulary"], said["certified_order"]) == (5, 4)


def test_a_run_of_several_models_gives_a_row_for_each(run: Path) -> None:
    models = called(run)["models"]
    assert [(row["variant"], row["replicate"], row["weights"]) for row in models] == [
        (variant, replicate, weights)
        for variant in ("no norm", "post-norm")
        for replicate in (0, 1)
        for weights in ("raw", "ema@0.9")
    ]
    first = ["variant", "replicate", "weights", "certified_order", "certified_tv"]
    assert all(list(row) == first for row in models[:4])
    assert all(list(row) == [*first, "refused"] and "post-norm with a bias" in row["refused"] for row in models[4:])
    assert len(called(run, "--weights", "raw", "--variant", "no norm")["models"]) == 2
    assert models[:4] == called(run / "weights" / "no-norm.safetensors")["models"]


@pytest.mark.parametrize("where", ["", "weights/no-norm.safetensors"])
def test_flags_that_leave_one_model_give_its_certificate(run: Path, where: str) -> None:
    said = called(run / where, "--variant", "no norm", "--replicate", 1, "--weights", "ema@0.9")
    assert said == certify_model(lengthwise.load(run).model("no norm", 1, "ema@0.9")).to_json()


def test_people_read_no_more_than_is_proved(tables: Path) -> None:
    lines, said = call(tables).splitlines(), called(tables)
    assert lines[1].endswith(f"up to length {said['certified_order']} of 5")
    assert lines[3].split("  ")[0] == "length"
    for line, row in zip(lines[4:], said["lengths"], strict=True):
        length, displacement, spread, bound, *tokens = line.split()
        assert (int(length), [int(token) for token in tokens]) == (row["length"], row["worst_input"])
        for shown, value, side in ((displacement, "worst_displacement", -1), (spread, "legal_spread", 1)):
            assert 0 <= side * (float(shown) - row[value]) <= 1e-4 * abs(row[value])
        assert 0 <= float(bound) - row["tv_bound"] <= 1e-4 * row["tv_bound"]


def test_people_read_each_reason_once(run: Path) -> None:
    lines = call(run).splitlines()
    assert " ".join(lines[1].split()) == "variant replicate weights order TV 0.05 TV 0.1 TV 0.25 TV 0.5"
    assert len(lines) == 2 + 8 + 1
    assert lines[-2].split()[-5:] == ["refused", "-", "-", "-", "-"]
    assert lines[-1].startswith("refused: post-norm: post-norm with a bias")


def test_post_norm_sizes_are_null(run: Path, tmp_path: Path) -> None:
    """The same run with its bias at zero, as a run without one."""
    folder = tmp_path / "run"
    (folder / "weights").mkdir(parents=True)
    config = json.loads((run / "config.json").read_text())
    config["variants"]["post-norm"]["model"]["norm_bias"] = False
    (folder / "config.json").write_text(json.dumps(config))
    from lengthwise.runs import RunFolder
    from lengthwise.runs.tensors import load_tensors, save_tensors

    tensors = load_tensors(run / "weights" / "post-norm.safetensors", None)
    kept = {name: x for name, x in tensors.items() if not name.endswith("norm.bias")}
    save_tensors(folder / "weights" / "post-norm.safetensors", kept, RunFolder(folder).digest)
    words = (folder, "--variant", "post-norm", "--replicate", 0, "--weights", "raw")
    said = called(*words)
    assert set(said["certified_tv"].values()) == {None}
    assert {row["tv_bound"] for row in said["lengths"]} == {None}
    assert call(*words).splitlines()[2].startswith("sizes are not certified")


def test_readout_law_of_a_matrix(tmp_path: Path) -> None:
    said = called(written(tmp_path / "readout.safetensors", {"readout": cyclic_readout(8, 4)}), "--readout")
    assert {key: said[key] for key in ("vocabulary", "dimension", "affine_rank", "largest_length", "proved")} == {
        "vocabulary": 8,
        "dimension": 4,
        "affine_rank": 4,
        "largest_length": 2,
        "proved": True,
    }
    witness, columns = said["witness"], cyclic_readout(8, 4)
    inside = columns[:, witness["inside"]] @ witness["inside_weights"]
    assert inside == pytest.approx(columns[:, witness["outside"]] @ witness["outside_weights"])
    assert said["tv_floor"] == 0.5 / (8 - len(witness["inside"])) == 0.1
    lines = call(tmp_path / "readout.safetensors", "--readout").splitlines()
    assert lines[1] == "no hidden states serve lengths beyond 2 of 7; up to it hidden states exist that do"
    full = written(tmp_path / "full.safetensors", {"unembedding": np.eye(4, 5)})
    assert called(full, "--readout")["witness"] is None
    assert call(full, "--readout").splitlines()[1] == "hidden states exist that serve every length 1..4"


def test_readout_law_of_a_run(run: Path) -> None:
    models = called(run, "--readout")["models"]
    assert [row["dimension"] for row in models] == [4] * 4 + [3] * 4
    assert all(row["largest_length"] <= 2 for row in models)
    assert len(call(run, "--readout").splitlines()) == 9
    one = called(run, "--readout", "--variant", "no norm", "--replicate", 0, "--weights", "raw")
    assert one == {key: value for key, value in models[0].items() if key not in ("variant", "replicate", "weights")}


def test_progress_is_told_on_standard_error_when_it_takes_long(
    tables: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr(verb.time, "monotonic", lambda: next(clock))
    certify(tables, as_json=True)
    said = capsys.readouterr()
    assert json.loads(said.out)["vocabulary"] == 6
    assert said.err.splitlines()[0] == " 20%  certifying, about 12 s left"
    monkeypatch.undo()
    certify(tables, as_json=True)
    assert capsys.readouterr().err == ""


BROKEN = {"S": np.zeros((4, 4)), "B": np.zeros((4, 4)), "D": np.zeros((4, 4))}
NAN, INFINITE = np.zeros((4, 4)), np.zeros((4, 4))
NAN[1, 2], INFINITE[3, 0] = np.nan, np.inf
MODEL = named(minimal(5))


@pytest.mark.parametrize(
    ("arrays", "words", "expected"),
    [
        ({**BROKEN, "B": np.zeros((4, 3))}, [], r"table B has shape \(4, 3\)"),
        ({**BROKEN, "D": np.zeros((3, 3))}, [], r"table D has shape \(3, 3\): expected \(4, 4\) like S"),
        ({**BROKEN, "D": NAN}, [], r"table D\[1, 2\] is nan: expected a finite number"),
        ({**BROKEN, "S": INFINITE}, [], r"table S\[3, 0\] is inf"),
        ({"S": NAN}, [], "no table B: expected tensors S, B and D, found S"),
        ({**MODEL, "key": np.full((4, 4), np.nan)}, [], r"key\[0, 0\] is nan: expected a finite number"),
        ({**MODEL, "norm.weight": np.ones(4)}, [], "a norm's weights do not say where it is"),
        ({"weird": np.ones(4)}, [], r"tensors \['weird'\]: expected embedding, query"),
        ({"weird": np.ones(4)}, ["--readout"], "no tensor 'readout' or 'unembedding' of shape"),
        ({"readout": np.ones(4)}, ["--readout"], r"readout of shape \(4,\): expected \(d, v\)"),
        ({"readout": NAN}, ["--readout"], r"readout\[1, 2\] is nan"),
        ({"readout": np.ones((2, 4), dtype=np.int64)}, ["--readout"], "readout holds torch.int64"),
        (MODEL, ["--variant", "no norm"], "--variant no norm: .* holds one model; expected a run folder"),
        (MODEL, ["--replicate", "0"], "--replicate 0: .* holds one model"),
    ],
)
def test_bad_files_are_refused_in_one_line_that_names_them(
    tmp_path: Path, arrays: dict[str, np.ndarray], words: list[str], expected: str
) -> None:
    path = written(tmp_path / "bad.safetensors", arrays)
    with pytest.raises(InputError, match=expected) as refusal:
        call(path, *words)
    assert str(refusal.value).count(str(path)) == 1
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--variant", "no nrom"], "unknown variant 'no nrom': did you mean 'no norm'"),
        (["--replicate", "2"], r"replicate 2: expected 0\.\.1"),
        (["--weights", "bema", "--readout"], "unknown weights 'bema': did you mean 'ema@0.9'|expected one of"),
        (["--variant", "post-norm", "--replicate", "0", "--weights", "raw"], "replicate 0, raw: post-norm with a bias"),
    ],
)
def test_a_run_without_what_is_asked(run: Path, words: list[str], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        call(run, *words)


def test_other_places_are_refused(run: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.safetensors"
    text.write_text("no tensors here")
    for path, words, expected in (
        (tmp_path / "nowhere", [], "nowhere: no such file or folder; expected a run folder or a safetensors file"),
        (text, [], "text.safetensors: expected a safetensors file"),
        (tmp_path, [], "expected a run folder, but there is no config.json"),
        (run / "weights" / "no-norm.safetensors", ["--variant", "post-norm"], "holds the weights of 'no norm'"),
        (run / "checkpoints" / "no-norm.safetensors", [], "expected embedding, query"),
    ):
        with pytest.raises(InputError, match=expected):
            call(path, *words)
