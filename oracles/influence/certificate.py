"""The bounds and sample sizes of OPIM-C, and the certificate of a solution."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cmab.arrays import IntArray
from cmab.bounds.kl import bernoulli_divergence

# The bounds, sample sizes and confidence levels of Tang et al. 2018 were compared with the authors' code
# (`opimc` in OPIM1.1/alg.cpp of github.com/tangj90/OPIM); the equation numbers are from memory.
GREEDY_RATIO = 1.0 - 1.0 / math.e
# Tang, Tang, Lim, Han, Li, Yuan: Revisiting Modified Greedy Algorithm for Monotone Submodular Maximization
# with a Knapsack Constraint, SIGMETRICS 2021, abstract: greedy by gain per cost or the best single node.
BUDGET_RATIO = 0.405
_ROUNDING, _PRECISION, _LEAST, _STEPS = 1e-9, 1e-6, 1e-15, 60
#: The smallest `delta`, up to which the quantiles below are accurate.
LEAST_DELTA = 1e-60
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
        greedy: float = GREEDY_RATIO,
    ) -> Schedule:
        """Return the schedule for exp(`log_choices`) seed sets and an optimum of at least `floor`.

        On every sample, the coverage of the chosen seeds is at least `greedy` times the best. The first
        sample has the number of sets of OPIM-C, or `first` sets if given.

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
        start = max(1, math.ceil(2.0 * root**2)) if first is None else first
        start = min(start, last)
        n_tests = max(1, math.ceil(math.log2(last / start)) + 1)
        return cls(start, last, math.log(3.0 * n_tests / delta))


def greedy_ratio(k: int) -> float:
    """Return greedy's ratio ``1 - (1 - 1/k)^k`` to the best k elements (Nemhauser et al. 1978, section 4)."""
    return float(1.0 - (1.0 - 1.0 / k) ** k)


def lower_bound(hits: int, n_sets: int, scale: float, log_term: float) -> float:
    """Return a lower confidence bound on the spread of fixed seeds, at level ``1 - exp(-log_term)``.

    This is the exact binomial bound of Clopper and Pearson. It is sharper than the bound of Tang et al. 2018,
    eq. 5, and it also increases with `hits`.
    """
    if hits == 0:
        return 0.0
    from scipy.special import betaincinv

    low = float(betaincinv(hits, n_sets - hits + 1, math.exp(-log_term)))
    # Round outward: the relative error of the quantiles is below 1e-7 for up to 2^31 sets.
    return scale * (low - _PRECISION * low * (1.0 - low))


def upper_bound(coverage: float, n_sets: int, scale: float, log_term: float) -> float:
    """Return an upper confidence bound on the optimum, at level ``1 - exp(-log_term)``.

    `coverage` is an upper bound on the number of sets that the best seeds cover. The result is the exact
    binomial bound, which replaces eq. 8 of Tang et al. 2018.
    """
    hits = math.floor(coverage + _ROUNDING)
    if hits >= n_sets:
        return scale
    from scipy.special import betainccinv

    high = float(betainccinv(hits + 1, n_sets - hits, math.exp(-log_term)))
    return scale * min(1.0, high + _PRECISION * high * (1.0 - high) + _LEAST)


def concave_bound(coverage: float, n_sets: int, log_term: float) -> tuple[float, float]:
    """Return (intercept, slope) of a line above an upper bound on the hit probability for every coverage.

    At coverage L the line is ``intercept + slope * L / n_sets``. It is close to the bound if L is near
    `coverage`. The bound is Chernoff's: the largest q with KL(L / n_sets, q) <= `log_term` / `n_sets`. The
    divergence is convex in both arguments, so q is a concave function of L, and a tangent is an upper bound.
    """
    rate = log_term / n_sets
    x = min(max(coverage, 0.5), n_sets - 0.5) / n_sets
    if rate == 0.0:
        return 0.0, 1.0  # the bound is the coverage itself
    # Newton's method from above, where the divergence is convex. Pinsker: KL(x, q) >= 2 (q - x)^2.
    high = min(x + math.sqrt(0.5 * rate), 1.0 - _ROUNDING)
    for _ in range(_STEPS):
        step = (bernoulli_divergence(x, high) - rate) * high * (1.0 - high) / (high - x)
        high = high - step
        if step <= _ROUNDING * high:
            break
    high = min(high * (1.0 + _ROUNDING), 1.0)
    if high >= 1.0 - _ROUNDING:
        return 1.0, 0.0
    # The derivative of q in KL(x, q) = rate: -(dKL/dx) / (dKL/dq), where dKL/dq = (q - x) / (q (1 - q)).
    slope = (math.log(high / x) - math.log((1.0 - high) / (1.0 - x))) * high * (1.0 - high) / (high - x)
    return high - slope * x, slope


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
