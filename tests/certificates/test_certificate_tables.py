"""Tables: the plain evaluation, the weights' tables, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from lengthwise.certificates.tables import Tables, Weights, load_tables
from lengthwise.errors import InputError


def test_tables_are_the_transformer() -> None:
    draw = np.random.default_rng(0)
    weights = Weights(*(draw.normal(size=shape) for shape in [(6, 4), (4, 3), (4, 3), (4, 5), (5, 4), (4, 6)]))
    for tokens in ([2], [5, 1], [0, 4, 3, 1]):
        x = weights.E[tokens]
        scores = np.array([(x[-1] @ weights.W_Q) @ (key @ weights.W_K) / 3**0.5 for key in x])
        attention = np.exp(scores) / np.exp(scores).sum()
        state = x[-1] + sum(a * key @ weights.W_V @ weights.W_O for a, key in zip(attention, x, strict=True))
        assert weights.tables().logits(tokens) == pytest.approx(state @ weights.U)


def test_many_inputs_at_once_are_single_inputs() -> None:
    draw = np.random.default_rng(1)
    tables = Tables(*(300 * draw.normal(size=(5, 5)) for _ in range(3)))
    orders = np.array([draw.permutation(5)[:3] for _ in range(20)])
    member = np.zeros((20, 5), dtype=bool)
    np.put_along_axis(member, orders, True, axis=1)
    together = tables.logits_of_sets(member, orders[:, -1])
    assert together == pytest.approx(np.array([tables.logits(order) for order in orders]))


def test_a_file_gives_its_tables(tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    saved = {name: draw.normal(size=(4, 4)).astype(np.float32) for name in "SBD"}
    save_file(saved, tmp_path / "tables.safetensors")
    tables = load_tables(tmp_path / "tables.safetensors")
    assert all(np.array_equal(getattr(tables, name), saved[name]) for name in "SBD")
    assert tables.S.dtype == np.float64
    assert not tables.S.flags.writeable


ONES = np.ones((3, 3))
HOLE = np.where(np.arange(9).reshape(3, 3) == 5, np.nan, 1.0)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ((np.ones((3, 4)), ONES, ONES), r"table S has shape \(3, 4\): expected \(v, v\) with v >= 2"),
        ((ONES, ONES, np.ones(3)), r"table D has shape \(3,\): expected \(v, v\) with v >= 2"),
        ((np.ones((1, 1)),) * 3, r"table S has shape \(1, 1\): expected \(v, v\) with v >= 2"),
        ((ONES, np.ones((4, 4)), ONES), r"table B has shape \(4, 4\): expected \(3, 3\) like S"),
        ((ONES, HOLE, ONES), r"table B\[1, 2\] is nan: expected a finite number"),
        ((ONES, ONES, HOLE * np.inf), r"table D\[0, 0\] is inf: expected a finite number"),
        ((ONES, ONES, 1e101 * ONES), r"table D\[0, 0\] is 1e\+101: expected a magnitude up to 1e\+100"),
        ((20_000 * np.eye(3), ONES, ONES), r"row 0 of table S spreads over 20000: expected at most 10000"),
        ((np.full((3, 3), "x"), ONES, ONES), r"table S holds <U1: expected floating-point numbers"),
    ],
)
def test_bad_tables_are_refused(tables: tuple[np.ndarray, ...], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}$"):
        Tables(*tables)


def test_bad_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.safetensors"
    path.write_text("S, B, D")
    with pytest.raises(InputError, match=r"bad\.safetensors: expected a safetensors file of float tensors \("):
        load_tables(path)
    with pytest.raises(InputError, match=r": expected a safetensors file of float tensors \("):
        load_tables(tmp_path)
    save_file({"S": ONES, "D": ONES}, path)
    with pytest.raises(InputError, match=r": no table B: expected tensors S, B and D, found D, S$"):
        load_tables(path)
    save_file({"S": ONES, "B": HOLE, "D": ONES}, path)
    with pytest.raises(InputError, match=r"bad\.safetensors: table B\[1, 2\] is nan: expected a finite number$"):
        load_tables(path)


@pytest.mark.parametrize("tokens", [[], [1, 1], [3], [-1]])
def test_bad_inputs_are_refused(tokens: list[int]) -> None:
    with pytest.raises(InputError, match=r"expected distinct tokens of 0\.\.2, at least one$"):
        Tables(ONES, ONES, ONES).logits(tokens)
