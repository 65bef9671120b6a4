"""The search for worst inputs, calibrated against exact certificates where there are some."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch
from torch import Tensor

from lengthwise.certificates import Tables, Weights, certify_sign, counterexample, minimal, worst_cases
from lengthwise.diagnostics.worst_inputs import (
    Answers,
    Limits,
    _Judge,
    _Search,
    absent,
    shortest_failure,
    worst_inputs,
)
from lengthwise.errors import InputError
from lengthwise.experiments.certifying import SHAPES, certify_model
from lengthwise.models import MinimalTransformer

WITHOUT_ORDER = Limits(budget=120, beam=4, order=False)
"""Less than half of the inputs that there are at the middle lengths of 8 tokens, 280."""


def answers_of(tables: Tables) -> Answers:
    S, B, D = (torch.from_numpy(np.array(table)) for table in (tables.S, tables.B, tables.D))

    def answer(tokens: Tensor) -> Tensor:
        attention = S[tokens[:, -1]].gather(1, tokens).softmax(1)
        return B[tokens[:, -1]] + (attention[:, :, None] * D[tokens]).sum(1)

    return answer


def last_of(model: torch.nn.Module) -> Answers:
    return lambda tokens: model(tokens)[:, -1]


def random_tables(seed: int, vocabulary: int = 8) -> Tables:
    noise = np.random.default_rng(seed).normal(size=(3, vocabulary, vocabulary))
    return Tables(3 * noise[0], noise[1], noise[2])


def trained(steps: int = 150, **settings) -> MinimalTransformer:
    """A model of 16 tokens trained on 8 by a plain loop."""
    torch.manual_seed(0)
    model, random = MinimalTransformer(16, **settings), np.random.default_rng(0)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(steps):
        words = torch.from_numpy(random.random((64, 16)).argsort(1))
        loss = torch.nn.functional.cross_entropy(model(words[:, :8]).flatten(0, 1), words[:, 1:9].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model.double().eval()


def test_random_tables_nearly_always_give_the_certificate_itself() -> None:
    equal = []
    for seed in range(25):
        tables = random_tables(seed)
        for found, exact in zip(worst_inputs(answers_of(tables), 8, limits=WITHOUT_ORDER), worst_cases(tables)):
            assert found.displacement >= float(exact.displacement) - 1e-9
            equal.append(found.displacement <= float(exact.displacement) + 1e-9)
    assert np.mean(equal) >= 0.97


def test_a_trained_model_has_its_worst_inputs_found() -> None:
    model = trained()
    found = worst_inputs(last_of(model), 16, limits=Limits(budget=3000, order=False))
    gaps = []
    for worst, row in zip(found, certify_model(model).lengths, strict=True):
        assert row.worst_displacement is not None
        gaps.append(worst.displacement - row.worst_displacement)
    assert min(gaps) >= -1e-9
    assert np.mean(np.array(gaps) < 1e-9) >= 0.8
    assert max(gaps) < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_post_norm_models_that_are_not_in_order_are_found_failing(seed: int) -> None:
    """Only signs are certified there; the search gives sizes, too."""
    draw = np.random.default_rng(seed)
    noisy = [array + 0.3 * draw.normal(size=array.shape) for array in vars(minimal(8, 4.0, 1.0)).values()]
    model = MinimalTransformer(8, 7, norm="post", norm_kind="rms").double()
    parameters = {name: torch.from_numpy(x) for name, x in zip(SHAPES, noisy)}
    model.load_state_dict({**parameters, "norm.weight": torch.ones(7)})
    certificate = certify_sign(Weights(*noisy), np.ones(7), "rms")
    found = worst_inputs(last_of(model), 8, limits=WITHOUT_ORDER)
    assert [worst.fails for worst in found] == [not row.ordered for row in certificate.lengths]
    shortest = shortest_failure(found)
    assert (7 if shortest is None else shortest.length - 1) == certificate.certified_order


def test_the_counterexample_fails_from_where_it_must() -> None:
    """Exactly 0 at length 4, up to rounding, and -1/7 at length 5."""
    found = worst_inputs(answers_of(counterexample().tables()), 8, limits=Limits(order=False))
    shortest = shortest_failure(found)
    assert shortest is not None
    assert shortest.length in (4, 5)
    assert found[4].displacement == pytest.approx(-1 / 7)
    assert shortest_failure(found[:3]) is None


def ascending(tokens: Tensor) -> Tensor:
    """Seen tokens fall one below the rest, but rise by .4 for each token that stands before a greater one."""
    rises = (tokens[:, :-1] < tokens[:, 1:]).sum(1, keepdim=True)
    return (0.4 * rises - 1.0) * torch.nn.functional.one_hot(tokens, 9).sum(1)


def test_orders_are_searched_unless_told_that_they_do_not_matter() -> None:
    found = worst_inputs(ascending, 9, [8], limits=Limits(budget=3000))[0]
    assert found.tokens == tuple(sorted(found.tokens))  # one order of 40,320
    assert found.displacement == pytest.approx(1.0 - 0.4 * 7)
    assert worst_inputs(ascending, 9, [3], limits=WITHOUT_ORDER)[0].displacement == pytest.approx(0.2)


@pytest.mark.parametrize("order", [True, False])
def test_neighbours_differ_in_one_token_or_one_exchange(order: bool) -> None:
    limits, start = Limits(order=order), (1, 4, 0)
    search = _Search(_Judge(ascending, absent(6), "cpu"), 6, 3, limits, np.random.default_rng(0))
    expected = set()
    for other in permutations(range(6), 3):
        apart = [k for k in range(3) if other[k] != start[k]]
        exchanged = len(apart) == 2 and set(other) == set(start) and (order or 2 in apart)
        if len(apart) == 1 or exchanged:
            expected.add(limits.named(other))
    assert set(search._neighbours(start)) == expected


@pytest.mark.parametrize("order", [True, False])
def test_inputs_are_proper_answered_once_and_within_the_budget(order: bool) -> None:
    asked: list[tuple[int, ...]] = []
    answer = answers_of(random_tables(0))

    def spy(tokens: Tensor) -> Tensor:
        asked.extend(map(tuple, tokens.tolist()))
        return answer(tokens)

    found = worst_inputs(spy, 8, [3, 6], limits=Limits(budget=100, beam=4, order=order))
    assert [worst.length for worst in found] == [3, 6]
    assert len(set(asked)) == len(asked)
    assert all(len(set(x)) == len(x) and set(x) <= set(range(8)) for x in asked)
    for worst in found:
        assert worst.tried == sum(len(x) == worst.length for x in asked) == 100
        logits = answer(torch.tensor([worst.tokens]))[0].numpy()
        assert worst.displacement == np.delete(logits, worst.tokens).min() - logits[list(worst.tokens)].max()


def test_the_same_seed_finds_the_same_and_leaves_the_random_state_alone() -> None:
    answer, limits, state = answers_of(random_tables(3, 12)), Limits(budget=40), torch.get_rng_state()
    first, again, other = (worst_inputs(answer, 12, limits=limits, seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert first != other
    assert torch.equal(torch.get_rng_state(), state)


def test_another_legality() -> None:
    """Only the successor of the last token is legal, and the model says the one after: wrong everywhere."""
    successor = lambda tokens: torch.nn.functional.one_hot((tokens[:, -1] + 1) % 6, 6).bool()  # noqa: E731
    wrong = lambda tokens: torch.nn.functional.one_hot((tokens[:, -1] + 2) % 6, 6)  # noqa: E731
    right = lambda tokens: successor(tokens).double()  # noqa: E731
    assert [w.displacement for w in worst_inputs(wrong, 6, legal=successor, limits=WITHOUT_ORDER)] == [-1.0] * 5
    assert [w.displacement for w in worst_inputs(right, 6, legal=successor, limits=WITHOUT_ORDER)] == [1.0] * 5


@pytest.mark.parametrize(
    ("answer", "lengths", "expected"),
    [
        (ascending, [9], "length 9: expected 1..8 for 9 tokens"),
        (lambda tokens: ascending(tokens)[:, :5], [2], r"answers of shape \(9, 5\): expected \(9, 9\)"),
        (lambda tokens: ascending(tokens) * torch.nan, [2], r"logits of input \[0\] are not numbers"),
    ],
)
def test_bad_input_is_refused(answer: Answers, lengths: list[int], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        worst_inputs(answer, 9, lengths)
    with pytest.raises(InputError, match="budget 0: expected at least 1"):
        Limits(budget=0)
