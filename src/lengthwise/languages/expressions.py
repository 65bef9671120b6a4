"""Regular expressions: what is wrong and where, which letters they name, and their automaton."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from automata.base.exceptions import InvalidRegexError
from automata.fa.nfa import NFA
from automata.regex.lexer import Token
from automata.regex.parser import (
    CharacterClassToken,
    IntersectionToken,
    QuantifierToken,
    ShuffleToken,
    WildcardToken,
    add_concat_and_empty_string_tokens,
    get_regex_lexer,
)
from automata.regex.postfix import InfixOperator, LeftParen, Literal, PostfixOperator, RightParen, tokens_to_postfix

from lengthwise.errors import InputError
from lengthwise.languages.automaton import Automaton
from lengthwise.languages.determinisation import determinise

SIZE_LIMIT = 10_000
_BRACKETS = {"[": "is never closed", "]": "is never opened", "{": "starts no repetition {m,n}", "}": "is never opened"}


def compile_expression(regex: str, alphabet: str | None = None) -> tuple[str, Automaton]:
    """The alphabet and the minimal complete automaton of a regular expression.

    What may be written is what automata-lib reads: letters, `()`, `|`, `*`, `+`, `?`, `{m,n}`, `.`, classes `[ab]`,
    `[^a]`, `\\d` `\\w` `\\s`, intersection `&` and shuffle `^`. The default alphabet is the letters it names, sorted.

    Errors: InputError for an expression that does not parse, with the character (counted from 1), for letters outside
    the alphabet, and for more than 10,000 states.

    >>> alphabet, automaton = compile_expression("(01)*")
    >>> alphabet, automaton.states
    ('01', 3)
    >>> compile_expression("(a|b")
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: regular expression '(a|b': '(' at character 1 is never closed
    """
    tokens = list(_tokens(regex))
    _check_order(regex, tokens)
    _check_size(regex, tokens)
    alphabet = _letters(regex, tokens) if alphabet is None else _checked(alphabet)
    for token in tokens:
        outside = sorted(token.letters - set(alphabet))
        if outside:
            raise _wrong(regex, token.text, token.position, f"names {outside[0]!r}, outside the alphabet {alphabet!r}")
    try:
        nfa = NFA.from_regex(regex, input_symbols=set(alphabet))
    except InvalidRegexError as error:
        raise InputError(f"regular expression {regex!r}: {error}") from None
    return alphabet, determinise(regex, nfa, alphabet).minimal()


@dataclass
class _Placed:
    """A token of automata-lib with its text and place, the letters it names, and whether it means 'all others'."""

    token: Token
    text: str
    position: int
    letters: frozenset[str] = field(default=frozenset())
    others: bool = False


def _tokens(regex: str) -> Iterator[_Placed]:
    # With no letters in its alphabet, the lexer's complements are empty and its classes are what was written.
    registry = get_regex_lexer(frozenset(), count()).tokens
    position = 0
    while position < len(regex):
        found = registry.get_token(regex, position)
        if found is None:
            raise _wrong(regex, regex[position], position, "is not a letter")
        make, match = found
        text = match.group()
        try:
            token = make(match)
        except (InvalidRegexError, ValueError) as error:
            raise _wrong(regex, text, position, f"is not valid ({error})") from None
        _check_brackets(regex, text, position, token)
        yield _Placed(token, text, position, *_named(token, text))
        position += len(text)


def _named(token: Token, text: str) -> tuple[frozenset[str], bool]:
    if isinstance(token, CharacterClassToken):
        return frozenset(token.class_chars), token.negated
    if isinstance(token, WildcardToken):
        return frozenset(token.input_symbols), text in {".", r"\S", r"\D", r"\W"}
    return frozenset(token.text if isinstance(token, Literal) else ""), False


def _check_brackets(regex: str, text: str, position: int, token: Token) -> None:
    if text in _BRACKETS:
        raise _wrong(regex, text, position, _BRACKETS[text])
    if text == "\\":
        raise _wrong(regex, text, position, "escapes nothing")
    if isinstance(token, CharacterClassToken) and not token.class_chars:
        raise _wrong(regex, text, position, "contains no letter")
    # automata-lib reads x{0} as x?.
    if isinstance(token, QuantifierToken) and token.upper_bound == 0:
        raise _wrong(regex, text, position, "repeats nothing; expected at least once")


def _check_order(regex: str, tokens: list[_Placed]) -> None:
    opened: list[_Placed] = []
    before: _Placed | None = None
    for placed in tokens:
        starts = before is None or isinstance(before.token, InfixOperator | LeftParen)
        if isinstance(placed.token, InfixOperator | PostfixOperator) and starts:
            raise _wrong(regex, placed.text, placed.position, "has nothing before it")
        if isinstance(placed.token, LeftParen):
            opened.append(placed)
        if isinstance(placed.token, RightParen):
            if not opened:
                raise _wrong(regex, placed.text, placed.position, "is never opened")
            opened.pop()
        if isinstance(placed.token, RightParen) and before and isinstance(before.token, InfixOperator):
            raise _wrong(regex, before.text, before.position, "has nothing after it")
        before = placed
    if opened:
        raise _wrong(regex, opened[-1].text, opened[-1].position, "is never closed")
    if before and isinstance(before.token, InfixOperator):
        raise _wrong(regex, before.text, before.position, "has nothing after it")


def _check_size(regex: str, tokens: list[_Placed]) -> None:
    """Refuse what would take automata-lib forever to write out: nested repetitions, intersections and shuffles."""
    sizes: list[int] = []
    for token in tokens_to_postfix(add_concat_and_empty_string_tokens([p.token for p in tokens], count())):
        if isinstance(token, Literal):
            sizes.append(2)
        elif isinstance(token, IntersectionToken | ShuffleToken):
            sizes.append(sizes.pop() * sizes.pop())
        elif isinstance(token, InfixOperator):
            sizes.append(sizes.pop() + sizes.pop() + 1)
        elif isinstance(token, QuantifierToken):
            sizes.append(sizes.pop() * max(token.lower_bound, token.upper_bound or 1) + 1)
        else:
            sizes.append(sizes.pop() + 1)
        if sizes[-1] > SIZE_LIMIT:
            raise InputError(
                f"regular expression {regex!r}: too long when written out, more than {SIZE_LIMIT:,} states"
            )


def _letters(regex: str, tokens: list[_Placed]) -> str:
    for token in tokens:
        if token.others:
            raise _wrong(regex, token.text, token.position, "stands for any letter, so it needs an alphabet")
    letters = "".join(sorted(frozenset().union(*(token.letters for token in tokens))))
    if not letters:
        raise InputError(f"regular expression {regex!r}: names no letter, so it needs an alphabet")
    return letters


def _checked(alphabet: str) -> str:
    if not alphabet or len(set(alphabet)) < len(alphabet):
        raise InputError(f"alphabet {alphabet!r}: expected one or more different characters")
    return alphabet


def _wrong(regex: str, text: str, position: int, problem: str) -> InputError:
    return InputError(f"regular expression {regex!r}: {text!r} at character {position + 1} {problem}")
