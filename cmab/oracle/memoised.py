"""An oracle that remembers its answers."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Set
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.feedback import Feedback
from cmab.oracle.base import Oracle, require_oracle
from cmab.oracle.linear import LinearOracle
from cmab.validation import integer

if TYPE_CHECKING:
    from cmab.smoothness import Smoothness


class MemoisedOracle(Oracle):
    """An oracle in front of an expensive one, which is not asked the same question twice.

    The answer is a function of the means alone: the wrapped oracle is given a generator in the same state
    for each question. That pays where the same means come back: for rules that stop learning, such as
    explore-then-commit, for outcomes on a lattice, and for replications of a deterministic start. Optimistic
    indices change in every round with the logarithm of the time; see `RarelySwitchingCUCB` for those.

    In front of a `LinearOracle` it is one itself, and passes on `solve_constrained`, `solve_root` and `gaps`
    unremembered.
    Any passes on `solve_within`. Threads may share it.

    Parameters
    ----------
    oracle : Oracle
        The expensive oracle. Its guarantee must be certain, ``beta == 1``: where it holds with some
        probability, one failure would be repeated forever.
    cache_size : int
        Most answers to remember, at least 1; the one that was not used for longest goes first.

    Attributes
    ----------
    calls, solved : int
        Questions asked, and those of them that the wrapped oracle had to answer.
    seconds : float
        Wall-clock time in the wrapped oracle. These three are what this object saw: worker processes have
        copies, which start without memory.

    Raises
    ------
    ValueError
        If `cache_size` is out of its range or the guarantee is not certain.

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
        """Return a linear oracle in front of a linear one. Unpickling knows the class already."""
        is_linear = cls is MemoisedOracle and isinstance(oracle, Oracle) and oracle.is_linear
        return cast(Self, object.__new__(_MemoisedLinearOracle if is_linear else cls))

    def __init__(self, oracle: Oracle, cache_size: int = 10_000) -> None:
        require_oracle(oracle)
        if oracle.beta != 1.0:
            raise ValueError(f"oracle must keep its guarantee always, beta = 1, got beta = {oracle.beta}")
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
        self._answers: OrderedDict[bytes, IntArray] = OrderedDict()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        kept = dict(self.__dict__)
        # Workers begin with nothing remembered: answers may be many, and a lock cannot travel.
        for name in ("calls", "solved", "seconds", "_answers", "_lock"):
            del kept[name]
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the remembered answer, or the wrapped oracle's."""
        values = self._check_means(means)
        question = (values + 0.0).tobytes()  # -0 becomes 0
        with self._lock:
            self.calls += 1
            answer = self._answers.pop(question, None)
            if answer is not None:
                self._answers[question] = answer
                return answer.copy()
        # Not under the lock, which would make threads wait for each other's answers; two may ask the same.
        started = time.perf_counter()
        # With one seed for all: a remembered answer must not depend on who asked first.
        found: Any = self.oracle.solve(values, np.random.default_rng(0))
        answer = np.array(sorted(found) if isinstance(found, Set) else found)
        with self._lock:
            self.seconds += time.perf_counter() - started
            self.solved += 1
            self._answers[question] = answer
            if len(self._answers) > self.cache_size:
                # The one that was not asked for longest: each use moves an answer to the end.
                self._answers.popitem(last=False)
        return answer.copy()

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return the remembered answer if all is available, else the wrapped oracle's, unremembered."""
        return self.solve(means, rng) if available.all() else self.oracle.solve_within(means, available, rng)

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        """Return what the wrapped oracle says."""
        return self.oracle.expected_reward(super_arm, means)

    @property
    def has_membership(self) -> bool:
        """What the wrapped oracle declares."""
        return self.oracle.has_membership

    @property
    def triggers_surely(self) -> bool:
        """What the wrapped oracle declares."""
        return self.oracle.triggers_surely

    @property
    def n_choices(self) -> int:
        """Number of things that a super arm chooses from."""
        return self.oracle.n_choices

    @property
    def arm_groups(self) -> IntArray | None:
        """What the wrapped oracle declares."""
        return self.oracle.arm_groups

    @property
    def max_size(self) -> int:
        """Upper bound on the number of base arms in a super arm."""
        return self.oracle.max_size

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return what the wrapped oracle says."""
        return self.oracle.is_feasible(super_arm)

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return what the wrapped oracle says."""
        return self.oracle.triggered_arms(super_arm)

    def _explains(self, super_arm: IntArray, arms: IntArray) -> bool:
        return self.oracle._explains(super_arm, arms)

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray | None:
        """Return what the wrapped oracle says."""
        return self.oracle.triggering_probabilities(super_arm, means)

    def smoothness(self) -> Smoothness | None:
        """Return what the wrapped oracle says."""
        return self.oracle.smoothness()

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        """Return what the wrapped oracle says."""
        return self.oracle.labels(super_arm)

    def named(self, names: Iterable[Hashable]) -> Self:
        """Return a copy, without answers, of which the wrapped oracle has these names for its base arms."""
        return type(self)(self.oracle.named(names), cache_size=self.cache_size)

    def arm_labels(self) -> list[Hashable]:
        """Return what the wrapped oracle says."""
        return self.oracle.arm_labels()

    @property
    def is_monotone(self) -> bool:  # type: ignore[override]
        """Whether the oracle's super arms get no worse as means rise."""
        return self.oracle.is_monotone

    @property
    def is_undirected(self) -> bool:  # type: ignore[override]
        """What the wrapped oracle says."""
        return self.oracle.is_undirected

    def feedback_of(self, super_arm: IntArray, **report: Any) -> Feedback:
        """Return what the wrapped oracle says."""
        return self.oracle.feedback_of(super_arm, **report)


class _MemoisedLinearOracle(MemoisedOracle, LinearOracle):
    """What `MemoisedOracle` makes of a linear oracle."""

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
        # Matroids alone have it: where it is missing behind, it is missing here.
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


# What users read, in messages and reports, is the public name; pickle goes by the qualified one.
_MemoisedLinearOracle.__name__ = MemoisedOracle.__name__
