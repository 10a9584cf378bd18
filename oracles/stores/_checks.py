"""Checks of the edges of a block."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from oracles.stores.sources import Block

#: Node numbers have 32 bits, and the number of nodes as well.
MOST = 2**31 - 2
#: Without `relabel`, more nodes than this per arc mean that most ids are not used.
_MOST_GAPS, _FEW_NODES = 8, 10**6


class Rules(NamedTuple):
    """The options of a conversion; see `convert_graph`."""

    directed: bool
    relabel: bool
    duplicates: str
    self_loops: str


def check_block(block: Block, rules: Rules, where: Callable[[int], str]) -> Block:
    """Return the edges to keep; raise ``ValueError`` for the first edge that is out of range.

    `where` returns the place of an edge in the source, given its number in the block.
    """
    tails, heads, chances = block.tails, block.heads, block.probabilities
    if not rules.relabel:
        for ids in (tails, heads):
            wrong = (ids < 0) | (ids > MOST)
            if wrong.any():
                edge = int(np.argmax(wrong))
                raise ValueError(
                    f"{where(edge)}: a node id must be an integer in [0, {MOST}], got {ids[edge]}; relabel"
                    " (`--relabel`) numbers the nodes of other ids"
                )
    if chances is not None:
        wrong = ~((chances >= 0.0) & (chances <= 1.0))
        if wrong.any():
            edge = int(np.argmax(wrong))
            raise ValueError(f"{where(edge)}: a probability must be in [0, 1], got {chances[edge]}")
    loops = tails == heads
    if not loops.any():
        return block
    if rules.self_loops == "error":
        edge = int(np.argmax(loops))
        raise ValueError(
            f"{where(edge)}: an edge must join two nodes, got a self-loop at {tails[edge]};"
            " self_loops='drop' (`--self-loops drop`) drops them"
        )
    kept = ~loops
    return block._replace(
        tails=tails[kept], heads=heads[kept], probabilities=None if chances is None else chances[kept]
    )


def check_gaps(n_nodes: int, n_arcs: int, file: Path) -> None:
    """Raise ``ValueError`` if most node numbers are not used, because each takes memory."""
    if n_nodes > _MOST_GAPS * n_arcs + _FEW_NODES:
        raise ValueError(
            f"{file}: node ids must be nearly consecutive, got {n_arcs} arcs with ids up to {n_nodes - 1};"
            " relabel (`--relabel`) numbers the nodes"
        )
