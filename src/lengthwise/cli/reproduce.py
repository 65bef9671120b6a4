"""`lengthwise reproduce`: the main job, every claim on one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

MARKER = "reproduce.json"


def reproduce(
    claims: Annotated[list[str] | None, typer.Argument(help="only these claims", metavar="[CLAIM ...]")] = None,
    scale: Annotated[str, typer.Option(help="smoke (seconds), quick (minutes) or full")] = "quick",
    out: Annotated[Path | None, typer.Option(help="the folder to write; one that was interrupted is continued")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps")] = "cpu",
    check: Annotated[bool, typer.Option("--check", help="exit with 1 unless every claim holds")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")] = False,
) -> None:
    """Decide the claims of the papers, on one page that grows as they are decided."""
    from lengthwise.cli.session import carry_out, default_folder
    from lengthwise.cli.sources import at_scale
    from lengthwise.experiments import EXPERIMENTS
    from lengthwise.experiments.execute import Options
    from lengthwise.experiments.running import open_run
    from lengthwise.reports import write_page
    from lengthwise.runs.files import write_json
    from lengthwise.statistics.verdicts import all_of

    wanted, not_run = _chosen(claims or [], scale)
    scaled = {name: at_scale(EXPERIMENTS[name], scale, []) for name in wanted}
    options = Options(device=device)
    folder = out or default_folder("reproduce", scale)
    paths = [folder / name for name in scaled]
    folders = {name: open_run(e, folder / name, scale, options, resume=True) for name, e in scaled.items()}
    write_json(folder / MARKER, {"scale": scale, "claims": claims or "all", "runs": list(scaled)})
    page = write_page(folder, paths, not_run=not_run)
    if not as_json:
        print(f"page: {page.resolve()}", flush=True)
    for name, experiment in scaled.items():
        carry_out(experiment, folders[name], options, quiet=as_json)
        write_page(folder, paths, not_run=not_run)
    found = [(name, c) for name, f in folders.items() for c in f.claims if not claims or c["id"] in claims]
    decisions = {c["id"]: [other["decision"] for _, other in found if other["id"] == c["id"]] for _, c in found}
    decided = {claim: all_of(each) for claim, each in decisions.items()}
    waiting = {row["id"]: "not run" for row in not_run if row["id"] not in decided}
    if as_json:
        said = {"folder": str(folder.resolve()), "page": str(page.resolve()), "claims": {**decided, **waiting}}
        print(json.dumps(said, indent=2))
    else:
        print("\n".join(f"{c['id']}{_where(c['id'], name, decisions)}: {c['decision']}" for name, c in found))
        print("".join(f"{claim}: not run at scale {scale}\n" for claim in waiting), end="")
        print(f"page: {page.resolve()}")
    if check and any(decision != "holds" for decision in decided.values()):
        raise typer.Exit(1)


def runs_below(folder: Path) -> list[Path] | None:
    """The run folders of a `reproduce` folder; None for a folder that is itself a run."""
    from lengthwise.runs.files import read_json

    if not (folder / MARKER).is_file():
        return None
    return [folder / name for name in read_json(folder / MARKER)["runs"]]


def _chosen(claims: list[str], scale: str) -> tuple[list[str], list[dict[str, str]]]:
    """The experiments of the claims (of all claims) at a scale, and the claims of the others, which are not run.

    Errors: InputError for a claim that does not exist, or that is not decided at this scale.
    """
    from lengthwise.errors import InputError, unknown
    from lengthwise.experiments import EXPERIMENTS

    owners: dict[str, list[str]] = {}
    for name, e in EXPERIMENTS.items():
        for claim in e.claims:
            owners.setdefault(claim.id, []).append(name)
    for claim in claims:
        if claim not in owners:
            raise unknown("claim", claim, owners)
        if not any(scale in EXPERIMENTS[name].reproduced for name in owners[claim]):
            known = ", ".join(EXPERIMENTS[owners[claim][0]].reproduced)
            raise InputError(f"claim {claim!r}: not decided at scale {scale!r}; expected --scale {known}")
    wanted = dict.fromkeys(name for claim in claims or owners for name in owners[claim])
    here = [name for name in wanted if scale in EXPERIMENTS[name].reproduced]
    others = {
        c.id: (c.statement, EXPERIMENTS[n].reproduced) for n in wanted if n not in here for c in EXPERIMENTS[n].claims
    }
    return here, [
        {"id": i, "statement": s, "why": f"decided at scale {', '.join(at)}"} for i, (s, at) in others.items()
    ]


def _where(claim: str, experiment: str, decisions: dict[str, list[str]]) -> str:
    """The experiment, where several decide the same claim."""
    return f" [{experiment}]" if len(decisions[claim]) > 1 else ""
