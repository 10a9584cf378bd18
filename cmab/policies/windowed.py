"""An index policy that uses only the outcomes of the last rounds."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.declared import integer
from cmab.feedback import Feedback
from cmab.policies._wrapped import WrappedPolicy
from cmab.policy import IndexPolicy
from cmab.statistics import ArmStatistics, alike, count
from cmab.validation import shown

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
        """Add one round of feedback, and remove the round that leaves the window.

        Raises
        ------
        ValueError
            As in `ArmStatistics.update`, or if the feedback has sums of several outcomes of an arm.
        """
        if getattr(feedback, "pulls", None) is not None:
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

    def check(self, fresh: WindowStatistics) -> None:
        """Raise if no feedback leads to these statistics, as may happen with a damaged file.

        Raises
        ------
        ValueError
            If the history does not fit the statistics.
        """
        self.recent.check(fresh.recent)
        count("rounds", self.rounds)
        if self.window != fresh.window:
            raise ValueError(f"window must be that of the policy, {fresh.window}, got {self.window}")
        arrays = self.history
        fits = len(arrays) <= 1 and all(a.dtype == np.float64 and a.shape[:-1] == (3,) for a in arrays)
        size = arrays[0].shape[1] if fits and arrays else 0
        fits = fits and 0 <= self.first <= self.last <= size
        fits = fits and alike(self.sums, fresh.sums)
        fits = fits and self.recent.rounds == min(self.rounds, self.window) and self._is_history()
        if not fits or not np.isfinite(self.sums).all():
            raise ValueError(f"history must hold the last {self.window} rounds, got {shown(self.history)}")
        again = copy.deepcopy(self)
        again._recount()
        pairs = [(self.sums, again.sums)]
        pairs += [
            (getattr(self.recent, name), getattr(again.recent, name)) for name in ("means", "deviations")
        ]
        size = 1.0 + np.abs(self.kept[OUTCOME]).max(initial=0.0)
        # Rounding errors since the last recount are small.
        if not all(np.allclose(mine, its, rtol=1e-6, atol=1e-6 * size**2) for mine, its in pairs):
            raise ValueError(
                f"sums, means and deviations must be those of the history, got {shown(self.sums)}"
            )

    def _is_history(self) -> bool:
        """Return whether the stored outcomes are consistent with the counts of the statistics."""
        rounds, arms, outcomes = self.kept
        if not len(rounds):
            return not self.recent.counters.any()
        whole = np.isfinite(self.kept).all() and (self.kept[:OUTCOME] % 1 == 0).all()
        if not whole or arms.min() < 0 or arms.max() >= self.recent.n_arms:
            return False
        in_order = (np.diff(rounds) >= 0).all() and self.rounds - self.window < rounds[0]
        seen = np.bincount(arms.astype(np.int64), minlength=self.recent.n_arms)
        is_between = self.low <= outcomes.min() <= outcomes.max() <= self.high
        return bool(in_order and rounds[-1] <= self.rounds and is_between) and np.array_equal(
            seen, self.recent.counts
        )


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

    Raises
    ------
    TypeError
        If `policy` is not a policy.
    ValueError
        If the policy has another state or its own `update`, or if `window` is out of its range.

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
        state = self.policy.initial_state()
        if type(state) is not ArmStatistics or len(state.memory) or not _counts_plainly(self.policy):
            raise ValueError(f"policy must have plain ArmStatistics as its state, got {self.policy!r}")

    def _learned(self, state: WindowStatistics) -> ArmStatistics:
        return state.recent

    def initial_state(self, rng: np.random.Generator | None = None) -> WindowStatistics:
        """Return the initial statistics of the wrapped policy, and an empty window."""
        return WindowStatistics.empty(self.policy.initial_state(rng), window=self.window)

    def update(self, state: WindowStatistics, feedback: Feedback) -> None:
        state.update(feedback)


def _counts_plainly(policy: Any) -> bool:
    """Return whether `update` of a policy only calls `update` of its statistics."""
    from cmab.policies._compiled import CompiledIndexPolicy
    from cmab.policies.escb import JointlyOptimistic

    update = type(policy).update
    if update is CompiledIndexPolicy.update:
        return policy.learning_rule() is None
    return update in (IndexPolicy.update, JointlyOptimistic.update)
