"""A policy that restarts whenever the outcomes of a base arm show that its mean has changed."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.confidence.change_points import change_threshold, largest_ratio
from cmab.context import Context
from cmab.declared import flag, integer, real
from cmab.feedback import Feedback
from cmab.policies._wrapped import WrappedPolicy
from cmab.statistics import alike, count
from cmab.ticket import Ticket
from cmab.validation import arm_indices, interval, shown

#: With a smaller probability of a false alarm, the share of each arm could underflow to 0.
LEAST_DELTA = 1e-300


@dataclass
class RestartState:
    """The state of the wrapped policy since its last restart, and the outcomes for the test.

    Attributes
    ----------
    learned : Any
        State of the wrapped policy.
    rounds : int
        Number of rounds with feedback.
    counts : IntArray, shape (n_arms,)
        Number of outcomes of each base arm since the last restart.
    sums : FloatArray, shape (n_arms,)
        Sums of these outcomes, rescaled to [0, 1].
    history : list of FloatArray
        At most one array. The row of an arm has its sum after every `every`-th of its outcomes.
    restarts : list of int
        The rounds after which the policy restarted.
    changed : list of int
        For each restart, the base arm with the changed mean.

    Examples
    --------
    >>> from cmab import CUCB, Feedback, GLRRestart
    >>> from oracles import TopK
    >>> policy = GLRRestart(CUCB(TopK(1, k=1)), 0.5, is_proven=False)
    >>> state = policy.initial_state()
    >>> for outcome in [0.0] * 20 + [1.0] * 10:
    ...     policy.update(state, Feedback([0], [outcome]))
    >>> state.restarts, state.changed, state.learned.rounds
    ([30], [0], 0)
    """

    learned: Any
    counts: IntArray
    sums: FloatArray
    rounds: int = 0
    history: list[FloatArray] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)

    @classmethod
    def empty(cls, learned: Any, n_arms: int) -> RestartState:
        """Return the state before the first round, if the wrapped policy starts with `learned`."""
        state = cls(learned, np.empty(0, np.int64), np.empty(0))
        state.begin(learned, n_arms)
        return state

    def begin(self, learned: Any, n_arms: int) -> None:
        """Reset everything except the list of restarts."""
        self.learned = learned
        self.counts, self.sums, self.history = np.zeros(n_arms, np.int64), np.zeros(n_arms), []

    def keep(self, arms: IntArray, outcomes: FloatArray, every: int) -> None:
        """Add the outcomes of a round."""
        self.counts[arms] += 1
        self.sums[arms] += outcomes
        whole = arms[self.counts[arms] % every == 0]
        if not len(whole):
            return
        places = self.counts[whole] // every - 1
        width = self.history[0].shape[1] if self.history else 0
        if places.max() >= width:
            longer = np.zeros((len(self.counts), 2 * int(places.max()) + 4))
            if self.history:
                longer[:, :width] = self.history[0]
            self.history = [longer]
        self.history[0][whole, places] = self.sums[whole]

    def check(self, fresh: RestartState) -> None:
        """Raise if no feedback leads to this state, as may happen with a damaged file.

        Raises
        ------
        ValueError
            If the parts contradict each other.
        """
        if hasattr(self.learned, "check"):
            self.learned.check(fresh.learned)
        count("rounds", self.rounds)
        for name in ("restarts", "changed"):
            arm_indices(name, np.array(getattr(self, name), np.int64), 2**53, distinct=False)
        is_same = all(alike(getattr(self, name), getattr(fresh, name)) for name in ("counts", "sums"))
        arrays = self.history
        fits = (
            is_same
            and len(arrays) <= 1
            and all(a.dtype == np.float64 and a.shape[:-1] == fresh.counts.shape for a in arrays)
        )
        if not fits or len(self.restarts) != len(self.changed) or (self.counts < 0).any():
            raise ValueError(f"history must hold sums of {len(fresh.counts)} arms, got {shown(arrays)}")


@dataclass(frozen=True, eq=False)
class GLRRestart(WrappedPolicy[RestartState]):
    """Another policy, which restarts when a test finds that the mean of a base arm has changed.

    Use this wrapper if means jump rarely and at unknown times. If they drift, use `DiscountedCUCB`.

    ``GLRRestart(CUCB(oracle))`` is GLR-CUCB. The test is the generalised likelihood ratio test for Bernoulli
    outcomes. It is valid for all outcomes in the support; other outcomes are clipped for the test. After
    every `every`-th of its outcomes, an arm is tested for a change at any multiple of `every` of its
    outcomes. If no mean changes, the probability of any restart is at most `delta` (with the proven
    threshold).

    With probability `exploration` a round plays a super arm that contains a random base arm, so that changes
    of arms outside the current super arm are found. Some oracles cannot force an arm into the answer (paths
    and flows on graphs with cycles). The round then plays the best super arm for random costs, with cost 0
    for this arm. The rounds of the restarts are part of the result: they are in the state, as `restarts`, and
    in `Simulation.change_points`.

    If the feedback of a round arrives after a restart, it counts as feedback since the restart.

    Parameters
    ----------
    policy : Policy
        The wrapped policy. This policy has the same oracle and support.
    delta : float
        Probability of a false alarm for all arms together, in (1e-300, 1).
    exploration : float
        Probability of an exploring round, in [0, 1]. For S changes in T rounds, theory suggests
        ``sqrt(S m ln T / T)``.
    every : int
        Number of outcomes of an arm between two tests, and between two candidate positions of a change, at
        least 1. A test with n outcomes takes ``n / every`` steps.
    is_proven : bool
        Whether to use the proven threshold. The other threshold, used in the literature, is about half as
        large and finds changes in half the time.

    Raises
    ------
    TypeError
        If `policy` is not a policy.
    ValueError
        If a parameter is out of its range, or the wrapped policy has no bounded support.

    Examples
    --------
    >>> from cmab import CUCB, GLRRestart, simulate
    >>> from instances import BernoulliArms, PiecewiseStationary, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=4, k=2)
    >>> means = [0.1, 0.9, 0.1, 0.9]
    >>> before, after = (SemiBandit(BernoulliArms(p), oracle) for p in (means, means[::-1]))
    >>> environment = PiecewiseStationary([before, after], changes=[1000])
    >>> state = simulate(GLRRestart(CUCB(oracle)), environment, 2000, rng=0).states[0]
    >>> len(state.restarts), 1000 < state.restarts[0] < 1200
    (1, True)

    References
    ----------
    H. Zhou, L. Wang, L. Varshney, E.-P. Lim: A Near-Optimal Change-Detection Based Algorithm for
    Piecewise-Stationary Combinatorial Semi-Bandits, AAAI 2020, Algorithm 1 (GLR-CUCB).
    """

    delta: float = field(default=0.01, metadata=real(LEAST_DELTA, 1.0, inside=True))
    _: KW_ONLY
    exploration: float = field(default=0.05, metadata=real(0.0, 1.0))
    every: int = field(default=10, metadata=integer(1))
    is_proven: bool = field(default=True, metadata=flag())
    support: tuple[float, float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.policy.support is None:
            raise ValueError(f"policy must have a bounded support for the test, got {self.policy!r}")
        object.__setattr__(self, "support", interval("policy.support", self.policy.support))

    def _learned(self, state: RestartState) -> Any:
        return state.learned

    def initial_state(self, rng: np.random.Generator | None = None) -> RestartState:
        """Return the initial state of the wrapped policy, without outcomes for the test."""
        return RestartState.empty(self.policy.initial_state(rng), self.oracle.n_arms)

    def select(
        self, state: RestartState, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the choice of the wrapped policy, or an exploring super arm.

        Raises
        ------
        ValueError
            If the wrapped policy cannot use a part of the context.
        """
        explores = rng.random() < self.exploration
        chosen = super().select(state, rng, context)
        if not explores:
            return chosen
        arm = int(rng.integers(self.oracle.n_arms))
        return _super_arm_with(self.oracle, arm, None if context is None else context.available, rng, chosen)

    def update(
        self,
        state: RestartState,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update `state`, and restart if the mean of an arm has changed."""
        if getattr(feedback, "pulls", None) is not None:
            raise ValueError("feedback.pulls must be None for GLRRestart, which tests single outcomes")
        super().update(state, feedback, ticket, rng)
        state.rounds += 1
        low, high = self.support
        # Outcomes may leave the support. The mean of clipped outcomes changes with the mean of the outcomes.
        outcomes = np.clip((feedback.outcomes - low) / (high - low), 0.0, 1.0)
        state.keep(feedback.arms, outcomes, self.every)
        for arm in feedback.arms:
            if state.counts[arm] % self.every == 0 and self._has_changed(state, int(arm)):
                state.begin(self.policy.initial_state(rng), self.oracle.n_arms)
                state.restarts.append(state.rounds)
                state.changed.append(int(arm))
                return

    def _has_changed(self, state: RestartState, arm: int) -> bool:
        n = int(state.counts[arm])
        # A change is sought after every `every` outcomes. Fewer candidates do not cause more false alarms.
        sums = state.history[0][arm, : n // self.every]
        evidence, _ = largest_ratio(sums, self.every * np.arange(1, len(sums) + 1))
        # Zhou et al. (2020), Algorithm 1, line 11: restart when the ratio reaches beta(n, delta), here with
        # delta / m for each of m arms, so that the probability of any false alarm is at most delta.
        delta = self.delta / self.oracle.n_arms
        return evidence >= change_threshold(n, delta=delta, is_proven=self.is_proven)


def _super_arm_with(
    oracle: Any, arm: int, available: BoolArray | None, rng: np.random.Generator, otherwise: IntArray
) -> IntArray:
    """Return a super arm that contains base arm `arm` if the oracle finds one, and `otherwise` if not."""
    # All other arms have value 0, so the best super arm contains this arm if any super arm does.
    means = np.zeros(oracle.n_arms) if oracle.sense == "max" else np.ones(oracle.n_arms)
    means[arm] = 1.0 if oracle.sense == "max" else 0.0
    if oracle.can_constrain:
        exclude = np.flatnonzero(~available) if available is not None else np.empty(0, np.int64)
        if arm in exclude:
            return otherwise
        try:
            chosen = oracle.solve_constrained(means, [arm], exclude, rng)
        except TypeError:
            # To find a path through an edge is hard on some graphs. Random costs of all magnitudes make each
            # path optimal from time to time.
            means = oracle.sign * -(10.0 ** -rng.uniform(0.0, 8.0, oracle.n_arms))
            means[arm] = 0.0
            chosen = oracle.solve_constrained(means, [], exclude, rng)
    elif available is None:
        chosen = oracle.solve(means, rng)
    else:
        chosen = oracle.solve_within(means, available, rng)
    return otherwise if chosen is None else chosen
