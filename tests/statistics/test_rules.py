"""Rules hold, fail, or stay undecided on curves whose effect is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from lengthwise.statistics import Arm, Paired, Rule, Slope, Verdict, mean_interval, replicate_values

Value = Callable[[str, str, int, int], float]
"""Of variant, weights, replicate and length."""


def curve(
    value: Value,
    replicates: int = 8,
    metrics: tuple[str, ...] = ("tv",),
    steps: tuple[int, ...] = (100,),
    weights: tuple[str, ...] = ("raw",),
) -> pl.DataFrame:
    rows = [
        {"variant": v, "replicate": r, "weights": w, "step": t, "length": s, "metric": m, "value": value(v, w, r, s)}
        for m in metrics for t in steps for v in ("plain", "better", "third") for w in weights
        for r in range(replicates) for s in (1, 2, 4, 8)
    ]  # fmt: skip
    return pl.DataFrame(rows).with_columns(split=pl.lit("random"))


def luck(replicate: int, *more: object) -> float:
    """A number for each replicate, shared by its variants; and smaller ones of their own."""
    shared = np.random.default_rng(replicate).normal()
    return shared + 0.01 * np.random.default_rng([replicate, *map(ord, "".join(map(str, more)))]).normal()


def shifted(**effects: float) -> Value:
    return lambda v, w, r, s: luck(r, v, w, s) + effects.get(v, 0.0)


def paired(**changes) -> Paired:
    fields = {"metric": "tv", "lengths": (8,), "better": Arm(variant="better"), "than": (Arm(variant="plain"),)}
    return Paired(**{**fields, **changes})


@pytest.mark.parametrize(
    ("direction", "effect", "decision"),
    [("less", -0.1, "holds"), ("less", 0.1, "fails"), ("greater", 0.1, "holds"), ("greater", -0.1, "fails")],
)
def test_a_known_effect_holds_or_fails(direction: str, effect: float, decision: str) -> None:
    verdict = paired(direction=direction).decide(curve(shifted(better=effect)))
    (part,) = verdict.parts
    assert verdict.decision == part.decision == decision
    assert part.effect == pytest.approx(effect, abs=0.02)
    assert part.n == 8
    assert part.failed == 0
    assert part.low is not None
    assert part.high is not None
    assert part.low < effect < part.high


def test_no_effect_is_undecided() -> None:
    noise = lambda v, w, r, s: (v == "better") * np.random.default_rng(r).normal() + luck(r)  # noqa: E731
    assert paired().decide(curve(noise)).decision == "undecided"
    assert paired().decide(curve(lambda v, w, r, s: luck(r))).decision == "undecided"  # differences of exactly 0


@pytest.mark.statistical
@pytest.mark.parametrize("direction", ["less", "greater"])
def test_a_null_effect_is_found_in_no_more_than_27_of_200_repetitions(direction: str) -> None:
    random, found = np.random.default_rng(4), 0
    for _ in range(200):
        noise = random.normal(size=(2, 8))
        rule = paired(direction=direction)
        decided = rule.decide(curve(lambda v, w, r, s, x=noise: x[int(v == "better"), r]))
        found += decided.decision in ("holds", "fails")
    assert 1 <= found <= 27


def test_pairs_are_within_replicates() -> None:
    """Replicates differ a hundred times as much as variants do: unpaired, nothing would be found."""
    table = curve(shifted(better=-0.05))
    (part,) = paired().decide(table).parts
    assert part.decision == "holds"
    assert part.high is not None
    assert part.low is not None
    assert part.high - part.low < 0.05
    assert np.std(table.filter(variant="plain")["value"].to_numpy()) > 0.5


@given(st.integers(0, 2**31))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    table = curve(shifted(better=-0.05), weights=("raw", "bema"), steps=(50, 100))
    shuffled = table.sample(fraction=1, shuffle=True, seed=seed)
    for rule in (paired(), slope()):
        assert rule.decide(shuffled) == rule.decide(table)


def test_only_the_last_step_counts() -> None:
    early, late = (curve(shifted(better=x), steps=(t,)) for x, t in ((+0.5, 50), (-0.5, 100)))
    assert paired().decide(pl.concat([late, early])).decision == "holds"


def test_the_last_step_is_each_variant_s_own() -> None:
    """A variant may train for fewer steps than the others."""
    table = curve(shifted(better=-0.1), steps=(50, 100))
    table = table.filter((pl.col("variant") != "better") | (pl.col("step") == 50))
    assert paired().decide(table).decision == "holds"


@pytest.mark.parametrize("missing", [float("nan"), None, float("inf")])
def test_failed_models_are_counted_and_left_out(missing: float | None) -> None:
    failed = {("better", 2), ("plain", 5), ("better", 5), ("third", 0)}
    table = curve(shifted(better=-0.1)).with_columns(
        value=pl.struct("variant", "replicate", "value").map_elements(
            lambda x: missing if (x["variant"], x["replicate"]) in failed else x["value"], return_dtype=pl.Float64
        )
    )
    (part,) = paired().decide(table).parts
    assert (part.n, part.failed, part.decision) == (6, 2, "holds")
    pairs = [luck(r, "better", "raw", 8) - 0.1 - luck(r, "plain", "raw", 8) for r in range(8) if r not in (2, 5)]
    assert part.effect == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize("replicates", [1, 2, 4])
def test_a_handful_of_replicates_decides_nothing(replicates: int) -> None:
    verdict = paired().decide(curve(shifted(better=-5.0), replicates))
    assert verdict.decision == "undecided"
    assert verdict.parts[0].low is None
    assert slope().decide(curve(falling(1.0), replicates)).decision == "undecided"


def test_all_parts_must_hold_and_one_failure_fails() -> None:
    both = (Arm(variant="plain"), Arm(variant="third"))
    for third, decision in ((0.0, "holds"), (-0.1, "undecided"), (-0.3, "fails")):
        table = curve(lambda v, w, r, s, x=third: _third(v, w, r, s, x))
        verdict = paired(than=both).decide(table)
        assert verdict.decision == decision
        assert [part.label for part in verdict.parts] == [
            "[better] minus [plain], tv at 8",
            "[better] minus [third], tv at 8",
        ]
        weakest = verdict.weakest
        assert weakest is not None
        assert weakest.decision == decision


def _third(v: str, w: str, r: int, s: int, effect: float) -> float:
    """`third` differs from plain by an effect; where it equals better's, noise is symmetric about it."""
    base = luck(r, "shared")
    return base + {"better": -0.1, "plain": 0.0, "third": effect}[v] + 0.01 * (-1) ** r * (v == "third")


