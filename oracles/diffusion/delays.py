"""Message delays, and the spread by a deadline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, FloatArray, IntArray
from cmab.validation import frozen, per_arm, real
from oracles.diffusion._memory import require_memory
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.reverse_sets import ReverseGraph
from oracles.diffusion.spread import KEY, mean_and_error, node_worths

if TYPE_CHECKING:
    from oracles.diffusion._kernels_deadlines import Timed

_BYTES_OF_ARC, _BYTES_OF_NODE = 40, 40


@dataclass(frozen=True, eq=False)
class Delays:
    """The delay distribution of each arc, and the deadline.

    Attributes
    ----------
    scales : FloatArray, shape (n_arcs,)
        The delay is ``ln(u) * scale`` for a uniform u. If `steps` is true, it is one plus the integer part of
        this.
    steps : bool
        Whether time is discrete.
    deadline : float
        The time after which activations do not count.
    meeting, rates : FloatArray, optional
        The arguments from which the scales were computed.
    """

    scales: FloatArray
    steps: bool
    deadline: float
    meeting: FloatArray | None = None
    rates: FloatArray | None = None

    @classmethod
    def of(
        cls, graph: DirectedGraph, deadline: float, meeting: ArrayLike | None, rates: ArrayLike | None
    ) -> Delays:
        """Return the delays for meeting probabilities, for rates, or for one step if both are None."""
        deadline = real("deadline", deadline, 0.0, inside=True)
        if meeting is not None and rates is not None:
            raise ValueError("rates must be None if meeting is given, got both")
        if rates is not None:
            given = frozen(_each("rates", rates, graph.n_arcs, np.inf))
            return cls(-1.0 / given, False, deadline, rates=given)
        if meeting is None:
            return cls(np.zeros(graph.n_arcs), True, deadline)
        given = frozen(_each("meeting", meeting, graph.n_arcs, 1.0))
        with np.errstate(divide="ignore"):
            return cls(1.0 / np.log1p(-given), True, deadline, meeting=given)

    def chances_within(self, time: float) -> FloatArray:
        """Return the probability that each delay is at most `time`."""
        passed = float(np.floor(time)) if self.steps else time
        if passed <= 0.0:
            return np.zeros(len(self.scales))
        with np.errstate(divide="ignore"):  # a message that takes one step has scale 0
            chances: FloatArray = -np.expm1(passed / -np.abs(self.scales))
        return chances

    def along(self, offsets: IntArray, arms: AnyArray, others: AnyArray, means: FloatArray) -> Timed:
        """Return the arrays for the kernels, in the order of `arms`."""
        from oracles.diffusion._kernels_deadlines import Timed

        return Timed(offsets, others, means[arms], self.scales[arms], self.steps, self.deadline)

    def spread(
        self,
        graph: DirectedGraph,
        means: FloatArray,
        seeds: IntArray,
        cascades: int,
        *,
        key: int = KEY,
        node_weights: FloatArray | None = None,
        threads: int = 1,
    ) -> tuple[float, float]:
        """Return the mean weight of nodes active by the deadline over `cascades`, and its standard error."""
        from oracles.diffusion._kernels_deadlines import timed_sums

        needed = _BYTES_OF_ARC * graph.n_arcs + _BYTES_OF_NODE * graph.n_nodes
        require_memory(threads * needed, f"cascades on {graph!r} on {threads} threads")
        world = self.along(*graph.out_arcs, graph.out_heads, means)
        return mean_and_error(
            cascades,
            threads,
            node_worths(graph, node_weights),
            lambda *at: timed_sums(world, at[0], seeds, key, *at[1:]),
        )


def _each(name: str, values: ArrayLike, n_arcs: int, most: float) -> FloatArray:
    """Return a positive number for each arc, from one number for all arcs or from an array."""
    numbers = per_arm(name, values, n_arcs, 0.0, most)
    if not (numbers > 0.0).all():
        raise ValueError(f"{name} must be positive, got 0 for arm {int(np.argmin(numbers))}")
    return numbers


@dataclass(frozen=True, eq=False)
class TimedSets(ReverseGraph):
    """Sets of the nodes that reach a root by the deadline."""

    backwards: Timed | None = None

    @classmethod
    def within(
        cls, delays: Delays, graph: DirectedGraph, means: FloatArray, node_weights: FloatArray | None = None
    ) -> TimedSets:
        """Return the reverse graph for a deadline."""
        # Contract and omit nothing, because a certain message takes time, too.
        plain = ReverseGraph.of(
            graph, np.full(graph.n_arcs, 0.5), node_weights=node_weights, sampler="coins", contract=False
        )
        return cls(**vars(plain), backwards=delays.along(*graph.in_arcs, graph.in_tails, means))

    def draw(
        self,
        key: int,
        first: int,
        last: int,
        owners: AnyArray,
        ends: IntArray,
        pool: AnyArray,
        stamps: AnyArray,
    ) -> tuple[int, int, int]:
        from oracles.diffusion._kernels_deadlines import draw_timed_sets

        assert self.backwards is not None
        rest = (key, first, last, owners, ends, pool, stamps)
        drawn: tuple[int, int, int] = draw_timed_sets(self.world, self.backwards, *rest)
        return drawn
