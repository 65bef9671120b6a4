"""What may come next: legal letters, their exact probabilities in uniform words, and walks over legal letters."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from jaxtyping import Bool, Float, Int

from lengthwise.errors import InputError
from lengthwise.languages.automaton import Automaton
from lengthwise.languages.language import Language
from lengthwise.languages.lengths import exact_counts_at
from lengthwise.languages.sampling import Sampler


def legal_letters(language: Language) -> Bool[np.ndarray, "states letters+1"]:
    """For each state, the letters after which a word of the language is still possible; last, whether it may end here.

    >>> legal_letters(Language.from_regex("(ab)*")).tolist()
    [[True, False, True], [False, True, False], [False, False, False]]
    """
    automaton = language.automaton
    return np.hstack([automaton.live[automaton.table], automaton.accepting[:, None]])


def legal_next(language: Language, words: Int[np.ndarray, "n length"]) -> Bool[np.ndarray, "n length+1 letters+1"]:
    """`legal_letters` after every prefix of each word, from the empty one to the whole.

    >>> language = Language.from_regex("(ab)*")
    >>> legal_next(language, language.encode(["a"])).tolist()
    [[[True, False, True], [False, True, False]]]
    """
    return legal_letters(language)[language.automaton.run(words)]


def next_probabilities(sampler: Sampler, words: Int[np.ndarray, "n length"]) -> Float[np.ndarray, "n length letters"]:
    """The probability of each letter after each proper prefix, for words drawn uniformly at the words' own length.

    This is the target to learn from such words: with the sampler's words and no others. Each value is the ratio of two
    counts, right to a relative error of about length times letters times 2^-52.

    Errors: InputError for a prefix that no word of that length begins with. Words with padding are refused.

    >>> language = Language.from_regex("(a|b)*b(a|b)*")
    >>> next_probabilities(language.inside, language.encode(["ab"])).round(3).tolist()
    [[[0.333, 0.667], [0.0, 1.0]]]
    """
    length = words.shape[1]
    if (words < 0).any():
        raise InputError("next_probabilities: expected words of one length, without padding")
    automaton, counts = sampler.automaton, sampler.counts
    states = automaton.run(words)
    probabilities = np.empty((len(words), length, automaton.letters))
    for place in range(length):
        mantissas, exponents = (x[automaton.table] for x in counts.at(length - place - 1))
        shares = np.ldexp(mantissas, exponents - exponents.max(axis=1, keepdims=True))
        totals = shares.sum(axis=1, keepdims=True)
        here = states[:, place]
        impossible = np.flatnonzero(totals[here] == 0)
        if len(impossible):
            prefix = words[impossible[0], :place].tolist()
            raise InputError(f"letters {prefix}: no word of length {length} in {sampler.name!r} begins with them")
        probabilities[:, place] = shares[here] / totals[here]
    return probabilities


def exact_next_probabilities(automaton: Automaton, prefix: list[int], length: int) -> list[Fraction]:
    """The same for one prefix as exact fractions: slow, and the oracle of `next_probabilities`.

    >>> contains = Language.from_regex("(a|b)*b(a|b)*")
    >>> exact_next_probabilities(contains.automaton, [], 2)
    [Fraction(1, 3), Fraction(2, 3)]
    """
    state = automaton.run(np.array([prefix], dtype=np.int64))[0, -1]
    counts = exact_counts_at(automaton, length - len(prefix) - 1)
    following = [counts[target] for target in automaton.table[state].tolist()]
    return [Fraction(count, sum(following)) for count in following]


def legal_walks(
    language: Language, count: int, length: int, random: np.random.Generator, ends: bool = False
) -> Int[np.ndarray, "count length"]:
    """Walks that take each legal letter with the same probability, so that "uniform over legal" is their exact target.

    They are prefixes of words, of `length` letters. With `ends`, the end of the word is one more choice where it is
    legal, written as letter number k and followed by -1.

    Errors: InputError without `ends` when a walk can come to a word that nothing continues.

    >>> language = Language.from_regex("(ab)*")
    >>> language.decode(legal_walks(language, 1, 5, np.random.default_rng(0)))
    ['ababa']
    """
    legal = legal_letters(language)
    if not ends:
        legal = legal[:, :-1]
        _check_endless(language, length)
    choices = np.count_nonzero(legal, axis=1)
    numbers = np.argsort(~legal, axis=1, kind="stable")
    k = len(language.alphabet)
    # After the end (letter k) comes one more state, whose only choice is padding.
    table = np.vstack(
        [np.hstack([language.automaton.table, np.full((len(legal), 1), len(legal))]), [[len(legal)] * (k + 1)]]
    )
    choices, numbers = np.append(choices, 1), np.vstack([numbers, np.full(numbers.shape[1], -1)])
    walks = np.empty((length, count), dtype=np.int8)
    state = np.zeros(count, dtype=np.intp)
    for row in walks:
        row[:] = numbers[state, random.integers(0, choices[state])]
        state = table[state, row]
    return np.ascontiguousarray(walks.T)


def _check_endless(language: Language, length: int) -> None:
    """Raise InputError if fewer than `length` letters can lead to a state with no legal letter."""
    automaton = language.automaton
    goes_on = automaton.live[automaton.table]
    words, seen = {0: ""}, {0}
    for _ in range(min(length, automaton.states)):
        for state, word in words.items():
            if not goes_on[state].any():
                raise InputError(
                    f"legal walk of {length} letters: nothing continues {word!r} in {language.name!r}; "
                    "expected ends=True, or a language whose words all go on"
                )
        words = {
            target: word + letter
            for state, word in words.items()
            for letter, target in zip(language.alphabet, automaton.table[state].tolist())
            if automaton.live[target] and target not in seen and not seen.add(target)
        }
