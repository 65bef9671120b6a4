"""Averages refuse impossible numbers, and their names tell them apart."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from lengthwise import BEMA, EMA


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        (EMA, {"decay": 1.01}),
        (EMA, {"decay": -0.1}),
        (EMA, {"every": 0}),
        (EMA, {"dacay": 0.9}),
        (BEMA, {"gamma": 0}),
        (BEMA, {"variant": "other"}),
        (BEMA, {"burn_in": -1}),
        (BEMA, {"kappa": -1}),
    ],
    ids=str,
)
def test_impossible_numbers_are_refused(kind: Any, bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(bad))):
        kind(**bad)


def test_names_tell_averages_apart() -> None:
    specs = [
        EMA(),
        EMA(decay=0.999),
        EMA(warmup=False),
        EMA(every=10),
        BEMA(),
        BEMA(variant="reference"),
        BEMA(eta=0.5),
    ]
    assert specs[0].name == "ema@0.99"
    assert [specs[4].name, specs[5].name] == ["bema", "bema-reference"]
    assert len({spec.name for spec in specs}) == len(specs)
