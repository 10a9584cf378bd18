"""Any rule, begun anew whenever the outcomes of a base arm show that its mean has changed."""

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
from cmab.renamed import find as __getattr__  # noqa: F401
from cmab.statistics import alike, count
from cmab.ticket import Ticket
from cmab.validation import arm_indices, interval, shown

#: A smaller probability of an alarm, shared by the arms, may be none at all.
LEAST_DELTA = 1e-300


@dataclass
class RestartState:
    """What a rule has learned since its last restart, and the outcomes that tell when to begin anew.

    Attributes
    ----------
    learned : Any
        State of the rule.
    rounds : int
        Rounds whose feedback has come in.
    counts : IntArray, shape (n_arms,)
        Outcomes of each base arm since the last restart.
    sums : FloatArray, shape (n_arms,)
        Their sums, scaled to [0, 1].
    history : list of FloatArray
        One array: in the row of an arm, its sum after each `every` of its outcomes.
    restarts : list of int
        Rounds after which the rule began anew.
    changed : list of int
        For each of them the base arm that showed the change.

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
        """Return the state before the first round of a rule that begins with `learned`."""
        state = cls(learned, np.empty(0, np.int64), np.empty(0))
        state.begin(learned, n_arms)
        return state

    def begin(self, learned: Any, n_arms: int) -> None:
        """Forget all but the restarts."""
        self.learned = learned
        self.counts, self.sums, self.history = np.zeros(n_arms, np.int64), np.zeros(n_arms), []

    def keep(self, arms: IntArray, outcomes: FloatArray, every: int) -> None:
        """Take in the outcomes of a round."""
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
        """Refuse what no feedback could have led to, as a damaged file may hold it.

        Raises
        ------
        ValueError
            If the parts do not fit together.
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
    """Another rule, which forgets everything once a test finds that the mean of a base arm has changed.

    ``GLRRestart(CUCB(oracle))`` is GLR-CUCB. The test is the generalised likelihood ratio of Bernoulli
    outcomes, valid for all outcomes in the support (others are cut to it for the test); at every `every`-th
    of its outcomes an arm is tested for a change after each `every` of them. With probability `exploration` a
    round plays a super arm that holds a base arm drawn at random, so that changes of arms out of play are
    found; where the oracle cannot force an arm in (paths and flows on graphs with cycles), the best for costs
    drawn at random, of which that arm has none. When arms do not change, the probability of any restart at
    all is at most `delta` (the proven threshold). The rounds of the restarts are part of the result: in the
    state, as `restarts`, and in `Simulation.change_points`.

    Feedback of a round from before a restart that is told after it counts as later feedback does.

    Parameters
    ----------
    policy : Policy
        The rule. Its oracle and support are those of this policy.
    delta : float
        Probability of a false alarm, of all arms together, in (1e-300, 1).
    exploration : float
        Probability of a round that explores, in [0, 1]. For S changes in T rounds theory takes
        ``sqrt(S m ln T / T)``.
    every : int
        Outcomes of an arm between two tests of it, and between the places of a change that are tried, at
        least 1. A test of n outcomes takes ``n / every`` steps.
    is_proven : bool
        Whether the threshold is the proven one; the other is about half as large, finds changes in half the
        time, and is what the literature runs.

    Raises
    ------
    TypeError
        If `policy` is no policy.
    ValueError
        If a parameter is out of its range, or the rule has no bounded support.

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
            raise ValueError(f"policy must have a bounded support, which the test needs, got {self.policy!r}")
        object.__setattr__(self, "support", interval("policy.support", self.policy.support))

    def _learned(self, state: RestartState) -> Any:
        return state.learned

    def initial_state(self, rng: np.random.Generator | None = None) -> RestartState:
        """Return what the rule starts with, without outcomes."""
        return RestartState.empty(self.policy.initial_state(rng), self.oracle.n_arms)

    def select(
        self, state: RestartState, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the rule's choice for a round, or one that explores.

        Raises
        ------
        ValueError
            If the rule does not understand the context.
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
        """Take in one round of feedback, then begin anew if an arm has changed."""
        if getattr(feedback, "pulls", None) is not None:
            raise ValueError("feedback.pulls must be None for GLRRestart, which tests outcome by outcome")
        super().update(state, feedback, ticket, rng)
        state.rounds += 1
        low, high = self.support
        # Noise may leave the support: what is cut to it has a mean that moves with theirs.
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
        # A change is looked for after every so many outcomes: fewer places alarm no more often.
        sums = state.history[0][arm, : n // self.every]
        evidence, _ = largest_ratio(sums, self.every * np.arange(1, len(sums) + 1))
        # Zhou et al. (2020), Algorithm 1, line 11: restart when the ratio reaches beta(n, delta), here with
        # delta / m for each of m arms, so that all together are wrong with probability at most delta.
        delta = self.delta / self.oracle.n_arms
        return evidence >= change_threshold(n, delta=delta, is_proven=self.is_proven)


def _super_arm_with(
    oracle: Any, arm: int, available: BoolArray | None, rng: np.random.Generator, otherwise: IntArray
) -> IntArray:
    """Return a super arm that holds base arm `arm` if that can be told, else `otherwise`."""
    # All the others are worth nothing: the best super arm holds this one, if any does.
    means = np.zeros(oracle.n_arms) if oracle.sense == "max" else np.ones(oracle.n_arms)
    means[arm] = 1.0 if oracle.sense == "max" else 0.0
    if oracle.can_constrain:
        exclude = np.flatnonzero(~available) if available is not None else np.empty(0, np.int64)
        if arm in exclude:
            return otherwise
        try:
            chosen = oracle.solve_constrained(means, [arm], exclude, rng)
        except TypeError:
            # A path through an edge is a hard problem on some graphs. Costs of all magnitudes, drawn anew,
            # make each path the best one now and then.
            means = oracle.sign * -(10.0 ** -rng.uniform(0.0, 8.0, oracle.n_arms))
            means[arm] = 0.0
            chosen = oracle.solve_constrained(means, [], exclude, rng)
    elif available is None:
        chosen = oracle.solve(means, rng)
    else:
        chosen = oracle.solve_within(means, available, rng)
    return otherwise if chosen is None else chosen
