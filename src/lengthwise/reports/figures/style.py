"""How every figure looks, and how it becomes bytes: the same data always gives the same file."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogFormatter, NullFormatter

from lengthwise.reports.numbers import number

INK, MUTED, FAINT, SHADE, PAPER = "#1d2228", "#66707c", "#c4cad1", "#eef1f5", "#ffffff"
BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"
"""Okabe and Ito's colours for all kinds of colour vision, without yellow, which is too faint on white."""

THEME = {
    "ink": INK, "muted": MUTED, "faint": FAINT, "shade": SHADE, "paper": PAPER, "blue": BLUE,
    "vermilion": VERMILION, "green": GREEN, "purple": PURPLE, "sky": SKY, "orange": ORANGE,
}  # fmt: skip
WIDTH = 7.3  # inches; the width of the page's column at 96 pixels an inch

RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with Matplotlib: the same metrics, so the same bytes, on every machine
    "font.size": 8, "axes.titlesize": 8.5, "axes.labelsize": 8.5, "xtick.labelsize": 7.5, "ytick.labelsize": 7.5,
    "legend.fontsize": 8, "legend.frameon": False, "legend.handlelength": 2.6,
    "text.color": INK, "axes.labelcolor": INK, "axes.titlecolor": INK, "axes.edgecolor": MUTED,
    "xtick.color": MUTED, "ytick.color": MUTED, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "axes.linewidth": 0.7, "xtick.major.width": 0.7, "ytick.major.width": 0.7,
    "xtick.major.size": 3, "ytick.major.size": 3,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left", "axes.titlepad": 5,
    "lines.linewidth": 1.5, "lines.markersize": 3.6, "lines.dash_capstyle": "butt",
    "figure.facecolor": PAPER, "axes.facecolor": "none", "savefig.facecolor": PAPER,
    "text.parse_math": False,  # a variant's name may hold a dollar sign
    "svg.fonttype": "none", "pdf.fonttype": 42,
}  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """How one line differs from the others: in colour, in dashes and in marker, so that grey print keeps it apart."""

    colour: str
    dashes: tuple[float, tuple[float, ...]] | str
    marker: str


_COLOURS = (INK, BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE)
_DASHES = ("-", (0, (5, 1.6)), (0, (1.4, 1.2)), (0, (6, 1.4, 1.4, 1.4)), (0, (3, 1, 1, 1, 1, 1)))
_MARKERS = "osD^vPX<>hp*"


def mark(index: int) -> Mark:
    """The mark of the line at an index; colours, dashes and markers repeat at different intervals."""
    return Mark(_COLOURS[index % 7], _DASHES[index % 5], _MARKERS[index % 12])


@dataclass(frozen=True)
class Drawing:
    """A figure as the bytes of its files."""

    svg: str
    pdf: bytes

    def inline(self, name: str) -> str:
        """The SVG for inside an HTML page: no addresses, its own identifiers, and colours that follow the theme."""
        text = self.svg[self.svg.index("<svg") + 4 :]
        text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
        text = re.sub(r'\s(xmlns(:\w+)?|version)="[^"]*"', "", text, count=3)
        text = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", text)
        for part, colour in THEME.items():
            text = text.replace(colour, f"var(--figure-{part})")
        return text


def draw(name: str, make: Callable[[], Figure]) -> Drawing:
    """Make a figure in the house style and save it as SVG and PDF, with nothing in them that depends on the day."""
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **RC, "svg.hashsalt": name, "backend": "agg"}):
        figure = make()
        _plain_numbers(figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # both files from one layout
        svg, pdf = io.StringIO(), io.BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": "lengthwise"})
        figure.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Creator": "lengthwise", "Producer": None})
    return Drawing(svg.getvalue(), pdf.getvalue())


def _plain_numbers(figure: Figure) -> None:
    """Matplotlib labels log axes in its mathematical notation, which is off so that names are shown as they are."""
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        if isinstance(axis.get_major_formatter(), LogFormatter):
            axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
            axis.set_minor_formatter(NullFormatter())
