"""What the settings of a search change: the effect tables, and how several looks are corrected for."""

from __future__ import annotations

import polars as pl

from lengthwise.reports.blocks import Block, Figure, Heading, Paragraph, Section, Table
from lengthwise.reports.figures import search as figures
from lengthwise.reports.figures.style import draw
from lengthwise.reports.measures import measure
from lengthwise.reports.numbers import NONE, interval
from lengthwise.reports.search_record import ALL, FIFTH, SearchRecord

LEVEL = 0.05
STAR = "\N{LOW ASTERISK}"
SHORT = {"rank correlation": "rank", "mean difference": "mean"}
HOW = (
    "In brackets are 95% intervals by a studentised wild bootstrap over blocks: trials of a block share data and "
    "initial weights, so whole blocks are what is resampled. Rank correlations are Spearman's within trials of "
    "one structure, averaged; slopes and differences compare trials of one block, but for choices that a whole "
    "block shares. p is Holm's: the p-values of all settings and lengths together are adjusted, for each weights, "
    "each scale and each set of trials by itself, so that in each such family the chance of calling any effect "
    "where there is none stays below 5%. Scale-matched: one inverse temperature per trial and weights, fitted on "
    "the trained lengths, took out how loud the logits are. The best fifth are the trials with the best raw "
    "weights at TRAINED lengths: what who tunes without looking at long lengths would have."
)
TITLES = {
    "averages": "Averages against raw weights, within each trial",
    "settings": "Settings",
    "interactions": "Interactions",
}


def search_effects(record: SearchRecord) -> Section:
    """Every effect at every marked length, as is and scale-matched, among all trials and among the best fifth."""
    blocks: list[Block] = [Paragraph(HOW), Paragraph(_failed(record))]
    for family, title in TITLES.items():
        rows = record.effects.filter(family=family)
        if rows.is_empty():
            continue
        blocks.append(Heading(title))
        if family == "settings":
            blocks += _ranks(record)
        for among in (ALL, FIFTH):
            for weights in record.weights:
                own = rows.filter(among=among, weights=weights)
                if not own.is_empty():
                    blocks.append(_table(record, family, among, weights, own))
    return Section("Effects", blocks)


def called(record: SearchRecord) -> list[str]:
    """The effects of settings at the longest length with raw weights that stand after the correction, in words."""
    last = record.effects.filter(
        pl.col("p_holm") <= LEVEL, family="settings", among=ALL, weights="raw", scale="as is", length=record.marks[-1]
    )
    return [
        f"{record.short(row['setting'])}, {row['contrast']} ({row['kind']} {_told(row)})"
        for row in last.sort(pl.col("effect").abs(), descending=True).iter_rows(named=True)
    ]


def _failed(record: SearchRecord) -> str:
    failed = record.trials.settings.filter(pl.col("failed_at").is_not_null())
    if failed.is_empty():
        return f"None of the {len(record.trials.settings):,} trials failed."
    numbers = ", ".join(map(str, failed["trial"].to_list()[:20])) + (" and others" if len(failed) > 20 else "")
    return (
        f"{len(failed)} of {len(record.trials.settings):,} trials failed: their loss stopped being finite ({numbers}). "
        "In rank correlations they count as worse than any other; in differences and slopes, which need a value, they "
        "are left out and counted under Failed."
    )


def _ranks(record: SearchRecord) -> list[Block]:
    """The rank correlations of every numeric setting with raw weights, drawn."""
    rows = record.effects.filter(
        pl.col("effect").is_not_null(), family="settings", among=ALL, weights="raw", scale="as is",
        kind="rank correlation",
    )  # fmt: skip
    names = [
        n for n in dict.fromkeys(rows["setting"]) if rows.filter(setting=n)["length"].n_unique() == len(record.marks)
    ]
    if not names:
        return []
    columns = []
    for length in record.marks:
        own = {row["setting"]: row for row in rows.filter(length=length).iter_rows(named=True)}
        bars = [
            figures.Bar(
                record.short(n), own[n]["effect"], own[n]["low"], own[n]["high"], (own[n]["p_holm"] or 1.0) <= LEVEL
            )
            for n in names
        ]
        columns.append((f"at length {length:,}", bars))
    what = measure(record.metric)
    axis = f"Rank correlation with {what.name}, raw weights; below 0: more of the setting, less of it"
    caption = f"Rank correlation of each numeric setting with {what.name} over all trials, with 95% intervals."
    drawing = draw("ranks", lambda: figures.bars(columns, axis))
    alternative = f"Rank correlations of {', '.join(map(record.short, names))} at {len(columns)} lengths"
    return [Figure("ranks", caption, alternative, drawing, rows)]


def _table(record: SearchRecord, family: str, among: str, weights: str, rows: pl.DataFrame) -> Table:
    last = record.marks[-1]
    header = ["Setting", "Contrast", *(f"At {s:,}" for s in record.marks), f"Scale-matched at {last:,}", "n"]
    lines = []
    for keys, own in rows.group_by("setting", "contrast", "kind", maintain_order=True):
        setting, contrast, kind = map(str, keys)
        cells = [_cell(own.filter(length=s, scale="as is")) for s in record.marks]
        cells.append(_cell(own.filter(length=last, scale="scale-matched")))
        failed = own["failed"].max()
        count = f"{own['n'].max()} in {own['blocks'].max()}" + (f", {failed} failed" if failed else "")
        lines.append([record.short(setting), f"{contrast} ({SHORT.get(kind, kind)})", *cells, count])
    who = "all trials" if among == ALL else "the best fifth at trained lengths"
    caption = (
        f"{TITLES[family]}, {weights} weights, among {who}: {measure(record.metric).name}. {STAR} an effect after "
        "Holm's correction; n is trials in blocks. The table's CSV has every p."
    )
    name = f"effects-{family}-{'all' if among == ALL else 'best-fifth'}-{weights}".replace(" ", "-")
    open_ = among == ALL and (family != "settings" or weights == "raw")
    folded = "" if open_ else f"{TITLES[family]}, {weights} weights, among {who}"
    return Table(name, caption, header, lines, rows, heads=2, summary=folded)


def _cell(rows: pl.DataFrame) -> str:
    if rows.is_empty():
        return NONE
    row = rows.row(0, named=True)
    return f"{_told(row)} {STAR}" if row["p_holm"] is not None and row["p_holm"] <= LEVEL else _told(row)


def _told(row: dict) -> str:
    return interval(row["effect"], row["low"], row["high"])
