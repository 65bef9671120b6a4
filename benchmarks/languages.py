"""Exactly uniform words per second, beside automata-lib's random_word, in one run on one thread.

    python benchmarks/languages.py [--length 500] [--words 16384] [--rounds 5]

Both count first and are timed afterwards, turn by turn; the median of the rounds is shown. automata-lib has its own
minimal automaton, partial where that is smaller, and returns strings; lengthwise returns one array of letter numbers.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from lengthwise.languages import Language, named_language

NAMES = ("contains", "first-equals-last", "a*b*c*", "tomita-3", "tomita-5", "tomita-7", "dyck-4", "flip-flop", "parity")


def ours(language: Language, words: int, length: int, random: np.random.Generator) -> float:
    start = time.perf_counter()
    language.inside.sample(words, length, random)
    return words / (time.perf_counter() - start)


def theirs(dfa, words: int, length: int) -> float:
    start = time.perf_counter()
    for seed in range(words):
        dfa.random_word(length, seed=seed)
    return words / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=500)
    parser.add_argument("--words", type=int, default=16_384)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    print(f"words of length {options.length} a second, one thread   (bar 50 x)")
    print(f"  {'language':20s} {'lengthwise':>12s} {'automata-lib':>14s} {'ratio':>7s}")
    for name in NAMES:
        language = named_language(name)
        dfa = language.automaton.to_dfa(language.alphabet).to_partial(minify=True)
        ours(language, 1, options.length, random)
        theirs(dfa, 1, options.length)
        turns = [
            (ours(language, options.words, options.length, random), theirs(dfa, 100, options.length))
            for _ in range(options.rounds)
        ]
        fast, slow = (statistics.median(column) for column in zip(*turns))
        print(f"  {name:20s} {fast:12,.0f} {slow:14,.0f} {fast / slow:6.0f} x")


if __name__ == "__main__":
    main()
