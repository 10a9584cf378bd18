"""Steiner trees with a bound on the optimum: dual ascent, exclusion of edges, and local search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from oracles._watch import Watch
from oracles.anytime import Clock

if TYPE_CHECKING:
    from oracles.paths._kernels_paths import Roads

# Nodes and edges that the local search visits between two looks at the clock.
_VISITS = 500_000
# The number of trees that grow from different terminals at a time.
STARTS = 8
# Values within this share of each other are equal; sums of 10^5 numbers are rounded by less.
EQUAL = 1e-10


@dataclass
class Search:
    """The best tree so far, a lower bound, and the edges that a better tree may contain."""

    roads: Roads
    costs: FloatArray
    terminals: IntArray
    clock: Clock
    watch: Watch
    gap: float = 0.0
    node_limit: int | None = None

    def __post_init__(self) -> None:
        from oracles.trees._kernels_steiner_search import tables_for

        n, m = len(self.roads.offsets) - 1, len(self.costs)
        self.weights = self.costs.copy()
        self.is_terminal = np.zeros(n, bool)
        self.is_terminal[self.terminals] = True
        self.tables = tables_for(n, m)
        self.chosen, self.value = np.zeros(m, bool), np.inf
        self.bound, self.cuts = 0.0, np.empty(0, np.int64)
        kept = self.costs[self.costs < np.inf]
        self.is_whole = bool((kept == np.rint(kept)).all() and kept.sum() < 2.0**52)
        self.slack, self.root = np.empty(2 * m), int(self.terminals[0])

    @property
    def is_late(self) -> bool:
        """Whether the search must end."""
        self.watch.tell(self.value, self.bound)
        return self.clock.is_over or self.watch.is_interrupted

    @property
    def is_over(self) -> bool:
        """Whether the search must end, or its gap is closed."""
        return self.is_closed(self.gap) or self.is_late

    def is_closed(self, gap: float = 0.0) -> bool:
        """Return whether the tree is optimal within the relative `gap`."""
        return self.bound >= self.value * (1.0 - max(gap, EQUAL))

    @property
    def n_left(self) -> int:
        """The number of edges that are not excluded."""
        return int(np.count_nonzero(self.weights < np.inf))

    def raise_bound(self, bound: float) -> None:
        """Take over a lower bound on the trees that are not excluded. Integer costs have integer sums."""
        if self.is_whole:
            bound = float(np.ceil(bound * (1.0 - 1e-9) - 1e-6))
        # An excluded edge is in no tree that is better than the best one, so the least of both is a bound.
        self.bound = max(self.bound, min(bound, self.value))

    def connects(self, chosen: BoolArray) -> bool:
        """Return whether the chosen edges connect the terminals."""
        from oracles.trees._kernels_steiner_search import grown_tree

        guide = np.where(chosen, 1.0, np.inf)
        nodes, edges = np.empty(len(self.is_terminal), bool), np.empty(len(chosen), bool)
        return bool(
            np.isfinite(
                grown_tree(
                    self.roads,
                    guide,
                    guide,
                    self.is_terminal,
                    int(self.terminals[0]),
                    nodes,
                    edges,
                    self.tables,
                )
            )
        )

    def offer(self, chosen: BoolArray, is_node: BoolArray, value: float, most: float = 1.05) -> None:
        """Improve a tree that is at most `most` times as costly as the best one, and keep it if better."""
        from oracles.trees._kernels_steiner_search import improved

        if not value <= most * self.value:
            return
        cursor, trials = np.zeros(2, np.int64), 1 + _VISITS // (len(is_node) + len(chosen))
        while cursor[1] < len(is_node):
            value = improved(
                self.roads,
                self.weights,
                self.is_terminal,
                is_node,
                chosen,
                value,
                cursor,
                trials,
                self.tables,
            )
            if self.is_late:
                break
        self.keep(chosen)

    def keep(self, chosen: BoolArray) -> None:
        value = float(self.costs[chosen].sum())
        if value < self.value:
            self.value, self.chosen = value, chosen.copy()

    def grow(self, guide: FloatArray, starts: IntArray) -> None:
        """Offer the best of the trees that grow from `starts` by the weights `guide`."""
        from oracles.trees._kernels_steiner_search import grown_tree

        best = np.inf
        is_node, chosen = np.empty(len(self.is_terminal), bool), np.empty(len(self.costs), bool)
        nodes, edges = is_node.copy(), chosen.copy()
        for start in starts:
            value = grown_tree(
                self.roads, guide, self.weights, self.is_terminal, start, nodes, edges, self.tables
            )
            if value < best:
                best, is_node, chosen = value, nodes.copy(), edges.copy()
            if self.is_late:
                break
        if best < np.inf:
            self.offer(chosen, is_node, best)

    def ascend(self, root: int) -> None:
        """Raise the bound by dual ascent from `root`, offer trees of its arcs, and exclude edges."""
        slack, bound = self.raise_by_ascent(root)
        if bound == np.inf or self.is_closed():
            return
        best = slack.reshape(-1, 2).min(axis=1)
        guide = np.where(self.weights < np.inf, best + 1e-3 * self.weights, np.inf)
        others = self.terminals[np.argsort(self.terminals != root, kind="stable")][:STARTS]
        self.grow(guide, others)
        self.exclude_by(slack, root, bound)

    def raise_by_ascent(self, root: int) -> tuple[FloatArray, float]:
        """Raise the bound by dual ascent from `root`; return the slacks of the arcs and the value."""
        from oracles.trees._kernels_dual_ascent import dual_ascent

        slack, m = np.repeat(self.weights, 2), len(self.costs)
        starts, cuts = np.zeros(4 * m + 16, np.int64), np.empty(64 * m + 1024, np.int64)
        bound = dual_ascent(self.roads, slack, self.is_terminal, root, starts, cuts)
        if bound > self.bound or not len(self.cuts):
            self.slack, self.root = slack, root
            n_cuts = int(starts[-1])
            self.starts, self.cuts = starts[: n_cuts + 1].copy(), cuts[: starts[n_cuts]].copy()
        self.raise_bound(bound)
        return slack, float(bound)

    def exclude_by(self, slack: FloatArray, root: int, bound: float) -> None:
        """Exclude the edges of no tree that is better, by the slacks of a dual ascent from `root`."""
        from oracles.trees._kernels_dual_ascent import exclude, prune_ends

        spare = self.value * (1.0 + EQUAL) - bound
        exclude(self.roads, self.weights, slack, self.is_terminal, root, spare)
        prune_ends(self.roads, self.weights, self.is_terminal)
