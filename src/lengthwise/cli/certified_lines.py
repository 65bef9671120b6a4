"""What `lengthwise certify` prints of certificates and readout laws, for people."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

DIGITS = 5


def certificate_lines(data: dict[str, Any]) -> list[str]:
    """One certificate: what is proved, then a row for each length."""
    longest = data["vocabulary"] - 1
    order = f"every absent token outranks every present one: up to length {data['certified_order']} of {longest}"
    lines = [f"proved of every input without repeats, vocabulary {data['vocabulary']}", order]
    if any(reached is None for reached in data["certified_tv"].values()):
        lines.append("sizes are not certified: a norm after the residual sum keeps only the order")
    else:
        reach = ", ".join(f"{tau} up to {reached}" for tau, reached in data["certified_tv"].items())
        lines.append(f"total variation at most {reach}")
    head = ("length", "worst displacement", "legal spread", "TV bound", "worst input (last token last)")
    sides = {"worst_displacement": ROUND_FLOOR, "legal_spread": ROUND_CEILING, "tv_bound": ROUND_CEILING}
    rows = [
        (row["length"], *(rounded(row[key], side) for key, side in sides.items()), tokens_of(row["worst_input"]))
        for row in data["lengths"]
    ]
    return [*lines, *columns(head, rows, left={4})]


def certificate_rows(models: list[dict[str, Any]]) -> list[str]:
    """Several certificates, a row each, and each reason for a refusal once."""
    taus = list(next((row["certified_tv"] for row in models if row["certified_tv"]), {}))
    head = ("variant", "replicate", "weights", "order", *(f"TV {tau}" for tau in taus))
    rows, reasons = [], {}
    for row in models:
        reached = [(row["certified_tv"] or {}).get(tau) for tau in taus]
        order = "refused" if "refused" in row else row["certified_order"]
        rows.append((row["variant"], row["replicate"], row["weights"], order, *reached))
        reasons.setdefault((row["variant"], row.get("refused")), None)
    refused = [f"refused: {variant}: {reason}" for variant, reason in reasons if reason]
    return [
        "largest length with order, and with total variation at most, proved",
        *columns(head, rows, {0, 2}),
        *refused,
    ]


def readout_lines(law: dict[str, Any]) -> list[str]:
    """One readout law, with the witness of the length that no hidden state serves."""
    longest, reach, witness = law["vocabulary"] - 1, law["largest_length"], law["witness"]
    lines = [f"readout: dimension {law['dimension']}, affine rank {law['affine_rank']}, vocabulary {law['vocabulary']}"]
    if witness is None:
        return [*lines, f"hidden states exist that serve every length 1..{longest}"]
    held = "hidden states exist that do" if law["proved"] else "whether any do was not decided"
    inside, outside = tokens_of(witness["inside"]), tokens_of(witness["outside"])
    return [
        *lines,
        f"no hidden states serve lengths beyond {reach} of {longest}; up to it {held}",
        f"witness: none ranks all of {{{outside}}} above all of {{{inside}}}",
        f"on the input {{{inside}}} total variation is at least {rounded(law['tv_floor'], ROUND_FLOOR)}",
    ]


def readout_rows(models: list[dict[str, Any]]) -> list[str]:
    """Several readout laws, a row each."""
    keys = ("variant", "replicate", "weights", "dimension", "affine_rank", "largest_length")
    rows = [(*(row[key] for key in keys), row["witness"] and tokens_of(row["witness"]["inside"])) for row in models]
    return columns((*(key.replace("_", " ") for key in keys), "unserved input"), rows, left={0, 2, 6})


def columns(head: Sequence[str], rows: Sequence[Sequence[object]], left: set[int]) -> list[str]:
    """Rows below a head, columns aligned: those of `left` to the left, the rest to the right.

    >>> columns(("a", "b"), [("long", 10)], left={0})
    ['a      b', 'long  10']
    """
    lines = [head, *(["-" if cell is None else str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    placed = [[c.ljust(w) if k in left else c.rjust(w) for k, (c, w) in enumerate(zip(x, widths))] for x in lines]
    return ["  ".join(line).rstrip() for line in placed]


def tokens_of(tokens: Sequence[int]) -> str:
    """Tokens with spaces between.

    >>> tokens_of((1, 0))
    '1 0'
    """
    return " ".join(map(str, tokens))


def rounded(value: float | None, direction: str) -> str | None:
    """A few digits, rounded so that no more is said than is proved.

    >>> rounded(0.1234567, ROUND_FLOOR)
    '0.12345'
    """
    return value if value is None else f"{Context(DIGITS, direction).create_decimal_from_float(value):g}"
