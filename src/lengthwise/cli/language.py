"""`lengthwise language`: is it star-free, how many words has it, and what do they look like."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lengthwise.languages import Language

COUNTED = 20


def language(
    regex: Annotated[
        str, typer.Argument(help="a regular expression, or a .json transition table", metavar="REGEX|FILE.json")
    ],
    alphabet: Annotated[str | None, typer.Option(help="the letters, in order; by default those of the regex")] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="draw this many words uniformly", metavar="N")] = None,
    length: Annotated[int | None, typer.Option(min=0, help="the length of the words drawn", metavar="L")] = None,
    outside: Annotated[bool, typer.Option("--outside", help="draw words outside the language")] = False,
    boundary: Annotated[
        bool, typer.Option("--boundary", help="draw pairs, inside and outside, that differ in one letter")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="the seed of the draws")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")] = False,
) -> None:
    """Decide whether a regular language is star-free, count its words, and draw some."""
    from lengthwise.errors import InputError
    from lengthwise.languages import Language, count_words, star_freeness

    if not regex.isascii() and any("\ud800" <= c <= "\udfff" for c in regex):
        raise InputError(f"regex {regex!r}: expected text in UTF-8")
    if (sample is None) != (length is None):
        raise InputError("--sample and --length: expected both or neither")
    if sample is None and (outside or boundary):
        raise InputError(f"--{'outside' if outside else 'boundary'}: expected --sample N --length L")
    if outside and boundary:
        raise InputError("--outside and --boundary: expected at most one")
    if regex.endswith(".json") and alphabet is not None:
        raise InputError(f"--alphabet {alphabet!r}: the table {regex} has its own")
    found = Language.from_table(regex) if regex.endswith(".json") else Language.from_regex(regex, alphabet)
    verdict = star_freeness(found)
    facts = {
        "regex": regex,
        "alphabet": found.alphabet,
        "states": found.automaton.states,
        "monoid": verdict.monoid,
        "star_free": verdict.star_free,
        "witness": verdict.witness,
        "period": verdict.period,
        "counts": count_words(found.automaton, COUNTED),
    }
    if sample is not None and length is not None:
        facts["samples"] = _draw(found, sample, length, outside, boundary, seed)
    print(json.dumps(facts, indent=2) if as_json else "\n".join(_lines(facts, _shallow(found))))


def _shallow(language: Language) -> str:
    """What decides membership of what a shallow transformer sees."""
    from lengthwise.languages import shallow_form
    from lengthwise.languages.shallow import SHALLOW_LETTER_LIMIT

    if len(language.alphabet) > SHALLOW_LETTER_LIMIT:
        return f"not decided for more than {SHALLOW_LETTER_LIMIT} letters"
    form = shallow_form(language)
    if form.witness is not None:
        one, other = form.witness
        return f"nothing that it sees: {one!r} and {other!r} have the same letters and last letter, and one is in"
    return "the set of letters" if form.letter_set else "the set of letters and the last letter"


def _draw(language: Language, count: int, length: int, outside: bool, boundary: bool, seed: int) -> list[Any]:
    import numpy as np

    random = np.random.default_rng(seed)
    if boundary:
        pairs = language.boundary.sample(count, length, random)
        return [list(pair) for pair in zip(language.decode(pairs.inside), language.decode(pairs.outside))]
    sampler = language.outside if outside else language.inside
    return language.decode(sampler.sample(count, length, random))


def _lines(facts: dict[str, Any], shallow: str) -> list[str]:
    cycle = f": the powers of {facts['witness']!r} cycle with period {facts['period']}"
    return [
        f"regex: {facts['regex']}",
        f"alphabet: {facts['alphabet']}",
        f"states: {facts['states']}",
        f"monoid: {facts['monoid']}",
        "star-free: yes" if facts["star_free"] else f"star-free: no{cycle}",
        f"a shallow transformer decides it by: {shallow}",
        f"words of length 0..{COUNTED}: {' '.join(map(str, facts['counts']))}",
        *(s if isinstance(s, str) else "  ".join(s) for s in facts.get("samples", [])),
    ]
