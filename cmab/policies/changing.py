"""Policies for means that change: discounted and windowed outcomes, and restarts after a test."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.bounds.mixtures import change_threshold, largest_ratio
from cmab.compiled import index_kernel, learn_kernel
from cmab.feedback import Context, Feedback, Ticket
from cmab.parameters import flag, integer, interval, real
from cmab.policies.ucb import ESCB
from cmab.policies.wrappers import WrappedPolicy
from cmab.policy import CompiledIndexPolicy, IndexPolicy
from cmab.statistics import ArmStatistics

# Discounted outcomes ------------------------------------------------------------------------------------

#: An arm with a smaller discounted count is treated as unobserved; its radius would far exceed any support.
FORGOTTEN = 1e-12


@learn_kernel
def discount(arms, n, outcomes, t, reals, memory):
    """Multiply all counts by the discount, then add the outcomes of this round with weight 1.

    `memory` holds the discounted count of each arm, the discounted mean of each arm, and the discounted
    number of rounds.
    """
    m, gamma = memory.shape[0] // 2, reals[0]
    # Garivier and Moulines (2011), section 2: N_t(g, i) = sum_s g^(t-s) 1{i seen in s}, for every arm.
    for i in range(m):
        memory[i] *= gamma
    for j in range(n):
        i = arms[j]
        memory[i] += 1.0
        # The mean X_t(g, i) = (1 / N_t) sum_s g^(t-s) x_s, as a running mean.
        memory[m + i] += (outcomes[j] - memory[m + i]) * (1.0 / memory[i])
    # n_t(g) = sum_s g^(t-s), over rounds.
    memory[2 * m] = gamma * memory[2 * m] + 1.0


@index_kernel
def discounted_bounds(counts, means, deviations, memory, t, reals, rng, out):
    """Write CUCB's indices for discounted counts, means and rounds."""
    m, factor, sign, low, high = memory.shape[0] // 2, reals[1], reals[2], reals[3], reals[4]
    # The radius of CUCB, sqrt(3 ln t / 2 N), with t = n_t(g) + 1, because the round to come counts.
    term = 1.5 * math.log(memory[2 * m] + 1.0) * (factor * factor)
    for i in range(m):
        if memory[i] < FORGOTTEN:
            out[i] = high if sign > 0.0 else low
        elif sign > 0.0:
            out[i] = min(memory[m + i] + math.sqrt(term / memory[i]), high)
        else:
            out[i] = max(memory[m + i] - math.sqrt(term / memory[i]), low)


@dataclass(frozen=True, eq=False)
class DiscountedCUCB(CompiledIndexPolicy):
    """CUCB with discounted counts and means: an outcome from s rounds ago has the weight ``discount**s``.

    Use this policy if means drift slowly, or change often at unknown times.

    In every round the counts of all arms are multiplied by the discount. The radius of an arm that is not
    observed therefore grows, and the policy plays the arm again. The index is
    ``min(mean + sqrt(3 ln n / 2 N), 1)`` with the discounted mean and count N of the arm and the discounted
    number n of rounds, including the current one. The policy remembers about ``1 / (1 - discount)`` rounds.
    With a discount of 1 it equals `CUCB` bit for bit. For costs, the index is the mirror image.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    discount : float
        Factor of the weights per round, in (0, 1]. For S changes in T rounds, theory suggests
        ``1 - sqrt(S / T) / 4``.
    radius_factor : float
        Factor of the radius. Regret bounds require at least 1, but smaller values are common in practice.
    support : tuple of float
        Interval of the outcomes. Indices are clipped to it, and the radius is proportional to its length.

    Examples
    --------
    >>> from cmab import CUCB, DiscountedCUCB, simulate
    >>> from instances import BernoulliArms, PiecewiseStationary, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=4, k=1)
    >>> means = [0.1, 0.6, 0.2, 0.5], [0.9, 0.6, 0.2, 0.5]
    >>> before, after = (SemiBandit(BernoulliArms(p), oracle) for p in means)
    >>> environment = PiecewiseStationary([before, after], changes=[1000])
    >>> plain = simulate(CUCB(oracle, radius_factor=0.3), environment, 2000, rng=0)
    >>> rule = DiscountedCUCB(oracle, discount=0.998, radius_factor=0.3)
    >>> discounted = simulate(rule, environment, 2000, rng=0)
    >>> bool(plain.regret[:, -1].mean() > 2 * discounted.regret[:, -1].mean())
    True

    References
    ----------
    A. Garivier, E. Moulines: On Upper-Confidence Bound Policies for Switching Bandit Problems, ALT 2011,
    section 2 (D-UCB), with one discounted mean for each base arm and CUCB's radius.
    """

    discount: float = field(default=0.99, metadata=real(0.0, 1.0))
    _: KW_ONLY
    radius_factor: float = field(default=1.0, metadata=real(0.0))
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    memory_parameters: ClassVar[tuple[str, ...]] = ("discount",)

    def rule(self) -> Any:
        return discounted_bounds

    def learning_rule(self) -> Any:
        return discount

    def memory(self) -> FloatArray:
        """Return the initial discounted counts, means and number of rounds."""
        return np.zeros(2 * self.oracle.n_arms + 1)

    def parameters(self) -> FloatArray:
        if self.discount == 0.0:
            raise ValueError(f"discount must lie in (0, 1], got {self.discount!r}")
        low, high = self.support
        return np.array([self.discount, self.radius_factor * (high - low), self.oracle._sign, low, high])


