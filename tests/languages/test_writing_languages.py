"""Languages as people write them: expressions, automata-lib DFAs, JSON tables; what is wrong with them, and where."""

from __future__ import annotations

import json
import re
import time
from itertools import product

import pytest
from automata.fa.dfa import DFA
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.languages import Language

letters = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "()"])
expressions = st.recursive(
    letters,
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("({}|{})".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}"])),
    ),
    max_leaves=6,
)


@settings(max_examples=150)
@given(expressions)
def test_expressions_mean_what_python_reads(regex):
    language = Language.from_regex(regex, "ab")
    pattern = re.compile(regex)
    for word in ("".join(w) for n in range(6) for w in product("ab", repeat=n)):
        assert (word in language) == bool(pattern.fullmatch(word)), word


@pytest.mark.parametrize(
    ("regex", "alphabet", "expected"),
    [
        ("(a|b", None, "'(' at character 1 is never closed"),
        ("a|b)*", None, "')' at character 4 is never opened"),
        ("a||b", None, "'|' at character 3 has nothing before it"),
        ("*a", None, "'*' at character 1 has nothing before it"),
        ("a(+b)", None, "'+' at character 3 has nothing before it"),
        ("(a|)b", None, "'|' at character 3 has nothing after it"),
        ("ab|", None, "'|' at character 3 has nothing after it"),
        ("a[b", None, "'[' at character 2 is never closed"),
        ("ab]", None, "']' at character 3 is never opened"),
        ("a[]b", None, "'[]' at character 2 is not valid"),
        ("a[z-a]", None, "'[z-a]' at character 2 contains no letter"),
        ("a{x}", None, "'{' at character 2 starts no repetition"),
        ("a{3,2}", None, "'{3,2}' at character 2 is not valid"),
        ("ab{0}", None, "'{0}' at character 3 repeats nothing"),
        ("ab\\", None, "'\\\\' at character 3 escapes nothing"),
        ("a\tb", None, "'\\t' at character 2 is not a letter"),
        ("abc", "ab", "'c' at character 3 names 'c', outside the alphabet 'ab'"),
        ("a[bcd]", "ab", "'[bcd]' at character 2 names 'c', outside the alphabet 'ab'"),
        (".*a", None, "'.' at character 1 stands for any letter, so it needs an alphabet"),
        ("[^a]b", None, "'[^a]' at character 1 stands for any letter, so it needs an alphabet"),
        ("", None, "names no letter, so it needs an alphabet"),
        ("a", "aa", "alphabet 'aa': expected one or more different characters"),
        ("a", "", "alphabet '': expected one or more different characters"),
        ("a&b", None, "language 'a&b' is empty"),
        ("a[^ab]", "ab", "language 'a[^ab]' is empty"),
        ("((a{99}){99}){99}", None, "too long when written out"),
        ("(a|b)*a(a|b){30}", None, "its deterministic automaton is too large"),
    ],
)
def test_an_expression_that_is_wrong_is_refused_at_once_with_the_place(regex, alphabet, expected):
    start = time.monotonic()
    with pytest.raises(InputError) as error:
        Language.from_regex(regex, alphabet)
    assert expected in str(error.value)
    assert "\n" not in str(error.value)
    assert time.monotonic() - start < 10


def test_escapes_blanks_and_the_order_of_the_alphabet():
    language = Language.from_regex(r"\(\*\) ?\.", ". ()*")
    assert language.alphabet == ". ()*"
    assert "(*) ." in language
    assert "(*)." in language
    assert "(*) " not in language


def test_words_with_letters_outside_the_alphabet():
    with pytest.raises(InputError, match="word 'abxa': letter 'x' at character 3 is outside the alphabet 'ab'"):
        _ = "abxa" in Language.from_regex("(ab)*")


