"""Seconds of the exact certificate at all lengths, and how they grow with the vocabulary, on one core.

    python benchmarks/certificates.py            # v = 8, 16, 24, 32
    python benchmarks/certificates.py --large    # v = 48 and 64 too: minutes

Four kinds of tables: `random` normal entries; `trained`, the right sign with noise; `tied`, the exact construction,
where every input of a length ties; `rounding`, the same construction in a rotated basis, where only rounding of 1e-16
orders the inputs, so that no triple can be excluded by floats and all are decided in exact arithmetic.
`power` is the growth's exponent between a vocabulary and the one before.
"""

from __future__ import annotations

import argparse
from math import log, nan
from time import perf_counter

import numpy as np

from lengthwise.certificates import Tables, certify, minimal


def tables_of(kind: str, vocabulary: int, draw: np.random.Generator) -> Tables:
    """The tables of one kind."""
    noise = draw.normal(size=(3, vocabulary, vocabulary))
    if kind == "random":
        return Tables(*noise)
    if kind == "trained":
        return Tables(0.3 * noise[0], 0.3 * noise[1], 0.3 * noise[2] - 10 * np.eye(vocabulary))
    if kind == "tied":
        return minimal(vocabulary).tables()
    rotation = np.linalg.qr(noise[0])[0]
    return Tables(np.zeros_like(rotation), -rotation @ rotation.T, -rotation @ (10 * rotation.T))


def main() -> None:
    """Print one row per vocabulary and kind of tables."""
    options = argparse.ArgumentParser(description="seconds of the exact certificate by vocabulary")
    options.add_argument("--large", action="store_true", help="v = 48 and 64 too (random and trained tables only)")
    vocabularies = [8, 16, 24, 32] + ([48, 64] if options.parse_args().large else [])
    print(f"{'tables':>9} {'v':>3} {'seconds':>8} {'power':>6} {'order':>6}")
    for kind in ("random", "trained", "tied", "rounding"):
        before: tuple[int, float] | None = None
        for vocabulary in vocabularies:
            if vocabulary > 32 and kind in ("tied", "rounding"):
                continue
            tables = tables_of(kind, vocabulary, np.random.default_rng(0))
            start = perf_counter()
            certificate = certify(tables)
            seconds = perf_counter() - start
            power = log(seconds / before[1]) / log(vocabulary / before[0]) if before else nan
            before = vocabulary, seconds
            print(
                f"{kind:>9} {vocabulary:>3} {seconds:>8.2f} {power:>6.1f} {certificate.certified_order:>6}", flush=True
            )


if __name__ == "__main__":
    main()
