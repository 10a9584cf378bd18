"""Arm statistics: the state of most learners."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled import inner_kernel, kernel, lean_kernel
from cmab.feedback import MOST_PULLS, Feedback
from cmab.validation import shown

_ARRAYS = ("counters", "means", "deviations", "memory")
# One lock for all statistics. Compiled code releases the interpreter lock, so concurrent updates could lose
# counts. A lock in each object would have to be excluded from copies and files.
_WRITING = threading.Lock()


def _require_vector(name: str, array: object, dtype: type) -> None:
    if not (isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == dtype):
        raise ValueError(f"{name} must be a 1-D array of {dtype.__name__}, got {shown(array)}")


@kernel
def update_statistics(n, arms, sums, pulls, squares, counters, means, deviations):
    """Update counters, means and squared deviations in place with `n` batches of outcomes."""
    for j in range(n):
        arm = arms[j]
        counters[arm] += pulls[j]
        update_moments(arm, sums[j], pulls[j], squares[j], counters[arm], means, deviations)


@lean_kernel
def observe_outcomes(n, arms, outcomes, counters, means, deviations):
    """Update the statistics in place with the first `n` single outcomes."""
    for j in range(n):
        observe_outcome(arms[j], float(outcomes[j]), counters, means, deviations)


@inner_kernel
def observe_outcome(arm, outcome, counters, means, deviations):
    """Update the statistics of one arm with one outcome."""
    counters[arm] += 1
    update_moments(arm, outcome, 1, outcome, counters[arm], means, deviations)


@inner_kernel
def update_moments(arm, total, pulls, square, count, means, deviations):
    """Update the mean and the squared deviations of an arm with a batch; `count` includes the batch."""
    # The pairwise update of Chan, Golub and LeVeque (1983), equation 1.5. With the difference d of the means,
    # mean += d n_b / n and M2 += M2_b + d^2 n_a n_b / n. For one outcome, this is Welford's update.
    # The deviations within a batch are nan if its sum of squares is unknown.
    mean = total / pulls
    # Rounding may give a batch of equal outcomes a negative sum of squared deviations.
    within = square - total * mean if pulls > 1 else 0.0
    if within < 0.0:
        within = 0.0
    # Python computes with its own numbers in half of the time of numpy's.
    shift, count = mean - float(means[arm]), int(count)
    means[arm] += shift * (pulls / count)
    deviations[arm] += within + shift * shift * (pulls * ((count - pulls) / count))


@dataclass(eq=False, repr=False)
class ArmStatistics:
    """Counts, means and sums of squared deviations of all base arms.

    Only `update` changes these statistics.

    Attributes
    ----------
    counters : IntArray, shape (n_arms,)
        Number of observed outcomes of each arm.
    means : FloatArray, shape (n_arms,)
        Empirical means; 0 for arms without observations.
    deviations : FloatArray, shape (n_arms,)
        Sums of squared deviations from the mean.
    rounds : int
        Number of rounds with feedback.
    memory : FloatArray
        Further numbers that a policy stores, in its own layout; empty for most policies.

    Examples
    --------
    >>> from cmab import ArmStatistics, Feedback
    >>> stats = ArmStatistics.empty(3)
    >>> stats.update(Feedback(arms=[0, 2], outcomes=[1.0, 0.5]))
    >>> stats.counts, stats.means
    (array([1, 0, 1]), array([1. , 0. , 0.5]))
    """

    counters: IntArray
    means: FloatArray
    deviations: FloatArray
    rounds: int = 0
    memory: FloatArray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        """Raise if the arrays do not fit each other, because compiled code uses the length of one of them."""
        for name, dtype in zip(_ARRAYS, (np.int64, np.float64, np.float64, np.float64), strict=True):
            _require_vector(name, getattr(self, name), dtype)
        n_arms = len(self.means)
        if len(self.counters) != n_arms or len(self.deviations) != n_arms:
            raise ValueError(
                f"counters and deviations must be as many as means, {n_arms}, got {len(self.counters)} and"
                f" {len(self.deviations)}"
            )

    @classmethod
    def empty(cls, n_arms: int, *, memory: FloatArray | None = None) -> Self:
        """Return the statistics before the first outcome, with a copy of `memory` if given."""
        return cls(
            counters=np.zeros(n_arms, np.int64),
            means=np.zeros(n_arms),
            deviations=np.zeros(n_arms),
            memory=np.empty(0) if memory is None else np.array(memory, np.float64),
        )

    @property
    def n_arms(self) -> int:
        """Number of base arms."""
        return len(self.means)

    @property
    def counts(self) -> IntArray:
        """Number of observed outcomes of each base arm, shape (n_arms,). Do not write to this array."""
        return self.counters

    @property
    def variances(self) -> FloatArray:
        """Unbiased sample variances, shape (n_arms,); 0 for arms with fewer than two outcomes."""
        # M2 / (T - 1), and 0 / 1 for fewer than two outcomes.
        return self.deviations / np.maximum(self.counts - 1, 1)

    def update(self, feedback: Feedback) -> None:
        """Add the feedback of one round.

        Raises
        ------
        ValueError
            If an arm is out of range, outcomes are not finite numbers, or counts would overflow. The
            statistics are then not changed.
        """
        if type(feedback) is not Feedback or feedback.pulls is not None:
            self._check_feedback(feedback)
        arms, outcomes, n = feedback.arms, feedback.outcomes, len(feedback.arms)
        # As unsigned integers, negative ones are the largest. Compiled code would write out of bounds.
        if n and np.maximum.reduce(arms.view(np.uint64)) >= len(self.means):
            raise ValueError(f"feedback.arms must lie in range({self.n_arms}), got {shown(arms.tolist())}")
        learned = (self.counters, self.means, self.deviations)
        with _WRITING:
            if feedback.pulls is None:  # the usual case
                observe_outcomes(n, arms, outcomes, *learned)
            else:
                squares = np.full(n, np.nan) if feedback.squares is None else feedback.squares
                update_statistics(n, arms, outcomes, feedback.pulls, squares, *learned)
            self.rounds += 1

    def with_coins(self, won: FloatArray, lost: FloatArray, memory: FloatArray) -> ArmStatistics:
        """Return the statistics with further outcomes 1 and 0 of each arm, and with another memory.

        Parameters
        ----------
        won, lost : FloatArray, shape (n_arms,)
            The numbers of further outcomes 1 and 0 of each arm.
        memory : FloatArray
            The memory of the result.
        """
        more = won + lost
        total = self.counts + more
        share = more / np.maximum(total, 1.0)
        apart = won / np.maximum(more, 1.0) - self.means
        other = ArmStatistics.empty(self.n_arms, memory=memory)
        other.counters += total.astype(np.int64)
        # Chan, Golub and LeVeque (1982), equations 1.5.
        other.means += np.where(self.counts == 0, won / np.maximum(more, 1.0), self.means + apart * share)
        other.deviations += self.deviations + won * lost / np.maximum(more, 1.0)
        other.deviations += apart**2 * share * self.counts
        other.rounds = self.rounds
        return other

    def check_sizes(self, n_arms: int, n_memory: int) -> None:
        """Raise ``ValueError`` unless there are `n_arms` arms and `n_memory` numbers in the memory.

        Policies call it before compiled code, which does not check bounds, reads the arrays.

        Parameters
        ----------
        n_arms, n_memory : int
            The sizes that a policy needs.
        """
        if not len(self.means) == len(self.counters) == len(self.deviations) == n_arms:
            raise ValueError(f"state must have statistics of {n_arms} arms, got {self!r}")
        if len(self.memory) != n_memory:
            raise ValueError(
                f"state must have a memory of {n_memory} numbers, got {len(self.memory)}: it is the state of"
                " another policy"
            )

    def _check_feedback(self, feedback: Feedback) -> None:
        """Raise for feedback that compiled code would write out of bounds, or that would spoil the means."""
        if not isinstance(feedback, Feedback):
            raise ValueError(f"feedback must be a Feedback(arms, outcomes), got {shown(feedback)}")
        if feedback.is_hidden:
            raise ValueError(
                f"feedback must have observed outcomes only, got {shown(feedback)} with hidden outcomes; tell"
                " it to a Campaign"
            )
        arms = feedback.arms
        if (
            feedback.pulls is not None
            and arms.max(initial=-1) < self.n_arms
            and (self.counters[arms] > MOST_PULLS - feedback.pulls).any()
        ):
            raise ValueError(f"feedback.pulls must leave counts of at most {MOST_PULLS}, got more")

    def __repr__(self) -> str:
        seen = int(np.count_nonzero(self.counters))
        said = f"n_arms={self.n_arms}, rounds={self.rounds}, arms seen={seen} of {self.n_arms}"
        return f"{type(self).__name__}({said})"

    def check(self, fresh: Self) -> None:
        """Raise ``ValueError`` unless the arrays have the sizes of the initial state `fresh`."""
        self.check_sizes(len(fresh.means), len(fresh.memory))

    def check_support(self, low: float, high: float) -> None:
        """Raise if no outcomes in ``[low, high]`` lead to these statistics, up to rounding.

        Parameters
        ----------
        low, high : float
            Ends of the interval. They may be infinite.

        Raises
        ------
        ValueError
            If a mean is outside the interval, or a sum of squared deviations exceeds the maximum for outcomes
            in the interval.
        """
        counts = self.counts
        slack = 1e-6 * max((abs(end) for end in (low, high) if np.isfinite(end)), default=0.0)
        means = self.means[counts > 0]
        if not ((means >= low - slack) & (means <= high + slack)).all():
            raise ValueError(
                f"means must lie in the support [{low:g}, {high:g}], got {shown(means.tolist())}"
            )
        if not np.isfinite(high - low):
            return
        # The sum of (x - low)(high - x) over the outcomes x of an arm is non-negative.
        most = counts * np.maximum((self.means - low) * (high - self.means), 0.0)
        if (self.deviations > most + slack * (high - low) * (1 + counts)).any():  # False for nan
            raise ValueError(
                f"deviations must be at most {shown(most.tolist())} for outcomes in [{low:g}, {high:g}], got"
                f" {shown(self.deviations.tolist())}"
            )
