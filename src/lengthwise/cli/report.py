"""`lengthwise report`: write a run folder's page again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(help="a run folder, or one of `reproduce` or `search`", metavar="DIR")],
) -> None:
    """Write the page, the figures and the tables of a run folder again."""
    from lengthwise.cli.reproduce import runs_below
    from lengthwise.reports import write_page
    from lengthwise.reports.search_page import write_search_page
    from lengthwise.reports.search_record import is_search

    if is_search(folder):
        print(write_search_page(folder).resolve())
        return
    print(write_page(folder, runs_below(folder)).resolve())
