"""Budgets of resources: optimism for rewards, prices for what is used up."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.context import Context
from cmab.declared import integer, real
from cmab.feedback import Feedback
from cmab.guards import Takes
from cmab.oracle import Oracle
from cmab.policy import Policy, best_within, fits, refuse_parts
from cmab.statistics import ArmStatistics, count
from cmab.ticket import Ticket
from cmab.validation import check_vector, shown, vector


@dataclass
class BudgetState:
    """What was earned and used up. R resources.

    Attributes
    ----------
    earned : ArmStatistics
        Of the rewards.
    counts : IntArray, shape (n_arms,)
        How often it was told what each base arm used up.
    costs : FloatArray, shape (R, n_arms)
        What they used up of each resource, on average; 0 where it was never told.
    spent : FloatArray, shape (R,)
        What was used up in all; a base arm of which nothing was told counts as 1.
    prices : FloatArray, shape (R,)
        Lagrange multipliers.
    pending : int
        Base arms of the tickets that were handed out and not told.

    Examples
    --------
    >>> from cmab import PrimalDualCUCB
    >>> from oracles import TopK
    >>> PrimalDualCUCB(TopK(3, k=1), [20.0], horizon=100).initial_state().spent
    array([0.])
    """

    earned: ArmStatistics
    counts: IntArray
    costs: FloatArray
    spent: FloatArray
    prices: FloatArray
    pending: int = 0

    def check(self, fresh: BudgetState) -> None:
        """Refuse what no feedback could have led to, as a damaged file may hold it.

        Raises
        ------
        ValueError
            If an array has another shape, or a number is out of its range.
        """
        self.earned.check(fresh.earned)
        count("pending", self.pending)
        for name, high in (("counts", math.inf), ("costs", 1.0), ("spent", math.inf), ("prices", math.inf)):
            mine, its = getattr(self, name), getattr(fresh, name)
            if (mine.shape, mine.dtype) != (its.shape, its.dtype):
                raise ValueError(f"{name} must have shape {its.shape}, got {shown(mine)}")
            check_vector(name, mine.ravel(), None, 0.0, high)


@dataclass(frozen=True, eq=False)
class PrimalDualCUCB(Policy[BudgetState]):
    """CUCB for semi-bandits with knapsacks: what arms use up has prices, and budgets are never overspent.

    Each base arm uses up between 0 and 1 of each resource when it is played, as `Feedback.costs` tells. The
    oracle is given ``min(mean + radius, 1) - sum of price x max(mean cost - radius, 0)``, the radius being
    CUCB's, and prices follow what a round has used up against the share of the budget that it should: the
    Lagrange multipliers of the linear program behind `cmab.theory.best_mixture`. Where the best super arm is
    worth less than its price, the round plays nothing: an empty super arm, which the environment must take.
    For costs (``oracle.sense == "min"``) prices are added to lower bounds, and every round is played.

    It plays nothing any more, and `Session.is_done` is true, as soon as a budget could not bear another round
    at its worst, in which every base arm uses up 1. That is all that the budgets rely on: rounds that are not
    told yet, tickets that were cancelled and arms whose costs were not told count as 1 for each base arm (of
    a round that was not played, tell ``Feedback([], [], used=[0.0])``).

    Parameters
    ----------
    oracle : Oracle
        The family of super arms, linear.
    budgets : array_like, shape (n_resources,)
        What may be used up of each resource in all, of which one base arm uses up 1 a round at most (divide
        budgets and costs by what it can be). Each must bear one round at its worst.
    horizon : int
        Rounds over which the budgets are spread. It plays on thereafter, with what is left.
    radius_factor : float
        Factor on the radius. Below 1 regret bounds do not hold, and it is what practitioners run; budgets are
        kept for any.
    rate : float or None
        Factor on the step of the prices; 0 leaves them 0, which is CUCB that stops in time.

    Raises
    ------
    ValueError
        If a parameter is out of its range, a budget cannot bear one round, or the oracle is not linear.

    Examples
    --------
    >>> from cmab import PrimalDualCUCB, simulate
    >>> from instances import BernoulliArms, ResourceSemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=3, k=1)
    >>> uses = [BernoulliArms([0.5, 0.1, 0.9])]
    >>> place = ResourceSemiBandit(BernoulliArms([0.3, 0.4, 0.8]), oracle, uses=uses, allowance=[0.3])
    >>> policy = PrimalDualCUCB(oracle, [300.0], horizon=1000, radius_factor=0.3)
    >>> result = simulate(policy, place, 1000, rng=0)
    >>> bool(0.0 <= result.budgets_left[0][0] < 5.0)
    True

    References
    ----------
    A. Badanidiyuru, R. Kleinberg, A. Slivkins: Bandits with Knapsacks, FOCS 2013 (the problem, the null arm);
    S. Agrawal, N. Devanur: Bandits with concave rewards and convex knapsacks, EC 2014 (upper bounds of
    rewards, lower ones of costs, multipliers learned online); M. Castiglioni, A. Celli, C. Kroer: Online
    Learning with Knapsacks: the Best of Both Worlds, ICML 2022 (prices by projected gradient steps). K. A.
    Sankararaman, A. Slivkins: Combinatorial Semi-Bandits with Knapsacks, AISTATS 2018, have semi-bandits, and
    round a linear program in each round instead. The rules are from memory; the form for super arms, the cap
    of the prices at L horizon / budget for L base arms a round, and the step are ours.
    """

    oracle: Oracle
    budgets: ArrayLike
    _: KW_ONLY
    horizon: int = field(metadata=integer(1))
    radius_factor: float = field(default=1.0, metadata=real(0.0, 1e100))
    rate: float = field(default=1.0, metadata=real(0.0))
    support: tuple[float, float] = field(init=False, repr=False, default=(0.0, 1.0))
    may_rest: ClassVar[bool] = True
    _takes: ClassVar[Takes] = {"budgets_left": (fits,)}
    #: Most that one round uses up of a resource.
    _worst: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        oracle = self.oracle
        if not oracle.is_linear:
            raise ValueError(f"oracle must be linear, got {shown(oracle)}")
        worst = oracle.max_size
        if oracle.is_exact and oracle.sense == "max":  # whose answer to ones is the largest super arm
            worst = min(worst, len(oracle.solve(np.ones(oracle.n_arms), np.random.default_rng(0))))
        object.__setattr__(self, "_worst", worst)
        object.__setattr__(self, "budgets", vector("budgets", self.budgets, None, 0.0))
        if not len(self._totals) or (self._totals < max(worst, 1)).any():
            raise ValueError(
                f"budgets must bear one round at least, {max(worst, 1)} of each resource, got {self._totals}"
            )

    def initial_state(self) -> BudgetState:
        m, resources = self.oracle.n_arms, len(self._totals)
        arrays = np.zeros(m, np.int64), np.zeros((resources, m)), np.zeros(resources), np.zeros(resources)
        return BudgetState(ArmStatistics.empty(m), *arrays)

    def budgets_left(self, state: BudgetState) -> FloatArray:
        """Return what is left of each budget whatever the pending rounds use up, shape (n_resources,)."""
        return self._totals - state.spent - state.pending

    def is_done(self, state: BudgetState) -> bool:
        """Return whether a budget cannot bear another round at its worst."""
        return bool((self.budgets_left(state) < self._worst).any())

    def reserve(self, state: BudgetState, ticket: Ticket) -> None:
        """Count a ticket that is handed out: until it is told, it may use up the most; nothing is free."""
        state.pending += len(ticket) + ticket.gone

    def _check_state(self, state: BudgetState) -> None:
        fits(self, state.earned, ())

    def select(
        self, state: BudgetState, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the super arm of what is available that is worth most beyond its price, or an empty one.

        Raises
        ------
        ValueError
            If the context has more than what is available, or leaves no super arm.
        """
        refuse_parts(self, context, ("available",))
        if self.is_done(state):
            return np.empty(0, np.int64)
        worth = self._worth(state)
        chosen = best_within(self.oracle, worth, context, rng)
        is_bought = self.oracle.sense == "min" or worth[chosen].sum() >= 0.0
        return chosen if is_bought else np.empty(0, np.int64)

    def update(self, state: BudgetState, feedback: Feedback, ticket: Ticket | None = None) -> None:
        """Take in the feedback of a ticket: what it earned, and what it used up.

        Without a ticket, nothing but the arms that were seen was played.

        Raises
        ------
        ValueError
            If a cost lies outside [0, 1], there are others than there are budgets, or more was used up than
            as many base arms can.
        """
        if ticket is None:
            self._learn(state, feedback, len(feedback.arms))
            return
        size = len(ticket) + ticket.gone
        if feedback.used is not None and (feedback.used > size * (1.0 + 1e-9)).any():
            raise ValueError(
                f"feedback.used must be at most {size}, 1 for each base arm that was played, got"
                f" {shown(feedback.used.tolist())}"
            )
        self._learn(state, feedback, size)
        state.pending = max(state.pending - size, 0)

    def _worth(self, state: BudgetState) -> FloatArray:
        """Return the optimistic worth of each base arm at the prices of now."""
        # CUCB's radius, sqrt(3 ln t / 2 T), on the optimistic side of outcomes and of what is used up.
        sign = self.oracle.sign
        term = 1.5 * math.log(state.earned.rounds + 1) * self.radius_factor**2
        with np.errstate(divide="ignore", invalid="ignore"):
            gains = np.clip(state.earned.means + sign * np.sqrt(term / state.earned.counts), 0.0, 1.0)
            costs = np.maximum(state.costs - np.sqrt(term / state.counts), 0.0)
        gains[state.earned.counts == 0] = max(sign, 0.0)
        costs[:, state.counts == 0] = 0.0
        worth: FloatArray = gains - sign * (state.prices @ costs)
        return worth

    def _learn(self, state: BudgetState, feedback: Feedback, size: int) -> None:
        """Take in one round in which `size` base arms were played."""
        used, is_done = self._used(feedback, size), self.is_done(state)
        state.earned.update(feedback)
        if feedback.costs is not None:
            arms = feedback.arms
            state.counts[arms] += 1
            state.costs[:, arms] += (feedback.costs.T - state.costs[:, arms]) / state.counts[arms]
        state.spent += used
        if is_done and not size:  # nothing is bought any more
            return
        # Projected gradient step of the dual: price <- price + eta (used - B / T), within [0, L T / B], for
        # no multiplier of the linear program is larger where a round earns L at most; eta = T / (B sqrt T).
        share = self._totals / self.horizon
        step = self.rate / (share * math.sqrt(self.horizon))
        state.prices[:] = np.clip(state.prices + step * (used - share), 0.0, self._worst / share)

    def _used(self, feedback: Feedback, size: int) -> FloatArray:
        """Return what a round used up, at its worst where that was not told."""
        n, costs = len(self._totals), feedback.costs
        if feedback.pulls is not None:
            raise ValueError(
                "feedback.pulls must be None for rules with budgets, got sums of several outcomes"
            )
        for name, told in (("costs", costs), ("used", feedback.used)):
            if told is not None and told.shape[-1] != n:
                raise ValueError(f"feedback.{name} must be of {n} resources, got {told.shape[-1]}")
        if costs is not None and costs.size and costs.max() > 1.0:
            raise ValueError(f"feedback.costs must lie in [0, 1], got {costs.max():g}")
        if feedback.used is not None:
            return feedback.used
        known = np.zeros((0, n)) if costs is None else costs
        used: FloatArray = known.sum(axis=0) + (size - len(known))
        return used

    @property
    def _totals(self) -> FloatArray:
        budgets: FloatArray = self.budgets  # type: ignore[assignment]
        return budgets
