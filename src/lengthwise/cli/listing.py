"""`lengthwise list`: what there is to run, to set, and to claim."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def list_everything(
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")] = False,
) -> None:
    """List the experiments with their settings and claims, and the tasks, models, averages and metrics."""
    from lengthwise.diagnostics import METRICS
    from lengthwise.experiments import EXPERIMENTS
    from lengthwise.models import MODELS
    from lengthwise.search import SEARCHES
    from lengthwise.tasks import TASKS
    from lengthwise.training import AVERAGES, OPTIMISERS

    experiments = {
        name: {
            "question": e.question,
            "scales": list(e.scales),
            "variants": list(e.variants),
            "claims": {claim.id: claim.statement for claim in e.claims},
        }
        for name, e in EXPERIMENTS.items()
    }
    kinds = {"tasks": TASKS, "models": MODELS, "averages": AVERAGES, "optimisers": OPTIMISERS}
    searches = {
        name: {"question": s.question, "claims": {c.id: c.statement for c in s.claims}} for name, s in SEARCHES.items()
    }
    everything = {
        "experiments": experiments,
        "searches": searches,
        **{kind: list(names) for kind, names in kinds.items()},
        "metrics": {name: metric.says for name, metric in METRICS.items()},
    }
    if as_json:
        print(json.dumps(everything, indent=2))
        return
    for name, e in experiments.items():
        print(f"{name}  (scales: {', '.join(e['scales'])})\n  {e['question']}")
        print(f"  variants: {', '.join(e['variants'])}")
        for claim, statement in e["claims"].items():
            print(f"  claim {claim}: {statement}")
    for name, s in searches.items():
        print(f"search {name}\n  {s['question']}")
        for claim, statement in s["claims"].items():
            print(f"  claim {claim}: {statement}")
    for kind, names in kinds.items():
        print(f"{kind}: {', '.join(names)}")
    print("metrics:")
    for name, metric in METRICS.items():
        print(f"  {name:20s} {metric.says}")
