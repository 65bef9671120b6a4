"""Effects: found with the right sign and size where they are, called no more often than said where they are not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import rankdata

from lengthwise.search import SEARCHES
from lengthwise.search.analysis import ALL, FIFTH, Analysis, marks, metric_of, trained_lengths
from lengthwise.search.blocks import settings_table
from lengthwise.search.folder import trials_table
from lengthwise.search.smoothing import smooth
from lengthwise.statistics.effects import holm, interaction_effect, mean_effect, rank_effect, slope_effect
from lengthwise.statistics.searched import PairedInSearch, SlopeInSearch, Trials

MOST_FALSE_CALLS = 27
"""Of 200: a test at the level 5% exceeds it less than once in a million."""
SLOPE, GAIN, POST = 0.4, -0.1, -0.2


def grouped(blocks: int, size: int, seed: int, shared: float = 1.0):
    """Blocks of trials whose errors share a part: data and initial weights."""
    rng = np.random.default_rng(seed)
    at = np.repeat(np.arange(blocks), size)
    return rng, at, shared * rng.normal(size=blocks)[at] + rng.normal(size=len(at))


def spearman(x, y):
    """Pearson's correlation of ranks."""
    return np.corrcoef(rankdata(x), rankdata(y))[0, 1]


def test_estimates_are_the_textbook_ones():
    rng, at, y = grouped(9, 7, 0)
    x = rng.random(63)
    assert mean_effect(y, at).effect == pytest.approx(y.mean())
    assert slope_effect(x, y, at).effect == pytest.approx(np.polyfit(x, y, 1)[0])
    assert rank_effect(x, y, at).effect == pytest.approx(spearman(x, y))
    group = rng.random(63) < 0.5
    by_hand = np.polyfit(x[group], y[group], 1)[0] - np.polyfit(x[~group], y[~group], 1)[0]
    assert interaction_effect(x, y, group, ~group, at).effect == pytest.approx(by_hand)
    parts = [spearman(x[at % 2 == k], y[at % 2 == k]) for k in (0, 1)]
    assert rank_effect(x, y, at, at % 2).effect == pytest.approx(np.average(parts, weights=[35, 28]))
    dummies = np.eye(3)[at % 3]
    full = np.linalg.lstsq(np.column_stack([x, dummies]), y, rcond=None)[0][0]
    assert slope_effect(x, y, at, strata=at % 3).effect == pytest.approx(full)


def test_p_values_and_intervals_agree_and_few_blocks_give_none():
    for seed in range(30):
        rng, at, y = grouped(8, 5, seed, shared=0.2)
        found = slope_effect(rng.random(40), y, at, resamples=499)
        assert found.p is not None
        assert found.low is not None
        assert found.high is not None
        assert (found.p <= 0.05) == (found.low > 0 or found.high < 0)
    few = mean_effect(np.arange(8.0), np.arange(8) // 2)
    assert (few.effect, few.low, few.p) == (3.5, None, None)
    assert mean_effect(np.array([np.nan]), [0]).effect is None


def test_failed_trials_rank_last_and_are_left_out_of_slopes():
    x, y = np.arange(12.0), np.arange(12.0)
    y[11] = np.inf
    assert rank_effect(x, y, np.arange(12)).effect == pytest.approx(1.0)
    assert slope_effect(x, y, np.arange(12)).n == 11


def test_holm_is_the_step_down_procedure():
    p = np.array([0.01, 0.012, 0.9, 0.03])
    assert holm(p) == pytest.approx([0.04, 0.04, 0.9, 0.06])
    assert (holm(p) >= p).all()


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["mean", "slope", "rank", "difference of blocks", "interaction"])
@pytest.mark.parametrize(("blocks", "size"), [(8, 6), (22, 12)])
def test_a_null_is_called_an_effect_no_more_often_than_said(kind, blocks, size):
    calls = 0
    for seed in range(200):
        rng, at, y = grouped(blocks, size, seed)
        x, n = rng.random(len(y)), 399
        if kind == "mean":
            found = mean_effect(y, at, n)
        elif kind == "slope":
            found = slope_effect(x, y, at, at % 2, n)
        elif kind == "rank":
            found = rank_effect(x, y, at, at % 2, n)
        elif kind == "difference of blocks":
            found = slope_effect((rng.permutation(blocks) % 2)[at].astype(float), y, at, resamples=n)
        else:
            found = interaction_effect(x, y, at % 2 == 0, at % 2 == 1, at, at, n)
        calls += found.p is not None and found.p <= 0.05
    assert calls <= MOST_FALSE_CALLS


