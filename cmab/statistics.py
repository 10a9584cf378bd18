"""Arm statistics: the state of nearly every learner."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.feedback import LARGEST, MOST_PULLS, Feedback, are_plain, check_arrays
from cmab.validation import integer, shown

_NONE = np.empty(0, np.int64)
_ARRAYS = ("counters", "means", "deviations", "memory")
_INTEGER, _REAL = np.dtype(np.int64), np.dtype(np.float64)
# One for all statistics: compiled code releases the interpreter lock, and what threads share must not be
# counted half. A lock in each would have to be kept out of copies and files.
_WRITING = threading.Lock()


def count(name: str, value: object, high: int = MOST_PULLS) -> None:
    """Raise unless `value` is an ``int`` in ``[0, high]``: a number of things that were counted."""
    integer(name, value, 0, high)


def _layout(array: object) -> str:
    """Return in words how an array lies in memory."""
    if not isinstance(array, np.ndarray):
        return shown(array)
    flags = array.flags
    traits = ("" if flags.writeable else ", read-only") + ("" if flags.c_contiguous else ", not contiguous")
    return f"dtype {array.dtype.str}{traits}"


def _alike(array: object, fresh: AnyArray) -> bool:
    return isinstance(array, np.ndarray) and array.shape == fresh.shape and array.dtype == fresh.dtype


def _require_vector(name: str, array: object, dtype: type) -> None:
    if not (isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == dtype):
        raise ValueError(f"{name} must be a 1-D array of {dtype.__name__}, got {shown(array)}")


def _equal(one: IntArray | None, other: IntArray | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


@dataclass(eq=False, repr=False)
class ArmStatistics:
    """Counts, means and sums of squared deviations of all base arms.

    Only `update` changes it.

    Attributes
    ----------
    counters : IntArray, shape (n_arms,) or (number of clusters,)
        Outcomes seen of each arm (or of each cluster of arms).
    means : FloatArray, shape (n_arms,)
        Empirical means; 0 for arms that were never observed.
    deviations : FloatArray, shape (n_arms,)
        Sums of squared deviations from the mean.
    rounds : int
        Rounds whose feedback has come in.
    clusters : IntArray or None, shape (n_arms,)
        See `Oracle.clusters`.
    memory : FloatArray
        What a rule keeps in mind besides, in a shape of its own; empty for most.

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
    clusters: IntArray | None = None
    memory: FloatArray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit each other: compiled code goes by the length of one of them."""
        for name, dtype in zip(_ARRAYS, (np.int64, np.float64, np.float64, np.float64), strict=True):
            _require_vector(name, getattr(self, name), dtype)
        n_arms, n_counters, owners = len(self.means), len(self.counters), self.clusters
        fits = n_counters == n_arms
        if owners is not None:
            _require_vector("clusters", owners, np.int64)
            numbers = range(n_counters)
            fits = len(owners) == n_arms
            fits = fits and (n_arms == 0 or (owners.min() in numbers and owners.max() in numbers))
        if not fits or len(self.deviations) != n_arms:
            raise ValueError(
                "counters must be as many as arms, or as clusters numbered from 0, and deviations as means,"
                f" got {n_counters} counters and {len(self.deviations)} deviations for {n_arms} arms"
            )

    @classmethod
    def empty(
        cls, n_arms: int, clusters: IntArray | None = None, *, memory: FloatArray | None = None
    ) -> Self:
        """Return the statistics before the first outcome, with a copy of `memory` if it is given."""
        n_counters = n_arms if clusters is None else int(clusters.max(initial=-1)) + 1
        return cls(
            counters=np.zeros(n_counters, np.int64),
            means=np.zeros(n_arms),
            deviations=np.zeros(n_arms),
            clusters=clusters,
            memory=np.empty(0) if memory is None else np.array(memory, np.float64),
        )

    @property
    def n_arms(self) -> int:
        """Number of base arms."""
        return len(self.means)

    @property
    def counts(self) -> IntArray:
        """Outcomes seen of each base arm, shape (n_arms,). Do not write to it."""
        return self.counters if self.clusters is None else self.counters[self.clusters]

    @property
    def variances(self) -> FloatArray:
        """Unbiased sample variances, 0 below two outcomes, shape (n_arms,)."""
        # M2 / (T - 1), and 0 / 1 below two outcomes.
        return self.deviations / np.maximum(self.counts - 1, 1)

    def update(self, feedback: Feedback) -> None:
        """Take in one round of feedback.

        Raises
        ------
        ValueError
            If an arm is out of range, outcomes are not finite numbers, counts would overflow, or only a part
            of a cluster was observed. Nothing is changed then.
        """
        from cmab.compiled._kernels_statistics import observe_outcomes, update_statistics

        self._check_feedback(feedback)
        arms, outcomes, n = feedback.arms, feedback.outcomes, len(feedback.arms)
        if feedback.pulls is None and self.clusters is None:  # as in most rounds of most learners
            with _WRITING:
                observe_outcomes(n, arms, outcomes, self.counters, self.means, self.deviations)
                self.rounds += 1
            return
        pulls = np.ones(n, np.int64) if feedback.pulls is None else feedback.pulls
        squares = np.full(n, np.nan) if feedback.squares is None else feedback.squares
        owners, sizes = self.sharing()
        learned = (self.counters, owners, sizes, self.means, self.deviations)
        with _WRITING:
            partial = update_statistics(n, arms, outcomes, pulls, squares, learned)
            self.rounds += partial < 0
        if partial >= 0:
            raise ValueError(
                f"feedback.arms must hold all {sizes[partial]} arms of cluster {partial}, not a part of them;"
                " where single arms of a cluster may stay unseen, set oracle.clusters = None before the"
                " policy is made, so that each arm has a counter of its own"
            )

    def check_layout(self) -> None:
        """Refuse arrays that compiled code cannot be called with: others than it was compiled for.

        Raises
        ------
        ValueError
            If one is of another type, read-only, not in the byte order of the machine or not contiguous.
        """
        counters, means, deviations, memory = self.counters, self.means, self.deviations, self.memory
        try:  # Asked in every round: numpy has one object for each plain dtype, and `is` needs no call.
            if (
                (means.dtype is _REAL and deviations.dtype is _REAL and memory.dtype is _REAL)
                and (counters.dtype is _INTEGER and counters.flags.carray and memory.flags.carray)
                and (means.flags.carray and deviations.flags.carray)
            ):  # fmt: skip
                return
        except AttributeError:
            pass
        for name, dtype in zip(_ARRAYS, (_INTEGER, _REAL, _REAL, _REAL), strict=True):
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != dtype or not array.flags.carray:
                raise ValueError(
                    f"state.{name} must be a contiguous, writeable array of {dtype.name} in the byte order of"
                    f" the machine, got {_layout(array)}"
                )

    def _check_feedback(self, feedback: Feedback) -> None:
        """Refuse what compiled code would write with out of bounds, or could never get out of the means."""
        if not isinstance(feedback, Feedback):
            raise ValueError(f"feedback must be a Feedback(arms, outcomes), got {shown(feedback)}")
        arms, outcomes = feedback.arms, feedback.outcomes
        if feedback.pulls is None and are_plain(arms, outcomes, self.n_arms):
            return
        check_arrays(feedback)
        if not arms.shape[0]:
            return
        # As unsigned numbers the negative ones are the largest.
        if arms.view(np.uint64).max() >= self.n_arms:
            raise ValueError(f"feedback.arms must lie in range({self.n_arms}), got {shown(arms.tolist())}")
        if not (np.abs(outcomes) <= LARGEST).all():
            raise ValueError(
                f"feedback.outcomes must be finite, at most {LARGEST:g}, got {shown(outcomes.tolist())}"
            )
        if feedback.pulls is not None:
            owners = arms if self.clusters is None else self.clusters[arms]
            if (self.counters[owners] > MOST_PULLS - feedback.pulls).any():
                raise ValueError(f"feedback.pulls must leave counts of at most {MOST_PULLS}, got more")

    def __repr__(self) -> str:
        seen = int(np.count_nonzero(self.counters))
        unit = "arms" if self.clusters is None else "clusters"
        return (
            f"{type(self).__name__}(n_arms={self.n_arms}, rounds={self.rounds},"
            f" {unit} seen={seen} of {len(self.counters)})"
        )

    def check(self, fresh: Self) -> None:
        """Refuse statistics that no feedback could have led to, as a damaged file may hold them.

        Parameters
        ----------
        fresh : ArmStatistics
            The state before the first round, which says how many arms and counters there are.

        Raises
        ------
        ValueError
            If a size, sign or number is wrong, or counts, means and rounds contradict each other.
        """
        same = all(_alike(getattr(self, name), getattr(fresh, name)) for name in _ARRAYS[:3])
        if not same or not _equal(self.clusters, fresh.clusters):
            raise ValueError(f"the arms and clusters must be those of {fresh!r}, got {self!r}")
        count("rounds", self.rounds)
        if ((self.counters < 0) | (self.counters > MOST_PULLS)).any():
            raise ValueError(f"counts must lie in [0, {MOST_PULLS}], got {shown(self.counters.tolist())}")
        if not (np.abs(self.means) <= LARGEST).all():
            raise ValueError(f"means must be finite, got {shown(self.means.tolist())}")
        # Unknown where a batch came without its squares, and nan then.
        if not (~(self.deviations < 0) & ~np.isinf(self.deviations)).all():
            raise ValueError(f"deviations must not be negative, got {shown(self.deviations.tolist())}")
        unseen = self.counts == 0
        if self.means[unseen].any() or self.deviations[unseen].any():
            raise ValueError("arms without outcomes must have mean 0 and no deviations")
        if self.rounds == 0 and self.counters.any():
            raise ValueError("there must be a round where there are outcomes, got rounds = 0")
        if not _alike(self.memory, fresh.memory) or np.isnan(self.memory).any():
            raise ValueError(f"memory must be {len(fresh.memory)} numbers, got {shown(self.memory)}")

    def sharing(self) -> tuple[IntArray, IntArray]:
        """Return the counter of each arm and the number of arms at each counter; empty if none is shared."""
        if self.clusters is None:
            return _NONE, _NONE
        return self.clusters, np.bincount(self.clusters, minlength=self.counters.shape[0])