def test_every_length_must_hold() -> None:
    far_only = lambda v, w, r, s: luck(r, v, s) - 0.5 * (v == "better") * (s == 8) + 0.5 * (v == "better") * (s == 1)  # noqa: E731
    assert paired(lengths=(8,)).decide(curve(far_only)).decision == "holds"
    assert paired(lengths=(8, 1)).decide(curve(far_only)).decision == "fails"


def test_averaged_weights_are_an_arm_of_their_own() -> None:
    value = lambda v, w, r, s: luck(r, v, w, s) - 0.2 * (w == "bema")  # noqa: E731
    rule = paired(better=Arm(variant="plain", weights="bema"))
    verdict = rule.decide(curve(value, weights=("raw", "bema")))
    assert verdict.decision == "holds"
    assert verdict.parts[0].label == "[plain, bema] minus [plain], tv at 8"


def test_the_scale_matched_contrast_stands_beside_and_does_not_decide() -> None:
    as_is, matched = curve(shifted(better=-0.1)), curve(shifted(better=+0.3), metrics=("tv_matched",))
    verdict = paired().decide(pl.concat([as_is, matched]))
    (part,) = verdict.parts
    assert verdict.decision == "holds"
    pairs = np.array([luck(r, "better", "raw", 8) + 0.3 - luck(r, "plain", "raw", 8) for r in range(8)])
    interval = mean_interval(pairs)
    assert part.matched == pytest.approx((interval.effect, interval.low, interval.high))
    assert paired().decide(as_is).parts[0].matched is None


