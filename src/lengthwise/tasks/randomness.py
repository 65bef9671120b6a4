"""Random streams derived from where they are used, never from what was drawn before."""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, replicate: int, step: int, place: str) -> np.random.Generator:
    """The generator of one place at one step of one replicate.

    A counter-based generator (Philox) is keyed by the four values, so that any draw can be repeated alone: a run that
    is resumed at step 700 draws what an uninterrupted run draws there.

    >>> stream(0, 3, 700, "batch").integers(100) == stream(0, 3, 700, "batch").integers(100)
    np.True_
    >>> stream(0, 3, 700, "batch").random() == stream(0, 3, 701, "batch").random()
    False
    """
    counter = np.array([0, step, replicate, zlib.crc32(place.encode())], dtype=np.uint64)
    key = np.array([seed % 2**64, 0x6C656E677468], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(counter=counter, key=key))


def integer_seed(seed: int, replicate: int, step: int, place: str) -> int:
    """A 63-bit seed for libraries that keep their own generator (PyTorch's initialisers, a module's own dropout).

    >>> integer_seed(0, 0, 0, "initial weights") == integer_seed(0, 1, 0, "initial weights")
    False
    """
    return int(stream(seed, replicate, step, place).integers(2**63 - 1))
