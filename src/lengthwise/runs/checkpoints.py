"""Checkpoints of a run's parts: the latest state of each, found again or missed in words."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.runs.files import read_json, write_json
from lengthwise.runs.folder import RunFolder
from lengthwise.runs.tensors import load_tensors, save_tensors


class Checkpoints:
    """The checkpoint of one part (a population) of a run: the latest only, marked with the run's configuration.

    An index beside the checkpoints names what must be there, so that a lost file is an error and not a fresh start.
    """

    def __init__(self, folder: RunFolder, part: str) -> None:
        self.config, self.part = folder.digest, part
        self.path = folder.path / "checkpoints" / f"{part}.safetensors"
        self.index = folder.path / "checkpoints" / "index.json"

    def save(self, state: Mapping[str, Tensor], step: int) -> None:
        """Write the state whole or not at all, and then the index."""
        save_tensors(self.path, state, self.config)
        write_json(self.index, {**self._known(), self.part: step})

    def load(self) -> dict[str, Tensor] | None:
        """The state that was saved last; None if none ever was; InputError if it is lost, damaged, or another run's."""
        if not self.path.is_file() and self.part not in self._known():
            return None
        return load_tensors(self.path, self.config)

    def _known(self) -> dict[str, int]:
        known = read_json(self.index) if self.index.is_file() else {}
        if not isinstance(known, dict):
            raise InputError(f"{self.index}: expected a JSON object that names the checkpoints, found {known!r}")
        return known