def falling(power: float, noise: float = 0.02) -> Value:
    return lambda v, w, r, s: 10 * s**-power * np.exp(noise * luck(r, s))


def slope(**changes) -> Slope:
    fields = {"metric": "tv", "lengths": (1, 2, 4, 8), "arm": Arm(variant="plain"), "inside": (-1.1, -0.9)}
    return Slope(**{**fields, **changes})


@pytest.mark.parametrize(("power", "decision"), [(1.0, "holds"), (0.8, "fails"), (1.3, "fails"), (0.9, "undecided")])
def test_a_known_slope(power: float, decision: str) -> None:
    verdict = slope().decide(curve(falling(power)))
    (part,) = verdict.parts
    assert verdict.decision == decision
    assert part.effect == pytest.approx(-power, abs=0.02)
    assert (part.n, part.failed) == (8, 0)


def test_a_wide_interval_is_undecided() -> None:
    wild = lambda v, w, r, s: s**-1.0 * np.exp(0.3 * np.random.default_rng([r, s]).normal())  # noqa: E731
    assert slope().decide(curve(wild)).decision == "undecided"


def test_a_replicate_without_a_slope_is_counted_as_failed() -> None:
    bad = lambda v, w, r, s: -1.0 if (r, s) == (3, 4) else falling(1.0)(v, w, r, s)  # noqa: E731
    (part,) = slope().decide(curve(bad)).parts
    assert (part.n, part.failed, part.decision) == (7, 1, "holds")


def test_nothing_measured_is_undecided_and_counted() -> None:
    for rule in (paired(metric="kl"), slope(metric="kl")):
        verdict = rule.decide(curve(shifted()))
        assert verdict.decision == "undecided"
        assert (verdict.parts[0].n, verdict.parts[0].failed, verdict.parts[0].effect) == (0, 8, None)
        assert verdict.weakest is None


def test_values_are_by_replicate_and_length_in_order() -> None:
    table = curve(lambda v, w, r, s: 100 * r + s).sample(fraction=1, shuffle=True, seed=1)
    values = replicate_values(table, Arm(variant="plain"), "tv", [8, 1])
    assert values.tolist() == [[100 * r + 8, 100 * r + 1] for r in range(8)]
    gone = table.filter(~((pl.col("replicate") == 2) & (pl.col("variant") == "plain")))
    assert np.isnan(replicate_values(gone, Arm(variant="plain"), "tv", [8, 1])[2]).all()


@pytest.mark.parametrize("rule", [paired(), paired(direction="greater", lengths=(1, 8)), slope()], ids=lambda r: r.kind)
def test_rules_are_stored_before_the_run_and_read_back(rule: Rule) -> None:
    assert TypeAdapter(Rule).validate_json(rule.model_dump_json()) == rule
    assert all(f"[{arm}]" in rule.says for arm in rule.arms)
    verdict = rule.decide(curve(shifted(better=-0.1)))
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


@pytest.mark.parametrize(
    "bad",
    [
        {"direction": "lower"},
        {"level": 0.9},
        {"than": ()},
        {"lengths": ()},
    ],
    ids=str,
)
def test_a_rule_that_says_nothing_is_refused(bad: dict) -> None:
    with pytest.raises(ValidationError, match=next(iter(bad))):
        paired(**bad)


def test_a_slope_outside_its_own_range_is_refused() -> None:
    for bad in ({"inside": (-0.9, -1.1)}, {"lengths": (1,)}):
        with pytest.raises(ValidationError):
            slope(**bad)
