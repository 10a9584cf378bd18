"""The certificate of the regret of a policy: bounds that hold at all times with a stated confidence."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Decimal
from typing import Any

import numpy as np

from cmab import parameters as declared
from cmab.arrays import FloatArray, IntArray
from cmab.bounds.confidence_set import EARNED, Arms, Family, LinearBound, confidence_set
from cmab.bounds.mixtures import LEAST_LENGTH, SLACK, bet_table
from cmab.explorer import Explorer
from cmab.feedback import Feedback, Ticket
from cmab.oracle import Oracle, Sense, optimum_bound
from cmab.parameters import Declared
from cmab.policy import AnyPolicy, check_policy_instance
from cmab.seeding import Seed, root
from cmab.statistics import ArmStatistics
from cmab.validation import interval, real, shown


@dataclass
class Played:
    """The record of the reported rounds that the statistics of the arms lack.

    Attributes
    ----------
    told : int
        The number of rounds with a known reward.
    total : float
        The sum of these rewards.
    spread : float
        The sum of squared differences between each reward, but the first, and the mean of those before.
    low, high : float
        The least and the largest reward.
    unreported : int or None
        The number of arms that were played without a report of their outcome; None if it is unknown.
    valued : int
        The number of rounds for which the regret is not bounded: rounds with values, costs or features in the
        context, and for sums of means, rounds with several outcomes of an arm.
    widest : int
        The largest number of outcomes in a round. It may exceed the largest super arm of the present oracle,
        because an earlier policy may have played larger ones.
    """

    told: int = 0
    total: float = 0.0
    spread: float | None = 0.0
    low: float = math.inf
    high: float = -math.inf
    unreported: int | None = 0
    valued: int = 0
    widest: int = 0

    def note(self, reward: float) -> None:
        """Add the reward of a round; ``nan`` means that it is unknown."""
        if reward != reward:
            return
        if self.told and self.spread is not None:
            # A product of huge floats is infinite, whereas a power raises an error.
            apart = reward - self.total / self.told
            self.spread += apart * apart
        self.told += 1
        self.total += reward
        self.low, self.high = min(self.low, reward), max(self.high, reward)

    def without(self, outcomes: int) -> Played:
        """Return the record after the statistics of removed arms with so many outcomes were dropped."""
        known = self.unreported
        return replace(self, unreported=None if known is None else known + outcomes)


def note_round(played: Played, policy: AnyPolicy, ticket: Ticket, feedback: Feedback) -> None:
    """Add a reported round to the record.

    For sums of means, the arms of the super arm without an outcome are counted. Other rewards can depend on
    arms that are not triggered.
    """
    played.note(feedback.reward)
    oracle = getattr(policy, "oracle", None)
    if played.unreported is not None and getattr(oracle, "is_linear", False):
        played.unreported += len(ticket.super_arm) + ticket.gone - len(feedback.arms)
    played.widest = max(played.widest, len(feedback.arms))
    context = ticket.context
    has_values = context is not None and any(part != "available" for part in context.parts)
    has_repeats = feedback.pulls is not None and bool((feedback.pulls > 1).any())
    if has_values or (has_repeats and getattr(oracle, "is_linear", False)):
        played.valued += 1


@dataclass(frozen=True, eq=False)
class RegretCertificate:
    """Upper bounds on the regret so far and on the gap of the present choice.

    With probability at least ``1 - delta``, both bounds hold in all rounds. It is therefore allowed to stop
    as soon as a bound is small enough.

    Attributes
    ----------
    delta : float
        The probability with which any of the bounds is ever wrong.
    rounds : int
        The number of rounds with feedback.
    regret : float
        An upper bound on the approximation regret of these rounds: `rounds` times `alpha` times the optimum,
        minus the sum of the expected rewards of the super arms that were played (for costs, with the opposite
        sign).
    exact_regret : float
        An upper bound on the regret against the optimum itself. It is infinite if the oracle does not bound
        the optimum.
    gap : float
        An upper bound on `alpha` times the optimum, minus the expected reward of `choice`. ``nan`` if the
        reward is not monotone in the means.
    exact_gap : float
        An upper bound on the loss in one round if `choice` is played: the optimum minus its expected reward.
    choice : IntArray, shape (size,)
        The super arm that the oracle returns for the present means.
    alpha : float
        The approximation ratio of the oracle; ``nan`` if it declares none.
    unseen : int
        The number of base arms without an outcome.
    method : str
        The confidence set that gave `exact_regret`: ``"arm by arm"`` and ``"joint"`` for sums of means,
        ``"rewards"`` for other rewards, and ``"no rewards"`` if no reward is known.
    calls : int
        The number of calls of the oracle for this certificate.
    sense : {"max", "min"}
        Whether rewards are maximised or costs are minimised.
    labels : tuple of hashable
        The names of the entries of `choice`.
    oracle_failure : float
        The probability, in addition to `delta`, with which a randomised oracle misses its guarantee in the
        calls of this certificate; 0 for other oracles.

    Examples
    --------
    >>> from cmab import CUCB, regret_bound, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> policy = CUCB(TopK(3, k=1))
    >>> played = simulate(policy, SemiBandit(BernoulliArms([0.2, 0.9, 0.1]), policy.oracle), 400, rng=0)
    >>> found = regret_bound(policy, played.states[0], delta=0.05)
    >>> found.choice, bool(found.regret >= played.regret[0, -1])
    (array([1]), True)
    """

    delta: float
    rounds: int
    regret: float
    exact_regret: float
    gap: float
    exact_gap: float
    choice: IntArray
    alpha: float
    unseen: int
    method: str
    calls: int
    sense: Sense = "max"
    labels: tuple[Hashable, ...] = ()
    oracle_failure: float = 0.0

    def __repr__(self) -> str:
        return (
            f"RegretCertificate(delta={self.delta:g}, rounds={self.rounds:,}, regret<={self.regret:.4g},"
            f" gap<={self.gap:.4g}, alpha={self.alpha:g}, {self.method})"
        )

    def __str__(self) -> str:
        return f"{self.gap_in_words()} {self.regret_in_words()}"

    def allows_loss(self, loss: float) -> bool:
        """Return whether `choice` certainly loses at most `loss` a round, so that learning may stop.

        The bounds hold in all rounds, so the test may be repeated after each round.

        Examples
        --------
        >>> from cmab import CTS, Feedback, Session, regret_bound
        >>> from oracles import TopK
        >>> session = Session(CTS(TopK(2, k=1)), rng=0)
        >>> while not regret_bound(session.policy, session.state).allows_loss(0.2):
        ...     ticket = session.ask()
        ...     session.tell(Feedback(ticket, [0.9 if 1 in ticket else 0.1]))
        >>> regret_bound(session.policy, session.state).choice
        array([1])
        """
        return self.exact_gap <= loss

    def gap_in_words(self, best: str = "the best super arm", choice: str = "") -> str:
        """Return a sentence on the gap.

        Parameters
        ----------
        best : str
            The words for the optimum.
        choice : str
            The words for the present choice. If omitted, its labels.
        """
        if self.exact_gap != self.exact_gap:
            return "The loss of the present choice has no bound, because the reward is not monotone."
        named = choice or f"the present choice, {_listed(self.labels or tuple(self.choice.tolist()))}"
        if self.exact_gap == float("inf"):
            return f"The loss of {named}, has no bound, because the oracle does not bound the optimum."
        verb, relation = (
            ("bring", "more a round than") if self.sense == "max" else ("cost", "less a round than")
        )
        return (
            f"{self._confidence}, {best} would {verb} at most {_raised(self.exact_gap)} {relation} {named}."
        )

    def regret_in_words(self, best: str = "the best super arm") -> str:
        """Return a sentence on the regret against the optimum; `best` is the words for it."""
        if self.exact_regret == float("inf"):
            return "The regret so far has no bound, because the oracle does not bound the optimum."
        verb = "brought" if self.sense == "max" else "cost"
        relation = "less" if self.sense == "max" else "more"
        rounds = "round" if self.rounds == 1 else f"{self.rounds:,} rounds"
        unseen = f" Arms without an outcome: {self.unseen:,}." if self.unseen else ""
        return (
            f"{self._confidence}, the {rounds} so far {verb} at most"
            f" {_raised(self.exact_regret)} {relation} than {best} would have.{unseen}"
        )

    @property
    def _confidence(self) -> str:
        if self.delta < 1e-6:
            return f"With confidence 1 - {self.delta:g}"
        return f"With {100.0 * (1.0 - self.delta):.10g} % confidence"


def _raised(bound: float) -> str:
    """Return `bound` rounded up, because a smaller number would not be a bound."""
    if bound <= 0.0 or 100.0 <= bound < 1e15:
        return f"{math.ceil(bound):,}"
    exact = Decimal(repr(float(bound)))
    step = Decimal(1).scaleb(exact.adjusted() - 2)
    return f"{float(exact.quantize(step, ROUND_CEILING)):.3g}"


def _listed(names: tuple[Hashable, ...], most: int = 10) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


def least_expected(played: Played, reward_range: tuple[float, float], delta: float, sign: float) -> float:
    """Return a lower bound on the sum of the expected rewards of the rounds with a known reward.

    For costs (`sign` -1), the result is a lower bound on the negative sum.

    Notes
    -----
    Scale the rewards to X in [0, 1]. Let r be the expectation of the reward of a round given the past. If m
    depends on earlier rounds only, ``exp(l (X - r) - psi(l) (X - m)^2)`` has an expectation of at most 1
    (Fan's inequality, as in `anytime_bernstein_radii`). Without the squares, ``exp(s X) / (1 + r (e^s - 1))``
    has one, because exp is convex. The logarithm of the second denominator is concave in r, so its sum is at
    most that for the mean of all r. Both supermartingales are mixed over a table of bets, and each has half
    of the share of delta if both can be computed.
    """
    n = played.told
    if n == 0:
        return 0.0
    low, high = reward_range
    length = high - low
    if not (math.isfinite(played.total) and math.isfinite(length)):
        return n * low if sign > 0.0 else -n * high
    # Bounds on the rounding errors of one reward and of the sum, in units of the length.
    size = max(abs(low), abs(high)) / length
    blur, lost = SLACK * size, SLACK * size * n * n
    total = (played.total - n * low) / length if sign > 0.0 else (n * high - played.total) / length
    total = max(total - lost, 0.0)
    table = bet_table().reshape(-1, 3)
    bets, pays, surcharges = table[:, 0], table[:, 1], table[:, 2]
    has_spread = played.spread is not None
    logs = surcharges - math.log(EARNED * delta / (2.0 if has_spread else 1.0))
    # The bets of the second martingale are s = 4 l, up to about 2.3.
    growth = np.expm1(4.0 * bets)
    least = n * float((np.expm1((4.0 * bets * total - logs) / n) / growth).max())
    # The squares of rewards in short intervals are 0 as floats.
    if played.spread is not None and length >= LEAST_LENGTH:
        # The first square is at most 1.
        squares = 1.0 + played.spread / length / length + n * blur * max(1.0, size)
        least = max(least, float((total - pays / bets * squares - logs / bets).max()))
    least = max(least, 0.0)
    return n * low + length * least if sign > 0.0 else length * least - n * high


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


def support_for(policy: Any, support: tuple[float, float] | None) -> tuple[float, float]:
    """Return the given interval of outcomes, or that of the policy.

    Raises
    ------
    ValueError
        If no bounded interval is known.
    """
    known = getattr(policy, "support", None) if support is None else support
    if known is None or np.isinf(known).any():
        raise ValueError(
            "support must be a bounded interval (low, high) of the outcomes for a bound on the regret, got"
            f" {shown(known)}; pass support=(low, high) to this function, or to the session or campaign"
        )
    return interval("support", known)


#: Shares of smaller probabilities would be 0 as floats.
LEAST_DELTA = 1e-290
#: A simulated reward is reduced by this number of standard errors.
_ERRORS = 5.0


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
        self.is_monotone = getattr(oracle, "is_monotone", True)
        self.is_optimistic = getattr(oracle, "has_monotone_optimum", self.is_monotone)
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
        low, high = self._range(reward_range)
        worst, top = (low, high) if sign > 0.0 else (-high, -low)
        best = top
        if self.is_optimistic:
            # An approximate oracle may bound the optimum by more than any super arm can bring.
            best = min(sign * optimum_bound(oracle, self._means(self.arms.upper), self.family.rng), top)
        earned = least_expected(self.played, (low, high), self.delta, sign)
        # Rounds without a known reward count with the worst one.
        unknown = rounds - self.played.told
        earned += unknown * worst if unknown else 0.0
        least = math.nan
        if self.is_monotone:
            least = max(sign * self._least_value(choice), worst)
        method = "rewards" if self.played.told else "no rewards"
        # Without a ratio, the bounds are against the optimum itself.
        share = 1.0 if math.isnan(alpha) or not math.isfinite(best) else alpha
        regrets = (rounds * share * best - earned, rounds * best - earned) if rounds else (0.0, 0.0)
        return method, (*regrets, share * best - least, best - least)

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
            most, low, high = self._means(np.ones(self.oracle.n_arms)), 0.0, math.nan
            if self.is_optimistic:
                high = optimum_bound(self.oracle, most, self.family.rng)
            if not (0.0 < high < math.inf):
                raise ValueError(
                    "reward_range must be given, because the oracle does not bound the largest reward, got"
                    f" {shown(high)} from it"
                )
        elif played.told == 0 and self.stats.rounds == 0:
            return -math.inf, math.inf
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
    bound needs outcomes whose expectations never change. `Campaign.regret_bound`
    knows the rewards and the unreported outcomes of their rounds.

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
        outside their ranges. If rewards are sums: also if there are more outcomes than the rounds can have,
        because outcomes of arms that were not played are not part of what the rounds earned.

    Notes
    -----
    If rewards are sums, the regret is a linear function of the means with the factor ``T - N_i`` for arms of
    the optimum and ``-N_i`` for other arms, where ``N_i`` counts the plays of arm i in T rounds. The oracle
    maximises it over all super arms and a confidence set. Every arm that was played must have been reported,
    or `support` must not contain negative rewards. Every outcome must be of an arm that its round played. The
    page "The regret certificate" has the theorem.

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
    _check_plays(oracle, stats)
    played = Played()
    if rewards is not None and stats.rounds:
        played = Played(told=stats.rounds, total=real("rewards", rewards), spread=None)
    return Certify(delta, reward_range, independent, support).now(policy, state, played, rng)


def _check_plays(oracle: Oracle, stats: ArmStatistics) -> None:
    """Raise ``ValueError`` if the outcomes cannot be those of the arms that were played in the rounds."""
    if not oracle.is_linear:
        return
    most, total = int(stats.counts.max(initial=0)), int(stats.counts.sum())
    if most > stats.rounds or total > stats.rounds * oracle.max_size:
        raise ValueError(
            "state must have at most one outcome of each arm a round, and no more outcomes a round than"
            f" max_size={oracle.max_size} of the oracle, got {total:,} outcomes in {stats.rounds:,} rounds,"
            f" at most {most:,} of an arm"
        )


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

    delta: float = field(default=0.05, metadata=declared.real(LEAST_DELTA, 1.0, inside=True))
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

    def now(
        self, policy: AnyPolicy, state: ArmStatistics, played: Played, rng: Seed = 0
    ) -> RegretCertificate:
        """Return the certificate of a state and of the record of the rounds.

        Raises
        ------
        TypeError, ValueError
            As `regret_bound`.
        """
        oracle, stats = statistics_for(policy, state)
        if played.valued:
            raise ValueError(
                "contexts must have neither values nor costs nor features, and feedback one outcome of each"
                f" arm, for a bound on the regret, got {played.valued:,} other rounds"
            )
        support = support_for(policy, self.support)
        stats.check_support(*support)
        generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))
        arms = confidence_set(oracle, stats, support, self.delta)
        family = Family(oracle, generator)
        found = _Bounds(oracle, stats, played, arms, family, self.delta, self.independent)
        choice = oracle.solve(found.means, generator)
        if oracle.is_linear:
            method, (regret, exact_regret, gap, exact_gap) = found.linear(choice)
        else:
            method, (regret, exact_regret, gap, exact_gap) = found.monotone(choice, self.reward_range)
        return RegretCertificate(
            delta=self.delta,
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
