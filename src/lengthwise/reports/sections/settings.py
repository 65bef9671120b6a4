"""The exact settings, where the result comes from, and how to get the models back."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from lengthwise.reports.blocks import Block, Code, Heading, Paragraph, Section, Table
from lengthwise.reports.numbers import NONE, number
from lengthwise.reports.record import Record


def settings(record: Record) -> Section:
    """Everything that the result depends on."""
    config = record.config
    blocks: list[Block] = [
        Paragraph(
            f"Task {config['task']['name']} ({plain(config['task'].get('settings', {}))}), trained up to length "
            f"{config['task']['trained_length']:,}; variants: {len(record.variants)}, replicates: {record.replicates}, "
            f"seed: {config['seed']}, inputs for each measurement: {config['measuring']['inputs']:,}. "
            "Replicates differ in initial weights and data; the variants of a replicate see the same data."
        ),
        _variants(record),
        _phases(record),
        Code(json.dumps(config, indent=2, ensure_ascii=False), summary="The exact configuration (config.json)"),
    ]
    if record.provenance is not None:
        blocks += [Heading("Where it comes from"), _provenance(record.provenance)]
    return Section("Settings and provenance", [*blocks, Heading("Getting a model back"), *_loading(record)])


def plain(value: Any) -> str:
    """A setting as words.

    >>> plain({"vocabulary": 16, "bias": None, "all": [0.1, True]})
    'vocabulary = 16, bias = none, all = 0.1, yes'
    """
    if isinstance(value, dict):
        return ", ".join(f"{k} = {plain(v)}" for k, v in value.items()) or NONE
    if isinstance(value, list):
        return ", ".join(map(plain, value)) or NONE
    return {"None": "none", "True": "yes", "False": "no"}.get(str(value), str(value))


def _variants(record: Record) -> Table:
    shared = record.config["variants"][record.variants[0]]["model"]
    rows = []
    for name in record.variants:
        own = record.config["variants"][name]
        changed = {k: v for k, v in own["model"].items() if name == record.variants[0] or shared.get(k) != v}
        plan = "its own" if own["plan"] else "shared"
        rows.append([name, plain(changed), plan, ", ".join(a["name"] for a in own["averages"]) or NONE])
    header = ["Variant", "Model settings", "Plan", "Averages"]
    caption = "The variants: all settings of the first, and those in which each other one differs from it."
    return Table("variants", caption, header, rows, _text(header, rows), numeric=False)


def _phases(record: Record) -> Table:
    own = [(v, c["plan"]) for v, c in record.config["variants"].items() if c["plan"] is not None]
    plans = own if len(own) == len(record.variants) else [("shared", record.config["plan"]), *own]
    header = ["Plan", "Phase", "Steps", "Rates by group", "Lengths up to", "Optimiser state", "Batch", "Optimiser"]
    rows = [_phase(record, name, plan, k) for name, plan in plans for k in range(len(plan["phases"]))]
    caption = "The plan of training, phase by phase."
    if record.tuning:
        header.insert(4, "Chosen rates")
        rows = [[*row[:4], _chosen(record, row[0], int(row[1]) - 1), *row[4:]] for row in rows]
        caption += " Chosen rates: those of the plan times the factors that tuning chose."
    return Table("plan", caption, header, rows, _text(header, rows), heads=2, numeric=False)


def _phase(record: Record, name: str, plan: dict[str, Any], k: int) -> list[str]:
    phase = plan["phases"][k]
    longest = phase["lengths"] or record.config["task"]["trained_length"]
    state = "carried" if phase.get("carry") else "fresh"
    start = [name, str(k + 1), f"{phase['steps']:,}", plain(phase["rates"]), str(longest), state]
    return [*start, str(plan["batch"]), plain(plan["optimiser"])]


def _chosen(record: Record, plan: str, phase: int) -> str:
    """The rates that tuning chose for a variant's own plan, or for each variant that shares one."""
    if plan in record.variants:
        return rates(record.rates(plan)[phase])
    sharing = [v for v in record.variants if record.config["variants"][v]["plan"] is None]
    chosen = dict.fromkeys(rates(record.rates(v)[phase]) for v in sharing)
    return "; ".join(chosen)


def rates(by_group: dict[str, Any]) -> str:
    """Rates in words.

    >>> rates({"attention": 1000.0, "output": 0.3 * 0.1})
    'attention = 1,000, output = 0.03'
    """
    return ", ".join(f"{g} = {plain(r) if isinstance(r, dict) else number(r)}" for g, r in by_group.items()) or NONE


def _provenance(provenance: dict[str, Any]) -> Table:
    command = provenance.get("command")
    known = {**provenance, **({"command": " ".join(map(str, command))} if isinstance(command, list) else {})}
    header, rows = ["What", "Value"], [[name, plain(value)] for name, value in known.items()]
    caption = "Versions, machine and command of the run (provenance.json)."
    return Table("provenance", caption, header, rows, _text(header, rows), numeric=False)


def _text(header: list[str], rows: list[list[str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row")


def _loading(record: Record) -> list[Block]:
    first = record.variants[0]
    averages = [a["name"] for a in record.config["variants"][first]["averages"]]
    lines = [
        "import lengthwise",
        "",
        f"run = lengthwise.load({record.name!r})  # the path of this run's folder",
        f"model = run.model({first!r}, replicate=0, weights={[*averages, 'raw'][0]!r})",
        "curve = run.curve  # every measurement, as a polars table",
    ]
    text = "The model is an ordinary torch.nn.Module in evaluation mode. Weights to choose from: "
    return [Paragraph(f"{text}{', '.join(['raw', *averages])}."), Code("\n".join(lines))]
