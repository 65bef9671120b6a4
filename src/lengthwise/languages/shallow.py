"""Which languages a shallow transformer can express: those that the set of letters, or it and the last, decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lengthwise.errors import InputError
from lengthwise.languages.automaton import Automaton
from lengthwise.languages.language import Language

SHALLOW_LETTER_LIMIT = 16

Word = tuple["Word", int] | None
"""A word as the word before its last letter, and the last letter: continuing it copies nothing."""


@dataclass(frozen=True)
class ShallowForm:
    """Whether the set of its letters, or that and its last letter, decide if a word is in; if neither, a witness.

    `witness` is two words with the same letters and the same last one, of which one is in and the other out. The
    second is the shortlex-least word that disagrees with an earlier one in this way, the first the shortlex-least that
    it disagrees with.
    """

    letter_set: bool
    last_letter: bool
    witness: tuple[str, str] | None
    says: str


def shallow_form(language: Language) -> ShallowForm:
    """Decide what membership of a non-empty word is a function of; the empty word has no last letter and is ignored.

    One attention layer without positions reads the proportions of letters, and the last letter if its query does. What
    is sure to be seen in them at every length is which letters occur (docs/theory.md, "Attention lag", L6).

    Breadth first over words: a word matters only through its set of letters, its last letter and the state it leads to,
    of which there are at most 2^k k n for k letters and n states.

    Errors: InputError for more than 16 letters.

    >>> shallow_form(Language.from_regex(".*a.*", "abc")).says
    "'.*a.*': the set of its letters decides whether a non-empty word is in"
    >>> shallow_form(Language.from_regex(".*a", "ab")).says
    "'.*a': the set of its letters and its last letter decide whether a non-empty word is in"
    >>> shallow_form(Language.from_regex("(a|b)*abb")).witness
    ('ab', 'abb')
    """
    if (k := len(language.alphabet)) > SHALLOW_LETTER_LIMIT:
        raise InputError(f"letters that decide {language.name!r}: {k} letters; expected at most {SHALLOW_LETTER_LIMIT}")
    of_set: dict[int, bool] = {}
    of_pair: dict[tuple[int, int], tuple[Word, bool]] = {}
    letter_set = True
    for word, letters, letter, inside in least_words(language.automaton):
        letter_set &= of_set.setdefault(letters, inside) == inside
        first, first_inside = of_pair.setdefault((letters, letter), (word, inside))
        if first_inside != inside:
            one, other = _written(first, language.alphabet), _written(word, language.alphabet)
            return ShallowForm(False, False, (one, other), _neither(language.name, one, other, inside))
    what = "the set of its letters decides" if letter_set else "the set of its letters and its last letter decide"
    return ShallowForm(letter_set, True, None, f"{language.name!r}: {what} whether a non-empty word is in")


def least_words(automaton: Automaton) -> Iterator[tuple[Word, int, int, bool]]:
    """The shortlex-least word of each (set of letters as bits, last letter, state), in shortlex order, and if it is in.

    Words are continued in that order, and only the least of each (set of letters, state), as the rest go on as it does.
    """
    rows, accepting = automaton.table.tolist(), automaton.accepting.tolist()
    continued: list[tuple[Word, int, int]] = [(None, 0, 0)]
    known, seen = {(0, 0)}, set()
    for word, before, state in continued:
        for letter, target in enumerate(rows[state]):
            letters = before | 1 << letter
            if (letters, letter, target) in seen:
                continue
            seen.add((letters, letter, target))
            longer = (word, letter)
            yield longer, letters, letter, accepting[target]
            if (letters, target) not in known:
                known.add((letters, target))
                continued.append((longer, letters, target))


def _written(word: Word, alphabet: str) -> str:
    letters = []
    while word is not None:
        word, letter = word
        letters.append(alphabet[letter])
    return "".join(reversed(letters))


def _neither(name: str, one: str, other: str, other_is_in: bool) -> str:
    first, second = ("out", "in") if other_is_in else ("in", "out")
    return f"{name!r}: {one!r} is {first} and {other!r} is {second}, with the same letters and the same last one"
