"""Numbers as a reader wants them: few digits, a true minus sign, and intervals to the digits that they support."""

from __future__ import annotations

import math

MINUS = "\N{MINUS SIGN}"
NONE = "\N{EN DASH}"


def number(value: float | None, decimals: int | None = None) -> str:
    """A number to three significant digits, or to so many decimals; a dash for none.

    >>> number(0.83764), number(1234567.0), number(-2.0, 2), number(float("nan"))
    ('0.838', '1,234,567', '−2.00', '–')
    >>> number(0.00001234), number(0)
    ('1.23e−05', '0')
    >>> number(-0.001, 2)  # zero has no sign
    '0.00'
    """
    if value is None or not math.isfinite(value):
        return NONE
    if decimals is not None:
        text = f"{value:,.{decimals}f}"
    elif value and not 1e-4 <= abs(value) < 1e9:
        text = f"{value:.3g}"
    else:
        text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return (text if float(text.replace(",", "")) else text.removeprefix("-")).replace("-", MINUS)


def interval(value: float | None, low: float | None, high: float | None) -> str:
    """An estimate and its interval, with the decimals that its width supports.

    >>> interval(0.83764, 0.80123, 0.87321), interval(-0.5, None, None), interval(120.0, 100.0, 140.0)
    ('0.84 [0.80, 0.87]', '−0.5', '120 [100, 140]')
    >>> interval(0.5, 0.5, 0.5)  # every replicate gave the same
    '0.5 [0.5, 0.5]'
    """
    if value is None or low is None or high is None or not math.isfinite(low) or not math.isfinite(high):
        return number(value)
    if low == value == high:
        return f"{number(value)} [{number(low)}, {number(high)}]"
    digits = decimals(high - low)
    return f"{number(value, digits)} [{number(low, digits)}, {number(high, digits)}]"


def decimals(width: float) -> int:
    """How many decimals, 0 to 4, show an interval's half-width to one digit, or two where it begins with 1 or 2.

    An interval of width 0 is shown to 3 decimals.

    >>> decimals(0.07), decimals(0.04), decimals(40.0), decimals(1e-9), decimals(0.0)
    (2, 3, 0, 4, 3)
    """
    if width <= 0:
        return 3
    return min(max(math.ceil(0.45 - math.log10(width / 2)), 0), 4)
