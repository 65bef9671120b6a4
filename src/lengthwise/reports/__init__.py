"""Reports: one HTML page that answers an experiment's question from the run folders alone, with figures and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["write_page"]


def write_page(
    folder: Path,
    runs: Sequence[Path] | None = None,
    title: str | None = None,
    not_run: Sequence[Mapping[str, str]] = (),
) -> Path:
    """Write `folder/index.html`, its figures (SVG and PDF) and its tables (CSV), and give the page's path.

    Without `runs` the folder is itself one run. With `runs` the page in `folder` covers all of them, in order. A run
    may be unfinished: the page then says what is pending, and writing it again later replaces it whole. Claims that
    none of the runs decides are listed as not run: `not_run` gives the `id`, `statement` and `why` of each.

    Errors: InputError for a folder that is no run, a file that is missing or damaged, an unknown section, a claim
    of `not_run` that lacks one of the three, or a place that cannot be written.

    >>> import tempfile
    >>> write_page(Path(tempfile.mkdtemp()))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: ...expected a run folder, but there is no config.json in it
    """
    # Figures need Matplotlib, whose import is slow: commands that draw nothing must not pay for it.
    from lengthwise.reports.page import Page

    return Page.read(folder, runs, title, not_run).write()
