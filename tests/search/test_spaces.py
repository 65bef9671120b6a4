"""Spaces: a trial depends on the seed and its number alone, values stay in bounds, and bad spaces are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, qmc

from lengthwise.errors import InputError
from lengthwise.search import Choice, IntegerUniform, LogUniform, Space, Switch, Uniform, When
from lengthwise.tasks.randomness import integer_seed

SPACE = Space(
    fields={
        "rate": LogUniform(1e-3, 1e-1),
        "width": IntegerUniform(2, 5),
        "place": Switch("none", "a", "b"),
        "a": When("place", "a", then=Uniform(0, 0.5)),
        "b": When("place", ("a", "b"), then=Choice(1, 2)),
        "c": When("b", 2, then=Uniform(5, 6)),
    }
)


@given(st.sampled_from(["random", "sobol"]), st.integers(0, 5), st.permutations(range(12)))
def test_a_trial_depends_on_its_seed_and_number_alone(sampler, seed, order):
    told = {k: SPACE.trial(seed, k, sampler) for k in order}
    assert told == {k: SPACE.trial(seed, k, sampler) for k in range(12)}
    assert len({str(trial) for trial in told.values()}) == 12


def test_sobol_points_are_the_sequence_itself():
    space = Space(fields={"x": Uniform(0, 1), "y": Uniform(0, 1)})
    source = np.random.default_rng(integer_seed(7, 0, 0, "search sobol"))
    engine = qmc.Sobol(2, scramble=True, seed=source)  # pyright: ignore[reportCallIssue]
    for number in (0, 1, 63, 64, 100, 700):
        engine.reset()
        if number:
            engine.fast_forward(number)
        expected = engine.random(1)[0]
        assert list(space.trial(7, number, "sobol").values()) == pytest.approx(expected.tolist(), abs=0)


def test_a_field_that_is_added_leaves_random_trials_of_the_others():
    more = Space(fields={"new": Uniform(0, 1), **SPACE.fields})
    assert all(SPACE.trial(3, k).items() <= more.trial(3, k).items() for k in range(20))


@given(st.floats(0, 1, exclude_max=True))
def test_values_stay_in_bounds(u):
    assert 1e-3 <= LogUniform(1e-3, 1e-1).at(u) <= 1e-1
    assert -2 <= Uniform(-2, 3).at(u) <= 3
    assert IntegerUniform(2, 5).at(u) in {2, 3, 4, 5}
    assert Choice("x", None, 3).at(u) in {"x", None, 3}


@pytest.mark.statistical
def test_values_have_their_distribution():
    trials = [SPACE.trial(11, k) for k in range(3000)]
    uniform = [math.log(t["rate"] / 1e-3) / math.log(100) for t in trials]
    assert kstest(uniform, "uniform").pvalue > 1e-6
    shares = [np.mean([t["width"] == w for t in trials]) for w in (2, 3, 4, 5)]
    assert np.abs(np.array(shares) - 0.25).max() < 5 * math.sqrt(0.25 * 0.75 / 3000)
    both = np.corrcoef(uniform, [t["width"] for t in trials])[0, 1]
    assert abs(both) < 5 / math.sqrt(3000)


@pytest.mark.parametrize("sampler", ["random", "sobol"])
def test_conditional_settings_stand_where_their_condition_holds(sampler):
    trials = [SPACE.trial(0, k, sampler) for k in range(200)]
    for trial in trials:
        assert ("a" in trial) == (trial["place"] == "a")
        assert ("b" in trial) == (trial["place"] in ("a", "b"))
        assert ("c" in trial) == (trial.get("b") == 2)
        assert "place" not in SPACE.settings(trial)
    assert any("c" in trial for trial in trials)


def test_a_space_survives_its_own_json():
    again = Space(**SPACE.model_dump())
    assert [again.trial(1, k) for k in range(9)] == [SPACE.trial(1, k) for k in range(9)]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Space(fields={}), "space: it is empty"),
        (lambda: Uniform(1, 0), "Uniform from 1 to 0: expected the lower bound first"),
        (lambda: Uniform(1, 1), "expected the lower bound first"),
        (lambda: IntegerUniform(3, 2), "IntegerUniform from 3 to 2"),
        (lambda: LogUniform(0, 1), "LogUniform low 0: expected bounds above 0"),
        (lambda: Uniform(0, math.inf), "Uniform high inf"),
        (lambda: Uniform("low", 1), "Uniform low 'low'"),  # type: ignore[arg-type]
        (Choice, "Choice options: expected at least one"),
        (lambda: Choice("a", "a"), "a is listed twice"),
        (lambda: Space(fields={"a": When("b", 1, Uniform(0, 1))}), "unknown field 'b'"),
        (lambda: Space(fields={"a": When("a", 1, Choice(1, 2))}), "'a' depends on itself"),
        (lambda: Space(fields={"a": When("b", 3, Uniform(0, 1)), "b": Choice(1, 2)}), "unknown value of 'b'"),
        (lambda: Space(fields={"a": When("b", 1, Uniform(0, 1)), "b": Uniform(0, 1)}), "expected a Choice or Switch"),
        (lambda: SPACE.trial(0, -1), "trial -1: expected a number from 0 on"),
        (lambda: SPACE.trial(0, 2**20, "sobol"), "expected less than"),
    ],
)
def test_bad_spaces_are_refused_in_one_line(make, says):
    with pytest.raises(InputError) as error:
        make()
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_conditions_in_a_ring_are_refused():
    fields = {"a": When("b", 1, then=Choice(1, 2)), "b": When("a", 1, then=Choice(1, 2))}
    with pytest.raises(InputError, match="depends on itself"):
        Space(fields=fields)
