"""Blocks: their composition is a function of the search, and trials in them are what they are alone."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from lengthwise.errors import InputError
from lengthwise.experiments import EXPERIMENTS
from lengthwise.experiments.populations import members_by_population
from lengthwise.search import SEARCHES, Block, Choice, Space, Uniform, When, blocks_of, evaluate, evaluate_settings
from lengthwise.search.blocks import cut
from lengthwise.search.search import BASE, search_of


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("sampler", ["random", "sobol"])
def test_every_trial_is_in_one_block_of_one_structure(name, sampler):
    search = SEARCHES[name].changed(trials=60, sampler=sampler)
    blocks = blocks_of(search)
    assert sorted(k for block in blocks for k in block.trials) == list(range(60))
    assert all(list(b.trials) == sorted(b.trials) and len(b.trials) <= search.block for b in blocks)
    assert all(len(members_by_population(b.experiment)) == 1 for b in blocks)
    assert len({b.experiment.first_replicate for b in blocks}) == len(blocks)
    assert len({b.key for b in blocks}) == len(blocks)


def test_full_blocks_stay_when_there_are_more_trials(tiny):
    few, many = (blocks_of(tiny.changed(trials=n)) for n in (14, 40))
    full = {b.key: b.trials for b in few if len(b.trials) == tiny.block}
    assert full
    assert full.items() <= {b.key: b.trials for b in many}.items()


def test_a_block_trains_its_trials_with_their_own_settings(tiny):
    for block in blocks_of(tiny):
        for number in block.trials:
            trial = tiny.experiment_of(number)
            assert block.experiment.arguments(str(number)) == trial.arguments(BASE)
            assert block.experiment.plans[str(number)] == trial.plan
            assert block.experiment.averages_of(str(number)) == trial.averages


def test_a_trial_in_a_block_is_the_trial_alone(tiny):
    block = next(b for b in blocks_of(tiny) if len(b.trials) == 3)
    together = evaluate(block)
    number = block.trials[1]
    variants = {str(number): block.experiment.variants[str(number)]}
    alone = evaluate(Block(0, 0, (number,), block.experiment.model_copy(update={"variants": variants})))
    mine = together.filter(trial=number)
    assert mine.drop("value").equals(alone.drop("value"))
    np.testing.assert_allclose(mine["value"].to_numpy(), alone["value"].to_numpy(), rtol=2e-4, atol=2e-5)


def test_settings_chosen_elsewhere_are_trained_together(tiny):
    curve = evaluate_settings(tiny.experiment, [{"norm": "none"}, {"norm": "post"}, {"norm": "none"}], first=5)
    first, third = (curve.filter(trial=k)["value"].to_numpy() for k in (5, 7))
    np.testing.assert_array_equal(first, third)  # the same settings beside each other
    assert set(curve["trial"]) == {5, 6, 7}
    assert not curve.filter(trial=6)["value"].equals(curve.filter(trial=5)["value"])


def test_fields_beside_the_model_separate_structures(tiny):
    trials = [(k, tiny.experiment_of(0).model_copy(update={"seed": k % 2})) for k in range(4)]
    assert [block.trials for block in cut(tiny.experiment, trials, 8)] == [(0, 2), (1, 3)]


def test_diverged_trials_have_rows_and_no_values(searching):
    search = searching(top=1e6)
    curves = pl.concat([evaluate(block) for block in blocks_of(search)])
    assert set(curves["trial"]) == set(range(14))
    failed = curves.filter(pl.col("failed_at").is_not_null())
    assert 0 < failed["trial"].n_unique() < 14
    assert failed["value"].null_count() == len(failed)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"model.nrom": Choice("none", "post")}, "did you mean 'norm'"),
        ({"s_trian": Choice(1, 2)}, "unknown field 's_trian': did you mean 's_train'"),
        ({"averages.7.decay": Uniform(0, 1)}, "expected an index below"),
        ({"model.attention_dropout": Uniform(0, 2), "plan.batch": Choice(0, 1)}, "plan.batch 0"),
        ({"seed": Choice(*range(1000)), "x.y": When("seed", 999, then=Uniform(0, 1))}, "unknown field"),
    ],
)
def test_fields_that_are_not_there_are_named(fields, says):
    with pytest.raises(InputError) as error:
        blocks_of(search_of(EXPERIMENTS["set-complement"], Space(fields=fields), trials=8))
    assert says in str(error.value)
    assert "\n" not in str(error.value)
