"""Budgets of resources for all rounds together."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import Oracle
from cmab.parameters import integer, real
from cmab.policy import Policy, best_within, refuse_parts
from cmab.statistics import ArmStatistics
from cmab.validation import shown, vector


@dataclass
class BudgetState:
    """Statistics of rewards and of resource use, for R resources.

    Attributes
    ----------
    earned : ArmStatistics
        Statistics of the rewards.
    counts : IntArray, shape (n_arms,)
        Number of cost reports of each base arm.
    costs : FloatArray, shape (R, n_arms)
        Mean amount of each resource that each base arm used; 0 without a report.
    spent : FloatArray, shape (R,)
        Total amount used of each resource. A base arm without a cost report counts as 1.
    prices : FloatArray, shape (R,)
        Lagrange multipliers.
    pending : int
        Number of base arms of open tickets.

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


@dataclass(frozen=True, eq=False)
class PrimalDualCUCB(Policy[BudgetState]):
    """CUCB for semi-bandits with knapsacks: resources have prices, and budgets are never exceeded.

    Use this policy if arms use up resources with budgets for all rounds together.

    Each base arm uses between 0 and 1 of each resource when it is played, as `Feedback.costs` reports. The
    oracle receives ``min(mean + radius, 1) - sum of price x max(mean cost - radius, 0)`` for each base arm,
    with CUCB's radius. After each round, a price rises if the round used more than its share of the budget,
    and falls otherwise. Prices estimate the Lagrange multipliers of the linear program of
    `cmab.bounds.best_mixture`. If the best super arm is worth less than its price, the policy returns an
    empty super arm, which the environment must accept. For costs (``oracle.sense == "min"``) prices are added
    to lower bounds, and the policy never skips a round.

    The policy stops, and `Session.is_done` is true, as soon as a budget may not suffice for another round in
    which every base arm uses 1. To stay within the budgets, it counts 1 for each base arm of a round without
    feedback yet, of a cancelled ticket, or without a reported cost. If a ticket was not played, report
    ``Feedback([], [], used=[0.0])``.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms. It must be linear.
    budgets : array_like, shape (n_resources,)
        Total amount of each resource that may be used. A base arm must use at most 1 per round; otherwise,
        divide budgets and costs by its largest possible use. Each budget must suffice for one round in which
        every base arm uses 1.
    horizon : int
        Number of rounds over which the budgets are spread. Afterwards, the policy uses the remaining budgets.
    radius_factor : float
        Factor of the radius. Regret bounds require at least 1, but smaller values are common in practice.
        Budgets are respected for any value.
    rate : float
        Factor of the step size of the prices. With 0 all prices stay 0, and the policy is CUCB with a stop.

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
    A. Badanidiyuru, R. Kleinberg, A. Slivkins: Bandits with Knapsacks, FOCS 2013 (the problem and the null
    arm). S. Agrawal, N. Devanur: Bandits with concave rewards and convex knapsacks, EC 2014 (upper bounds of
    rewards, lower bounds of costs, and multipliers learned online). M. Castiglioni, A. Celli, C. Kroer:
    Online Learning with Knapsacks: the Best of Both Worlds, ICML 2022 (prices by projected gradient steps).
    K. A. Sankararaman, A. Slivkins: Combinatorial Semi-Bandits with Knapsacks, AISTATS 2018, study
    semi-bandits, and round the solution of a linear program in each round instead. The rules are from memory.
    The form for super arms, the upper limit L horizon / budget of the prices for L base arms per round, and
    the step size are ours.
    """

    oracle: Oracle
    budgets: ArrayLike
    _: KW_ONLY
    horizon: int = field(metadata=integer(1))
    radius_factor: float = field(default=1.0, metadata=real(0.0, 1e100))
    rate: float = field(default=1.0, metadata=real(0.0))
    support: tuple[float, float] = field(init=False, repr=False, default=(0.0, 1.0))
    may_rest: ClassVar[bool] = True
    #: The largest amount of a resource that one round can use.
    _worst: int = field(init=False, repr=False)
    _totals: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        oracle = self.oracle
        if not oracle.is_linear:
            raise ValueError(f"oracle must be linear, got {shown(oracle)}")
        worst = oracle.max_size
        if oracle.is_exact and oracle.sense == "max":  # its answer to ones is the largest super arm
            worst = min(worst, len(oracle.solve(np.ones(oracle.n_arms), np.random.default_rng(0))))
        object.__setattr__(self, "_worst", worst)
        totals = vector("budgets", self.budgets, None, 0.0)
        object.__setattr__(self, "budgets", totals)
        object.__setattr__(self, "_totals", totals)
        if not len(self._totals) or (self._totals < max(worst, 1)).any():
            raise ValueError(
                f"budgets must suffice for one round, {max(worst, 1)} of each resource, got {self._totals}"
            )

    def initial_state(self, rng: np.random.Generator | None = None) -> BudgetState:
        m, resources = self.oracle.n_arms, len(self._totals)
        arrays = np.zeros(m, np.int64), np.zeros((resources, m)), np.zeros(resources), np.zeros(resources)
        return BudgetState(ArmStatistics.empty(m), *arrays)

    def budgets_left(self, state: BudgetState) -> FloatArray:
        """Return the rest of each budget if all open tickets use the most, shape (n_resources,)."""
        return self._totals - state.spent - state.pending

    def is_done(self, state: BudgetState) -> bool:
        """Return whether a budget may not suffice for another round."""
        return bool((self.budgets_left(state) < self._worst).any())

    def reserve(self, state: BudgetState, ticket: Ticket) -> None:
        """Reserve 1 of each resource for every base arm of an issued ticket until its feedback arrives."""
        state.pending += len(ticket) + ticket.gone

    def select(
        self, state: BudgetState, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the available super arm with the largest value minus price, or an empty super arm."""
        refuse_parts(self, context, ("available",))
        if self.is_done(state):
            return np.empty(0, np.int64)
        worth = self._worth(state)
        chosen = best_within(self.oracle, worth, context, rng)
        is_bought = self.oracle.sense == "min" or worth[chosen].sum() >= 0.0
        return chosen if is_bought else np.empty(0, np.int64)

    def update(
        self,
        state: BudgetState,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update `state` with the rewards and the resource use of a ticket.

        Without a ticket, the observed arms are assumed to be the whole super arm.
        """
        size = len(feedback.arms) if ticket is None else len(ticket) + ticket.gone
        used, is_done = self._used(feedback, size, ticket is not None), self.is_done(state)
        state.earned.update(feedback)
        if feedback.costs is not None:
            arms = feedback.arms
            state.counts[arms] += 1
            state.costs[:, arms] += (feedback.costs.T - state.costs[:, arms]) / state.counts[arms]
        state.spent += used
        if ticket is not None:
            state.pending = max(state.pending - size, 0)
        if is_done and not size:  # the policy has stopped
            return
        # Projected gradient step of the dual: price <- price + eta (used - B / T), within [0, L T / B], with
        # eta = T / (B sqrt T). A multiplier of the linear program is at most L T / B if a round earns at
        # most L.
        share = self._totals / self.horizon
        step = self.rate / (share * math.sqrt(self.horizon))
        state.prices[:] = np.clip(state.prices + step * (used - share), 0.0, self._worst / share)

    def _worth(self, state: BudgetState) -> FloatArray:
        """Return the optimistic value of each base arm at the current prices."""
        # CUCB's radius, sqrt(3 ln t / 2 T), on the optimistic side of outcomes and of costs.
        sign = self.oracle._sign
        term = 1.5 * math.log(state.earned.rounds + 1) * self.radius_factor**2
        with np.errstate(divide="ignore", invalid="ignore"):
            gains = np.clip(state.earned.means + sign * np.sqrt(term / state.earned.counts), 0.0, 1.0)
            costs = np.maximum(state.costs - np.sqrt(term / state.counts), 0.0)
        gains[state.earned.counts == 0] = max(sign, 0.0)
        costs[:, state.counts == 0] = 0.0
        worth: FloatArray = gains - sign * (state.prices @ costs)
        return worth

    def _used(self, feedback: Feedback, size: int, is_known: bool) -> FloatArray:
        """Return the amounts that a round used, or their upper bound if they were not reported.

        If `is_known` is true, exactly `size` base arms were played.
        """
        n, costs, used = len(self._totals), feedback.costs, feedback.used
        if feedback.pulls is not None:
            raise ValueError(
                "feedback.pulls must be None for policies with budgets, got sums of several outcomes"
            )
        for name, told in (("costs", costs), ("used", used)):
            if told is not None and told.shape[-1] != n:
                raise ValueError(f"feedback.{name} must be of {n} resources, got {told.shape[-1]}")
        if costs is not None and costs.size and costs.max() > 1.0:
            raise ValueError(f"feedback.costs must lie in [0, 1], got {costs.max():g}")
        if used is None:
            known = np.zeros((0, n)) if costs is None else costs
            most: FloatArray = known.sum(axis=0) + (size - len(known))
            return most
        if is_known and (used > size * (1.0 + 1e-9)).any():
            raise ValueError(
                f"feedback.used must be at most {size}, 1 for each base arm that was played, got"
                f" {shown(used.tolist())}"
            )
        return used
