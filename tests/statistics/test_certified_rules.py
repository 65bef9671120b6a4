"""Rules on certified values: they hold or fail if all is proved, and are undecided where nothing is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from pydantic import TypeAdapter

from lengthwise.statistics import Arm, Check, Exact, Rule, Verdict

INF = np.inf


def curve(value: Callable[[str, int, int], float], split: str = "all") -> pl.DataFrame:
    """Of variant, replicate and length."""
    rows = [
        {"variant": v, "replicate": r, "length": s, "value": value(v, r, s)}
        for v in ("plain", "better")
        for r in range(8)
        for s in (1, 2, 4, 8)
    ]
    same = {"weights": "raw", "step": 100, "metric": "tv", "split": split}
    return pl.DataFrame(rows).with_columns(pl.lit(x).alias(name) for name, x in same.items())


def check(**changes) -> Check:
    fields = {"arm": Arm(variant="plain"), "metric": "tv", "lengths": (2, 8), "low": (2.0, 8.0), "high": (2.5, 9.0)}
    return Check(**{**fields, **changes})


def exact(*checks: Check) -> Exact:
    return Exact(summary="values are as they should be", checks=checks)


@pytest.mark.parametrize(
    ("shift", "decision", "outside"),
    [(0.0, "holds", 0.0), (0.5, "holds", 0.0), (0.7, "fails", 0.2), (-0.1, "fails", 0.1), (-1e-10, "holds", 1e-10)],
)
def test_certified_values_lie_within_their_bounds_or_do_not(shift: float, decision: str, outside: float) -> None:
    """Every replicate, at every length: the worst of them decides."""
    verdict = exact(check()).decide(curve(lambda v, r, s: s + shift * (r == 3)))
    assert verdict.decision == decision
    assert verdict.parts[0].n == 16
    assert verdict.parts[0].effect == pytest.approx(outside, abs=1e-12)


def test_samples_are_no_certificates() -> None:
    verdict = exact(check()).decide(curve(lambda v, r, s: float(s), split="random"))
    assert (verdict.decision, verdict.parts[0].n) == ("undecided", 0)


def some(lost: tuple[int, int] | None) -> pl.DataFrame:
    """Two of eight replicates are certified, but for one length of one of them."""
    return curve(lambda v, r, s: float(s) if r < 2 and (r, s) != lost else float("nan"))


def test_only_some_replicates_need_be_certified_but_those_at_every_length() -> None:
    verdict = exact(check()).decide(some(None))
    assert (verdict.decision, verdict.parts[0].n) == ("holds", 4)
    assert exact(check()).decide(some((1, 8))).decision == "fails"


def test_every_check_must_hold() -> None:
    table = curve(lambda v, r, s: float(s + (v == "better")))
    good, bad = check(), check(arm=Arm(variant="better"), high=(2.9, 9.0))
    unknown = check(metric="kl")
    for checks, decision in (((good, good), "holds"), ((good, bad), "fails"), ((good, unknown), "undecided")):
        assert exact(*checks).decide(table).decision == decision


def test_a_property_of_the_whole_model_has_no_length() -> None:
    table = curve(lambda v, r, s: 7.0).filter(length=1).with_columns(length=pl.lit(None, pl.Int64))
    for high, decision in ((7.0, "holds"), (6.0, "fails")):
        assert exact(check(lengths=(None,), low=(-INF,), high=(high,))).decide(table).decision == decision


@pytest.mark.parametrize("low", [(2.0, 8.0), (-INF, 8.0)], ids=str)
def test_certified_rules_are_stored_and_read_back(low: tuple[float, ...]) -> None:
    rule = exact(check(low=low))
    assert "values are as they should be" in rule.says
    assert TypeAdapter(Rule).validate_json(rule.model_dump_json()) == rule


@pytest.mark.parametrize("lost", [None, (1, 8)], ids=str)
def test_their_verdicts_are_stored_and_read_back(lost: tuple[int, int] | None) -> None:
    verdict = exact(check()).decide(some(lost))
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
