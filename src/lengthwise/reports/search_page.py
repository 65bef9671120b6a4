"""The page of a search: what matters at long lengths, with what certainty, and the settings to take."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from lengthwise.reports.answer import Sentence
from lengthwise.reports.blocks import Card, Cards, Code, Figure, Paragraph, Section, Table
from lengthwise.reports.measures import measure
from lengthwise.reports.numbers import interval
from lengthwise.reports.page import _environment
from lengthwise.reports.search_record import ALL, SearchRecord
from lengthwise.reports.sections.search_effects import called, search_effects
from lengthwise.reports.sections.search_trials import in_words, search_best, search_scatter
from lengthwise.reports.sections.verdicts import as_is, matched
from lengthwise.runs.files import write, write_text


def write_search_page(folder: Path) -> Path:
    """Write `folder/index.html`, its figures (SVG and PDF) and its tables (CSV), and give the page's path.

    Errors: InputError for a folder that holds no search, or one that has not finished; a file that is missing or
    damaged; a place that cannot be written.

    >>> import tempfile
    >>> write_search_page(Path(tempfile.mkdtemp()))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: ...expected a run folder, but there is no config.json in it
    """
    return SearchPage.read(folder).write()


@dataclass(frozen=True)
class SearchPage:
    """A search's record, its answer and its sections, and the folder that they are written to."""

    folder: Path
    record: SearchRecord
    answer: list[Sentence]
    sections: list[Section]

    @classmethod
    def read(cls, folder: Path) -> SearchPage:
        """Read the folder and render its sections; nothing is written."""
        record = SearchRecord.read(folder)
        makers = (search_verdicts, search_best, search_effects, search_scatter, search_settings)
        return cls(folder, record, search_answer(record), [make(record) for make in makers])

    def write(self) -> Path:
        """Write figures, tables and then the page; each file is whole or absent."""
        for block in (block for section in self.sections for block in section.blocks):
            if isinstance(block, Figure):
                drawing, path = block.drawing, self.folder / "figures" / block.name
                write_text(path.with_name(f"{path.name}.svg"), drawing.svg)
                write(path.with_name(f"{path.name}.pdf"), lambda p, pdf=drawing.pdf: p.write_bytes(pdf))
            if isinstance(block, Figure | Table | Cards):
                write(self.folder / "tables" / f"{block.name}.csv", block.data.write_csv)
        return write_text(self.folder / "index.html", self.html)

    @property
    def html(self) -> str:
        """The page as text: everything that it shows is in it."""
        return _environment().get_template("search.html.j2").render(page=self)


def search_answer(record: SearchRecord) -> list[Sentence]:
    """The claims, what averages do, which settings matter at the longest length, and the settings to take."""
    found = []
    if record.claims:
        by = [(claim.decision.capitalize(), claim.id) for claim in record.claims]
        found.append(Sentence("Claims", by))
    name, longest = measure(record.metric).name, record.marks[-1]
    averages = [
        (weights, "; ".join(f"{told} at length {s:,}" for s, told in _changes(record, weights)))
        for weights in record.weights[1:]
    ]
    if averages:
        found.append(Sentence(f"Averages against raw weights, change of {name}", averages))
    effects = called(record) or ["none that stands after the correction for many looks"]
    found.append(Sentence(f"What matters for {name} at length {longest:,}, raw weights", [("", e) for e in effects]))
    if record.best:
        best = record.best[0]
        told = in_words(record, best["settings"])
        found.append(Sentence("Best at trained lengths", [(f"Trial {best['trial']}", told)]))
    return found


def search_verdicts(record: SearchRecord) -> Section:
    """A card for each claim, with every estimate that its verdict rests on."""
    if not record.claims:
        return Section("Verdicts", [Paragraph("This search makes no claims.")])
    header = ["Estimate", "Decision", "n", "As is", "Scale-matched"]
    rows = {
        claim.id: [
            [
                p.label,
                p.decision,
                f"{p.n} in {p.beside}" + f", {p.failed} failed" * (p.failed > 0),
                as_is(p),
                matched(p),
            ]
            for p in claim.parts
        ]
        for claim in record.claims
    }
    cards = [Card(claim, rows[claim.id]) for claim in record.claims]
    lines = [[claim.id, claim.decision, *row] for claim in record.claims for row in rows[claim.id]]
    schema = dict.fromkeys(["claim", "verdict", *header], pl.String)
    data = pl.DataFrame(lines, schema=schema, orient="row")
    told = "Each rule was written before the search. In brackets are 95% intervals that resample blocks of trials."
    return Section("Verdicts", [Paragraph(told), Cards("verdicts", header, cards, data)])


def search_settings(record: SearchRecord) -> Section:
    """The space, and everything else that the result depends on."""
    config = record.config
    rows = [[name, said] for name, said in config["said"].items()]
    data = pl.DataFrame(rows, schema={"field": pl.String, "values": pl.String}, orient="row")
    told = Paragraph(
        f"{config['trials']:,} trials of {config['of']}, sampler {config['sampler']}, seed {config['seed']}, in blocks "
        f"of at most {config['block']}. A block's trials share data and initial weights; blocks differ in both."
    )
    table = Table("space", "The space.", ["Field", "Values"], rows, data, numeric=False)
    provenance = json.dumps(record.provenance, indent=2, ensure_ascii=False)
    exact = Code(json.dumps(config, indent=2, ensure_ascii=False), summary="The exact configuration (config.json)")
    whence = Code(provenance, summary="Versions, machine and command (provenance.json)")
    return Section("Settings and provenance", [told, table, exact, whence])


def _changes(record: SearchRecord, weights: str) -> list[tuple[int, str]]:
    rows = record.effects.filter(family="averages", among=ALL, weights=weights, scale="as is").sort("length")
    return [(r["length"], interval(r["effect"], r["low"], r["high"])) for r in rows.iter_rows(named=True)]
