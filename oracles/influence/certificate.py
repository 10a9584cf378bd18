"""OPIM-C's bounds, and what a certified solution comes with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from cmab.arrays import IntArray
from cmab.confidence.kl import bernoulli_divergence

# The bounds, sample sizes and confidence of Tang et al. 2018 are compared with its authors' code (`opimc` in
# OPIM1.1/alg.cpp of github.com/tangj90/OPIM); the numbers of its equations are from memory.
GREEDY_RATIO = 1.0 - 1.0 / math.e
# Tang, Tang, Lim, Han, Li, Yuan: Revisiting Modified Greedy Algorithm for Monotone Submodular Maximization
# with a Knapsack Constraint, SIGMETRICS 2021, abstract: of gain per cost, or the best single node if better.
BUDGET_RATIO = 0.405
_ROUNDING, _PRECISION, _HALVINGS = 1e-9, 1e-6, 40
# A number of sets that no machine draws; finite, where weights are so far apart that the theory's is not.
_NEVER = 2.0**60


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
        Whether `ratio` reached the oracle's ``alpha``; false only if `max_rr_sets`, `time_limit` or the free
        memory ended the search.
    spread : float
        Estimate of the seeds' spread, from sets that had no part in their choice. Slightly too high on
        average, by about a tenth of `standard_error` where samples are small: a call ends when this estimate
        is high enough, and doubles its samples when it is not. Only `ratio` is guaranteed; an unbiased
        estimate is the oracle's `spread`.
    standard_error : float
        Standard error of a sample whose size was fixed beforehand.
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
        cls,
        scale: float,
        log_choices: float,
        floor: float,
        epsilon: float,
        delta: float,
        first: int | None,
        ahead: int = 1,
        greedy: float = GREEDY_RATIO,
    ) -> Schedule:
        """Return the schedule for exp(`log_choices`) seed sets and an optimum of at least `floor`.

        The seeds reach at least `greedy` times what is best on every sample. The first sample is OPIM-C's
        `ahead` times, or has `first` sets.

        The spread of seeds S is C(S) + `scale` P[S meets a set], with C additive and known: C = 0 and the
        number of nodes in the paper, whose proof goes through. Roots are drawn in proportion to what they
        are worth, so every set is worth the same, and a count of sets is binomial.
        """
        # With g = `greedy`, N sets, an optimum O of seeds S*, and F(S) = C(S) + scale * (share of sets met):
        # (1) P[F(S*) <= (1 - e1) O] <= exp(-N e1^2 O / (2 scale)): Chernoff's lower tail, the chance that S*
        #     meets a set being at most O / scale. It is at most delta/6 when e1 = epsilon sqrt(a) / root,
        #     a = ln(6 / delta), N >= last.
        # (2) For seeds S of spread below (g - epsilon) O, and e2 = epsilon - g e1, P[F(S) >= spread + e2 O]
        #     <= exp(-N (e2 O / scale)^2 / (2 p + 2 e2 O / (3 scale))), Bernstein's upper tail, where
        #     p <= (g - epsilon) O / scale, so that the exponent is at least N e2^2 O / (2 g scale). Over all
        #     choices of k seeds this is at most delta/6, since e2 = epsilon sqrt(g (log_choices + a)) / root.
        # F is submodular: greedy reaches F(S) >= g F(S*) > g (1 - e1) O = (g - epsilon + e2) O, which seeds
        # as in (2) do not. With O >= floor this takes delta/3; the n_tests pairs of bounds take the rest.
        # `alpha`, `beta`, `maxNumR`, `numRbase`, `numIter` and `a1` of the authors' code, g for 1 - 1/e.
        log_6 = math.log(6.0 / delta)
        root = greedy * math.sqrt(log_6) + math.sqrt(greedy * (log_choices + log_6))
        last = max(1, math.ceil(min(2.0 * (scale / floor) * (root / epsilon) * (root / epsilon), _NEVER)))
        start = max(1, ahead * math.ceil(2.0 * root**2)) if first is None else first
        start = min(start, last)
        n_tests = max(1, math.ceil(math.log2(last / start)) + 1)
        return cls(start, last, math.log(3.0 * n_tests / delta))


def greedy_ratio(k: int) -> float:
    """Return ``1 - (1 - 1/k)^k``, what greedy reaches of the best k (Nemhauser et al. 1978, section 4)."""
    return float(1.0 - (1.0 - 1.0 / k) ** k)


def lower_bound(hits: int, n_sets: int, scale: float, log_term: float) -> float:
    """Return what the spread of fixed seeds exceeds with confidence 1 - exp(-`log_term`).

    The larger of two bounds (Tang et al. 2018, eq. 5; the binomial tail of `_log_tail`): both grow with
    `hits`, so the mistakes of one are among those of the other.
    """
    # `lowerSelect` of the authors' code.
    root = math.sqrt(hits + 2.0 * log_term / 9.0) - math.sqrt(log_term / 2.0)
    low = max(0.0, root**2 - log_term / 18.0) / n_sets if root > 0.0 else 0.0
    return scale * _boundary(low, hits / n_sets, lambda share: _log_tail(hits, n_sets, share) <= -log_term)


def upper_bound(coverage: float, n_sets: int, scale: float, log_term: float) -> float:
    """Return what the optimum stays below with confidence 1 - exp(-`log_term`).

    `coverage` bounds the number of the sets that the best seeds cover. The smaller of two bounds (Tang et al.
    2018, eq. 8; the binomial tail), as in `lower_bound`.
    """
    # `upperOPT` of the authors' code.
    root = math.sqrt(coverage + log_term / 2.0) + math.sqrt(log_term / 2.0)
    missed = n_sets - math.floor(coverage + _ROUNDING)
    if missed <= 0:
        return scale
    low = max(0.0, 1.0 - root**2 / n_sets)
    return scale * (
        1.0 - _boundary(low, missed / n_sets, lambda share: _log_tail(missed, n_sets, share) <= -log_term)
    )


def concave_bound(coverage: float, n_sets: int, log_term: float) -> tuple[float, float]:
    """Return (intercept, slope) of a line above an upper bound on the chance of a hit for every coverage.

    At coverage L the line is at ``intercept + slope * L / n_sets``, close to the bound where L is `coverage`.
    The bound is Chernoff's: the largest q with KL(L / n_sets, q) <= `log_term` / `n_sets`. As the divergence
    is convex in both, q is a concave function of L, and a tangent lies above it.
    """
    rate = log_term / n_sets
    x = min(max(coverage, 0.5), n_sets - 0.5) / n_sets
    low, high = x, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if bernoulli_divergence(x, middle) <= rate:
            low = middle
        else:
            high = middle
    if high == 1.0:
        return 1.0, 0.0
    # The derivative of q in KL(x, q) = rate: -(dKL/dx) / (dKL/dq), where dKL/dq = (q - x) / (q (1 - q)).
    slope = (math.log(high / x) - math.log((1.0 - high) / (1.0 - x))) * high * (1.0 - high) / (high - x)
    return high - slope * x, slope


def secures(hits: int, n_sets: int, share: float, log_term: float) -> bool:
    """Return whether `hits` of `n_sets` show a chance of more than `share`: `lower_bound` reaches it."""
    root = math.sqrt(hits + 2.0 * log_term / 9.0) - math.sqrt(log_term / 2.0)
    if root > 0.0 and root**2 - log_term / 18.0 >= share * n_sets:
        return True
    return _log_tail(hits, n_sets, share) <= -log_term


def _log_tail(hits: int, n_sets: int, share: float) -> float:
    """Return an upper bound on the logarithm of the chance that `hits` or more of `n_sets` are hit.

    Sets are hit independently with probability `share`. The terms of the tail fall at least as fast as the
    first two; at five standard deviations this loses a few per cent, where Chernoff's bound is ten times the
    tail and OPIM-C's, which forgets that a set is hit only once, more where spreads are large.
    """
    if hits <= n_sets * share:
        return 0.0
    if share <= 0.0:
        return -math.inf
    # P[hits] of the binomial, times the sum of a geometric series of the ratio of the first two terms.
    odds = share / (1.0 - share)
    first = log_binomial(n_sets, hits) + hits * math.log(odds) + n_sets * math.log1p(-share)
    return min(0.0, first - math.log1p(-odds * (n_sets - hits) / (hits + 1)))


def _boundary(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """Return about the largest number of ``[low, high]`` at which `holds` is true, as below it."""
    if not holds(low):
        return low
    while high - low > _PRECISION * high:
        middle = 0.5 * (low + high)
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def estimate(hits: int, n_sets: int, scale: float) -> tuple[float, float]:
    """Return the spread that `hits` of `n_sets` stand for, and its standard error.

    The error is that of one more hit and one more miss: no hit, or nothing but hits, is no certainty.
    """
    share = (hits + 1) / (n_sets + 2)
    return scale * hits / n_sets, scale * math.sqrt(share * (1.0 - share) / n_sets)


def log_binomial(n: int, k: int) -> float:
    """Return ln C(n, k)."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
