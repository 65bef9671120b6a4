"""What a section says while its measurements are still to come, or were never taken."""

from __future__ import annotations

from lengthwise.reports.blocks import Paragraph, Section
from lengthwise.reports.measures import measure
from lengthwise.reports.record import Record

TO_COME = "Pending: this part appears once the run has been measured."


def pending(title: str) -> Section:
    """A section that waits for the run."""
    return Section(title, [Paragraph(TO_COME)])


def absent(record: Record, metric: str) -> Paragraph:
    """A metric that this run's task or model does not have."""
    return Paragraph(f"This run has no {measure(metric).name}: its task or its model offers none.")
