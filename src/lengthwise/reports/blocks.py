"""The pieces of a page: a section is a title and its blocks, each of a kind that the template knows how to set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from lengthwise.reports.checks import ClaimRecord
from lengthwise.reports.figures.style import Drawing


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of prose."""

    kind: ClassVar[str] = "paragraph"
    text: str


@dataclass(frozen=True)
class Heading:
    """The title of a part of a section."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True)
class Figure:
    """A drawing with its caption, words for who cannot see it, and the numbers that it shows."""

    kind: ClassVar[str] = "figure"
    name: str
    caption: str
    alternative: str
    drawing: Drawing
    data: pl.DataFrame


@dataclass(frozen=True)
class Table:
    """A table: the first `heads` cells of a row name it; `data` is what is saved, unrounded.

    It is folded away under `summary` if there is one.
    """

    kind: ClassVar[str] = "table"
    name: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    data: pl.DataFrame
    heads: int = 1
    numeric: bool = True
    summary: str = ""


@dataclass(frozen=True)
class Card:
    """A verdict: its claim, and a row of words for each estimate that it rests on."""

    claim: ClaimRecord
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Cards:
    """The verdicts, a card for each claim; `data` is what is saved."""

    kind: ClassVar[str] = "cards"
    name: str
    header: Sequence[str]
    cards: Sequence[Card]
    data: pl.DataFrame


@dataclass(frozen=True)
class Code:
    """Text to be copied; folded away under `summary` if there is one."""

    kind: ClassVar[str] = "code"
    text: str
    summary: str = ""


Block = Paragraph | Heading | Figure | Table | Cards | Code


@dataclass(frozen=True)
class Section:
    """A titled part of a page."""

    title: str
    blocks: Sequence[Block]
