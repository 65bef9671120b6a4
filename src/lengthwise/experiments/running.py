"""From an experiment to a finished run folder, in one call."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import torch

from lengthwise.errors import InputError
from lengthwise.experiments.configuration import configuration
from lengthwise.experiments.execute import Options, execute, write_claims
from lengthwise.experiments.experiment import Experiment
from lengthwise.experiments.populations import check_experiment, members_by_population
from lengthwise.experiments.settings import with_settings
from lengthwise.experiments.weights import SOURCE, Run
from lengthwise.runs import RunFolder, provenance, slug
from lengthwise.runs.checkpoints import Checkpoints
from lengthwise.runs.files import write

THREADS = 1  # two threads on tiny models cost more in waiting than they give


def run(
    experiment: Experiment,
    out: str | Path,
    scale: str | None = None,
    resume: bool = False,
    options: Options | None = None,
) -> Run:
    """Train, measure and decide an experiment into the folder `out`; the finished run.

    `scale` applies one of the experiment's `scales`. With `resume`, a run that `out` holds is continued.

    Errors: InputError for an experiment that cannot be built, or a place that holds something else.

    >>> import tempfile
    >>> from lengthwise import MinimalTransformer, Phase, Plan, SetComplement
    >>> tiny = Experiment(name="tiny", question="?", task=SetComplement(vocabulary=5, s_train=2), replicates=2,
    ...                   model=MinimalTransformer, plan=Plan(phases=(Phase(steps=3, rates={"all": 0.1}),)))
    >>> run(tiny, tempfile.mkdtemp()).model("base", 1).embedding.shape
    torch.Size([5, 32])
    """
    options = options or Options()
    scaled = with_settings(experiment, experiment.scales[scale]) if scale else experiment
    folder = open_run(scaled, Path(out), scale, options, resume=resume)
    with folder.locked():
        execute(scaled, folder, options)
    return Run(folder.path)


def open_run(
    experiment: Experiment,
    out: Path,
    scale: str | None = None,
    options: Options | None = None,
    source: Path | None = None,
    resume: bool = False,
) -> RunFolder:
    """The folder of a run, with its configuration, provenance, pending claims, and a copy of the user's file `source`.

    Everything that can be wrong with the experiment is found before anything is written.
    """
    options = options or Options()
    check_device(options.device)
    check_experiment(experiment)
    torch.set_num_threads(THREADS)
    config = configuration(experiment, scale, options.device, THREADS, options.compiled, source)
    folder = RunFolder.open(out, config, resume)
    for name in members_by_population(experiment):  # what is lost or damaged is said before anything is trained
        Checkpoints(folder, slug(name)).load()
    if not (folder.path / "provenance.json").exists():
        folder.write_json("provenance.json", provenance(sys.argv, options.device, THREADS, experiment.seed))
    if source is not None:
        write(folder.path / SOURCE, lambda p: shutil.copyfile(source, p))
    if not folder.finished:
        write_claims(experiment, folder, None)
    return folder


def check_device(device: str) -> None:
    """Raise InputError unless PyTorch can use the device here.

    >>> check_device("quantum")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: device quantum: not usable here (...); expected cpu or an available device
    """
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"device {device}: not usable here ({reason}); expected cpu or an available device") from None
