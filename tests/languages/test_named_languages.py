"""The verdicts that the theory lists, the suite's definitions, and refusals beyond the monoid limit."""

from __future__ import annotations

import re
import time
from itertools import product

import pytest

from lengthwise.errors import InputError
from lengthwise.languages import SUITE, Language, count_words, named_language, star_freeness

LISTED = [
    ("(a|b|c)*a(a|b|c)*", "abc", 2, 2, None, None),
    ("(01)*", "01", 3, 6, None, None),
    ("(00)*", "0", 2, 2, "0", 2),
    ("(00|11)*", "01", 4, 15, "0", 2),
    ("0*1*0*1*", "01", 5, 9, None, None),
    ("(0*10*1)*0*", "01", 2, 2, "1", 2),
    ("(ab|ba)*", "ab", 4, 15, None, None),
    ("(a(ab)*b)*", "ab", 4, 15, None, None),
    ("(a(a|b)(a|b))*", "ab", 4, 22, "a", 3),
]


@pytest.mark.parametrize(("regex", "alphabet", "states", "monoid", "witness", "period"), LISTED)
def test_the_listed_languages_come_out_as_listed(regex, alphabet, states, monoid, witness, period):
    language = Language.from_regex(regex)
    verdict = star_freeness(language)
    assert (language.alphabet, language.automaton.states, verdict.monoid) == (alphabet, states, monoid)
    assert (verdict.star_free, verdict.witness, verdict.period) == (witness is None, witness, period)


def depth(word: str) -> int:
    """The deepest nesting of a balanced word, or -1."""
    level = deepest = 0
    for letter in word:
        level += 1 if letter == "a" else -1
        deepest = max(deepest, level)
        if level < 0:
            return -1
    return deepest if level == 0 else -1


def remembers(word: str) -> bool:
    """Whether a word of instructions and bits begins with a write and reads what was last written."""
    written = None
    for instruction, bit in zip(word[::2], word[1::2]):
        if instruction not in "wir" or bit not in "01" or (written is None and instruction != "w"):
            return False
        if instruction == "r" and bit != written:
            return False
        written = bit if instruction == "w" else written
    return len(word) % 2 == 0


def odd_then_odd(word: str) -> bool:
    """Whether an odd run of 1 has an odd run of 0 somewhere after it."""
    runs = [(run[0], len(run) % 2) for run in re.findall("0+|1+", word)]
    return any(("0", 1) in runs[i:] for i, run in enumerate(runs) if run == ("1", 1))


MEANINGS = {
    "contains": lambda w: "a" in w,
    "starts-with": lambda w: w[:1] == "a",
    "ends-with": lambda w: w[-1:] == "a",
    "first-equals-last": lambda w: len(w) > 0 and w[0] == w[-1],
    "a*b*c*": lambda w: "".join(sorted(w)) == w,
    "tomita-1": lambda w: "0" not in w,
    "tomita-2": lambda w: w == "10" * (len(w) // 2),
    "tomita-3": lambda w: not odd_then_odd(w),
    "tomita-4": lambda w: "000" not in w,
    "tomita-5": lambda w: w.count("0") % 2 == w.count("1") % 2 == 0,
    "tomita-6": lambda w: (w.count("0") - w.count("1")) % 3 == 0,
    "tomita-7": lambda w: len(re.findall("10", w)) <= 1,
    "dyck-1": lambda w: 0 <= depth(w) <= 1,
    "dyck-2": lambda w: 0 <= depth(w) <= 2,
    "dyck-3": lambda w: 0 <= depth(w) <= 3,
    "dyck-4": lambda w: 0 <= depth(w) <= 4,
    "flip-flop": remembers,
    "no-3-in-a-row": lambda w: "aaa" not in w and "bbb" not in w,
    "parity": lambda w: w.count("1") % 2 == 0,
    "even-length": lambda w: len(w) % 2 == 0,
    "multiples-of-3": lambda w: len(w) % 3 == 0,
    "(00|11)*": lambda w: len(w) % 2 == 0 and all(w[i] == w[i + 1] for i in range(0, len(w), 2)),
}


@pytest.mark.parametrize("name", SUITE)
def test_a_named_language_is_what_its_name_says(name):
    language, meaning = named_language(name), MEANINGS[name]
    longest = {2: 10, 3: 7, 4: 6, 5: 5}[len(language.alphabet)]
    counts = [0] * (longest + 1)
    words = ["".join(w) for n in range(longest + 1) for w in product(language.alphabet, repeat=n)]
    for word, accepted in zip(words, language.accepts(language.encode(words)).tolist()):
        assert accepted == meaning(word), word
        counts[len(word)] += accepted
    assert count_words(language.automaton, longest) == counts


def test_the_suite_holds_both_kinds():
    verdicts = {name: star_freeness(named_language(name)).star_free for name in SUITE}
    controls = {"parity", "even-length", "multiples-of-3", "(00|11)*"}
    assert not any(verdicts[name] for name in controls)
    assert all(verdicts[name] for name in ("contains", "a*b*c*", "flip-flop", "dyck-4", "no-3-in-a-row"))


def test_an_unknown_name():
    with pytest.raises(InputError, match="unknown language 'tomita-8': did you mean 'tomita-"):
        named_language("tomita-8")


def test_the_period_is_that_of_all_cycles_together():
    # The letter a turns two states about one another and three others in a ring.
    verdict = star_freeness(Language.from_regex("(aa)*|b(aaa)*"))
    assert (verdict.star_free, verdict.witness, verdict.period) == (False, "a", 6)


# The rotation, the swap and the merging of 8 states make all 8^8 maps.
ROWS = {str(q): {"r": str((q + 1) % 8), "s": str({0: 1, 1: 0}.get(q, q)), "m": str(max(q, 1))} for q in range(8)}
FULL = {"alphabet": "rsm", "start": "0", "accepting": ["0"], "transitions": ROWS}


def test_a_monoid_beyond_the_limit_is_refused_with_the_size_reached():
    language = Language.from_table(FULL, "all maps of 8")
    start = time.monotonic()
    with pytest.raises(InputError) as error:
        star_freeness(language)
    assert time.monotonic() - start < 20
    message = str(error.value)
    assert "transition monoid of 'all maps of 8': 100,000 elements reached at words of length" in message
    assert "expected at most 100,000; it is not star-free (witness 'r', period 8)" in message


def test_the_limit_is_reached_only_when_there_are_more():
    language = named_language("tomita-7")
    assert star_freeness(language, limit=9).monoid == 9
    with pytest.raises(
        InputError, match=r"8 elements reached at words of length \d, and there are more; expected at most 8$"
    ):
        star_freeness(language, limit=8)
