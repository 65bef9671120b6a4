"""The certificate of a minimal transformer: exact worst cases by length, rounded in the sound direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nextafter

import numpy as np

from lengthwise.certificates.tables import Tables
from lengthwise.certificates.worst_case import Progress, WorstCase, rounded_up, worst_cases

TAUS = (0.05, 0.1, 0.25, 0.5)
"""The total variations for which a certificate names the length it reaches."""


@dataclass(frozen=True)
class CertifiedLength:
    """What is proved of all inputs of one length; sizes are None where only the order can be certified.

    `worst_displacement` never lies above and `legal_spread` and `tv_bound` never below the exact value; an exact tie is
    0. Inputs are in order, the last token last.

    >>> certify(Tables(np.zeros((3, 3)), np.zeros((3, 3)), -np.eye(3))).lengths[1].worst_input
    (0, 1)
    """

    length: int
    ordered: bool
    worst_displacement: float | None
    worst_input: tuple[int, ...]
    legal_spread: float | None
    spread_input: tuple[int, ...] | None
    tv_bound: float | None


@dataclass(frozen=True)
class Certificate:
    """A proof about every input of every length 1..v-1 (`docs/theory.md`, "Exact certificate").

    `certified_order` is the largest s such that at every length up to s every legal token outranks every illegal one
    on every input; `certified_tv[tau]` the largest s with total variation at most tau at every length up to s, None if
    sizes are not certified. Both are 0 if length 1 fails.

    >>> certificate = certify(Tables(np.zeros((3, 3)), np.zeros((3, 3)), -4 * np.eye(3)))
    >>> certificate.certified_order, certificate.certified_tv[0.05], certificate.certified_tv[0.25]
    (2, 1, 2)
    """

    vocabulary: int
    lengths: tuple[CertifiedLength, ...]
    certified_order: int
    certified_tv: dict[float, int | None]

    def to_json(self) -> dict[str, object]:
        """The certificate as plain data for `json.dumps`.

        >>> list(certify(Tables(np.zeros((2, 2)), np.zeros((2, 2)), -np.eye(2))).to_json())
        ['vocabulary', 'certified_order', 'certified_tv', 'lengths']
        """
        rows = [
            {
                "length": row.length,
                "worst_displacement": row.worst_displacement,
                "worst_input": list(row.worst_input),
                "legal_spread": row.legal_spread,
                "tv_bound": row.tv_bound,
            }
            for row in self.lengths
        ]
        return {
            "vocabulary": self.vocabulary,
            "certified_order": self.certified_order,
            "certified_tv": {f"{tau:g}": length for tau, length in self.certified_tv.items()},
            "lengths": rows,
        }


def certify(tables: Tables, progress: Progress | None = None) -> Certificate:
    """Certify tables at every length 1..v-1; `progress(done, total)` is called after each length.

    The proof is about the softmax of the float64 tables in real arithmetic: values are exact for rational attention
    weights, whose distance from exp is conceded (`lengthwise.certificates.rational`). How far a model's own float
    arithmetic strays from its tables, around 1e-15 of the logits in float64, is not part of it.

    >>> [row.worst_displacement for row in certify(Tables(np.zeros((3, 3)), np.zeros((3, 3)), -np.eye(3))).lengths]
    [1.0, 0.5]
    """
    return certificate_of_cases(tables.vocabulary, worst_cases(tables, progress))


def certificate_of_cases(vocabulary: int, cases: Sequence[WorstCase], sized: bool = True) -> Certificate:
    """The certificate of worst cases of the lengths 1..v-1, in order; without sizes if only signs are the model's.

    >>> tables = Tables(np.zeros((3, 3)), np.zeros((3, 3)), -np.eye(3))
    >>> certificate_of_cases(3, worst_cases(tables), sized=False).certified_order
    2
    """
    return certificate_of(vocabulary, [_sized(vocabulary, worst) if sized else _signed(worst) for worst in cases])


def certificate_of(vocabulary: int, rows: Sequence[CertifiedLength]) -> Certificate:
    """The certificate that rows of the lengths 1..v-1, in order, amount to.

    >>> certificate_of(2, [CertifiedLength(1, False, None, (0,), None, None, None)]).certified_tv[0.5] is None
    True
    """
    bounds = [row.tv_bound for row in rows]
    reach = {
        tau: None if None in bounds else _reached([bound is not None and bound <= tau for bound in bounds])
        for tau in TAUS
    }
    return Certificate(vocabulary, tuple(rows), _reached([row.ordered for row in rows]), reach)


def total_variation_bound(present: int, absent: int, displacement: float, spread: float) -> float:
    """The largest total variation that a worst displacement and a worst legal spread leave open, rounded upwards.

    With n absent and s present tokens, delta and lambda: max over m of m/n - m / (m + (n-m) e^lambda + s e^-delta).
    With Y = (n-m) (e^lambda - 1) + s e^-delta this is (m/n) Y / (Y + n), free of cancellation (`docs/theory.md`,
    "Exact certificate"). Some logits attain it.

    >>> round(total_variation_bound(9, 1, displacement=10 / 9, spread=0.0), 3)
    0.748
    """
    with np.errstate(over="ignore", under="ignore"):
        leak, uneven = present * np.exp(-displacement), np.expm1(spread)
    bounds = []
    for lowest in range(1, absent + 1):
        excess = leak + (uneven * (absent - lowest) if lowest < absent else 0.0)
        bounds.append(lowest / absent * (1.0 if excess == inf else excess / (excess + absent)))
    # A dozen roundings of positive numbers err by less than 2^-48; what underflows is still above zero.
    return float(min(1.0, max(max(bounds) * (1 + 2.0**-48), nextafter(0.0, 1.0))))


def _sized(vocabulary: int, worst: WorstCase) -> CertifiedLength:
    """One row with sizes, the cut weights' slack conceded; an exact tie stays 0."""
    low = -rounded_up(worst.slack - worst.displacement) if worst.displacement else 0.0
    spread = rounded_up(worst.spread + worst.slack) if worst.spread else 0.0
    bound = total_variation_bound(worst.length, vocabulary - worst.length, low, spread)
    return CertifiedLength(worst.length, low > 0, low, worst.displacement_input, spread, worst.spread_input, bound)


def _signed(worst: WorstCase) -> CertifiedLength:
    """One row without sizes: ordered if the displacement stays positive whatever the slack."""
    ordered = worst.displacement > worst.slack
    return CertifiedLength(worst.length, ordered, None, worst.displacement_input, None, None, None)


def _reached(holds: Sequence[bool]) -> int:
    """How many lengths hold without a gap from the first."""
    return next((length for length, held in enumerate(holds) if not held), len(holds))
