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

    wanted = _experiments_of(claims or [])
    scaled = {name: at_scale(EXPERIMENTS[name], scale, []) for name in wanted}
    options = Options(device=device)
    folder = out or default_folder("reproduce", scale)
    paths = [folder / name for name in scaled]
    folders = {name: open_run(e, folder / name, scale, options, resume=True) for name, e in scaled.items()}
    write_json(folder / MARKER, {"scale": scale, "claims": claims or "all", "runs": list(scaled)})
    page = write_page(folder, paths)
    if not as_json:
        print(f"page: {page.resolve()}", flush=True)
    for name, experiment in scaled.items():
        carry_out(experiment, folders[name], options, quiet=as_json)
        write_page(folder, paths)
    decided = {c["id"]: c["decision"] for f in folders.values() for c in f.claims if not claims or c["id"] in claims}
    if as_json:
        print(json.dumps({"folder": str(folder.resolve()), "page": str(page.resolve()), "claims": decided}, indent=2))
    else:
        print("\n".join(f"{claim}: {decision}" for claim, decision in decided.items()))
        print(f"page: {page.resolve()}")
    if check and any(decision != "holds" for decision in decided.values()):
        raise typer.Exit(1)


def runs_below(folder: Path) -> list[Path] | None:
    """The run folders of a `reproduce` folder; None for a folder that is itself a run."""
    from lengthwise.runs.files import read_json

    if not (folder / MARKER).is_file():
        return None
    return [folder / name for name in read_json(folder / MARKER)["runs"]]


def _experiments_of(claims: list[str]) -> list[str]:
    from lengthwise.errors import unknown
    from lengthwise.experiments import EXPERIMENTS

    owner = {claim.id: name for name, e in EXPERIMENTS.items() for claim in e.claims}
    for claim in claims:
        if claim not in owner:
            raise unknown("claim", claim, owner)
    return list(dict.fromkeys(owner[claim] for claim in claims)) if claims else list(EXPERIMENTS)
