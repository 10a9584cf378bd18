"""OPIM-C's bounds, and what a certified solution comes with."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cmab.arrays import IntArray

GREEDY_RATIO = 1.0 - 1.0 / math.e


@dataclass(frozen=True, eq=False)
class Certificate:
    """Seeds, and how good they certainly are.

    Parameters
    ----------
    seeds : IntArray, shape (k,)
        Node numbers in the order of the greedy choice.
    ratio : float
        With probability at least ``1 - delta`` the seeds' spread is at least `ratio` times the optimum.
    certified : bool
        Whether `ratio` reached ``1 - 1/e - epsilon``; false only when `max_samples` ended the search.
    spread : float
        Estimate of the seeds' spread, from sets that had no part in their choice.
    standard_error : float
        Its standard error.
    rr_sets : int
        Reverse-reachable sets used, in both samples together.
    edges_examined : int
        Coins flipped for them, those of repeated validation included.
    n_components : int
        Nodes left after the contraction of certain arcs.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DirectedGraph, InfluenceMaximization
    >>> oracle = InfluenceMaximization(DirectedGraph.from_edges([0, 1], [1, 2]), k=1, epsilon=0.2)
    >>> answer = oracle.solve_certified(np.array([0.5, 0.5]), np.random.default_rng(0))
    >>> answer.seeds, answer.certified
    (array([0]), True)
    """

    seeds: IntArray
    ratio: float
    certified: bool
    spread: float
    standard_error: float
    rr_sets: int
    edges_examined: int
    n_components: int


@dataclass(frozen=True)
class Schedule:
    """Sample sizes of OPIM-C (Tang et al. 2018, section 4): `first`, doubled until `last`.

    Attributes
    ----------
    first, last : int
        Smallest and largest number of sets in each of the two samples.
    log_term : float
        ln(3 i_max / delta), the confidence that each of the i_max tests gets.
    """

    first: int
    last: int
    log_term: float

    @classmethod
    def of(
        cls, scale: float, log_choices: float, floor: float, epsilon: float, delta: float, first: int | None
    ) -> Schedule:
        """Return the schedule for exp(`log_choices`) seed sets and an optimum of at least `floor`.

        The spread of seeds S is C(S) + `scale` P[S meets a set], with C additive and known: C = 0 and the
        number of nodes in the paper, whose proof goes through. Roots are drawn in proportion to what they
        are worth, so every set is worth the same, and a count of sets is binomial.
        """
        # With g = 1 - 1/e, N sets, an optimum O of seeds S*, and F(S) = C(S) + scale * (share of sets met):
        # (1) P[F(S*) <= (1 - e1) O] <= exp(-N e1^2 O / (2 scale)): Chernoff's lower tail, the chance that S*
        #     meets a set being at most O / scale. It is at most delta/6 when e1 = epsilon sqrt(a) / root,
        #     a = ln(6 / delta), N >= last.
        # (2) For seeds S of spread below (g - epsilon) O, and e2 = epsilon - g e1, P[F(S) >= spread + e2 O]
        #     <= exp(-N (e2 O / scale)^2 / (2 p + 2 e2 O / (3 scale))), Bernstein's upper tail, where
        #     p <= (g - epsilon) O / scale, so that the exponent is at least N e2^2 O / (2 g scale). Over all
        #     choices of k seeds this is at most delta/6, since e2 = epsilon sqrt(g (log_choices + a)) / root.
        # F is submodular: greedy reaches F(S) >= g F(S*) > g (1 - e1) O = (g - epsilon + e2) O, which seeds
        # as in (2) do not. With O >= floor this takes delta/3; the n_tests pairs of bounds take the rest.
        log_6 = math.log(6.0 / delta)
        root = GREEDY_RATIO * math.sqrt(log_6) + math.sqrt(GREEDY_RATIO * (log_choices + log_6))
        last = max(1, math.ceil(2.0 * scale * root**2 / (epsilon**2 * floor)))
        start = max(1, math.ceil(2.0 * root**2)) if first is None else first
        start = min(start, last)
        n_tests = max(1, math.ceil(math.log2(last / start)) + 1)
        return cls(start, last, math.log(3.0 * n_tests / delta))


def lower_bound(hits: int, n_sets: int, scale: float, log_term: float) -> float:
    """Return what the spread of fixed seeds exceeds with confidence (Tang et al. 2018, eq. 5)."""
    root = math.sqrt(hits + 2.0 * log_term / 9.0) - math.sqrt(log_term / 2.0)
    return max(0.0, root**2 - log_term / 18.0) * scale / n_sets


def upper_bound(coverage: float, n_sets: int, scale: float, log_term: float) -> float:
    """Return what the optimum stays below with confidence (Tang et al. 2018, eq. 8).

    `coverage` bounds the number of the sets that the best seeds cover.
    """
    root = math.sqrt(coverage + log_term / 2.0) + math.sqrt(log_term / 2.0)
    return min(root**2 * scale / n_sets, scale)


def estimate(hits: int, n_sets: int, scale: float) -> tuple[float, float]:
    """Return the spread that `hits` of `n_sets` stand for, and its standard error.

    The error is that of one more hit and one more miss: no hit, or nothing but hits, is no certainty.
    """
    share = (hits + 1) / (n_sets + 2)
    return scale * hits / n_sets, scale * math.sqrt(share * (1.0 - share) / n_sets)


def log_binomial(n: int, k: int) -> float:
    """Return ln C(n, k)."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
