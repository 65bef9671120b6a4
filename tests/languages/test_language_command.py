"""`lengthwise language`: the JSON it prints, and what it refuses."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from lengthwise.cli.language import language
from lengthwise.errors import InputError

app = typer.Typer()
app.command()(language)


def call(*words) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=True)
    if isinstance(done.exception, InputError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_json_says_everything_about_the_language():
    assert json.loads(call("(00|11)*", "--json")) == {
        "regex": "(00|11)*",
        "alphabet": "01",
        "states": 4,
        "monoid": 15,
        "star_free": False,
        "witness": "0",
        "period": 2,
        "counts": [0 if n % 2 else 2 ** (n // 2) for n in range(21)],
    }
    assert json.loads(call(".*a.*", "--alphabet", "ba", "--json"))["witness"] is None


def test_samples_inside_outside_and_at_the_boundary():
    words = ("(a|b|c)*a(a|b|c)*", "--sample", 5, "--length", 9, "--json")
    inside = json.loads(call(*words))["samples"]
    assert [len(word) for word in inside] == [9] * 5
    assert all("a" in word for word in inside)
    assert inside == json.loads(call(*words, "--seed", 0))["samples"]
    assert inside != json.loads(call(*words, "--seed", 1))["samples"]
    assert all("a" not in word for word in json.loads(call(*words, "--outside"))["samples"])
    for pair in json.loads(call(*words, "--boundary"))["samples"]:
        assert [word.count("a") for word in pair] == [1, 0]


def test_lines_for_people():
    said = call("(a(a|b)(a|b))*", "--sample", 2, "--length", 6).splitlines()
    assert "star-free: no: the powers of 'a' cycle with period 3" in said
    assert said[5].startswith("a shallow transformer decides it by: nothing that it sees: 'a")
    assert "words of length 0..20: 1 0 0 4 0 0 16" in said[6]
    assert [len(line) for line in said[7:]] == [6, 6]
    assert "a shallow transformer decides it by: the set of letters and the last letter" in call(
        ".*a", "--alphabet", "ab"
    )
    assert "star-free: yes" in call("(ab)*").splitlines()


def test_a_table_file(tmp_path):
    path = tmp_path / "even.json"
    rows = {"e": {"1": "o", "0": "e"}, "o": {"1": "e", "0": "o"}}
    path.write_text(json.dumps({"alphabet": "01", "start": "e", "accepting": ["e"], "transitions": rows}))
    said = json.loads(call(path, "--json"))
    assert (said["regex"], said["witness"], said["period"]) == (str(path), "1", 2)
    with pytest.raises(InputError, match="has its own"):
        call(path, "--alphabet", "01")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["(a|b"], "'(' at character 1 is never closed"),
        (["(a|c)*", "--alphabet", "ab"], "names 'c', outside the alphabet 'ab'"),
        (["(ab)*", "--sample", "3", "--length", "5"], "the nearest lengths with one are 4 and 6"),
        (["(ab)*", "--sample", "3"], "--sample and --length: expected both or neither"),
        (["(ab)*", "--length", "3"], "--sample and --length: expected both or neither"),
        (["(ab)*", "--outside"], "--outside: expected --sample N --length L"),
        (["(ab)*", "--outside", "--boundary", "--sample", "1", "--length", "2"], "expected at most one"),
        (["nowhere.json"], "nowhere.json: cannot read"),
        (["a&b"], "is empty"),
    ],
)
def test_wrong_words(words, expected):
    with pytest.raises(InputError) as error:
        call(*words)
    assert expected in str(error.value)
