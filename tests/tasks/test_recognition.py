"""Recognition: words, labels and lengths against automata-lib and against all short words."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from automata.fa.dfa import DFA
from automata.fa.nfa import NFA
from pydantic import ValidationError
from scipy.stats import binom

from lengthwise.errors import InputError
from lengthwise.experiments import EXPERIMENTS, with_settings
from lengthwise.languages.suite import SUITE
from lengthwise.tasks import Batch, Recognition

# Language, alphabet (None for a name of the suite), and whether it has holes in its lengths.
LANGUAGES: dict[str, str | None] = {
    "contains": None,
    "ends-with": None,
    "a*b*c*": None,
    "dyck-2": None,
    "parity": None,
    "[bcd]*b": "abcd",
    "a(aa)*b": "ab",
    "(ab)*a|b": "ab",
}
asked = pytest.mark.parametrize("language", LANGUAGES)
ways = pytest.mark.parametrize("words", ["boundary", "uniform"])


@cache
def judge(language: str) -> tuple[DFA, str, bool]:
    """An automaton of automata-lib, the alphabet, and whether words that it accepts are outside."""
    named = SUITE.get(language)
    regex, alphabet = (named.regex, named.alphabet) if named else (language, LANGUAGES[language] or "")
    return DFA.from_nfa(NFA.from_regex(regex, input_symbols=set(alphabet))), alphabet, bool(named and named.outside)


def belongs(language: str, word: str) -> bool:
    dfa, _, outside = judge(language)
    return dfa.accepts_input(word) != outside


def task_of(language: str, words: Any = "boundary", **settings: Any) -> Recognition:
    return Recognition(language=language, alphabet=LANGUAGES.get(language), words=words, **settings)


def decoded(task: Recognition, language: str, batch: Batch) -> list[str]:
    """The words of a batch, with a look at what stands after them."""
    alphabet, found = judge(language)[1], []
    for i, row in enumerate(batch.inputs.tolist()):
        length = int(batch.mask[i].sum()) if batch.mask is not None else len(row)
        *word, marker = row[:length]
        assert marker == len(alphabet) == task.sizes["vocabulary"] - 1
        assert all(0 <= x < len(alphabet) for x in word)
        assert batch.mask is None or batch.mask[i].tolist() == [k < length for k in range(len(row))]
        found.append("".join(alphabet[x] for x in word))
    return found


def batches(task: Recognition) -> list[Batch]:
    """Two of drawn lengths, and some of given ones; odd and even counts."""
    rng = np.random.default_rng(0)
    known = [task.lengths[0], task.trained_length, task.lengths[min(40, len(task.lengths) - 1)]]
    drawn = [task.sample(rng, n, task.trained_length) for n in (40, 7)]
    return [*drawn, *(task.measure(rng, n, length) for length in known for n in (10, 3))]


@ways
@asked
def test_labels_are_membership_and_as_many_are_in_as_out(language: str, words: str) -> None:
    task = task_of(language, words, mean_length=6)
    for batch in batches(task):
        found = decoded(task, language, batch)
        assert batch.labels.tolist() == [int(belongs(language, word)) for word in found]
        assert 0 <= 2 * int(batch.labels.sum()) - len(found) <= 1


@asked
def test_pairs_of_the_boundary_are_one_letter_apart(language: str) -> None:
    task = task_of(language, mean_length=6)
    for batch in batches(task):
        found = decoded(task, language, batch)
        for one, other in zip(found[::2], found[1::2]):
            assert len(one) == len(other)
            assert sum(a != b for a, b in zip(one, other)) == 1


@ways
@asked
def test_a_measured_word_has_exactly_the_length_asked_and_its_target(language: str, words: str) -> None:
    task = task_of(language, words, mean_length=6)
    for length in (task.lengths[0], task.lengths[5], task.lengths[60]):
        batch = task.measure(np.random.default_rng(1), 9, length)
        assert {len(word) for word in decoded(task, language, batch)} == {length}
        assert batch.mask is None
        assert batch.targets is not None
        assert batch.targets.tolist() == [[1.0 - y, float(y)] for y in batch.labels.tolist()]
        assert [task.oracle(row) for row in batch.inputs.tolist()] == batch.targets.tolist()


@ways
@asked
def test_the_lengths_are_those_that_all_short_words_have(language: str, words: str) -> None:
    """Inside and outside at one length; for the boundary, one letter apart."""
    longest, alphabet = 6, judge(language)[1]

    def there(length: int) -> bool:
        each = {"".join(w): belongs(language, "".join(w)) for w in product(alphabet, repeat=length)}
        if words == "uniform":
            return len(set(each.values())) == 2
        changed = lambda w: (w[:i] + a + w[i + 1 :] for i in range(length) for a in alphabet)  # noqa: E731
        return any(inside and not each[other] for w, inside in each.items() for other in changed(w))

    task = task_of(language, words, mean_length=6, longest=longest)
    assert list(task.lengths) == [n for n in range(1, longest + 1) if there(n)]
    assert task.trained_length in task.lengths
    assert task.longest_quartile in task.lengths


def test_lengths_with_holes_are_drawn_and_asked_for_where_there_are_words() -> None:
    task = task_of("dyck-2", mean_length=6)
    batch = task.sample(np.random.default_rng(0), 400, task.trained_length)
    assert {len(word) % 2 for word in decoded(task, "dyck-2", batch)} == {0}
    with pytest.raises(
        InputError, match=r"length 7: 'dyck-2' has no pair of words one letter apart of it; the nearest"
    ):
        task.measure(np.random.default_rng(0), 2, 7)
    assert task.trained_length % 2 == task.longest_quartile % 2 == 0


@pytest.mark.statistical
@ways
def test_trained_lengths_are_unbounded_unless_a_phase_asks_for_less(words: str) -> None:
    """One length in a thousand exceeds the trained length; the number that do is binomial."""
    task, n = task_of("contains", words), 8000
    batch = task.sample(np.random.default_rng(7), 2 * n, task.trained_length)
    assert batch.mask is not None
    lengths = batch.mask.sum(1)[::2] - 1
    above = int((lengths > task.trained_length).sum())
    share = (1 - 1 / 20) ** task.trained_length
    assert binom.ppf(2e-7, n, share) <= above <= binom.isf(2e-7, n, share)
    assert above > 0
    for asked_for in (task.trained_length - 1, 30, 1):
        less = task.sample(np.random.default_rng(7), 2000, asked_for)
        longest = less.length - 1 if less.mask is None else int(less.mask.sum(1).max()) - 1
        assert longest == asked_for or asked_for > 100 > asked_for - longest
        assert longest <= asked_for


@pytest.mark.statistical
def test_the_lengths_drawn_have_the_mean_asked_for() -> None:
    """Geometric of mean 20: the standard deviation is sqrt(380), and 8000 are drawn."""
    batch = task_of("contains").sample(np.random.default_rng(3), 16_000, 135)
    assert batch.mask is not None
    assert abs(float((batch.mask.sum(1) - 1).double().mean()) - 20) < 5.5 * (380 / 8000) ** 0.5


@pytest.mark.statistical
def test_a_lone_letter_that_decides_stands_anywhere() -> None:
    """In boundary words of "contains", the one a is uniform over the places."""
    task, n = task_of("contains"), 4000
    batch = task.measure(np.random.default_rng(0), 2 * n, 5)
    inside = batch.inputs[::2, :5] == 0
    assert (inside.sum(1) == 1).all()
    found = inside.sum(0).numpy()
    assert ((binom.ppf(1e-7, n, 0.2) <= found) & (found <= binom.isf(1e-7, n, 0.2))).all()


BAD: list[tuple[dict[str, Any], str]] = [
    ({"language": ".*", "alphabet": "ab"}, "language '.*' is every word over 'ab': nothing to recognise"),
    ({"language": "a&b"}, "language 'a&b' is empty; expected one with at least one word"),
    (
        {"language": "even-length"},
        "language 'even-length': no pair of words one letter apart of a length that is drawn",
    ),
    ({"language": "even-length", "words": "uniform"}, "no word inside and outside of a length that is drawn"),
    ({"language": "contians"}, "unknown language 'contians': did you mean 'contains'?"),
    ({"language": "(ab"}, "regular expression '(ab'"),
    ({"language": "contains", "alphabet": "ab"}, "alphabet 'ab': language 'contains' has its own, 'abcd'"),
    ({"language": "aaaaaaaaaa.*", "alphabet": "ab", "mean_length": 3}, "of a length that is drawn"),
    ({"language": "contains", "words": "boundry"}, "words 'boundry'"),
    ({"language": "contains", "longest": 0}, "longest 0"),
]


@pytest.mark.parametrize(("settings", "says"), BAD, ids=[says[:40] for _, says in BAD])
def test_what_cannot_be_recognised_is_refused_in_one_line(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError):
        Recognition(**settings)
    with pytest.raises(InputError) as error:
        with_settings(EXPERIMENTS["lag"], {f"task.{name}": value for name, value in settings.items()})
    assert says in str(error.value)
    assert "\n" not in str(error.value)
