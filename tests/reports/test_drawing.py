"""Figures, looked at through Matplotlib: what is drawn where, and that colour is not needed to tell lines apart."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from lengthwise.reports.estimates import Estimate, Line, line
from lengthwise.reports.figures import curves, displacement, history
from lengthwise.reports.figures.forest import forest
from lengthwise.reports.figures.panels import shown
from lengthwise.reports.figures.style import THEME, draw, mark
from lengthwise.reports.record import Record
from lengthwise.reports.sections.contrasts import average_rows, variant_rows


@pytest.fixture(scope="module")
def record(run: Path) -> Record:
    return Record.read(run)


def test_a_panel_for_each_variant_with_its_band_and_the_trained_lengths_shaded(record: Record):
    lines = [line(record, v, "raw", "tv") for v in record.variants]
    figure = curves.by_variant(record, lines, "Total variation")
    assert [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes] == record.variants
    for axes, own in zip(figure.axes, lines):
        assert len(axes.collections) >= 1
        shades = [p for p in axes.patches if p.get_x() + p.get_width() > 8]  # type: ignore[attr-defined]
        assert [8 <= p.get_x() + p.get_width() < 9 for p in shades] == [True]  # type: ignore[attr-defined]
        assert any(np.array_equal(x.get_ydata(), own.array("mean")) for x in axes.lines)
    labels = [t.get_text() for t in figure.legends[0].get_texts()]
    assert labels == ["the variant named, mean and 95% band", "no norm", "the other variants", "trained lengths"]


def test_the_line_of_theory_falls_like_one_over_s_from_the_trained_edge(record: Record):
    lines = [line(record, v, "raw", "displacement") for v in record.variants]
    slopes = {v: Estimate(7, 0, -1.0) for v in record.variants}
    figure = displacement.displacement(record, lines, slopes, "Displacement")
    for axes, own in zip(figure.axes, lines):
        theory = next(x for x in axes.lines if x.get_label() == "falls like 1/s")
        product = np.asarray(theory.get_ydata()) * np.asarray(theory.get_xdata())
        np.testing.assert_allclose(product, own.array("mean")[7] * 8)
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_displacement_that_is_not_positive_can_be_drawn(record: Record):
    flat = Line("no norm", "raw", record.lengths, [Estimate(7, 0, -1.0, -1.0, -2.0, 0.5)] * 15)
    draw("flat", lambda: displacement.displacement(record, [flat], {"no norm": Estimate(0, 7)}, "Displacement"))


def test_forest_rows_stand_as_is_and_matched_one_above_the_other(record: Record):
    rows = [*variant_rows(record), *average_rows(record)]
    figure = forest(rows, "Difference")
    assert [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes] == [
        f"at length {s}" for s in (1, 8, 15)
    ]
    for k, axes in enumerate(figure.axes):
        points = [x for x in axes.lines if x.get_marker() in ("o", "D")]
        assert len(points) == 2 * len(rows)
        drawn = [x.get_xdata()[0] for x in points if x.get_marker() == "o"]  # type: ignore[index]
        assert drawn == [row.contrasts[k].as_is.mean for row in rows]
    names = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert names[: len(rows)] == [row.label for row in rows]
    assert {"Remedies", "Only scale", "no norm"} <= set(names[len(rows) :])


def test_phases_are_drawn_where_they_begin(record: Record):
    losses = [Line(v, "raw", [10, 150], [Estimate(7, 0, 2.0), Estimate(7, 0, 1.0)]) for v in record.variants]
    figure = history.losses(record, losses)
    for axes in figure.axes:
        assert [x.get_xdata() for x in axes.lines if list(x.get_xdata()) == [100, 100]]  # type: ignore[arg-type]


def test_no_two_of_thirty_lines_share_dashes_and_marker():
    marks = [(mark(k).dashes, mark(k).marker) for k in range(30)]
    assert len(set(marks)) == 30


@pytest.mark.parametrize("count", [1, 2, 3, 4, 10])
def test_any_number_of_variants_can_be_drawn(record: Record, count: int):
    own = line(record, "no norm", "raw", "tv")
    lines = [Line(v, "raw", own.x, own.estimates) for v in (record.variants * 4)[:count]]
    assert len(curves.by_variant(record, lines, "Total variation").axes) == count


def test_lengths_that_span_a_hundredfold_stand_on_a_log_axis(build_run):
    record = Record.read(build_run(lengths=(1, 8, 100, 1000), averages=()))
    figure = curves.by_variant(record, [line(record, "no norm", "raw", "tv")], "Total variation")
    assert figure.axes[0].get_xscale() == "log"


def test_text_stays_text_and_colours_follow_the_theme_of_the_page(record: Record):
    lines = [line(record, v, "raw", "tv") for v in record.variants]
    drawing = draw("x", lambda: curves.by_variant(record, lines, "Total variation"))
    assert ">post-norm</text>" in drawing.svg
    inline = drawing.inline("x")
    assert not [colour for colour in THEME.values() if colour in inline]
    assert "http" not in inline


def test_log_axes_are_labelled_in_plain_numbers():
    def make() -> Figure:
        figure = Figure()
        axes = figure.subplots()
        axes.plot([1, 1000], [-100, 100])
        axes.set_xscale("log")
        axes.set_yscale("symlog")
        return figure

    svg = draw("log", make).svg
    assert ">100</text>" in svg
    assert ">−100</text>" in svg
    assert "math" not in svg


def test_names_are_cut_not_hidden():
    assert shown("x" * 99, 10) == "x" * 9 + "…"


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1])
def test_text_has_the_contrast_that_accessibility_asks_for(theme: int):
    css = files("lengthwise.reports").joinpath("templates/page.css").read_text()
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", css.split(":root {")[theme + 1]))
    for ground in ("paper", "raised"):
        for name in ("text", "soft", "link", "holds", "fails", "undecided", "pending", "figure-ink"):
            bright, dark = sorted((luminance(colours[name]), luminance(colours[ground])), reverse=True)
            assert (bright + 0.05) / (dark + 0.05) >= 4.5, (name, ground)
    assert {f"figure-{part}" for part in THEME} <= set(colours)
