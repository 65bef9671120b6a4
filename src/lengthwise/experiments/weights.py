"""Trained weights on disk, and the way back: from a run folder to a plain module."""

from __future__ import annotations

import importlib
import runpy
from pathlib import Path
from typing import Any

from torch import nn

from lengthwise.errors import InputError, unknown
from lengthwise.runs import RunFolder, slug
from lengthwise.runs.tensors import load_tensors, save_tensors
from lengthwise.training import Trainer

SOURCE = "experiment.py"


def save_weights(folder: RunFolder, trainer: Trainer) -> None:
    """One safetensors file per variant: `REPLICATE/WEIGHTS/PARAMETER` for raw and every averaged weights.

    Buffers, and parameters that do not train, stand with the raw weights of their model.
    """
    population, m = trainer.population, len(trainer.population.members)
    for j, member in enumerate(population.members):
        tensors = {}
        for names, matrix in trainer.weights_by_name():
            views = population.layout.views(matrix)
            for i, replicate in enumerate(population.replicates):
                own = {**views, **population.constants}
                tensors |= {f"{replicate}/{names[i * m + j]}/{name}": x[i * m + j] for name, x in own.items()}
        save_tensors(folder.path / "weights" / f"{slug(member.name)}.safetensors", tensors, folder.digest)


class Run:
    """A finished run, opened to get its models and its tables back.

    `curve` and `history` are polars tables; `config` is what the run was told.
    """

    def __init__(self, path: str | Path) -> None:
        self.folder = RunFolder.existing(Path(path))
        self.config = self.folder.config

    @property
    def curve(self):
        return self.folder.curve

    @property
    def history(self):
        return self.folder.history

    def model(self, variant: str, replicate: int = 0, weights: str = "raw") -> nn.Module:
        """The trained model as a plain module in evaluation mode.

        `weights` is `raw` or an average's name (`ema@0.99`, `bema`, `bema-reference`).

        Errors: InputError for a variant, replicate or weights that the run does not have.
        """
        if variant not in self.config["variants"]:
            raise unknown("variant", variant, self.config["variants"])
        path = self.folder.path / "weights" / f"{slug(variant)}.safetensors"
        tensors = load_tensors(path, self.folder.digest)
        known = {tuple(key.split("/", 2)[:2]) for key in tensors}
        if str(replicate) not in {r for r, _ in known}:
            raise InputError(f"replicate {replicate}: expected 0..{self.config['replicates'] - 1}")
        if (str(replicate), weights) not in known:
            raise unknown("weights", weights, {w for _, w in known})
        module = self._module()(**self.config["variants"][variant]["model"])
        start = f"{replicate}/{weights}/"
        module.load_state_dict(
            {k.removeprefix(start): x for k, x in tensors.items() if k.startswith(start)}, strict=False
        )
        return module.eval()

    def _module(self) -> Any:
        """The class or function that builds the module: ours by its address, the user's from the copy of the file."""
        address, name = self.config["model"]["module"].split(":")
        if self.config["source"] is None or address.startswith("lengthwise."):
            found = importlib.import_module(address)
            for part in name.split("."):
                found = getattr(found, part)
            return found
        return runpy.run_path(str(self.folder.path / SOURCE))[name]


def load(path: str | Path) -> Run:
    """Open a run folder. A run of your own file executes the copy of that file to build its modules."""
    return Run(path)
