"""`lengthwise search`: many trials of a space of settings, and what each setting changes."""

from __future__ import annotations

import json
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lengthwise.runs import RunFolder
    from lengthwise.search import Block, Search, Space
    from lengthwise.search.execution import Pool
    from lengthwise.statistics.searched import Trials


def search(
    name: Annotated[str, typer.Argument(help="a search, or (with --space) an experiment or FILE.py", metavar="NAME")],
    trials: Annotated[int | None, typer.Option(min=1, help="how many trials (by default as the scale says)")] = None,
    scale: Annotated[str, typer.Option(help="smoke (seconds), quick (minutes) or full")] = "quick",
    workers: Annotated[int | None, typer.Option(min=1, help="so many processes of this machine")] = None,
    ray: Annotated[str | None, typer.Option(help="a Ray cluster: HOST:PORT, auto, or local", metavar="ADDRESS")] = None,
    space: Annotated[Path | None, typer.Option(help="a file that defines a Space", metavar="FILE.py")] = None,
    variant: Annotated[str | None, typer.Option(help="the variant that is searched (with --space)")] = None,
    block: Annotated[int | None, typer.Option(min=1, help="how many trials train together at most")] = None,
    sampler: Annotated[str | None, typer.Option(help="random or sobol")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="the seed of the trials")] = None,
    out: Annotated[Path | None, typer.Option(help="the folder to write")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="continue the search that --out holds")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps")] = "cpu",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what would be done, and do nothing")] = False,
    no_page: Annotated[bool, typer.Option("--no-page", help="write no page")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")] = False,
) -> None:
    """Try many settings of an experiment, and say which of them matter at long lengths."""
    from lengthwise.cli.session import default_folder, say
    from lengthwise.cli.sources import blaming
    from lengthwise.errors import InputError
    from lengthwise.experiments.running import check_device
    from lengthwise.search.folder import open_search
    from lengthwise.search.memory import check_memory
    from lengthwise.search.telling import described, in_lines, summary

    if resume and out is None:
        raise InputError("--resume: expected --out DIR, the folder of the search to continue")
    if ray not in (None, "local") and workers is not None:
        raise InputError("--workers goes without --ray, or with --ray local; a cluster at an address has its own")
    asked = Asked(name, scale, space, variant, trials, block, sampler, seed, device)
    found = asked.search()
    check_device(device)
    with blaming(asked.source):
        blocks = asked.blocks()
        memory = check_memory(found, blocks, (workers or 1) if ray in (None, "local") else 0)
        if dry_run:
            print(
                json.dumps(described(found, blocks, memory), indent=2) if as_json else in_lines(found, blocks, memory)
            )
            return
        if resume and out and not (out / "config.json").exists():
            say(f"nothing to continue in {out}: a new search")
        place = out or default_folder(f"search-{found.name}", scale)
        folder = open_search(found, blocks, place, scale, asked.source, resume)
        trained = carry_out(found, blocks, folder, pool_of(asked, workers, ray), quiet=as_json)
    page = None if no_page else _page(folder.path)
    said = summary(folder, trained, page)
    if as_json:
        print(json.dumps(said, indent=2))
        return
    print("".join(f"{claim}: {decision}\n" for claim, decision in said["claims"].items()), end="")
    print(f"{said['trials']} trials, {said['failed']} failed; best at trained lengths: {said['best']}")
    print(f"search: {folder.path}" + (f"\npage: {page.resolve()}" if page else ""))


@dataclass(frozen=True)
class Asked:
    """What the command was asked for: enough to make the search again, in this process or another."""

    name: str
    scale: str = "quick"
    space: Path | None = None
    variant: str | None = None
    trials: int | None = None
    block: int | None = None
    sampler: str | None = None
    seed: int | None = None
    device: str = "cpu"

    @property
    def source(self) -> Path | None:
        """The user's file that has a part in the search: the experiment's, or else the space's."""
        return Path(self.name) if self.name.endswith(".py") else self.space

    def search(self) -> Search:
        """The search that is meant.

        Errors: InputError for an unknown name, a file that raises or defines no Space, settings that are not there.
        """
        from lengthwise.errors import unknown

        if self.sampler not in (None, "random", "sobol"):
            raise unknown("sampler", str(self.sampler), ("random", "sobol"))
        changes = {k: getattr(self, k) for k in ("trials", "block", "sampler", "seed")}
        return self._named().changed(**{k: v for k, v in changes.items() if v is not None})

    def blocks(self) -> list[Block]:
        """The blocks of the search."""
        from lengthwise.search import blocks_of

        return blocks_of(self.search(), self.device, self.source)

    def _named(self) -> Search:
        from lengthwise.cli.sources import at_scale, find_experiment
        from lengthwise.errors import InputError, unknown
        from lengthwise.experiments import EXPERIMENTS
        from lengthwise.search import SEARCHES, search_of

        space = read_space(self.space) if self.space else None
        if self.name in SEARCHES and self.variant is None:
            found = SEARCHES[self.name].sized(self.scale)
            # The claims speak of the settings of the search's own space.
            return found if space is None else found.changed(space=space, claims=())
        if not self.name.endswith(".py") and self.name not in EXPERIMENTS:
            raise unknown("search", self.name, {*SEARCHES, *EXPERIMENTS})
        if space is None:
            raise InputError(f"{self.name}: expected --space FILE.py, as this comes with no search of its own")
        experiment, _ = find_experiment(self.name)
        return search_of(at_scale(experiment, self.scale, []), space, self.variant, of=self.name)


def read_space(path: Path) -> Space:
    """The one Space that a file defines at its top level.

    Errors: InputError for a file that is missing, raises, or defines none or several.
    """
    import runpy

    from lengthwise.cli.sources import blaming
    from lengthwise.errors import InputError
    from lengthwise.search import Space

    if not path.is_file():
        raise InputError(f"--space {path}: no such file; expected a Python file that defines a Space")
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)
    try:
        with blaming(path):
            values = list(runpy.run_path(str(path)).values())
    except InputError as error:  # of a distribution or a space, which do not know the file
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path]
        raise InputError(f"{path} line {lines[-1]}: {error}" if lines else str(error)) from None
    finally:
        sys.path.remove(folder)
    found = [value for value in values if isinstance(value, Space)]
    if len(found) != 1:
        raise InputError(f"{path}: expected exactly one Space at the top level, found {len(found)}")
    return found[0]


def pool_of(asked: Asked, workers: int | None, ray: str | None) -> Pool:
    """Where the blocks run: this process, local processes, or Ray."""
    from lengthwise.search.cluster import Cluster
    from lengthwise.search.execution import Here
    from lengthwise.search.processes import Processes

    if ray is not None:
        return Cluster(ray, asked.blocks, workers or 1, gpus=int(asked.device.startswith("cuda")))
    return Processes(workers, asked.blocks) if workers and workers > 1 else Here()


def carry_out(search: Search, blocks: list[Block], folder: RunFolder, pool: Pool, quiet: bool) -> Trials:
    """Do what is missing, with progress, and put everything together; what is done stays when interrupted."""
    from lengthwise.cli.session import say
    from lengthwise.search.execution import complete
    from lengthwise.search.folder import finish
    from lengthwise.search.telling import progress

    with folder.locked():
        try:
            with progress(quiet) as told:
                complete(folder.path, blocks, pool, told)
        except KeyboardInterrupt:
            say(f"what is done is saved; continue with --resume --out {folder.path}")
            raise
        return finish(search, blocks, folder)


def _page(folder: Path) -> Path:
    from lengthwise.reports.search_page import write_search_page

    return write_search_page(folder)
