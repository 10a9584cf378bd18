"""The bounds and sample sizes of OPIM-C, and the certificate of a solution."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from cmab.arrays import IntArray
from cmab.bounds.kl import bernoulli_divergence

# The bounds, sample sizes and confidence levels of Tang et al. 2018 were compared with the authors' code
# (`opimc` in OPIM1.1/alg.cpp of github.com/tangj90/OPIM); the equation numbers are from memory.
GREEDY_RATIO = 1.0 - 1.0 / math.e
# Tang, Tang, Lim, Han, Li, Yuan: Revisiting Modified Greedy Algorithm for Monotone Submodular Maximization
# with a Knapsack Constraint, SIGMETRICS 2021, abstract: greedy by gain per cost or the best single node.
BUDGET_RATIO = 0.405
_ROUNDING, _PRECISION, _HALVINGS = 1e-9, 1e-6, 40
# A number of sets that is never reached. It is finite, unlike the theoretical number for extreme weights.
_NEVER = 2.0**60


@dataclass(frozen=True, eq=False)
class Certificate:
    """Seeds and their guarantee.

    Parameters
    ----------
    seeds : IntArray, shape (k,)
        The seeds as node numbers, in the order of the greedy choice.
    ratio : float
        The certified ratio. With probability at least ``1 - delta``, the spread of the seeds is at least
        `ratio` times the optimum.
    certified : bool
        Whether `ratio` reached the oracle's ``alpha``. It is false only if `max_rr_sets`, `time_limit` or the
        free memory ended the search.
    spread : float
        An estimate of the spread of the seeds, from sets that were not used to choose them. It is slightly
        too high on average, by about a tenth of `standard_error` if samples are small, because a call ends if
        this estimate is high enough and continues otherwise. Only `ratio` is guaranteed. For an unbiased
        estimate, use the method `spread` of the oracle.
    standard_error : float
        The standard error of `spread`, computed as if the sample size had been fixed beforehand.
    rr_sets : int
        The number of reverse-reachable sets used, in both samples together.
    edges_examined : int
        The number of edges examined for these sets, including repeated validations.
    n_components : int
        The number of nodes after the contraction of certain arcs.

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

    @property
    def super_arm(self) -> IntArray:
        """The seeds, under the name that all certificates share."""
        return self.seeds


@dataclass(frozen=True)
class Schedule:
    """The sample sizes of OPIM-C (Tang et al. 2018, section 4): `first`, doubled until `last`.

    Attributes
    ----------
    first, last : int
        The smallest and the largest number of sets in each of the two samples.
    log_term : float
        ln(3 i_max / delta), where i_max is the number of tests; it sets the confidence level of each test.
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

        On every sample, the coverage of the chosen seeds is at least `greedy` times the best. The first
        sample has `ahead` times the sets of OPIM-C, or `first` sets if given.

        The spread of seeds S is C(S) + `scale` P[S meets a set], where C is additive and known. In the paper,
        C = 0 and `scale` is the number of nodes; its proof also holds here. Roots are drawn in proportion to
        their weights, so every set has the same weight, and the number of covered sets is binomial.
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
    """Return greedy's ratio ``1 - (1 - 1/k)^k`` to the best k elements (Nemhauser et al. 1978, section 4)."""
    return float(1.0 - (1.0 - 1.0 / k) ** k)


def lower_bound(hits: int, n_sets: int, scale: float, log_term: float) -> float:
    """Return a lower confidence bound on the spread of fixed seeds, at level ``1 - exp(-log_term)``.

    The larger of two bounds (Tang et al. 2018, eq. 5; the binomial tail of `_log_tail`). Both increase with
    `hits`, so their failure events are nested, and taking the larger bound costs no confidence.
    """
    # `lowerSelect` of the authors' code.
    root = math.sqrt(hits + 2.0 * log_term / 9.0) - math.sqrt(log_term / 2.0)
    low = max(0.0, root**2 - log_term / 18.0) / n_sets if root > 0.0 else 0.0
    return scale * _boundary(low, hits / n_sets, lambda share: _log_tail(hits, n_sets, share) <= -log_term)


def upper_bound(coverage: float, n_sets: int, scale: float, log_term: float) -> float:
    """Return an upper confidence bound on the optimum, at level ``1 - exp(-log_term)``.

    `coverage` is an upper bound on the number of sets that the best seeds cover. The result is the smaller of
    two bounds (Tang et al. 2018, eq. 8; the binomial tail), as in `lower_bound`.
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
    """Return (intercept, slope) of a line above an upper bound on the hit probability for every coverage.

    At coverage L the line is ``intercept + slope * L / n_sets``. It is close to the bound if L is near
    `coverage`. The bound is Chernoff's: the largest q with KL(L / n_sets, q) <= `log_term` / `n_sets`. The
    divergence is convex in both arguments, so q is a concave function of L, and a tangent is an upper bound.
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
    """Return whether `hits` of `n_sets` show a hit probability of `share`: `lower_bound` reaches it."""
    root = math.sqrt(hits + 2.0 * log_term / 9.0) - math.sqrt(log_term / 2.0)
    if root > 0.0 and root**2 - log_term / 18.0 >= share * n_sets:
        return True
    return _log_tail(hits, n_sets, share) <= -log_term


def _log_tail(hits: int, n_sets: int, share: float) -> float:
    """Return an upper bound on the log-probability that at least `hits` of `n_sets` sets are hit.

    Sets are hit independently with probability `share`. The ratios of successive terms of the tail decrease,
    so a geometric series of the first two terms is an upper bound. At five standard deviations its error is a
    few per cent. There, Chernoff's bound is ten times the tail, and OPIM-C's bound, which ignores that a set
    is hit at most once, is larger if spreads are large.
    """
    if hits <= n_sets * share:
        return 0.0
    if share <= 0.0:
        return -math.inf
    # P[hits] of the binomial distribution, times the geometric series with the ratio of the first two terms.
    odds = share / (1.0 - share)
    first = log_binomial(n_sets, hits) + hits * math.log(odds) + n_sets * math.log1p(-share)
    return min(0.0, first - math.log1p(-odds * (n_sets - hits) / (hits + 1)))


def _boundary(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """Return approximately the largest number in ``[low, high]`` up to which `holds` is true."""
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
    """Return an estimate of the spread from `hits` of `n_sets`, and its standard error.

    The standard error is computed with one more hit and one more miss, so it is positive without hits or
    misses.
    """
    share = (hits + 1) / (n_sets + 2)
    return scale * hits / n_sets, scale * math.sqrt(share * (1.0 - share) / n_sets)


def log_binomial(n: int, k: int) -> float:
    """Return ln C(n, k)."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