# Sliding windows ----------------------------------------------------------------------------------------

#: Rows of the history.
ROUND, ARM, OUTCOME = range(3)


@dataclass
class WindowStatistics:
    """Arm statistics of the last rounds, and the outcomes of these rounds.

    Attributes
    ----------
    recent : ArmStatistics
        Statistics of the rounds in the window.
    window : int
        Largest number of rounds in the window.
    sums : FloatArray, shape (n_arms,)
        Sums of the outcomes in the window. Sums of integers stay exact when outcomes leave the window.
    rounds : int
        Number of rounds with feedback.
    low, high : float
        The smallest and the largest outcome so far. Means are clipped to them against rounding errors.
    first, last : int
        Start and end of the outcomes of the window in `history`.
    history : list of FloatArray
        Empty before the first round. Later, one array with three rows: the round of each outcome, its base
        arm, and the outcome, in order of arrival.

    Examples
    --------
    >>> from cmab import ArmStatistics, Feedback, WindowStatistics
    >>> state = WindowStatistics.empty(ArmStatistics.empty(2), window=2)
    >>> for outcome in (1.0, 0.0, 0.0):
    ...     state.update(Feedback([0], [outcome]))
    >>> state.recent.counts, state.recent.means
    (array([2, 0]), array([0., 0.]))
    """

    recent: ArmStatistics
    window: int
    sums: FloatArray
    rounds: int = 0
    low: float = np.inf
    high: float = -np.inf
    first: int = 0
    last: int = 0
    history: list[FloatArray] = field(default_factory=list)

    @classmethod
    def empty(cls, recent: ArmStatistics, *, window: int) -> WindowStatistics:
        """Return the statistics before the first round, with `recent` as the empty arm statistics."""
        return cls(recent, window, np.zeros(recent.n_arms))

    @property
    def kept(self) -> FloatArray:
        """The history of the window, shape (3, outcomes). Do not write to it."""
        return self.history[0][:, self.first : self.last] if self.history else np.empty((3, 0))

    def update(self, feedback: Feedback) -> None:
        """Add one round of feedback, and remove the round that leaves the window."""
        if feedback.pulls is not None:
            raise ValueError("feedback.pulls must be None for a window, which removes outcomes one by one")
        self.recent.update(feedback)
        self.rounds += 1
        self.recent.rounds = min(self.rounds, self.window)
        if len(feedback.arms):
            self._keep(feedback.arms, feedback.outcomes)
        # At most one round leaves at a time, so no arm leaves twice in one step.
        gone = int(np.searchsorted(self.kept[ROUND], self.rounds - self.window, side="right"))
        if gone:
            _, arms, outcomes = self.kept[:, :gone]
            self.first += gone
            self._forget(arms.astype(np.int64), outcomes)
        if gone and self.rounds % self.window == 0:  # otherwise rounding errors accumulate over windows
            self._recount()

    def _keep(self, arms: IntArray, outcomes: FloatArray) -> None:
        """Append outcomes to the buffer, and double its size if it is full."""
        n, kept = len(arms), self.kept
        if not self.history or self.last + n > self.history[0].shape[1]:
            self.history = [np.zeros((3, 2 * (kept.shape[1] + n)))]
            self.first, self.last = 0, kept.shape[1]
            self.history[0][:, : self.last] = kept
        self.history[0][:, self.last : self.last + n] = np.full(n, self.rounds), arms, outcomes
        self.last += n
        self.sums[arms] += outcomes
        self.low = min(self.low, float(outcomes.min()))
        self.high = max(self.high, float(outcomes.max()))

    def _forget(self, arms: IntArray, outcomes: FloatArray) -> None:
        """Remove one outcome of each of these arms from the statistics."""
        recent = self.recent
        left, before = recent.counts[arms] - 1, recent.means[arms]
        self.sums[arms] = np.where(left > 0, self.sums[arms] - outcomes, 0.0)
        means = self.sums[arms] / np.maximum(left, 1)
        after = np.where(left > 0, np.clip(means, self.low, self.high), 0.0)
        # Welford's update of the sum of squared deviations, reversed.
        squares = recent.deviations[arms] - (outcomes - before) * (outcomes - after)
        recent.means[arms] = after
        recent.deviations[arms] = np.where(left > 0, np.maximum(squares, 0.0), 0.0)
        recent.counters[arms] = left

    def _recount(self) -> None:
        """Recompute sums, means and deviations from the history, without accumulated rounding errors."""
        recent, arms, outcomes = self.recent, self.kept[ARM].astype(np.int64), self.kept[OUTCOME]
        # Without outcomes, numpy returns integers.
        self.sums = np.bincount(arms, outcomes, minlength=recent.n_arms).astype(np.float64)
        recent.means[:] = self.sums / np.maximum(recent.counts, 1)
        squares = (outcomes - recent.means[arms]) ** 2
        recent.deviations[:] = np.bincount(arms, squares, minlength=recent.n_arms)


