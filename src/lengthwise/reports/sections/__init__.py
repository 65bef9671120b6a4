"""The sections that an experiment may name, in one dictionary: a name and a function of the run."""

from __future__ import annotations

from collections.abc import Callable

from lengthwise.errors import unknown
from lengthwise.reports.blocks import Section
from lengthwise.reports.record import Record
from lengthwise.reports.sections.certificates import certificates
from lengthwise.reports.sections.contrasts import contrasts
from lengthwise.reports.sections.curves import curves
from lengthwise.reports.sections.displacement import displacement
from lengthwise.reports.sections.history import history
from lengthwise.reports.sections.mechanism import mechanism
from lengthwise.reports.sections.reach import reach
from lengthwise.reports.sections.settings import settings
from lengthwise.reports.sections.tuning import tuning
from lengthwise.reports.sections.verdicts import verdicts

SECTIONS: dict[str, Callable[[Record], Section]] = {
    "verdicts": verdicts,
    "certificates": certificates,
    "reach": reach,
    "curves": curves,
    "displacement": displacement,
    "contrasts": contrasts,
    "mechanism": mechanism,
    "tuning": tuning,
    "history": history,
    "settings": settings,
}


def sections_of(record: Record) -> list[Section]:
    """The sections that a run's experiment names, in its order; InputError for a name that does not exist."""
    for name in record.config["sections"]:
        if name not in SECTIONS:
            raise unknown("section", name, SECTIONS)
    return [SECTIONS[name](record) for name in record.config["sections"]]
