"""The base class of flow oracles: a graph as arcs of capacity one, and the supply of each node."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.oracle import LinearOracle
from oracles._graph_means import GraphOracle

if TYPE_CHECKING:
    from oracles.flows._kernels_flows import Pipes


class Flows(LinearOracle, GraphOracle):
    """Sets of edges that carry one unit each from supply nodes to demand nodes, without cycles.

    A subclass calls `_complete`. The first `n_arms` arcs are the base arms. If edges are undirected, the next
    `n_arms` arcs are their other directions. Further arcs have cost 0.
    """

    can_constrain = True
    has_membership = True
    edges: list[tuple[Hashable, ...]]

    def _complete(self, tails: IntArray, heads: IntArray, supply: IntArray, order: IntArray) -> None:
        """Set the arcs, the supply of each node, and a topological order of the nodes if one exists."""
        self.n_arms, self._order = len(self.edges), order
        self._tails, self._heads, self._supply = tails, heads, supply
        arms = np.arange(len(tails))
        is_way = arms < self.n_arms * (1 + self.is_undirected)
        self._arms = np.where(is_way, arms % max(1, self.n_arms), -1)

    @cached_property
    def _pipes(self) -> Pipes:
        from oracles.flows._kernels_flows import pipes_of

        return pipes_of(self._tails, self._heads, len(self._supply))

    @property
    def is_acyclic(self) -> bool:
        """Whether the graph is directed and acyclic."""
        return len(self._order) > 0

    @property
    def least_mean(self) -> float:
        """0, or minus infinity if the graph is directed and acyclic, because costs may then have any sign."""
        return -np.inf if self.is_acyclic else 0.0

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        super_arm = self._check_entries(super_arm)
        return [self.edges[arm] for arm in super_arm]

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether the edges carry the flow and no edge could be omitted."""
        # An acyclic flow is the only flow on its edges, because another flow would differ by cycles of these
        # edges.
        super_arm = self._check_entries(super_arm)
        carried = self._flow(np.where(_among(super_arm, self.n_arms), 0.0, np.inf))
        return carried is not None and len(carried) == len(super_arm)

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the edges of the best flow, in increasing order."""
        best = self._flow(self._costs(means))
        assert best is not None, "the constructor checked that a flow exists"
        return best

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> IntArray | None:
        """Return the best flow with all of `include` and none of `exclude`; None if no such flow exists.

        A nonempty `include` requires a directed acyclic graph, because the problem is hard on other graphs.

        Raises
        ------
        TypeError
            If `include` is not empty and the graph is undirected or has a cycle.
        """
        costs = self._costs(means)
        required, banned = self._check_constraints(include, exclude)
        if len(required) and not self.is_acyclic:
            raise TypeError("include must be empty unless graph is directed and acyclic")
        costs[banned] = np.inf
        return self._flow(costs, required)

    def _costs(self, means: FloatArray) -> FloatArray:
        return -self.sign * self._check_means(means, self.least_mean)

    def _flow(self, costs: FloatArray, forced: IntArray | None = None) -> IntArray | None:
        """Return the arms of the cheapest flow over edges of finite cost; None if there is no such flow."""
        is_used = self._used_arcs(costs, np.empty(0, np.int64) if forced is None else forced)
        if is_used is None:
            return None
        arms = self._arms[is_used]
        return np.unique(arms[arms >= 0])

    def _used_arcs(self, costs: FloatArray, forced: IntArray) -> BoolArray | None:
        from oracles.flows._kernels_flows import cheapest_flow, strip_cycles
        from oracles.paths._kernels_paths import shrink

        prices = np.where(self._arms >= 0, costs[self._arms], 0.0)
        shrink(prices, 4 * len(self._supply))
        # The unit of a required arc is already sent.
        prices[forced] = np.inf
        excess = self._supply.copy()
        np.subtract.at(excess, self._tails[forced], 1)
        np.add.at(excess, self._heads[forced], 1)
        is_used = np.empty(len(prices), bool)
        if not cheapest_flow(self._pipes, prices, excess, self._order, is_used):
            return None
        if not self.is_acyclic:
            strip_cycles(self._pipes, is_used)
        is_used[forced] = True
        return is_used


def _among(arms: IntArray, n_arms: int) -> BoolArray:
    is_among = np.zeros(n_arms, bool)
    is_among[arms] = True
    return is_among
