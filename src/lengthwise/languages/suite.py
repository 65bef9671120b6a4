"""Named languages: one line each. Which of them are star-free is computed, not written here."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from lengthwise.errors import InputError, unknown
from lengthwise.languages.language import Language


@dataclass(frozen=True)
class Named:
    """A language as a regular expression over an alphabet, or the words that do not match it.

    >>> "abab" in Named("(ab)*", "ab", outside=True).language("not (ab)*")
    False
    """

    regex: str
    alphabet: str
    outside: bool = False

    def language(self, name: str) -> Language:
        """The language under a name."""
        inside = Language.from_regex(self.regex, self.alphabet)
        return inside.complement(name) if self.outside else Language(name, self.alphabet, inside.automaton)


# Tomita 1982 as Giles et al. 1992 number and read them; flip-flop: arXiv:2306.00946.
SUITE: dict[str, Named] = {
    "contains": Named(".*a.*", "abcd"),
    "starts-with": Named("a.*", "abcd"),
    "ends-with": Named(".*a", "abcd"),
    "first-equals-last": Named("a(.*a)?|b(.*b)?", "ab"),
    "a*b*c*": Named("a*b*c*", "abc"),
    "tomita-1": Named("1*", "01"),
    "tomita-2": Named("(10)*", "01"),
    "tomita-3": Named("(.*0)?1(11)*(0.*1)?0(00)*(1.*)?", "01", outside=True),
    "tomita-4": Named(".*000.*", "01", outside=True),
    "tomita-5": Named("(00|11|(01|10)(00|11)*(01|10))*", "01"),
    "tomita-6": Named("(0(01)*(1|00)|1(10)*(0|11))*", "01"),
    "tomita-7": Named("0*1*0*1*", "01"),
    "dyck-1": Named("(ab)*", "ab"),
    "dyck-2": Named("(a(ab)*b)*", "ab"),
    "dyck-3": Named("(a(a(ab)*b)*b)*", "ab"),
    "dyck-4": Named("(a(a(a(ab)*b)*b)*b)*", "ab"),
    "flip-flop": Named("(w0(i[01]|r0)*|w1(i[01]|r1)*)*", "wir01"),
    "no-3-in-a-row": Named(".*(aaa|bbb).*", "ab", outside=True),
    "parity": Named("(0*10*1)*0*", "01"),
    "even-length": Named("(..)*", "ab"),
    "multiples-of-3": Named("(...)*", "ab"),
    "(00|11)*": Named("(00|11)*", "01"),
}


@cache
def named_language(name: str) -> Language:
    """A language of the suite.

    Errors: InputError for an unknown name, with the nearest.

    >>> "0110" in named_language("parity")
    True
    """
    if name not in SUITE:
        raise unknown("language", name, SUITE)
    return SUITE[name].language(name)


def language_of(text: str, alphabet: str | None = None) -> Language:
    """A language of the suite by its name, or that of a regular expression over the letters that it names.

    Errors: InputError for an expression that does not parse, for a word close to a name of the suite, and for an
    alphabet given with a name.

    >>> language_of("parity").alphabet, language_of("a*", alphabet="ab").alphabet
    ('01', 'ab')
    >>> language_of("partiy")
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: unknown language 'partiy': did you mean 'parity'?
    """
    if text in SUITE:
        if alphabet not in (None, SUITE[text].alphabet):
            raise InputError(f"alphabet {alphabet!r}: language {text!r} has its own, {SUITE[text].alphabet!r}")
        return named_language(text)
    if text.replace("-", "").isalnum() and get_close_matches(text, SUITE, cutoff=0.8):
        raise unknown("language", text, SUITE)
    return Language.from_regex(text, alphabet)
