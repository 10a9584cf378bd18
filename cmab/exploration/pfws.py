"""P-FWS: the best super arm by Frank-Wolfe steps towards the optimal proportions of samples."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.exploration.base import DELTA, EPSILON, GROWTH, POSITIVE
from cmab.exploration.clucb import SuperArmExplorer, check_constrains
from cmab.oracle import LinearOracle
from cmab.parameters import one_of, real
from cmab.statistics import ArmStatistics

# Numbers of linear problems for each region: for a proof, and for a step.
_SWEEPS, _FEW, _CLOSE = 30, 3, 1.01
#: A region of super arms: those that contain all arms of the first list and no arm of the second.
Region = tuple[list[int], list[int]]


class Contest(NamedTuple):
    """The numbers of the arms that decide whether the best super arm has won against its rivals.

    A rival differs from the best super arm in the arms D. Its ratio is ``(gap + margin)^2 / (S (base + Q))``,
    where S is the sum of the `spreads` over D, and Q is the sum of the `prices` over D.

    Attributes
    ----------
    values : FloatArray, shape (n_arms,)
        The means; the negative means if the oracle minimises.
    spreads, prices : FloatArray, shape (n_arms,)
        The variance of each mean, and the part of the threshold that is due to each arm.
    base : float
        The part of the threshold that is the same for all rivals.
    margin : float
        The tolerance for one rival.
    """

    values: FloatArray
    spreads: FloatArray
    prices: FloatArray
    base: float
    margin: float

    def ratios(self, signs: FloatArray) -> FloatArray:
        """Return the ratio of each rival; a row of `signs` has 1 for lost arms and -1 for gained arms."""
        involved = np.abs(signs)
        gaps = np.maximum(signs @ self.values + self.margin, 0.0)
        return np.asarray(gaps**2 / ((involved @ self.spreads) * (self.base + involved @ self.prices)))


@dataclass(frozen=True)
class Exchanges:
    """The rivals of one basis of a matroid, which differ from it in one exchange.

    Attributes
    ----------
    signs : FloatArray, shape (number of rivals, n_arms)
        In each row, 1 for arms that only the super arm contains, -1 for arms that only the rival contains.
    log_errors : float
        The logarithm of the number of possible errors, part of the threshold.
    arm_price : float
        The part of the threshold that is due to each arm in addition.
    """

    signs: FloatArray
    log_errors: float
    arm_price: float = 0.0

    def near(self, contest: Contest) -> FloatArray:
        """Return the signs of rivals with small ratios, among them the least if it can be found."""
        return self.signs

    def are_beaten(self, contest: Contest) -> bool:
        """Return whether the ratio of every rival is proved to exceed 1."""
        return bool((contest.ratios(self.signs) > 1.0).all())


@dataclass(frozen=True)
class OracleRivals:
    """The rivals of the super arm `best`, found by linear problems over the other super arms.

    The ratio is not linear. For every tilt a > 0, however, ``sqrt(S (base + Q)) <= (a S + (base + Q) / a) /
    2``, with equality for one a. So the square root of the ratio exceeds r if ``gap + margin - r (a S + (base
    + Q) / a) / 2`` is positive. For a given a, this number is linear in the super arm, and the oracle finds
    its minimum. The search moves a towards the tilt of the rival that the oracle returns. The other parts are
    those of `Exchanges`.
    """

    oracle: LinearOracle
    best: IntArray
    log_errors: float
    arm_price: float = 0.0

    @cached_property
    def _regions(self) -> list[Region]:
        """Return regions that together contain all super arms except the best one."""
        own, values = self.best.tolist(), np.ones(self.oracle.n_arms)
        regions: list[Region] = [([], [arm]) for arm in own]
        largest = self._best_in((own, []), values)
        # Most families have no super arm that contains another one.
        if largest is not None and len(largest) > len(own):
            others = np.setdiff1d(np.arange(self.oracle.n_arms), self.best).tolist()
            regions += [([*own, arm], []) for arm in others]
        return [region for region in regions if self._best_in(region, values) is not None]

    def near(self, contest: Contest) -> FloatArray:
        return self._search(contest, math.inf, _FEW)[0]

    def are_beaten(self, contest: Contest) -> bool:
        return self._search(contest, 1.0, _SWEEPS)[1]

    def _search(self, contest: Contest, bar: float, sweeps: int) -> tuple[FloatArray, bool]:
        """Return the rivals found, and whether all rivals are proved to have a ratio above `bar`.

        If `bar` is infinite, the search looks for the least ratio. Otherwise it ends at the first rival with
        a ratio of at most `bar`.
        """
        tests, is_proved, found = bar < math.inf, True, {}
        # The tilt of the hardest rival so far, and for each region the bounds and the next value of its tilt.
        hardest = math.sqrt(contest.base / float(contest.spreads.sum()))
        live = [(region, 0.0, math.inf, 0.0) for region in self._regions]
        for _ in range(sweeps):
            undecided = []
            for region, low, high, tilt in live:
                a = tilt or hardest
                root = math.sqrt(bar) if bar < math.inf else 0.0
                halves = 0.5 * root * (a * contest.spreads + contest.prices / a)
                signs = self._nearest(region, contest.values, halves)
                found[signs.tobytes()] = signs
                involved = np.abs(signs)
                gap = max(0.0, float(signs @ contest.values) + contest.margin)
                least = gap - float(involved @ halves) - 0.5 * root * contest.base / a
                if root > 0.0 and least > (0.0 if tests else -1e-9 * gap):
                    continue
                spread, price = float(involved @ contest.spreads), float(involved @ contest.prices)
                price += contest.base
                ratio, own = gap**2 / (spread * price), math.sqrt(price / spread)
                if tests and ratio <= bar:
                    return self._rows(found), False
                if ratio < bar:
                    bar, hardest = ratio, own
                low, high = (max(low, a), high) if own > a else (low, min(high, a))
                if low > 0.0 and high < low * _CLOSE:
                    is_proved = False
                    continue
                undecided.append((region, low, high, own if low < own < high else math.sqrt(low * high)))
            live = undecided
        return self._rows(found), is_proved and not live

    def _rows(self, found: dict[bytes, FloatArray]) -> FloatArray:
        return np.array(list(found.values())).reshape(-1, self.oracle.n_arms)

    def _nearest(self, region: Region, values: FloatArray, halves: FloatArray) -> FloatArray:
        """Return the signs of the super arm in the region with the least gap minus the sum of `halves`."""
        inside = self._inside
        other = self._best_in(region, np.where(inside, values - halves, values + halves))
        assert other is not None, "the region was checked to have a super arm"
        signs = inside.astype(np.float64)
        signs[other] -= 1.0
        return signs

    @cached_property
    def _inside(self) -> BoolArray:
        inside = np.zeros(self.oracle.n_arms, np.bool_)
        inside[self.best] = True
        return inside

    def _best_in(self, region: Region, values: FloatArray) -> IntArray | None:
        # Exact oracles need no randomness, and the stopping rule must not advance a random generator.
        include, exclude = (np.array(arms, np.int64) for arms in region)
        rng = np.random.default_rng(0)
        return self.oracle.solve_constrained(self.oracle._sign * values, include, exclude, rng)


Rivals = Exchanges | OracleRivals
_KEPT = 64
#: The numbers c of prior outcomes in the mixture of the stopping rule.
_SCALES = (1e1, 1e2, 1e3, 1e4, 1e5)


def has_exchanges(oracle: LinearOracle) -> bool:
    """Return whether the super arms are known to be the bases of a matroid. All sets of k arms are."""
    return hasattr(oracle, "exchange_pairs") or oracle._uniform_size is not None


def exchange_rivals(oracle: Any, best: IntArray) -> FloatArray:
    """Return the signs of the bases of a matroid that differ from the basis `best` in one exchange."""
    if hasattr(oracle, "exchange_pairs"):
        pairs = np.asarray(oracle.exchange_pairs(best))
    else:
        outside = np.setdiff1d(np.arange(oracle.n_arms), best)
        pairs = np.stack((np.repeat(best, len(outside)), np.tile(outside, len(best))), axis=1)
    signs, rows = np.zeros((len(pairs), oracle.n_arms)), np.arange(len(pairs))
    signs[rows, pairs[:, 0]], signs[rows, pairs[:, 1]] = 1.0, -1.0
    return signs


@dataclass(frozen=True, eq=False)
class PFWS(SuperArmExplorer):
    """Perturbed Frank-Wolfe sampling (Tzeng et al. 2023): the best super arm of an exact linear oracle.

    Use this explorer first for the best path, matching, basis or other super arm. It needs the fewest
    samples, also for families that cannot be listed.

    Let S be the best super arm for the empirical means, S' a rival, and D the set of arms that only one of
    them contains. The evidence for S per sample is ``(m(S) - m(S'))^2 / (2 sigma^2 sum_D 1 / w_i)``, where
    ``w_i`` is the proportion of the samples of arm i. The hardest rival has the least evidence. The optimal
    proportions maximise the evidence of the hardest rival. Each step adds samples in the direction of a
    vertex, as the Frank-Wolfe algorithm does: it samples the arm (or plays the super arm) with the largest
    gradient of the evidence. The gradient is the average at ``ceil(t^(1/4))`` random perturbations of the
    proportions after t rounds, because the evidence has kinks. If an arm has fewer than ``sqrt(t / n_arms)``
    samples, the explorer samples it first.

    Parameters
    ----------
    oracle : LinearOracle
        An exact oracle for rewards or costs. It must accept means of any sign, and define
        `solve_constrained` unless it is a matroid.
    n_super_arms : float, optional
        An upper bound on the number of super arms, for example ``n!`` for perfect matchings of n pairs. It
        lowers the threshold, and certificates need it to hold. It is not needed for a matroid, as all sets of
        k arms are.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes. The default, 1/2, is valid for outcomes between 0 and 1.
    epsilon : float
        Tolerance of the value of the super arm. With 0, the default, the answer must be the best super arm.
        With a positive tolerance, runs also end if super arms are tied.
    plays : {"arms", "super arms"}
        What a step samples: one base arm, or all arms of one super arm, as in the paper. Choose "super arms"
        if the number of rounds counts. It needs more samples, but fewer rounds.
    growth : float
        Growth of the batches, in [0, 1]. After t samples, the explorer takes ``max(1, growth t / n_arms)``
        outcomes of each selected arm at once, so the number of oracle calls grows like ``ln t``. With 0, it
        decides before every sample, as published.

    Raises
    ------
    ValueError
        If the oracle is not exact and linear or rejects negative means, if `plays` is "super arms" and a base
        arm is in no super arm, or if a parameter is out of its range.
    TypeError
        If the oracle does not define `solve_constrained`.

    Notes
    -----
    *Stop.* For a number c of prior outcomes, let ``N_i = T_i^2 / (T_i + c)``. The average of ``exp(l (X - T_i
    mu_i) - l^2 sigma^2 T_i / 2)`` over a normal l with variance ``1 / (c sigma^2)``, where X is the sum of
    the outcomes, is a nonnegative supermartingale with mean at most 1. It equals ``exp(N_i (m_i - mu_i)^2 / 2
    sigma^2) / sqrt(1 + T_i / c)``. The product over the arms of D is one as well, and so is the average of
    the products for five values of c. By Ville's inequality, the following holds for all times and all five c
    with probability at least ``1 - delta / p``: ``sum_D N_i (m_i - mu_i)^2 / 2 sigma^2 <= ln(5 p / delta) +
    sum_D ln(1 + T_i / c) / 2``. If S is worse by more than `epsilon` than the true best super arm, which is
    one of the p rivals, then the Cauchy-Schwarz inequality implies ``(gap + epsilon)^2 <= 2 sigma^2 sum_D 1 /
    N_i`` times that bound, for this rival. The explorer stops if this is false for all rivals, with the same
    c. Hence it errs with probability at most `delta`. For 2 to 24 arms with 30 to 300,000 samples each, p =
    100 and delta = 0.1, this needs a fifth to three quarters of the evidence that `mixture_threshold` needs.

    If p is unknown, D has the prior probability that each arm belongs to it with probability ``1 / (n + 1)``.
    This replaces ``ln p`` by ``|D| ln n + n ln(1 + 1 / n)``. For a matroid of rank r, the rivals are the
    exchanges of one arm, with ``p = r (n - r)``. There is a bijection between the arms that only S contains
    and those that only the best basis contains, such that every single exchange in S gives a basis (Brualdi
    1969), so one of these exchanges gains more than ``epsilon / min(r, n - r)``.

    *Search.* The ratio of the squared gap and the bound is not linear. For every a > 0, ``sqrt(x y) <= (a x +
    y / a) / 2``. With this bound in place of the root, the oracle finds the hardest rival among the super
    arms without a given arm of S, and a one-dimensional search finds the best a. The stop is therefore
    proved; it may be late if no a is good enough. The paper searches by follow the perturbed leader, which
    gives no lower bound in a finite number of steps.

    If the outcomes of the arms of one play depend on each other, the proof holds only for ``plays="arms"``.

    Examples
    --------
    >>> import networkx as nx
    >>> from cmab import PFWS, identify
    >>> from instances import GaussianArms
    >>> from oracles import ShortestPath
    >>> streets = nx.DiGraph([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")])
    >>> arms = GaussianArms([0.2, 0.9, 0.3, 0.9], sigma=0.5)
    >>> identify(PFWS(ShortestPath(streets, "a", "d"), delta=0.1), arms, rng=0).arms
    [array([0, 2])]

    References
    ----------
    R.-C. Tzeng, P.-A. Wang, A. Proutiere, C.-J. Lu: Closing the Computational-Statistical Gap in Best Arm
    Identification for Combinatorial Semi-bandits, NeurIPS 2023 (from the abstract and the authors' code).
    R. A. Brualdi: Comments on Bases in Dependence Structures, Bull. Austral. Math. Soc. 1 (1969).
    H. Robbins: Statistical methods related to the law of the iterated logarithm, Annals of Mathematical
    Statistics 41 (1970) (the mixture).
    """

    oracle: LinearOracle
    _: KW_ONLY
    n_super_arms: float | None = field(default=None, metadata=real(1.0, optional=True))
    delta: float = field(metadata=DELTA)
    sigma: float = field(default=0.5, metadata=POSITIVE)
    epsilon: float = field(default=0.0, metadata=EPSILON)
    plays: Literal["arms", "super arms"] = field(default="arms", metadata=one_of("arms", "super arms"))
    growth: float = field(default=0.1, metadata=GROWTH)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.oracle.least_mean > -math.inf:
            raise ValueError(
                f"oracle must accept means of any sign, got {self.oracle!r} with a least_mean of"
                f" {self.oracle.least_mean:g}; use LilCLUCB"
            )
        if self.plays == "super arms" or not has_exchanges(self.oracle):
            check_constrains(self.oracle)
        if self.plays == "super arms":
            for arm in range(self.n_arms):
                if self._with(arm, np.zeros(self.n_arms)) is None:
                    raise ValueError(
                        f"oracle must have a super arm with each base arm if plays is 'super arms', got"
                        f" {self.oracle!r}, where arm {arm} is in none; use plays='arms'"
                    )
        self._rivals(self._solve(np.full(self.n_arms, 0.5)))

    def unseen(self, state: ArmStatistics) -> IntArray:
        """Return the arms without outcomes, or a super arm with the first of them."""
        arms = super().unseen(state)
        if self.plays == "arms" or not len(arms):
            return arms
        # The super arm with the most arms without outcomes.
        found = self._with(int(arms[0]), self.oracle._sign * (state.counts == 0).astype(np.float64))
        assert found is not None, "the constructor checked that each arm is in a super arm"
        return found

    def step(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return the arms to sample next; the array is empty after the stop."""
        unseen = self.unseen(state)
        if len(unseen):
            return unseen
        best = self.recommend(state)
        near = self._near(state, best)
        if self._has_won(state, best, near):
            return np.empty(0, np.int64)
        return self._next(state, best, near, rng)

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return the arm with the largest average gradient, or the super arm with the largest sum."""
        best = self.recommend(state)
        return self._next(state, best, self._near(state, best), rng)

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether the evidence against every rival is proved to exceed its threshold."""
        best = self.recommend(state)
        return self._has_won(state, best, self._near(state, best))

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the best super arm for the means, in increasing order."""
        return self._solve(state.means)

    def _solve(self, means: FloatArray) -> IntArray:
        # Exact oracles need no randomness, and the stopping rule must not advance a random generator.
        return np.sort(self.oracle.solve(means, np.random.default_rng(0)))

    def _with(self, arm: int, means: FloatArray) -> IntArray | None:
        return self.oracle.solve_constrained(means, [arm], [], np.random.default_rng(0))

    def _near(self, state: ArmStatistics, best: IntArray) -> FloatArray:
        """Return rivals with little evidence against them, as rows of signs."""
        contest = self._contest(state, best, 1.0 / state.counts, np.zeros(self.n_arms), 1.0)
        return self._rivals(best).near(contest)

    def _contest(
        self, state: ArmStatistics, best: IntArray, spreads: FloatArray, prices: FloatArray, base: float
    ) -> Contest:
        return Contest(self.oracle._sign * state.means, spreads, prices, base, self._margin(best))

    def _margin(self, best: IntArray) -> float:
        if self.epsilon == 0.0 or not has_exchanges(self.oracle):
            return self.epsilon
        rank = len(best)
        return self.epsilon / max(1, min(rank, self.n_arms - rank))

    def _has_won(self, state: ArmStatistics, best: IntArray, near: FloatArray) -> bool:
        """Return whether all rivals are beaten with the c that beats the rivals `near` the most."""
        rivals, counts = self._rivals(best), state.counts.astype(np.float64)
        base, contests = math.log(len(_SCALES) / self.delta) + rivals.log_errors, []
        for c in _SCALES:
            spreads = 2.0 * self.sigma**2 * (1.0 + c / counts) / counts
            prices = 0.5 * np.log1p(counts / c) + rivals.arm_price
            contests.append(self._contest(state, best, spreads, prices, base))
        least = [contest.ratios(near).min(initial=math.inf) for contest in contests]
        chosen = int(np.argmax(least))
        # Most calls end here. The proof by the oracle is slow.
        return bool(least[chosen] > 1.0) and rivals.are_beaten(contests[chosen])

    def _next(
        self, state: ArmStatistics, best: IntArray, near: FloatArray, rng: np.random.Generator
    ) -> IntArray:
        counts, gradient = state.counts, self._gradient(state, best, near, rng)
        rare = int(np.argmin(counts))
        is_rare = counts[rare] < math.sqrt(self._rounds(state, best) / self.n_arms)
        if self.plays == "arms":
            return np.array([rare if is_rare else np.argmax(gradient)], np.int64)
        if not is_rare:
            return self._solve(self.oracle._sign * gradient)
        found = self._with(rare, self.oracle._sign * gradient)
        assert found is not None, "the constructor checked that each arm is in a super arm"
        return found

    def _gradient(
        self, state: ArmStatistics, best: IntArray, near: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return the average gradient of the least evidence at perturbed proportions, in relative units."""
        values, margin = self.oracle._sign * state.means, self._margin(best)
        rounds, n = self._rounds(state, best), self.n_arms
        shares = state.counts / state.counts.sum()
        if not len(near):
            return np.asarray(1.0 / shares, np.float64)
        size = math.ceil(rounds**0.25)
        # Uniform points of the unit ball, times the radius 1 / (4 sqrt(t n)) of the authors' code.
        moves = rng.standard_normal((size, n))
        moves *= rng.random((size, 1)) ** (1.0 / n) / np.linalg.norm(moves, axis=1, keepdims=True)
        points = np.maximum(shares + moves / (4.0 * math.sqrt(rounds * n)), 0.5 * shares)
        gaps, involved = np.maximum(near @ values + margin, 0.0), np.abs(near)
        # Relative to the largest gap; at least positive, because rivals may be tied.
        gaps = np.maximum(gaps / max(float(gaps.max()), 1e-300), 1e-9)
        spreads = involved @ (1.0 / points).T
        hardest = np.argmin(gaps[:, None] ** 2 / spreads, axis=0)
        slopes = (gaps[hardest] / spreads[hardest, np.arange(size)]) ** 2
        return np.asarray((slopes[:, None] * involved[hardest] / points**2).sum(axis=0))

    def _rounds(self, state: ArmStatistics, best: IntArray) -> float:
        """Return the number of plays, for batches of one outcome."""
        size = 1 if self.plays == "arms" else max(1, len(best))
        return float(state.counts.sum()) / size

    def _rivals(self, best: IntArray) -> Rivals:
        key = best.tobytes()
        if key not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = self._rivals_of(best)
        return self._known[key]

    def _rivals_of(self, best: IntArray) -> Rivals:
        if has_exchanges(self.oracle):
            n_errors = len(best) * (self.n_arms - len(best))
            return Exchanges(exchange_rivals(self.oracle, best), math.log(max(1, n_errors)))
        if self.n_super_arms is not None:
            return OracleRivals(self.oracle, best, math.log(max(1, self.n_super_arms - 1)))
        n = self.n_arms
        return OracleRivals(self.oracle, best, n * math.log1p(1.0 / n), math.log(n))

    @cached_property
    def _known(self) -> dict[bytes, Rivals]:
        """A cache of the rivals of the super arms that were the best so far."""
        return {}