def test_a_dfa_complete_or_partial_and_back():
    partial = DFA(
        states={"s", "t"}, input_symbols={"1", "0"}, transitions={"s": {"0": "t"}, "t": {"1": "s"}},
        initial_state="s", final_states={"s"}, allow_partial=True,
    )  # fmt: skip
    language = Language.from_dfa(partial)
    assert language.same_words(Language.from_regex("(01)*"))
    assert language.same_words(Language.from_dfa(partial.to_complete()))
    assert Language.from_dfa(language.automaton.to_dfa(language.alphabet)).same_words(language)
    assert not language.same_words(Language.from_regex("(10)*"))
    assert not language.same_words(language.complement())
    assert language.complement().complement().same_words(language)


@pytest.mark.parametrize("symbols", [{"ab", "c"}, set()])
def test_a_dfa_whose_symbols_are_no_characters(symbols):
    dfa = DFA(
        states={0}, input_symbols=symbols, transitions={0: dict.fromkeys(symbols, 0)},
        initial_state=0, final_states={0},
    )  # fmt: skip
    with pytest.raises(InputError, match="expected single characters"):
        Language.from_dfa(dfa)


ROWS = {"no": {"a": "yes", "b": "no"}, "yes": {"a": "yes", "b": "yes"}}
TABLE = {"alphabet": "ab", "start": "no", "accepting": ["yes"], "transitions": ROWS}


def test_a_table_from_a_file(tmp_path):
    path = tmp_path / "contains.json"
    path.write_text(json.dumps(TABLE))
    language = Language.from_table(path)
    assert language.name == str(path)
    assert language.same_words(Language.from_regex("b*a(a|b)*"))
    assert Language.from_table(TABLE | {"start": "yes"}).everything


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"start": "maybe"}, "start 'maybe' is not a state; expected one of no, yes"),
        ({"start": ["no"]}, "start ['no'] is not a state"),
        ({"accepting": ["yes", "no!"]}, "accepting 'no!' is not a state"),
        ({"accepting": "yes"}, "accepting 'yes': expected a list of states"),
        ({"accepting": []}, "is empty"),
        ({"alphabet": "aab"}, "alphabet 'aab': expected one or more different characters"),
        ({"alphabet": ["a", "bc"]}, "alphabet ['a', 'bc']: expected one or more different characters"),
        ({"alphabet": 2}, "alphabet 2: expected one or more different characters"),
        ({"alphabet": "abc"}, "state 'no' has no transition on 'c'; expected one for every letter"),
        ({"alphabet": "a"}, "state 'no' moves on 'b', outside the alphabet 'a'"),
        ({"transitions": {}}, "expected an object of states"),
        ({"transitions": ROWS | {"yes": "yes"}}, "transitions of 'yes': expected an object"),
        ({"transitions": ROWS | {"yes": {"a": "yes", "b": "perhaps"}}}, "target of 'yes' on 'b', 'perhaps' is not a"),
        ({"transitions": {"no": ROWS["no"]}, "accepting": []}, "target of 'no' on 'a', 'yes' is not a state"),
        ({"final": []}, "unknown key 'final'; expected alphabet, start, accepting, transitions"),
    ],
)
def test_a_table_that_is_wrong(change, expected):
    with pytest.raises(InputError) as error:
        Language.from_table(TABLE | change, "mine")
    assert expected in str(error.value)
    assert "mine" in str(error.value)


@pytest.mark.parametrize("key", TABLE)
def test_a_table_that_lacks_a_key(key):
    with pytest.raises(InputError, match=f"{key!r} is missing"):
        Language.from_table({k: v for k, v in TABLE.items() if k != key})


def test_a_file_that_is_no_table(tmp_path):
    path = tmp_path / "table.json"
    with pytest.raises(InputError, match="cannot read"):
        Language.from_table(path)
    for text, expected in (("{", "not JSON"), ("[1]", "expected a JSON object"), ("{}", "'alphabet' is missing")):
        path.write_text(text)
        with pytest.raises(InputError, match=expected):
            Language.from_table(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not JSON"):
        Language.from_table(path)
