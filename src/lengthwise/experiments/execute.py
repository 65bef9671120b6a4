"""Carrying out an experiment: train each population, measure it, decide the claims, all into one run folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from lengthwise.diagnostics import Inputs
from lengthwise.experiments.configuration import configuration
from lengthwise.experiments.experiment import Experiment
from lengthwise.experiments.measurement import failures, history_table, measure_population, measured_inputs
from lengthwise.experiments.populations import members_by_population
from lengthwise.experiments.tuning import choices, tuned, tuning_experiment
from lengthwise.experiments.weights import save_weights
from lengthwise.runs import RunFolder, slug
from lengthwise.runs.checkpoints import Checkpoints
from lengthwise.runs.files import read_json, read_table, write_json, write_table
from lengthwise.training import Member, Population, Trainer
from lengthwise.training.history import History

HISTORY_POINTS = 100
TUNING = "tuning"


class Interrupted(Exception):  # noqa: N818 - a state, not an error
    """Raised after everything was saved, when `stop` asked for it."""


@dataclass
class Options:
    """How to run: device, compilation, when to save, whom to tell.

    `progress` hears (model-steps done, model-steps in all, what is being done); `notice` hears plain sentences; `stop`
    is asked after each step.
    """

    device: str = "cpu"
    compiled: bool = False
    save_every: float = 10.0  # seconds
    progress: Callable[[int, int, str], None] = lambda done, total, doing: None
    notice: Callable[[str], None] = lambda text: None
    stop: Callable[[], bool] = lambda: False


def execute(experiment: Experiment, folder: RunFolder, options: Options) -> None:
    """Run an experiment to its end in a folder, continuing from what the folder holds."""
    if folder.finished:
        return
    if options.device != "cpu":
        options.notice(
            f"on {options.device} a run that is resumed equals an uninterrupted one to rounding, not bit for bit"
        )
    tries = tuning_experiment(experiment) if experiment.tuning else None
    work = Work(sum(model_steps(e) for e in (tries, experiment) if e is not None))
    if tries is not None:
        experiment = _tuned(experiment, tries, folder, options, work)
    _train_all(experiment, folder, options, work)
    folder.write_json("finished.json", {"populations": list(members_by_population(experiment))})


def model_steps(experiment: Experiment) -> int:
    """How many steps all models of an experiment make together, those that rest after a shorter plan included."""
    populations = members_by_population(experiment).values()
    return sum(max(m.plan.steps for m in members) * len(members) for members in populations) * experiment.replicates


def _tuned(experiment: Experiment, tries: Experiment, folder: RunFolder, options: Options, work: Work) -> Experiment:
    """The experiment at the rates that are best in a run of their own, which lies in the folder `tuning`."""
    config = {**folder.config, "tries": configuration(tries, None, options.device, 1, options.compiled, None)}
    own = RunFolder.open(folder.path / TUNING, config, resume=True)
    if own.finished:
        work.done += model_steps(tries)
    else:
        _train_all(tries, own, options, work)
        own.write_json("finished.json", {"populations": list(members_by_population(tries))})
    chosen = choices(experiment, own.curve)
    folder.write_json("tuning.json", chosen)
    return tuned(experiment, chosen)


def _train_all(experiment: Experiment, folder: RunFolder, options: Options, work: Work) -> None:
    first = experiment.first_replicate
    inputs = measured_inputs(experiment, range(first, first + experiment.replicates), options.device)
    for name, members in members_by_population(experiment).items():
        _PopulationRun(experiment, name, members, folder, options, inputs).complete(work)
    write_results(experiment, folder)


def write_results(experiment: Experiment, folder: RunFolder) -> None:
    """Put the populations' tables together, and decide the claims."""
    names = [slug(name) for name in members_by_population(experiment)]
    pieces = [path for name in names for path in sorted((folder.path / "pieces" / name).glob("step-*.parquet"))]
    curve = pl.concat([read_table(path) for path in pieces])
    folder.write_table("curve.parquet", curve)
    folder.write_table(
        "history.parquet", pl.concat([read_table(folder.path / "pieces" / n / "history.parquet") for n in names])
    )
    failures = [row for n in names for row in read_json(folder.path / "pieces" / n / "failures.json")]
    folder.write_json("failures.json", failures)
    write_claims(experiment, folder, curve)


def write_claims(experiment: Experiment, folder: RunFolder, curve: pl.DataFrame | None) -> None:
    """Every claim with its rule and, once there is a curve, its verdict."""
    rows = []
    for claim in experiment.claims:
        rule = claim.rule_for(experiment)
        verdict = rule.decide(curve).model_dump() if curve is not None else {"decision": "not run", "parts": []}
        rows.append({"id": claim.id, "statement": claim.statement, "rule": rule.says, **verdict})
    folder.write_json("claims.json", rows)


@dataclass
class Work:
    """Model-steps done and to do, over all populations."""

    total: int
    done: int = 0


class _PopulationRun:
    """One population on its way through an experiment, with its checkpoint and its pieces of the tables."""

    def __init__(
        self,
        experiment: Experiment,
        name: str,
        members: list[Member],
        folder: RunFolder,
        options: Options,
        inputs: Inputs,
    ) -> None:
        self.experiment, self.name, self.folder, self.options, self.inputs = experiment, name, folder, options, inputs
        replicates, globs = inputs.replicates, experiment.groups
        self.population = Population.start(members, replicates, experiment.seed, options.device, globs)
        self.trainer = Trainer(self.population, experiment.task, experiment.seed, options.compiled)
        self.every = max(self.trainer.total // HISTORY_POINTS, 1)
        self.history = History(self.population.size, self.every, self.population.weights.device)
        self.pieces = folder.path / "pieces" / slug(name)
        self.checkpoints = Checkpoints(folder, slug(name))

    def complete(self, work: Work) -> None:
        trainer, size = self.trainer, self.population.size
        self._resume()
        for notice in trainer.notices:
            self.options.notice(notice)
        work.done += trainer.steps_done * size
        parts = self.experiment.measuring.along + 1
        measured_at = {round(trainer.total * (k + 1) / parts) for k in range(parts)}
        saved = time.monotonic()
        while trainer.steps_done < trainer.total:
            self.history.add(trainer.step())
            work.done += size
            self.options.progress(work.done, work.total, f"training {self.name}")
            if trainer.steps_done in measured_at:
                self._measure()
            stop = self.options.stop()
            if stop or time.monotonic() - saved > self.options.save_every:
                self._save()
                saved = time.monotonic()
            if stop:
                raise Interrupted
        self.history.flush()
        self._write_pieces()
        self._save()

    def _measure(self) -> None:
        table = measure_population(self.experiment, self.trainer, self.inputs)
        write_table(self.pieces / f"step-{self.trainer.steps_done:09d}.parquet", table)

    def _write_pieces(self) -> None:
        write_table(self.pieces / "history.parquet", history_table(self.trainer, self.history))
        write_json(self.pieces / "failures.json", failures(self.experiment, self.trainer))
        if self.experiment.keeps_weights:
            save_weights(self.folder, self.trainer)

    def _save(self) -> None:
        history = {f"history.{k}": v for k, v in self.history.state().items()}
        self.checkpoints.save({**self.trainer.state(), **history}, self.trainer.steps_done)

    def _resume(self) -> None:
        state = self.checkpoints.load()
        if state is not None:
            self.trainer.restore(state)
            self.history.restore({k.removeprefix("history."): v for k, v in state.items() if k.startswith("history.")})