def constructed(seed: int, effect: bool, trials: int = 128) -> Analysis:
    """A search of the set complement whose errors are made up: with known effects, or with none at all.

    Raw error falls in blocks that share a part; EMA differs from raw by GAIN, post-norm from none by POST, and
    attention dropout adds SLOPE times its rate.
    """
    search = SEARCHES["set-complement"].changed(trials=trials, seed=seed, block=8)
    rng, rows = np.random.default_rng(seed), {}
    blocks = COMPOSITION.setdefault(seed, _blocks(search))
    table = settings_table(search, blocks)
    shared = rng.normal(size=len(blocks)) * 0.05
    for row in table:
        raw = 0.5 + shared[row["block"]] + 0.05 * rng.normal(size=len(search.experiment.lengths))
        if effect:
            raw = raw + SLOPE * row.get("model.attention_dropout", 0.0) + POST * (row["model.norm"] == "post")
        for weights in ("raw", "ema", "bema"):
            gain = GAIN if effect and weights == "ema" else 0.0
            rows[row["trial"], weights] = raw + gain + 0.02 * rng.normal(size=len(raw)) * (weights != "raw")
    lengths = search.experiment.lengths
    long = [
        (trial, weights, length, metric, float(value), None)
        for (trial, weights), values in rows.items()
        for metric in ("tv", "tv_matched")
        for length, value in zip(lengths, values, strict=True)
    ]
    columns = ["trial", "weights", "length", "metric", "value", "failed_at"]
    curve = pl.DataFrame(long, schema=columns, orient="row", schema_overrides={"failed_at": pl.Int64})
    return Analysis(search, Trials(trials_table(search, blocks, curve), curve.drop("failed_at")), resamples=999)


COMPOSITION: dict[int, list] = {}


def _blocks(search):
    from lengthwise.search import blocks_of

    return blocks_of(search)


def test_known_effects_of_a_constructed_search_are_found_with_sign_and_size():
    analysis = constructed(seed=3, effect=True)
    found = analysis.table().filter(among=ALL, scale="as is", length=15)

    def row(**keys):
        (only,) = found.filter(**keys).iter_rows(named=True)
        return only

    ema = row(family="averages", weights="ema")
    assert ema["effect"] == pytest.approx(GAIN, abs=0.01)
    assert ema["high"] < 0
    assert ema["p_holm"] < 0.05
    assert row(family="averages", weights="bema")["p_holm"] > 0.05
    post = row(family="settings", weights="raw", contrast="post minus none")
    assert post["effect"] == pytest.approx(POST, abs=0.06)
    assert post["high"] < 0
    assert row(family="settings", weights="raw", setting="model.attention_dropout")["effect"] > 0.2
    slope = SlopeInSearch(metric="tv", lengths=(15,), settings=("model.attention_dropout",))
    (part,) = slope.decide(analysis.trials).parts
    assert part.effect == pytest.approx(SLOPE, abs=0.15)
    assert part.low is not None
    assert part.low > 0
    assert part.decision == "fails"  # the rule claims that the slope is negative
    paired = PairedInSearch(metric="tv", lengths=(1, 15), better="ema").decide(analysis.trials)
    assert paired.decision == "holds"
    assert paired.parts[0].matched is not None


@pytest.mark.statistical
def test_a_search_without_effects_calls_none_after_the_correction_and_few_before():
    calls = family = 0
    for seed in range(3):
        table = constructed(seed, effect=False).table().filter(among=ALL)
        p = table.filter(family="settings", length=15, scale="as is", weights="raw")["p"].drop_nulls().to_numpy()
        calls, family = calls + int((p <= 0.05).sum()), family + len(p)
        assert table["p_holm"].drop_nulls().min() > 1e-3  # type: ignore[operator]
    assert calls <= 0.3 * family


@pytest.mark.slow
@pytest.mark.statistical
def test_a_null_search_is_called_an_effect_in_no_more_than_27_of_200():
    calls = {"averages": 0, "settings": 0}
    for seed in range(200):
        analysis = constructed(seed, effect=False, trials=64)
        trials = analysis.trials
        ema = PairedInSearch(metric="tv", lengths=(15,), better="ema").decide(trials)
        calls["averages"] += ema.decision != "undecided"
        rule = SlopeInSearch(metric="tv", lengths=(15,), settings=("plan.phases.0.rates.all",)).decide(trials)
        calls["settings"] += rule.decision != "undecided"
    assert max(calls.values()) <= MOST_FALSE_CALLS


def test_the_best_fifth_is_chosen_at_trained_lengths_alone():
    analysis = constructed(seed=1, effect=True)
    chosen = analysis.among()[FIFTH]
    score = np.mean([analysis.trials.values("raw", "tv", s) for s in (1, 4, 8)], axis=0)
    assert chosen.sum() == 128 // 5
    assert score[chosen].max() <= score[~chosen].min()
    assert (marks(analysis.search), trained_lengths(analysis.search)) == ([1, 8, 15], [1, 4, 8])
    assert metric_of(SEARCHES["lag"]) == "accuracy"


@pytest.mark.statistical
def test_a_smooth_curve_follows_and_its_band_covers_the_truth():
    covered = []
    for seed in range(20):
        rng, at, noise = grouped(20, 10, seed, shared=0.5)
        x = rng.random(200)
        curve = smooth(x, np.sin(3 * x) + 0.1 * noise, at)
        assert curve is not None
        truth = np.sin(3 * curve.x)
        assert np.abs(curve.y - truth).max() < 0.2
        covered.append(((curve.low <= truth) & (truth <= curve.high))[3:-3].mean())
    assert np.mean(covered) > 0.8
    assert smooth(np.ones(30), np.arange(30.0), np.arange(30)) is None
