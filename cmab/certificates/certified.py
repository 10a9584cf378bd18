"""The two bounds of a certificate: for sums of means and for other rewards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.certificates._confidence import Arms, confidence_set
from cmab.certificates._linear import Family, LinearBound
from cmab.certificates._rewards import least_expected
from cmab.certificates.played import Played
from cmab.certificates.regret_certificate import RegretCertificate
from cmab.oracle import Oracle, optimum_bound
from cmab.seeding import Seed, root
from cmab.statistics import ArmStatistics
from cmab.validation import check_flag, interval, real, shown

#: Shares of smaller probabilities would be 0 as floats.
LEAST_DELTA = 1e-290
#: A simulated reward is reduced by this number of standard errors.
_ERRORS = 5.0


def certified(
    oracle: Oracle,
    stats: ArmStatistics,
    played: Played,
    *,
    delta: float,
    support: tuple[float, float],
    reward_range: tuple[float, float] | None,
    independent: bool,
    rng: Seed,
) -> RegretCertificate:
    """Return the certificate of statistics and of the record of the rounds.

    Raises
    ------
    ValueError
        As `regret_bound`.
    """
    delta = real("delta", delta, LEAST_DELTA, 1.0, inside=True)
    check_flag("independent", independent)
    if reward_range is not None:
        reward_range = interval("reward_range", reward_range)
    if played.valued:
        raise ValueError(
            "contexts must have neither values nor costs nor features, and feedback one outcome of each arm,"
            f" for a bound on the regret, got {played.valued:,} other rounds"
        )
    stats.check_support(*support)
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))
    arms = confidence_set(oracle, stats, support, delta)
    family = Family(oracle, generator)
    found = _Bounds(oracle, stats, played, arms, family, delta, independent)
    choice = oracle.solve(found.means, generator)
    if oracle.is_linear:
        method, (regret, exact_regret, gap, exact_gap) = found.linear(choice)
    else:
        method, (regret, exact_regret, gap, exact_gap) = found.monotone(choice, reward_range)
    return RegretCertificate(
        delta=delta,
        rounds=stats.rounds,
        regret=regret,
        exact_regret=max(exact_regret, 0.0),
        gap=gap,
        exact_gap=exact_gap if math.isnan(exact_gap) else max(exact_gap, 0.0),
        choice=choice,
        alpha=oracle.alpha,
        unseen=int((stats.counts == 0).sum()),
        method=method,
        calls=family.calls + 1,
        sense=oracle.sense,
        labels=tuple(oracle.labels(choice)),
        oracle_failure=min(1.0, (1.0 - oracle.beta) * family.calls),
    )


def _least(*bounds: float) -> float:
    """Return the least of the bounds that are numbers."""
    return min((bound for bound in bounds if not math.isnan(bound)), default=math.nan)


class _Bounds:
    """The two bounds of a certificate, for linear and for monotone rewards."""

    def __init__(
        self,
        oracle: Oracle,
        stats: ArmStatistics,
        played: Played,
        arms: Arms,
        family: Family,
        delta: float,
        independent: bool,
    ) -> None:
        self.oracle, self.stats, self.played = oracle, stats, played
        self.arms, self.family, self.delta, self.independent = arms, family, delta, independent
        self.size = max(1, min(oracle.max_size, oracle.n_arms))
        self.means: FloatArray = arms.means_at(arms.shares, oracle._sign)

    def linear(self, choice: IntArray) -> tuple[str, tuple[float, float, float, float]]:
        """Return the method and the bounds on the two regrets and gaps of a sum of means."""
        rounds, sign, alpha = float(self.stats.rounds), self.oracle._sign, self.oracle.alpha
        plays = self.arms.counts.astype(np.float64)
        value, method = self._linear(rounds, plays).tightest(fixed=True)
        regret = value - self._unreported() * self.arms.base
        chosen = np.zeros(self.oracle.n_arms)
        chosen[choice] = 1.0
        gap = self._linear(1.0, chosen).tightest(fixed=False)[0]
        if alpha == 1.0:
            return method, (max(regret, 0.0), regret, max(gap, 0.0), gap)
        # With alpha times the optimum, what was earned does not cancel a part of the optimum.
        best = sign * alpha * optimum_bound(self.oracle, self._means(self.arms.upper), self.family.rng)
        worth = self.arms.base + self.arms.length * self.arms.lower
        earned = float((plays * worth).sum()) + self._unreported() * self.arms.base
        self.family.calls += 1
        least = float(worth[choice].sum())
        return method, (_least(regret, rounds * best - earned), regret, _least(gap, best - least), gap)

    def _linear(self, horizon: float, plays: FloatArray) -> LinearBound:
        widest = max(self.size, self.played.widest)
        return LinearBound(self.family, self.arms, horizon, plays, self.delta, widest, self.independent)

    def _unreported(self) -> float:
        """Return the number of plays without an outcome, or an upper bound on it."""
        if self.played.unreported is not None:
            return float(self.played.unreported)
        if self.arms.base >= 0.0:
            return 0.0
        return float(self.stats.rounds * self.size - self.arms.counts.sum())

    def monotone(
        self, choice: IntArray, reward_range: tuple[float, float] | None
    ) -> tuple[str, tuple[float, float, float, float]]:
        """Return the method and the bounds on the two regrets and gaps, at the bounds of the arms."""
        oracle, sign = self.oracle, self.oracle._sign
        rounds, alpha = self.stats.rounds, oracle.alpha
        self.family.calls += 1
        best = sign * optimum_bound(oracle, self._means(self.arms.upper), self.family.rng)
        low, high = self._range(reward_range)
        earned = least_expected(self.played, (low, high), self.delta, sign)
        # Rounds without a known reward count with the worst one.
        earned += (rounds - self.played.told) * (low if sign > 0.0 else -high)
        least = math.nan
        if getattr(oracle, "is_monotone", True):
            least = sign * self._least_value(choice)
        method = "rewards" if self.played.told else "no rewards"
        share = alpha if math.isfinite(best) else 1.0
        exact = rounds * best - earned if rounds else 0.0
        return method, (
            (rounds * share * best - earned if rounds else 0.0),
            exact,
            share * best - least,
            best - least,
        )

    def _least_value(self, choice: IntArray) -> float:
        """Return the reward of a super arm at the lower bounds of its arms."""
        means = self._means(self.arms.lower)
        spread: Any = getattr(self.oracle, "spread", None)
        if spread is None:
            return self.oracle.expected_reward(choice, means)
        # Oracles that simulate the reward return its standard error as well.
        value, error = spread(choice, means)
        return float(value - self.oracle._sign * _ERRORS * error)

    def _means(self, shares: FloatArray) -> FloatArray:
        return self.arms.means_at(shares, self.oracle._sign)

    def _range(self, given: tuple[float, float] | None) -> tuple[float, float]:
        """Return the interval of rewards, after validating the observed rewards."""
        played, n = self.played, max(1, self.played.told)
        if given is not None:
            low, high = given
        elif self.oracle.sense == "max":
            self.family.calls += 1
            most = self._means(np.ones(self.oracle.n_arms))
            low, high = 0.0, optimum_bound(self.oracle, most, self.family.rng)
            if not (0.0 < high < math.inf):
                raise ValueError(
                    "reward_range must be given, because the oracle does not bound the largest reward, got"
                    f" {shown(high)} from it"
                )
        elif played.told == 0 and self.stats.rounds == 0:
            return 0.0, 1.0
        else:
            raise ValueError("reward_range must be given for costs that are not sums of means, got None")
        slack = 1e-9 * (high - low)
        least, largest = (played.low, played.high) if played.low <= played.high else (played.total / n,) * 2
        if played.told and not (low - slack <= least and largest <= high + slack):
            raise ValueError(
                f"reward_range must contain all rewards, got {(low, high)} with rewards from {least:g} to"
                f" {largest:g}"
            )
        return low, high
