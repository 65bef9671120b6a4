"""Carrying out a search: the blocks that are missing, wherever they run, each into one file named by its content."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import polars as pl

from lengthwise.errors import InputError
from lengthwise.runs.files import read_table, write_table
from lengthwise.search.blocks import Block
from lengthwise.search.evaluation import SCHEMA, evaluate

BLOCKS = "blocks"
TRIES = 3

Told = Callable[[float, int, str], None]
"""Hears (trials done, trials in all, a notice or nothing); trials done counts the share of a block that is trained."""


def nothing_told(done: float, total: int, notice: str) -> None:
    """Progress that nobody hears."""


class Pool(Protocol):
    """Where blocks run: gives the results of blocks as they come, in any order.

    `progress` hears the share that is done of a block by its index, where the pool can tell.
    """

    workers: int

    def results(
        self, blocks: list[Block], progress: Callable[[int, float], None], notice: Callable[[str], None]
    ) -> Iterator[tuple[int, pl.DataFrame]]: ...


@dataclass
class Here:
    """This process, one block after the other."""

    workers: int = 1

    def results(
        self, blocks: list[Block], progress: Callable[[int, float], None], notice: Callable[[str], None]
    ) -> Iterator[tuple[int, pl.DataFrame]]:
        for block in blocks:
            yield block.index, evaluate(block, lambda done, total, i=block.index: progress(i, done / total))


def block_file(folder: Path, block: Block) -> Path:
    """Where the result of a block lies."""
    return folder / BLOCKS / f"{block.key}.parquet"


def complete(folder: Path, blocks: list[Block], pool: Pool, told: Told = nothing_told) -> None:
    """Do the blocks whose results are missing, and nothing else; results are written whole, once, by this process.

    Errors: InputError for a place that cannot be written, and for what a user's model raises.
    """
    missing = [block for block in blocks if not _stands(block_file(folder, block), block)]
    total, by_index = sum(len(block.trials) for block in blocks), {block.index: block for block in missing}
    done = float(total - sum(len(block.trials) for block in missing))
    shares = dict.fromkeys(by_index, 0.0)

    def tell(notice: str = "") -> None:
        told(done + sum(len(by_index[i].trials) * share for i, share in shares.items()), total, notice)

    def progress(index: int, share: float) -> None:
        shares[index] = share
        tell()

    if missing:
        # Closing the pool's generator ends its workers, also where a result cannot be written.
        with closing(pool.results(missing, progress, tell)) as results:  # type: ignore[type-var]
            for index, table in results:
                block = by_index[index]
                write_table(block_file(folder, block), table)
                shares.pop(index)
                done += len(block.trials)
                tell()
    if still := [block for block in blocks if not _stands(block_file(folder, block), block)]:
        raise AssertionError(f"{len(still)} blocks have no result")


def gathered(folder: Path, blocks: Iterable[Block]) -> pl.DataFrame:
    """The curves of all blocks, in the order of the blocks."""
    return pl.concat([read_table(block_file(folder, block)) for block in blocks])


def to_bytes(table: pl.DataFrame) -> bytes:
    """A table on its way between processes."""
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def from_bytes(data: bytes) -> pl.DataFrame:
    """A table that came from another process."""
    return pl.read_parquet(io.BytesIO(data))


def _stands(path: Path, block: Block) -> bool:
    """Whether a block's result is there, whole and of the block's trials; InputError for a file that is damaged."""
    if not path.is_file():
        return False
    table = read_table(path)
    if table.schema != SCHEMA or set(table["trial"]) != set(block.trials):
        raise InputError(f"{path}: expected the result of trials {block.trials[0]}..{block.trials[-1]}; delete it")
    return True
