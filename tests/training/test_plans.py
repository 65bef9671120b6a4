"""Plans compile to arrays that are a pure function of the step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from lengthwise.errors import InputError
from lengthwise.training import Phase, Plan, Schedule
from lengthwise.training.plan import compile_plans

GROUPS = {"attention": ["q"], "output": ["u"]}


def test_phases_say_what_moves_how_fast_and_what_starts_afresh() -> None:
    plan = Plan(
        phases=(
            Phase(steps=2, rates={"output": 0.1}),
            Phase(steps=1, rates={"attention": 9.0}),
            Phase(steps=3, rates={"all": 0.2, "output": 0.3}, carry=True),
            Phase(steps=2, rates={"output": 0.4}),
        )
    )
    schedules = compile_plans([plan], GROUPS)
    assert schedules.rate[0].tolist() == [[0, 0, 9, 0.2, 0.2, 0.2, 0, 0], [0.1, 0.1, 0, 0.3, 0.3, 0.3, 0.4, 0.4]]
    assert schedules.active[0].astype(int).tolist() == [[0, 0, 1, 1, 1, 1, 0, 0], [1, 1, 0, 1, 1, 1, 1, 1]]
    assert schedules.reset[0].astype(int).tolist() == [[0, 0, 1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 1, 0]]
    assert (schedules.total, schedules.steps.tolist(), plan.boundaries) == (8, [8], [2, 3, 6])


def test_a_group_may_move_at_rate_zero_and_is_not_frozen_by_it() -> None:
    schedules = compile_plans([Plan(phases=(Phase(steps=2, rates={"output": 0.0}),))], GROUPS)
    assert schedules.active[0].tolist() == [[False, False], [True, True]]


def test_a_shorter_plan_rests_after_its_last_step() -> None:
    plans = [Plan(phases=(Phase(steps=n, rates={"all": 0.1}),)) for n in (2, 5)]
    schedules = compile_plans(plans, GROUPS)
    assert schedules.active.sum(-1).tolist() == [[2, 2], [5, 5]]
    assert schedules.active[0, :, 2:].sum() == 0
    assert schedules.steps.tolist() == [2, 5]


@given(st.lists(st.tuples(st.integers(1, 5), st.sampled_from(["all", "output", "attention"])), min_size=1, max_size=6))
def test_arrays_are_those_of_a_walk_through_the_phases(phases: list[tuple[int, str]]) -> None:
    plan = Plan(phases=tuple(Phase(steps=n, rates={g: float(k + 1)}) for k, (n, g) in enumerate(phases)))
    schedules, step = compile_plans([plan], GROUPS), 0
    for k, (steps, group) in enumerate(phases):
        for i in range(steps):
            for g, name in enumerate(GROUPS):
                moves = group in ("all", name)
                assert schedules.active[0, g, step] == moves
                assert schedules.rate[0, g, step] == (k + 1 if moves else 0)
                assert schedules.reset[0, g, step] == (moves and i == 0)
            step += 1


@given(st.integers(1, 40), st.integers(0, 50), st.floats(0, 10), st.floats(0, 10))
def test_schedules_have_their_closed_forms(steps: int, warmup: int, peak: float, final: float) -> None:
    for shape in ("constant", "linear", "cosine"):
        rates = Schedule(peak=peak, warmup=warmup, shape=shape, final=final).rates(steps)
        assert rates.shape == (steps,)
        for t, rate in enumerate(rates):
            x = max(t - warmup, 0) / (steps - warmup) if steps > warmup else 0
            fall = {"constant": 0.0, "linear": x, "cosine": (1 - math.cos(math.pi * x)) / 2}[shape]
            expected = (peak + (final - peak) * fall) * min(1, (t + 1) / max(warmup, 1))
            assert rate == pytest.approx(expected, abs=1e-12)
            assert rate >= 0


def test_lengths_may_change_from_phase_to_phase() -> None:
    plan = Plan(phases=(Phase(steps=2, rates={"all": 1}, lengths=3), Phase(steps=1, rates={"all": 1})))
    assert plan.lengths(8).tolist() == [3, 3, 8]


def test_an_unknown_group_is_told_with_its_phase() -> None:
    plan = Plan(phases=(Phase(steps=1, rates={"all": 1}), Phase(steps=1, rates={"outptu": 1})))
    with pytest.raises(InputError, match="phase 2: unknown group 'outptu': did you mean 'output'"):
        compile_plans([plan], GROUPS)


BAD_RATES = [-0.1, math.nan, math.inf, -math.inf]


@pytest.mark.parametrize("rate", BAD_RATES)
def test_negative_and_infinite_rates_are_refused(rate: float) -> None:
    with pytest.raises(ValidationError):
        Phase(steps=1, rates={"all": rate})


@pytest.mark.parametrize("field", ["peak", "final"])
@pytest.mark.parametrize("rate", BAD_RATES)
def test_negative_and_infinite_rates_of_schedules_are_refused(field: str, rate: float) -> None:
    with pytest.raises(ValidationError, match=field):
        Schedule(**{"peak": 0.1, field: rate})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "bad", [{"steps": 0}, {"rates": {}}, {"lengths": 0}, {"step": 3}, {"rates": {"all": {"peek": 1}}}], ids=str
)
def test_impossible_phases_are_refused(bad: dict) -> None:
    with pytest.raises(ValidationError):
        Phase.model_validate({"steps": 1, "rates": {"all": 0.1}, **bad})


def test_a_plan_needs_a_phase_and_a_batch() -> None:
    for bad in ({"phases": ()}, {"phases": (Phase(steps=1, rates={"all": 1}),), "batch": 0}):
        with pytest.raises(ValidationError):
            Plan.model_validate(bad)


def test_plans_survive_json() -> None:
    plan = Plan(phases=(Phase(steps=2, rates={"all": Schedule(peak=1, warmup=1), "output": 0.5}, carry=True),))
    again = Plan.model_validate_json(plan.model_dump_json())
    assert again == plan
    assert np.array_equal(compile_plans([again], GROUPS).rate, compile_plans([plan], GROUPS).rate)
