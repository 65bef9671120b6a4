"""Settings by dotted names: what they change, and what they refuse."""

from __future__ import annotations

import pytest

from lengthwise import InputError, Phase, SetComplement, with_settings
from lengthwise.experiments import EXPERIMENTS, parse_settings
from lengthwise.experiments.populations import members_by_population

BASE = EXPERIMENTS["set-complement"]


def test_nested_fields_change_and_nothing_else_does():
    changed = with_settings(
        BASE, {"plan.phases.0.steps": 7, "model.width": 4, "variants.post-norm.model.norm_kind": "rms"}
    )
    assert changed.plan.steps == 7
    assert changed.build("post-norm").embedding.shape == (16, 4)
    assert changed.variants["post-norm"].model == {"norm": "post", "norm_kind": "rms"}
    assert changed.plan.optimiser == BASE.plan.optimiser
    assert BASE.plan.steps == 1500


def test_a_short_name_stands_for_the_one_field_that_bears_it():
    assert with_settings(BASE, {"s_train": 5}).task == SetComplement(vocabulary=16, s_train=5)
    assert with_settings(BASE, {"steps": 5}).plan.phases[0] == Phase(steps=5, rates={"all": 1e-2})


def test_fields_valid_only_together_change_together():
    assert with_settings(BASE, {"vocabulary": 30, "s_train": 20}).task.s_train == 20


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"vocabulry": 3}, "unknown field 'vocabulry': did you mean 'vocabulary'"),
        ({"task.vocabulry": 3}, "unknown field of task 'vocabulry'"),
        ({"s_train": 16}, "s_train 16: expected less than vocabulary 16"),
        ({"vocabulary": 1}, "task.vocabulary 1: input should be greater than or equal to 2"),
        ({"plan.phases.0.rates.all": -1}, "plan.phases.0"),
        ({"plan.phases.3.steps": 1}, "plan.phases.3: expected an index below 1"),
        ({"averages.0.decay": 1.5}, "averages.0.decay 1.5"),
        ({"measuring.lengths": [3, 40]}, "measuring.lengths 40: expected lengths within 1..15"),
        ({"replicates": "many"}, "replicates 'many'"),
        ({"plan.optimiser.kind": "adem"}, "plan.optimiser.kind 'adem'"),
        ({"claims.0.id": 3}, "claims.0.id 3"),
        ({"plan.phases.0.lengths": 99}, "phase lengths 99: expected lengths within 1..15"),
    ],
)
def test_wrong_settings_name_the_field_and_the_value(settings, words):
    with pytest.raises(InputError) as error:
        with_settings(BASE, settings)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_words_are_json_where_they_can_be():
    assert parse_settings(["a=1", "b=[1, 2]", "c=post", "d=x=y"]) == {"a": 1, "b": [1, 2], "c": "post", "d": "x=y"}
    with pytest.raises(InputError, match="expected key=value"):
        parse_settings(["steps"])


def test_a_model_setting_that_does_not_exist_is_named():
    with pytest.raises(InputError, match=r"unknown setting of MinimalTransformer 'widht'.*'width'"):
        with_settings(BASE, {"model.widht": 3}).build("no norm")


def test_variants_that_differ_only_in_numbers_train_together():
    rates = {f"dropout {rate}": {"model": {"attention_dropout": rate}} for rate in (0.1, 0.2, 0.3)}
    variants = {
        "no norm": {},
        "post-norm": {"model": {"norm": "post"}},
        "pre-norm": {"model": {"norm": "pre"}},
        **rates,
    }
    populations = members_by_population(BASE.model_validate({**dict(BASE), "variants": variants}))
    assert [[m.name for m in members] for members in populations.values()] == [
        ["no norm"], ["post-norm"], ["pre-norm"], list(rates)
    ]  # fmt: skip
