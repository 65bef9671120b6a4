"""The page: run folders read, sections rendered, and everything written, the page itself last and whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from lengthwise.errors import InputError
from lengthwise.reports.answer import Sentence, answer
from lengthwise.reports.blocks import Cards, Figure, Section, Table
from lengthwise.reports.checks import NotRun, checked_not_run
from lengthwise.reports.record import Record
from lengthwise.reports.sections import sections_of
from lengthwise.runs import slug
from lengthwise.runs.files import write, write_text


@dataclass(frozen=True)
class Chapter:
    """One run on a page: its record, its answer, its sections, and the prefix that keeps its files apart."""

    prefix: str
    record: Record
    answer: list[Sentence]
    sections: list[Section]


@dataclass(frozen=True)
class Page:
    """A page about one run or several, and the folder that it is written to."""

    folder: Path
    title: str
    chapters: list[Chapter]
    not_run: Sequence[NotRun] = ()

    @classmethod
    def read(
        cls, folder: Path, runs: Sequence[Path] | None, title: str | None, not_run: Sequence[Mapping[str, str]] = ()
    ) -> Page:
        """Read the run folders and render their sections; nothing is written."""
        if runs is not None and not runs:
            raise InputError("a page of no runs: expected at least one run folder")
        paths = list(runs or [folder])
        prefixes = _prefixes(paths) if runs is not None else [""]
        chapters = [_chapter(prefix, path.resolve(), _stamp(path)) for prefix, path in zip(prefixes, paths)]
        return cls(folder, title or chapters[0].record.config["question"], chapters, checked_not_run(not_run))

    def write(self) -> Path:
        """Write figures, tables and then the page; each file is whole or absent."""
        for chapter in self.chapters:
            for block in (block for section in chapter.sections for block in section.blocks):
                if isinstance(block, Figure):
                    drawing, path = block.drawing, self.folder / "figures" / f"{chapter.prefix}{block.name}"
                    write_text(path.with_name(f"{path.name}.svg"), drawing.svg)
                    write(path.with_name(f"{path.name}.pdf"), lambda p, pdf=drawing.pdf: p.write_bytes(pdf))
                if isinstance(block, Figure | Table | Cards):
                    write(self.folder / "tables" / f"{chapter.prefix}{block.name}.csv", block.data.write_csv)
        return write_text(self.folder / "index.html", self.html)

    @property
    def html(self) -> str:
        """The page as text: everything that it shows is in it."""
        return _environment().get_template("page.html.j2").render(page=self)


@lru_cache(maxsize=32)
def _chapter(prefix: str, path: Path, stamp: tuple) -> Chapter:
    """A run's part of a page, kept while its files are: a page of several runs is written again after each of them."""
    record = Record.read(path)
    return Chapter(prefix, record, answer(record), sections_of(record))


def _stamp(path: Path) -> tuple:
    """When the files of a run folder were last written, and how large they are."""
    found = sorted(path.iterdir()) if path.is_dir() else []
    return tuple((p.name, (s := p.stat()).st_mtime_ns, s.st_size) for p in found if p.suffix in (".json", ".parquet"))


def _prefixes(paths: Sequence[Path]) -> list[str]:
    """A prefix for the files of each run, different for each."""
    names = [slug(path.resolve().name) for path in paths]
    return [f"{name}-" if names.count(name) == 1 else f"{name}-{k + 1}-" for k, name in enumerate(names)]


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lengthwise.reports"),
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters["slug"] = slug
    environment.globals["image"] = _image
    return environment


def _image(figure: Figure, prefix: str) -> Markup:
    """A figure's drawing inside the page, with its words for who cannot see it."""
    drawn = figure.drawing.inline(f"{prefix}{figure.name}")
    return Markup(f'<svg role="img" aria-label="{escape(figure.alternative)}"') + Markup(drawn)
