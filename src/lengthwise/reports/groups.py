"""Variants in groups that a reader takes in one at a time: the main arms, fixed ratios of rates, other models."""

from __future__ import annotations

from lengthwise.reports.record import Record

MAIN, RATIOS, GRIDS, MODELS = "Main arms", "Fixed ratios of rates", "Grids of their own", "Other parametrisations"
FEW = 9


def groups(record: Record) -> dict[str, list[str]]:
    """The variants by what sets them apart from the first, in order; one group without a name where they are few.

    So too where the first would stand alone and all others together.

    A variant with other settings of the model is another parametrisation; one whose tuning grid is the overall rate
    alone keeps the ratio of its rates.
    """
    if len(record.variants) <= FEW:
        return {"": record.variants}
    found: dict[str, list[str]] = {MAIN: [], RATIOS: [], GRIDS: [], MODELS: []}
    for variant in record.variants:
        found[_group(record, variant)].append(variant)
    kept = {name: own for name, own in found.items() if own}
    return kept if max(len(found[MAIN]), len(kept) - 1) > 1 else {"": record.variants}


def _group(record: Record, variant: str) -> str:
    first, own = (record.config["variants"][v] for v in (record.variants[0], variant))
    if own["model"] != first["model"]:
        return MODELS
    grid = own.get("grid")
    if not grid or grid == first.get("grid"):
        return MAIN
    return RATIOS if set(grid) == {"all"} else GRIDS
