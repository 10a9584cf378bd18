"""P-FWS: the best super arm by Frank-Wolfe steps towards the optimal proportions of samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.declared import one_of, real
from cmab.exploration.families import (
    SuperArmExplorer,
    check_constrains,
    copied_family,
    has_exchanges,
    rivals_of,
)
from cmab.exploration.parameters import DELTA, EPSILON, GROWTH, POSITIVE
from cmab.exploration.rivals import Contest, ListedRivals, OracleRivals, Rivals
from cmab.oracle import LinearOracle
from cmab.statistics import ArmStatistics

_KEPT = 64
#: The numbers c of prior outcomes in the mixture of the stopping rule.
_SCALES = (1e1, 1e2, 1e3, 1e4, 1e5)


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
        `solve_constrained` unless it is a matroid or `super_arms` are listed.
    super_arms : sequence of sequences of int, optional
        All super arms, at most a few thousand. The rivals are then compared one by one.
    n_super_arms : float, optional
        An upper bound on the number of super arms, for example ``n!`` for perfect matchings of n pairs. It
        lowers the threshold, and certificates need it to hold. It is not needed for a list or a matroid, as
        all sets of k arms are.
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
    proved; it may be later than that of a list, if no a is good enough. The paper searches by follow the
    perturbed leader, which gives no lower bound in a finite number of steps.

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
    super_arms: Sequence[Sequence[int]] | None = None
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
        if self.super_arms is not None:
            object.__setattr__(self, "super_arms", copied_family(self.oracle, self.super_arms))
        if self.plays == "super arms" or not self._is_listed:
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
        if self.epsilon == 0.0 or self.super_arms is not None or not self._is_listed:
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

    @property
    def _is_listed(self) -> bool:
        """Whether all rivals are compared: those of the list, or the exchanges of a matroid."""
        return self.super_arms is not None or has_exchanges(self.oracle)

    def _rivals(self, best: IntArray) -> Rivals:
        key = best.tobytes()
        if key not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = self._rivals_of(best)
        return self._known[key]

    def _rivals_of(self, best: IntArray) -> Rivals:
        if self._is_listed:
            signs, n_wrong = rivals_of(self.oracle, best, self.super_arms)
            return ListedRivals(signs, math.log(max(1, n_wrong)))
        if self.n_super_arms is not None:
            return OracleRivals(self.oracle, best, math.log(max(1, self.n_super_arms - 1)))
        n = self.n_arms
        return OracleRivals(self.oracle, best, n * math.log1p(1.0 / n), math.log(n))

    @cached_property
    def _known(self) -> dict[bytes, Rivals]:
        """A cache of the rivals of the super arms that were the best so far."""
        return {}