@dataclass(frozen=True, eq=False)
class SlidingWindow(WrappedPolicy[WindowStatistics]):
    """Another policy, which uses only the outcomes of the last `window` rounds.

    Use this wrapper if means jump at a roughly known rate. If they drift, use `DiscountedCUCB`.

    ``SlidingWindow(CUCB(oracle), window=w)`` is sliding-window CUCB. An arm without outcomes in the window
    counts as unobserved. The round number t of the wrapped policy is the number of rounds in the window,
    including the current one. Until the window is full, the choices equal those of the wrapped policy bit for
    bit. Rounds count when their feedback arrives.

    Parameters
    ----------
    policy : Policy
        A policy with `ArmStatistics` without a memory as state: `CUCB`, `CTS`, `KLCUCB`, `ESCB`, or an
        `IndexPolicy` of your own.
    window : int
        Number of rounds in the window, at least 1. In T rounds, theory suggests a window of order
        ``(T / V)**(2/3)`` for means with total variation V, and ``sqrt(T / S)`` for S changes.

    Examples
    --------
    >>> from cmab import CUCB, SlidingWindow, simulate
    >>> from instances import BernoulliArms, PiecewiseStationary, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=4, k=1)
    >>> means = [0.1, 0.6, 0.2, 0.5], [0.9, 0.6, 0.2, 0.5]
    >>> before, after = (SemiBandit(BernoulliArms(p), oracle) for p in means)
    >>> environment = PiecewiseStationary([before, after], changes=[1000])
    >>> rule = CUCB(oracle, radius_factor=0.3)
    >>> plain = simulate(rule, environment, 2000, rng=0)
    >>> windowed = simulate(SlidingWindow(rule, window=300), environment, 2000, rng=0)
    >>> bool(plain.regret[:, -1].mean() > 2 * windowed.regret[:, -1].mean())
    True

    References
    ----------
    A. Garivier, E. Moulines: On Upper-Confidence Bound Policies for Switching Bandit Problems, ALT 2011,
    section 2 (SW-UCB); W. Chen, L. Wang, H. Zhao, K. Zheng: Combinatorial Semi-Bandit in the Non-Stationary
    Environment, UAI 2021 (CUCB-SW; its window from memory).
    """

    window: int = field(metadata=integer(1))

    def __post_init__(self) -> None:
        super().__post_init__()
        state, update = self.policy.initial_state(), type(self.policy).update
        counts_only = update in (IndexPolicy.update, CompiledIndexPolicy.update, ESCB.update)
        if type(state) is not ArmStatistics or len(state.memory) or not counts_only:
            raise ValueError(f"policy must have plain ArmStatistics as its state, got {self.policy!r}")

    def _learned(self, state: WindowStatistics) -> ArmStatistics:
        return state.recent

    def initial_state(self, rng: np.random.Generator | None = None) -> WindowStatistics:
        """Return the initial statistics of the wrapped policy, and an empty window."""
        return WindowStatistics.empty(self.policy.initial_state(rng), window=self.window)

    def update(
        self,
        state: WindowStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        state.update(feedback)


# Restarts -----------------------------------------------------------------------------------------------

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
        The wrapped policy, with a bounded support. This policy has the same oracle and support.
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
        if self.policy.support is None or not np.isfinite(self.policy.support).all():
            raise ValueError(f"policy must have a bounded support for the test, got {self.policy!r}")

    def _learned(self, state: RestartState) -> Any:
        return state.learned

    def initial_state(self, rng: np.random.Generator | None = None) -> RestartState:
        """Return the initial state of the wrapped policy, without outcomes for the test."""
        return RestartState.empty(self.policy.initial_state(rng), self.oracle.n_arms)

    def select(
        self, state: RestartState, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the choice of the wrapped policy, or an exploring super arm."""
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
        if feedback.pulls is not None:
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
    if oracle.is_linear and oracle.can_constrain:
        exclude = np.flatnonzero(~available) if available is not None else np.empty(0, np.int64)
        if arm in exclude:
            return otherwise
        try:
            chosen = oracle.solve_constrained(means, [arm], exclude, rng)
        except TypeError:
            # To find a path through an edge is hard on some graphs. Random costs of all magnitudes make each
            # path optimal from time to time.
            means = oracle._sign * -(10.0 ** -rng.uniform(0.0, 8.0, oracle.n_arms))
            means[arm] = 0.0
            chosen = oracle.solve_constrained(means, [], exclude, rng)
    elif available is None:
        chosen = oracle.solve(means, rng)
    else:
        chosen = oracle.solve_within(means, available, rng)
    return otherwise if chosen is None else chosen
