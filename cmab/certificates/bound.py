"""The bound on the regret of a policy that it can prove itself, from its statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cmab import declared
from cmab.arrays import FloatArray, IntArray
from cmab.certificates._confidence import Arms, confidence_set
from cmab.certificates._linear import Family, LinearBound
from cmab.certificates._rewards import least_expected
from cmab.certificates.played import Played
from cmab.declared import Declared
from cmab.explorer import Explorer
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy, check_policy_instance
from cmab.results.regret_certificate import RegretCertificate
from cmab.seeding import Seed, root
from cmab.statistics import ArmStatistics
from cmab.validation import check_flag, interval, real, shown

#: A simulated reward is reduced by this number of standard errors.
_ERRORS = 5.0


def regret_bound(
    policy: AnyPolicy,
    state: ArmStatistics,
    *,
    delta: float = 0.05,
    support: tuple[float, float] | None = None,
    rewards: float | None = None,
    reward_range: tuple[float, float] | None = None,
    independent: bool = False,
    rng: Seed = 0,
) -> RegretCertificate:
    """Return an upper bound on the regret so far and on the gap of the present choice.

    With probability at least ``1 - delta``, all certificates of a run hold, whichever policy played. The
    bound needs outcomes whose expectations never change. `Session.regret_bound` and `Campaign.regret_bound`
    know the rewards and the unreported outcomes of their rounds.

    Parameters
    ----------
    policy : Policy
        The policy.
    state : ArmStatistics
        The state of the policy.
    delta : float
        The probability with which any of the bounds is ever wrong, in (0, 1).
    support : tuple of float, optional
        An interval that contains all outcomes. If omitted, the support of the policy.
    rewards : float, optional
        The sum of the rewards of all rounds, such as ``result.rewards[0, -1]`` of a `Simulation`. Only
        rewards that are not sums of means need it. If omitted, the bound counts no rewards.
    reward_range : tuple of float, optional
        An interval that contains the reward of every round. If omitted, it begins at 0 and ends at the
        largest reward if all means are at the upper end of `support`.
    independent : bool
        Whether the outcomes of one round are independent of each other. If True, the bound is tighter.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        The seed for randomised oracles.

    Returns
    -------
    RegretCertificate

    Raises
    ------
    TypeError
        If `policy` is not a policy, or is an explorer, or if `state` is not an `ArmStatistics`, for example
        because the policy forgets outcomes.
    ValueError
        If a number is out of range, if the support is unknown or unbounded, or if outcomes or rewards are
        outside their ranges.

    Notes
    -----
    If rewards are sums, the regret is a linear function of the means with the factor ``T - N_i`` for arms of
    the optimum and ``-N_i`` for other arms, where ``N_i`` counts the plays of arm i in T rounds. The oracle
    maximises it over all super arms and a confidence set. Every arm that was played must have been reported,
    or `support` must not contain negative rewards. The page "The regret certificate" has the theorem.

    Examples
    --------
    >>> from cmab import CUCB, regret_bound, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> policy = CUCB(TopK(4, k=2))
    >>> arms = BernoulliArms([0.1, 0.9, 0.1, 0.8])
    >>> played = simulate(policy, SemiBandit(arms, policy.oracle), 2000, rng=0)
    >>> print(regret_bound(policy, played.states[0]).gap_in_words())
    With 95 % confidence, the best super arm would bring at most 0 more a round than the present choice, 1, 3.
    """
    oracle, stats = statistics_for(policy, state)
    played = Played()
    if rewards is not None and stats.rounds:
        played = Played(told=stats.rounds, total=real("rewards", rewards), spread=None)
    return certified(
        oracle,
        stats,
        played,
        delta=delta,
        support=support_for(policy, support),
        reward_range=reward_range,
        independent=independent,
        rng=rng,
    )


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
    delta = real("delta", delta, 0.0, 1.0, inside=True)
    check_flag("independent", independent)
    if played.valued:
        raise ValueError(
            "contexts must have neither values nor costs nor features for a bound on the regret, got"
            f" {played.valued:,} rounds with them"
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
        self.means: FloatArray = arms.means_at(arms.shares, oracle.sign)

    def linear(self, choice: IntArray) -> tuple[str, tuple[float, float, float, float]]:
        """Return the method and the bounds on the two regrets and gaps of a sum of means."""
        rounds, sign, alpha = float(self.stats.rounds), self.oracle.sign, self.oracle.alpha
        plays = self.arms.counts.astype(np.float64)
        value, method = self._linear(rounds, plays).tightest(fixed=True)
        regret = value - self._unreported() * self.arms.base
        chosen = np.zeros(self.oracle.n_arms)
        chosen[choice] = 1.0
        gap = self._linear(1.0, chosen).tightest(fixed=False)[0]
        if alpha == 1.0:
            return method, (max(regret, 0.0), regret, max(gap, 0.0), gap)
        # With alpha times the optimum, what was earned does not cancel a part of the optimum.
        best = sign * alpha * self.oracle.optimum_bound(self._means(self.arms.upper), self.family.rng)
        worth = self.arms.base + self.arms.length * self.arms.lower
        earned = float((plays * worth).sum()) + self._unreported() * self.arms.base
        self.family.calls += 1
        least = float(worth[choice].sum())
        return method, (_least(regret, rounds * best - earned), regret, _least(gap, best - least), gap)

    def _linear(self, horizon: float, plays: FloatArray) -> LinearBound:
        return LinearBound(self.family, self.arms, horizon, plays, self.delta, self.size, self.independent)

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
        oracle, sign = self.oracle, self.oracle.sign
        rounds, alpha = self.stats.rounds, oracle.alpha
        self.family.calls += 1
        best = sign * oracle.optimum_bound(self._means(self.arms.upper), self.family.rng)
        low, high = self._range(reward_range)
        earned = least_expected(self.played, (low, high), self.delta, sign)
        # Rounds without a known reward count with the worst one.
        earned += (rounds - self.played.told) * (low if sign > 0.0 else -high)
        least = math.nan
        if oracle.is_monotone:
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
        return float(value - self.oracle.sign * _ERRORS * error)

    def _means(self, shares: FloatArray) -> FloatArray:
        return self.arms.means_at(shares, self.oracle.sign)

    def _range(self, given: tuple[float, float] | None) -> tuple[float, float]:
        """Return the interval of rewards, after validating the observed rewards."""
        played, n = self.played, max(1, self.played.told)
        if given is not None:
            low, high = interval("reward_range", given)
        elif self.oracle.sense == "max":
            self.family.calls += 1
            most = self._means(np.ones(self.oracle.n_arms))
            low, high = 0.0, self.oracle.optimum_bound(most, self.family.rng)
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


@dataclass(frozen=True)
class Certify(Declared):
    """The options of the certificates of a simulation.

    Parameters
    ----------
    delta : float
        The probability with which any certificate of a run is wrong, in (0, 1).
    reward_range : tuple of float, optional
        An interval that contains the reward of every round, as in `regret_bound`.
    independent : bool
        Whether the outcomes of one round are independent of each other.
    support : tuple of float, optional
        An interval that contains all outcomes. If omitted, the support of the environment.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import CUCB, Certify, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> policy = CUCB(TopK(3, k=1))
    >>> arms = SemiBandit(BernoulliArms([0.2, 0.9, 0.1]), policy.oracle)
    >>> result = simulate(policy, arms, 100, rng=0, certify=Certify(delta=0.05))
    >>> bool((result.regret <= result.regret_bounds).all())
    True
    """

    delta: float = field(default=0.05, metadata=declared.real(0.0, 1.0, inside=True))
    reward_range: tuple[float, float] | None = field(default=None, metadata=declared.interval(optional=True))
    independent: bool = field(default=False, metadata=declared.flag())
    support: tuple[float, float] | None = field(default=None, metadata=declared.interval(optional=True))

    def fitted(self, policy: AnyPolicy, support: tuple[float, float]) -> Certify:
        """Return these options with a bounded support; raise if the policy has no certificate.

        Raises
        ------
        TypeError, ValueError
            As `regret_bound`.
        """
        statistics_for(policy, policy.initial_state())
        return replace(self, support=support_for(policy, self.support or support))

    def now(self, policy: AnyPolicy, state: ArmStatistics, played: Played) -> RegretCertificate:
        """Return the certificate of a state and of the record of the rounds."""
        return certified(
            policy.oracle,
            state,
            played,
            delta=self.delta,
            support=support_for(policy, self.support),
            reward_range=self.reward_range,
            independent=self.independent,
            rng=0,
        )


def statistics_for(policy: Any, state: Any) -> tuple[Oracle, ArmStatistics]:
    """Return the oracle of a policy and the statistics of its state.

    Raises
    ------
    TypeError
        As `regret_bound`.
    ValueError
        If the numbers of arms differ.
    """
    check_policy_instance(policy)
    if isinstance(policy, Explorer):
        raise TypeError(
            f"policy must be a policy that plays rounds to have a bound on its regret, got {shown(policy)}"
        )
    oracle: Oracle = policy.oracle
    if type(state) is not ArmStatistics:
        raise TypeError(
            "state must be an ArmStatistics with all outcomes of all rounds, got"
            f" {type(state).__name__}; policies with another state have no certificate"
        )
    if state.n_arms != oracle.n_arms:
        raise ValueError(f"state must have statistics of {oracle.n_arms} arms, got {state!r}")
    return oracle, state


def support_for(policy: Any, support: Sequence[float] | None) -> tuple[float, float]:
    """Return the given interval of outcomes, or that of the policy.

    Raises
    ------
    ValueError
        If no bounded interval is known.
    """
    known = support if support is not None else getattr(policy, "support", None)
    if known is None or not all(math.isfinite(end) for end in known):
        raise ValueError(
            "support must be a bounded interval (low, high) of the outcomes for a bound on the regret, got"
            f" {shown(known)}; pass support="
        )
    return interval("support", (known[0], known[1]))
