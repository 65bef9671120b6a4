"""A run with a tuning stage: its files, its progress, and that stopping anywhere in it changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from safetensors import safe_open

from lengthwise import SGD, Experiment, Phase, Plan
from lengthwise.experiments import Measuring, ModelOf, Tuning, Variant, execute, with_settings
from lengthwise.experiments.execute import Interrupted, Options, model_steps
from lengthwise.experiments.running import run
from lengthwise.experiments.tuning import APART, choices, try_name, tuning_experiment
from lengthwise.models import ShallowTransformer
from lengthwise.runs.files import read_json
from lengthwise.tasks import Recognition
from lengthwise.training import EMA


def plan(*phases: tuple[int, dict[str, float]]) -> Plan:
    return Plan(phases=tuple(Phase(steps=n, rates=dict(r)) for n, r in phases), optimiser=SGD(momentum=0.5), batch=4)


OUTPUT, ATTENTION = {"output": 1.0}, {"attention": 1.0}
TINY = Experiment(
    name="tiny",
    question="?",
    task=Recognition(mean_length=4, longest=60),
    model=ModelOf(module=ShallowTransformer, settings={"hidden": 3}),
    plan=plan((6, {**OUTPUT, **ATTENTION})),
    variants={
        "joint": Variant(),
        "lagging": Variant(plan=plan((3, OUTPUT), (3, ATTENTION), (2, OUTPUT))),
        "last": Variant(model={"query": "last letter"}),  # a population of its own
    },
    averages=(EMA(decay=0.5),),
    replicates=2,
    tuning=Tuning(grid={"attention": (1.0, 30.0), "output": (0.1, 0.5)}, replicates=2),
    measuring=Measuring(inputs=6, lengths=(2, 5, 30), along=1),
)


def steps(e: Experiment) -> int:
    """How often a run asks whether to stop: once for each step of each population."""
    return 8 + 6 if e.tuning is None else 2 * (8 + 6)


def contents(folder: Path) -> dict[str, Any]:
    """Every file that a result lies in, bit for bit; provenance tells of times, and a lock of processes."""
    kept = {p.relative_to(folder).as_posix(): p for p in sorted(folder.rglob("*")) if p.is_file()}
    return {k: bits(p) for k, p in kept.items() if not k.endswith(("provenance.json", "lock"))}


def bits(path: Path) -> Any:
    """A file's bytes; of tensors, theirs by name and what is noted of them, whose order in the file is by chance."""
    if path.suffix != ".safetensors":
        return path.read_bytes()
    with safe_open(path, framework="numpy") as file:
        values = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return file.metadata(), {name: (x.dtype.str, x.shape, x.tobytes()) for name, x in values.items()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(TINY, folder)
    return folder


def stopped_after(count: int) -> Options:
    """Options that stop a run after so many steps, over both stages."""
    asked: list[int] = []

    def stop() -> bool:
        asked.append(0)
        return len(asked) == count

    return Options(stop=stop)


# In the middle of the first tuning population, at the end of one, in the second, at the end of the tuning stage, at the
# first step after it, and in the run's own populations.
@pytest.mark.parametrize("step", [3, 8, 11, 14, 15, 25])
def test_a_run_stopped_at_a_step_of_either_stage_and_resumed_is_one_that_was_not(
    whole: Path, tmp_path: Path, step: int
) -> None:
    assert step < steps(TINY)
    with pytest.raises(Interrupted):
        run(TINY, tmp_path / "run", options=stopped_after(step))
    assert not (tmp_path / "run" / "finished.json").exists()
    assert (tmp_path / "run" / "tuning" / "finished.json").exists() == (step > 14)
    run(TINY, tmp_path / "run", resume=True)
    assert contents(tmp_path / "run") == contents(whole)


def test_a_run_stopped_after_every_few_steps_is_one_that_was_not(whole: Path, tmp_path: Path) -> None:
    for k in range(40):
        try:
            run(TINY, tmp_path / "run", resume=k > 0, options=stopped_after(5))
        except Interrupted:
            continue
        break
    assert contents(tmp_path / "run") == contents(whole)


class Killed(BaseException):
    """The process ends: nothing catches this, and nothing is saved on the way."""


@pytest.mark.parametrize(
    ("place", "call"),
    [
        ("history_table", 2),
        ("write_results", 1),
        ("choices", 1),
        ("tuned", 1),
        ("save_weights", 1),
        ("write_results", 2),
    ],
)
def test_a_run_killed_between_its_stages_and_resumed_is_one_that_was_not(
    whole: Path, tmp_path: Path, monkeypatch: Any, place: str, call: int
) -> None:
    own, calls = getattr(execute, place), []

    def killing(*arguments: Any, **named: Any) -> Any:
        calls.append(0)
        if len(calls) == call:
            raise Killed
        return own(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(execute, place, killing)
        with pytest.raises(Killed):
            run(TINY, tmp_path / "run")
    run(TINY, tmp_path / "run", resume=True)
    assert contents(tmp_path / "run") == contents(whole)


def test_a_finished_run_is_left_as_it_is(whole: Path) -> None:
    before, times = contents(whole), {p: p.stat().st_mtime_ns for p in whole.rglob("*.parquet")}
    run(TINY, whole, resume=True, options=Options(stop=lambda: pytest.fail("a step was made")))
    assert contents(whole) == before
    assert {p: p.stat().st_mtime_ns for p in whole.rglob("*.parquet")} == times


def test_the_choice_on_disk_is_that_of_the_tuning_curve_on_disk(whole: Path) -> None:
    curve = pl.read_parquet(whole / "tuning" / "curve.parquet")
    assert read_json(whole / "tuning.json") == choices(TINY, curve)
    assert sorted(curve["replicate"].unique()) == [APART, APART + 1]
    assert set(curve["variant"]) == set(tuning_experiment(TINY).variants)
    assert sorted(pl.read_parquet(whole / "curve.parquet")["replicate"].unique()) == [0, 1]


def test_the_run_is_that_of_the_chosen_rates_told_by_hand(whole: Path, tmp_path: Path) -> None:
    chosen = read_json(whole / "tuning.json")
    told = {f"variants.{n}.plan": TINY.plans[n].scaled(c["factors"]) for n, c in chosen.items()}
    by_hand = run(with_settings(TINY, {"tuning": None, **told}), tmp_path / "run")
    assert not (tmp_path / "run" / "tuning").exists()
    one, other = (pl.read_parquet(p / "curve.parquet") for p in (whole, tmp_path / "run"))
    assert one.equals(other)
    assert by_hand.model("last", 1).inward.shape == (10, 3)


def test_a_try_measured_is_a_try_trained_in_its_own_run(whole: Path, tmp_path: Path) -> None:
    """One variant's grid of one point, with replicates numbered as in tuning, alone and without tuning."""
    factors = {"attention": 30.0, "output": 0.1}
    name = try_name("lagging", factors)
    settings = {
        "variants": {name: Variant(plan=TINY.plans["lagging"].scaled(factors))}, "first_replicate": APART,
        "tuning": None, "measuring.lengths": [TINY.task.longest_quartile], "measuring.along": 0, "averages": (),
    }  # fmt: skip
    run(with_settings(TINY, settings), tmp_path / "alone")
    key, value = ["replicate", "length", "metric"], pl.col("value")
    alone = pl.read_parquet(tmp_path / "alone" / "curve.parquet").filter(variant=name).sort(key)
    tried = pl.read_parquet(whole / "tuning" / "curve.parquet").filter(variant=name).sort(key)
    assert alone.select(key).equals(tried.select(key))
    assert len(alone) > 10
    difference = (alone.select(value).to_series() - tried.select(value).to_series()).fill_nan(0.0).abs()
    assert difference.max() < 1e-5  # type: ignore[operator]


def test_progress_counts_both_stages_and_ends_at_its_total(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    listening = stopped_after(11)
    listening.progress = lambda done, total, doing: heard.append((done, total))
    with pytest.raises(Interrupted):
        run(TINY, tmp_path / "run", options=listening)
    run(TINY, tmp_path / "run", resume=True, options=Options(progress=lambda d, t, doing: heard.append((d, t))))
    totals, done = {total for _, total in heard}, [d for d, _ in heard]
    assert totals == {model_steps(tuning_experiment(TINY)) + model_steps(TINY)}
    assert done == sorted(done)
    assert done[-1] == totals.pop()


def test_a_smaller_grid_is_another_run(whole: Path) -> None:
    other = with_settings(TINY, {"tuning.grid": {"attention": [1.0], "output": [0.1, 0.5]}})
    with pytest.raises(ValueError, match="holds another run"):
        run(other, whole, resume=True)
