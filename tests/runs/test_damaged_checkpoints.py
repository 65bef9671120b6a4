"""A checkpoint comes back bit for bit, or the error says in one line why it does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.runs import RunFolder
from lengthwise.runs.checkpoints import Checkpoints
from lengthwise.runs.tensors import load_tensors, save_tensors

TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.uint8]


def every_kind() -> dict[str, Tensor]:
    tensors = {str(dtype): (torch.arange(6).view(2, 3) % 2).to(dtype) for dtype in TYPES}
    strange = torch.tensor([float("nan"), float("inf"), -0.0, 1e-45])
    odd = {"strange": strange, "number": torch.tensor(3), "empty": torch.zeros(0, 4), "view": torch.eye(4)[:, 1:3]}
    return {**tensors, **odd}


def small() -> dict[str, Tensor]:
    return {"weights": torch.tensor([[1.5, -2.0]]), "step": torch.tensor(7)}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return save_tensors(tmp_path / "c.safetensors", small(), config="mine")


def refused(path: Path, config: str | None = "mine") -> str:
    with pytest.raises(InputError) as caught:
        load_tensors(path, config)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_every_kind_of_tensor_comes_back_bit_for_bit(tmp_path: Path) -> None:
    tensors = every_kind()
    again = load_tensors(save_tensors(tmp_path / "x.safetensors", tensors, "c"), "c")
    assert again.keys() == tensors.keys()
    for name, value in tensors.items():
        assert again[name].dtype == value.dtype
        assert again[name].shape == value.shape
        assert again[name].flatten().view(torch.uint8).tolist() == value.flatten().view(torch.uint8).tolist()


def test_tensors_that_share_memory_are_written_apart(tmp_path: Path) -> None:
    whole = torch.arange(4.0)
    again = load_tensors(save_tensors(tmp_path / "x", {"a": whole, "b": whole[1:3], "c": whole}, "c"), "c")
    again["a"].zero_()
    assert again["b"].tolist() == [1, 2]
    assert again["c"].tolist() == [0, 1, 2, 3]


def test_a_missing_one_is_told(tmp_path: Path) -> None:
    assert "missing" in refused(tmp_path / "nothing.safetensors")


def test_a_truncated_one_is_told_wherever_it_ends(checkpoint: Path) -> None:
    whole = checkpoint.read_bytes()
    for length in range(len(whole)):
        checkpoint.write_bytes(whole[:length])
        assert "damaged" in refused(checkpoint)


def test_one_of_another_run_is_told(checkpoint: Path) -> None:
    assert "another run" in refused(checkpoint, config="yours")
    assert load_tensors(checkpoint, config=None).keys() == small().keys()


FOREIGN = [b"", b"PK\x03\x04", b"\x80\x04K\x01.", b"{}", b"\xff" * 64, b"\x00" * 64]


@pytest.mark.parametrize("content", FOREIGN, ids=repr)
def test_a_file_of_another_kind_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign.safetensors"
    path.write_bytes(content)
    refused(path)


def test_a_folder_is_no_checkpoint(tmp_path: Path) -> None:
    refused(tmp_path)


def test_one_that_others_wrote_is_told(tmp_path: Path) -> None:
    save_file(small(), tmp_path / "theirs.safetensors")
    refused(tmp_path / "theirs.safetensors")
    refused(tmp_path / "theirs.safetensors", config=None)


def test_a_flipped_bit_is_told_wherever_it_is(checkpoint: Path) -> None:
    """Two bits of every byte; a flip in the padding of the header may pass, if the content is whole."""
    whole = checkpoint.read_bytes()
    passed = []
    for place in range(len(whole)):
        for bit in (place % 8, (place + 5) % 8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            checkpoint.write_bytes(damaged)
            try:
                found = load_tensors(checkpoint, "mine")
            except InputError as error:
                assert "\n" not in str(error)  # noqa: PT017 - hundreds of flips in one test
            else:
                passed.append(place)
                assert found.keys() == small().keys()
                assert all(torch.equal(found[name], value) for name, value in small().items())
    assert len(passed) < 20


@pytest.mark.parametrize("change", [lambda x: x.view(torch.int32), lambda x: x.view(2, 1)], ids=["type", "shape"])
def test_the_same_bytes_as_other_numbers_are_told(checkpoint: Path, change: Callable[[Tensor], Tensor]) -> None:
    with safe_open(checkpoint, framework="pt") as file:
        metadata = file.metadata()
    save_file({**small(), "weights": change(small()["weights"])}, checkpoint, metadata=metadata)
    assert "digest" in refused(checkpoint)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.open(tmp_path / "run", {"experiment": "x", "seed": 0}, resume=False)


def test_the_latest_state_of_each_part_is_found_again(folder: RunFolder) -> None:
    parts = {name: Checkpoints(folder, name) for name in ("one", "two")}
    assert parts["one"].load() is None
    parts["one"].save({"w": torch.zeros(2)}, 1)
    assert parts["two"].load() is None
    parts["two"].save({"w": torch.full((2,), 2.0)}, 5)
    parts["one"].save({"w": torch.ones(2)}, 2)
    for name, value in (("one", 1.0), ("two", 2.0)):
        state = Checkpoints(RunFolder.existing(folder.path), name).load()
        assert state is not None
        assert state["w"].tolist() == [value, value]


def test_a_lost_checkpoint_is_an_error_and_not_a_fresh_start(folder: RunFolder) -> None:
    parts = [Checkpoints(folder, name) for name in ("one", "two")]
    for part in parts:
        part.save(small(), 1)
    for part in parts:
        part.path.unlink()
        with pytest.raises(InputError, match="missing"):
            part.load()


def test_a_checkpoint_without_its_index_is_still_found(folder: RunFolder) -> None:
    """A kill between the two writes leaves a checkpoint that the index does not know yet."""
    checkpoints = Checkpoints(folder, "one")
    checkpoints.save(small(), 1)
    checkpoints.index.unlink()
    assert checkpoints.load() is not None


def test_a_checkpoint_of_another_configuration_is_refused(folder: RunFolder, tmp_path: Path) -> None:
    other = RunFolder.open(tmp_path / "other", {"experiment": "x", "seed": 1}, resume=False)
    mine, theirs = Checkpoints(folder, "one"), Checkpoints(other, "one")
    theirs.save(small(), 1)
    mine.path.parent.mkdir()
    mine.path.write_bytes(theirs.path.read_bytes())
    with pytest.raises(InputError, match="another run"):
        mine.load()


@pytest.mark.parametrize("text", ["{", *(t for t in ("[]", "3", '"one"'))])
def test_a_damaged_index_is_told(folder: RunFolder, text: str) -> None:
    checkpoints = Checkpoints(folder, "one")
    checkpoints.save(small(), 1)
    checkpoints.path.unlink()
    checkpoints.index.write_text(text)
    with pytest.raises(InputError) as caught:
        checkpoints.load()
    assert "index.json" in str(caught.value)
