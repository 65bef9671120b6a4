"""The theory experiment: constructions are proved, narrow models cannot go far, and the page shows it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from lengthwise import run
from lengthwise.experiments import EXPERIMENTS, Start, with_settings
from lengthwise.experiments.certifying import certify_model, tables_at
from lengthwise.models import MinimalTransformer
from lengthwise.reports import write_page


@pytest.fixture(scope="module")
def theory(tmp_path_factory):
    """The experiment with few steps, and its page."""
    few = {
        "plan.phases.0.steps": 20,
        "replicates": 1,
        "measuring.inputs": 16,
        "measuring.certified": 1,
        "measuring.along": 1,
    }
    found = run(with_settings(EXPERIMENTS["theory"], few), tmp_path_factory.mktemp("theory"))
    write_page(found.folder.path)
    return found


def test_both_claims_hold_however_little_is_trained(theory):
    """They rest on proofs and on a law that binds every readout, trained or not."""
    claims = json.loads((theory.folder.path / "claims.json").read_text())
    assert {c["id"]: c["decision"] for c in claims} == {"sc.dimensions": "holds", "sc.balance": "holds"}


def test_certified_rows_count_every_input(theory):
    proved = theory.curve.filter(split="all", metric="worst_displacement", variant="counterexample")
    assert proved.sort("length")["n"].to_list() == [8, 56, 168, 280, 280, 168, 56]
    assert proved.sort("length")["value"].to_list() == pytest.approx([1, 0.5, 0.2, 0, -1 / 7, -0.25, -1 / 3], abs=1e-6)


def test_what_is_proved_is_never_above_what_is_sampled(theory):
    keys = ["variant", "replicate", "weights", "length", "step"]
    rows = theory.curve.filter(metric="worst_displacement")
    both = rows.filter(split="all").join(rows.filter(split="random"), on=keys, suffix="_sampled")
    assert len(both) > 100
    assert (both["value"] <= both["value_sampled"] + 1e-4).all()


def test_error_is_never_above_the_bound(theory):
    keys = ["variant", "replicate", "weights", "length", "step"]
    bound = theory.curve.filter(metric="tv_bound")
    both = bound.join(theory.curve.filter(metric="tv"), on=keys, suffix="_sampled")
    assert len(both) > 100
    assert (both["value_sampled"] <= both["value"] + 1e-5).all()


def test_the_page_shows_reach_worst_cases_and_growth(theory):
    page, folder = (theory.folder.path / "index.html").read_text(), theory.folder.path
    assert "Certificates" in page
    for figure in ("certified-displacement", "certified-along-training"):
        assert (folder / "figures" / f"{figure}.svg").is_file()
    table = pl.read_csv(folder / "tables" / "certificates.csv")
    reach = table.filter(variant="minimal, d = 7", metric="certified_order")
    assert reach["value"].to_list() == [7]


def test_a_construction_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"start 'minimal': expected a parameter 'embedding' of shape \(8, 7\)"):
        Start(construction="minimal").put_into(MinimalTransformer(8, width=5))


def test_a_run_that_certifies_nothing_says_so(tmp_path: Path):
    few = {
        "plan.phases.0.steps": 2,
        "replicates": 1,
        "measuring.inputs": 4,
        "measuring.certified": 0,
        "measuring.along": 0,
    }
    whole = EXPERIMENTS["theory"]
    one = whole.model_copy(update={"variants": {"trained, d = 7": whole.variants["trained, d = 7"]}, "claims": ()})
    found = run(with_settings(one, few), tmp_path)
    write_page(found.folder.path)
    assert "No model of this run was certified." in (found.folder.path / "index.html").read_text()


@pytest.mark.parametrize("weights", ["raw", "ema@0.99"])
def test_no_input_of_a_trained_model_is_worse_than_proved(theory, weights):
    """100,000 sampled inputs in float64: displacement never below the certificate, error never above the bound."""
    model = theory.model("trained, d = 8", 0, weights).double()
    tables, proved = tables_at(model, 1), certify_model(model)
    draw = np.random.default_rng(0)
    for row in proved.lengths:
        tokens = draw.permuted(np.tile(np.arange(8), (100_000 // 7, 1)), axis=1)[:, : row.length]
        member = np.zeros((len(tokens), 8), dtype=bool)
        np.put_along_axis(member, tokens, True, axis=1)
        logits = tables.logits_of_sets(member, tokens[:, -1])
        worst = np.where(member, np.inf, logits).min(1) - np.where(member, logits, -np.inf).max(1)
        assert row.worst_displacement is not None
        assert row.tv_bound is not None
        assert worst.min() >= row.worst_displacement - 1e-9
        chances = np.exp(logits - logits.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        error = np.abs(chances - ~member / (8 - row.length)).sum(1) / 2
        assert error.max() <= row.tv_bound + 1e-9
