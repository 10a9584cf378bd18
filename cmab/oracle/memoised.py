"""An oracle that caches its answers."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Set
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from cmab._metering import metered
from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.feedback import Feedback
from cmab.oracle.base import Oracle, require_oracle
from cmab.oracle.certificate import Certified, report_ratio
from cmab.oracle.linear import LinearOracle
from cmab.validation import integer

if TYPE_CHECKING:
    from cmab.smoothness import Smoothness


class MemoisedOracle(Oracle):
    """A wrapper of an expensive oracle that caches its answers.

    The answer depends only on the means: the wrapper calls the oracle with a generator in the same state each
    time. The cache is useful if the same means recur: for policies that stop learning, such as
    explore-then-commit; for outcomes on a lattice; and for replications with a deterministic start.
    Optimistic indices change in every round with the logarithm of the time; for these, see
    `RarelySwitchingCUCB`.

    The wrapper of a `LinearOracle` is also a `LinearOracle`. It passes on `solve_constrained`, `solve_root`
    and `gaps` without caching, and every wrapper passes on `solve_within`. Several threads may share the
    wrapper.

    Parameters
    ----------
    oracle : Oracle
        The expensive oracle. Its guarantee must be certain (``beta == 1``), because otherwise the cache would
        repeat a failure forever.
    cache_size : int
        The largest number of cached answers, at least 1. The least recently used answer is removed first.

    Attributes
    ----------
    calls, solved : int
        The number of calls, and the number of calls that the wrapped oracle had to answer.
    seconds : float
        The wall-clock time in the wrapped oracle. These three attributes count the calls of this object only:
        worker processes have copies, which start with an empty cache.

    Raises
    ------
    ValueError
        If `cache_size` is out of range, or if the guarantee is not certain.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import MemoisedOracle
    >>> from oracles import TopK
    >>> oracle, rng = MemoisedOracle(TopK(3, k=1)), np.random.default_rng(0)
    >>> for _ in range(5):
    ...     answer = oracle.solve(np.array([0.1, 0.9, 0.5]), rng)
    >>> answer, oracle.calls, oracle.solved
    (array([1]), 5, 1)
    """

    def __new__(cls, oracle: Oracle | None = None, cache_size: int = 10_000) -> Self:  # noqa: ARG004
        """Return a linear wrapper for a linear oracle. When unpickling, the class is already known."""
        is_linear = cls is MemoisedOracle and isinstance(oracle, Oracle) and oracle.is_linear
        return cast(Self, object.__new__(_MemoisedLinearOracle if is_linear else cls))

    def __init__(self, oracle: Oracle, cache_size: int = 10_000) -> None:
        require_oracle(oracle)
        if oracle.beta != 1.0:
            raise ValueError(f"oracle must have a certain guarantee (beta = 1), got beta = {oracle.beta}")
        self.oracle = oracle
        self.cache_size = integer("cache_size", cache_size, 1)
        self.n_arms = oracle.n_arms
        self.alpha = oracle.alpha
        self.sense = oracle.sense
        self.clusters = oracle.clusters
        self._forget()

    def _forget(self) -> None:
        self.calls = self.solved = 0
        self.seconds = 0.0
        # The answers with the ratios that the wrapped oracle proved.
        self._answers: OrderedDict[bytes, tuple[IntArray, float]] = OrderedDict()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        kept = dict(self.__dict__)
        # Copies for workers start with an empty cache: the answers may be many, and a lock cannot be pickled.
        for name in ("calls", "solved", "seconds", "_answers", "_lock"):
            del kept[name]
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the cached answer, or compute it with the wrapped oracle."""
        values = self._check_means(means)
        question = (values + 0.0).tobytes()  # -0 becomes 0
        with self._lock:
            self.calls += 1
            kept = self._answers.pop(question, None)
            if kept is not None:
                self._answers[question] = kept
        if kept is not None:
            report_ratio(self, kept[1])
            return kept[0].copy()
        # Solve outside the lock, so that threads do not wait for each other; two threads may solve the same
        # problem.
        started = time.perf_counter()
        # Use one seed for all calls, because a cached answer must not depend on the first caller.
        with metered(self.oracle) as meter:
            found: Any = self.oracle.solve(values, np.random.default_rng(0))
        answer = np.array(sorted(found) if isinstance(found, Set) else found)
        ratio = meter.take_ratio()
        report_ratio(self, ratio)
        with self._lock:
            self.seconds += time.perf_counter() - started
            self.solved += 1
            self._answers[question] = answer, ratio
            if len(self._answers) > self.cache_size:
                # Remove the least recently used answer: each use moves an answer to the end.
                self._answers.popitem(last=False)
        return answer.copy()

    def solve_certified(self, means: FloatArray, rng: np.random.Generator) -> Certified:
        """Return the result of the wrapped oracle, without the cache."""
        return self.oracle.solve_certified(means, rng)

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return the cached answer if all entries are available, otherwise the uncached one."""
        return self.solve(means, rng) if available.all() else self.oracle.solve_within(means, available, rng)

    def optimum_bound(self, means: FloatArray, rng: np.random.Generator) -> float:
        """Return the result of the wrapped oracle."""
        return self.oracle.optimum_bound(means, rng)

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        """Return the result of the wrapped oracle."""
        return self.oracle.expected_reward(super_arm, means)

    @property
    def has_membership(self) -> bool:
        """The value of the wrapped oracle."""
        return self.oracle.has_membership

    @property
    def certifies_calls(self) -> bool:
        """The value of the wrapped oracle."""
        return self.oracle.certifies_calls

    @property
    def triggers_surely(self) -> bool:
        """The value of the wrapped oracle."""
        return self.oracle.triggers_surely

    @property
    def n_choices(self) -> int:
        """The number of objects from which a super arm chooses."""
        return self.oracle.n_choices

    @property
    def arm_groups(self) -> IntArray | None:
        """The value of the wrapped oracle."""
        return self.oracle.arm_groups

    @property
    def max_size(self) -> int:
        """An upper bound on the number of base arms in a super arm."""
        return self.oracle.max_size

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return the result of the wrapped oracle."""
        return self.oracle.is_feasible(super_arm)

    def uniform_family(self, available: BoolArray) -> tuple[int, int] | None:
        """Return the result of the wrapped oracle."""
        return self.oracle.uniform_family(available)

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return the result of the wrapped oracle."""
        return self.oracle.triggered_arms(super_arm)

    def _explains(self, super_arm: IntArray, arms: IntArray) -> bool:
        return self.oracle._explains(super_arm, arms)

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray | None:
        """Return the result of the wrapped oracle."""
        return self.oracle.triggering_probabilities(super_arm, means)

    def smoothness(self) -> Smoothness | None:
        """Return the result of the wrapped oracle."""
        return self.oracle.smoothness()

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        """Return the result of the wrapped oracle."""
        return self.oracle.labels(super_arm)

    def named(self, names: Iterable[Hashable]) -> Self:
        """Return a copy with an empty cache and these names in the wrapped oracle for its base arms."""
        return type(self)(self.oracle.named(names), cache_size=self.cache_size)

    def arm_labels(self) -> list[Hashable]:
        """Return the result of the wrapped oracle."""
        return self.oracle.arm_labels()

    @property
    def is_monotone(self) -> bool:  # type: ignore[override]
        """Whether the super arms do not become worse as means increase."""
        return self.oracle.is_monotone

    @property
    def is_undirected(self) -> bool:  # type: ignore[override]
        """The value of the wrapped oracle."""
        return self.oracle.is_undirected

    def feedback_of(self, super_arm: IntArray, **report: Any) -> Feedback:
        """Return the result of the wrapped oracle."""
        return self.oracle.feedback_of(super_arm, **report)


class _MemoisedLinearOracle(MemoisedOracle, LinearOracle):
    """The class of a `MemoisedOracle` that wraps a linear oracle."""

    oracle: LinearOracle

    @property
    def is_linear(self) -> bool:
        return True

    @property
    def can_constrain(self) -> bool:
        return self.oracle.can_constrain

    @property
    def can_solve_root(self) -> bool:
        return self.oracle.can_solve_root

    def solve_root(
        self, means: FloatArray, squares: FloatArray, rng: np.random.Generator, **named: Any
    ) -> IntArray:
        return self.oracle.solve_root(means, squares, rng, **named)

    @property
    def exchange_pairs(self) -> Any:
        # Only matroids define this method; if the wrapped oracle lacks it, so does the wrapper.
        oracle: Any = self.oracle
        return oracle.exchange_pairs

    @property
    def least_mean(self) -> float:
        return self.oracle.least_mean

    @property
    def uniform_size(self) -> int | None:
        return self.oracle.uniform_size

    def solve_constrained(
        self, means: FloatArray, include: ArrayLike, exclude: ArrayLike, rng: np.random.Generator
    ) -> IntArray | None:
        return self.oracle.solve_constrained(means, include, exclude, rng)

    def gaps(
        self, means: FloatArray, include: ArrayLike, exclude: ArrayLike, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        return self.oracle.gaps(means, include, exclude, rng)


# Messages and reports show the public name; pickle uses the qualified name.
_MemoisedLinearOracle.__name__ = MemoisedOracle.__name__
