"""The best of a list of super arms: the reference for every other oracle."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Set

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.description import described
from cmab.guards import unguarded
from cmab.oracle import LinearOracle, Oracle, Sense
from cmab.validation import arm_indices, integer, listed, one_of, real, shown


class BruteForce(LinearOracle):
    """The best of a list of super arms, each worth the sum of its means. Exact; ties go to the first listed.

    Parameters
    ----------
    n_arms : int
        Number of base arms, at least 1.
    super_arms : iterable of array_like of int
        All super arms, at least one, none twice. Answers list arms in the order given here.
    sense : {"max", "min"}
        Whether the largest or the smallest sum is wanted.

    Raises
    ------
    ValueError
        If there is no super arm, one comes twice, or an entry is no base arm.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import BruteForce
    >>> oracle = BruteForce(4, [[0, 1], [2], [1, 2, 3]])
    >>> means = np.array([0.5, 0.3, 0.7, 0.1])
    >>> oracle.solve(means, np.random.default_rng(0))
    array([1, 2, 3])
    >>> oracle.solve_constrained(means, include=[2], exclude=[3], rng=np.random.default_rng(0))
    array([2])
    """

    def __init__(
        self, n_arms: int, super_arms: Iterable[ArrayLike | Set[int]], *, sense: Sense = "max"
    ) -> None:
        self.n_arms = integer("n_arms", n_arms, 1)
        self.super_arms = _family(super_arms, self.n_arms)
        self.sense = one_of("sense", sense, ("max", "min"))
        self._contains = np.zeros((len(self.super_arms), self.n_arms), bool)
        for row, super_arm in zip(self._contains, self.super_arms, strict=True):
            row[super_arm] = True

    def __repr__(self) -> str:
        return described(self, super_arms=len(self.super_arms))

    @property
    def max_size(self) -> int:
        return max(map(len, self.super_arms))

    def is_feasible(self, super_arm: IntArray) -> bool:
        wanted = np.zeros(self.n_arms, bool)
        wanted[super_arm] = True
        return bool((self._contains == wanted).all(axis=1).any())

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        return self._best(self._check_means(means), np.ones(len(self.super_arms), bool))

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> IntArray | None:
        required, banned = self._check_constraints(include, exclude)
        left = np.logical_and(self._contains[:, required].all(axis=1), ~self._contains[:, banned].any(axis=1))
        return self._best(self._check_means(means), left) if left.any() else None

    def solve_root(
        self,
        means: FloatArray,
        squares: FloatArray,
        rng: np.random.Generator,  # noqa: ARG002
        *,
        tolerance: float = 0.0,
        available: BoolArray | None = None,
    ) -> IntArray:
        """Return the best super arm by its sum and root; the `tolerance` is not used."""
        real("tolerance", tolerance, 0.0)
        values = self.sign * (self._contains @ means) + np.sqrt(self._contains @ squares)
        if available is not None:
            left = ~self._contains[:, ~self._check_available(available)].any(axis=1)
            if not left.any():
                raise self._none_within(available)
            values = np.where(left, values, -np.inf)
        return self.super_arms[np.argmax(values)].copy()

    def _best(self, means: FloatArray, left: BoolArray) -> IntArray:
        with np.errstate(over="ignore"):
            values = self.sign * (self._contains @ means)
        if not np.isfinite(values).all():
            # Sums beyond the largest number are all infinite: a power of two keeps their order.
            values = self.sign * (self._contains @ np.ldexp(means, -self.n_arms.bit_length()))
        return self.super_arms[np.argmax(np.where(left, values, -np.inf))].copy()


class BruteForceReward(Oracle):
    """The best of a list of super arms by any reward function. Exact; ties go to the first listed.

    Parameters
    ----------
    n_arms : int
        Number of base arms, at least 1.
    super_arms : iterable of array_like of int
        All super arms, at least one, none twice: distinct base arms each, which it triggers.
    reward : callable
        Takes the means of all arms and a super arm, and returns its expected reward, which is not ``nan``.
    sense : {"max", "min"}
        Whether the largest or the smallest reward is wanted.

    Raises
    ------
    ValueError
        If there is no super arm, one comes twice, or an entry is no base arm; in any call, if `reward`
        returns ``nan``.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import BruteForceReward
    >>> weakest = BruteForceReward(3, [[0, 1], [1, 2]], reward=lambda means, arms: means[arms].min())
    >>> weakest.solve(np.array([0.2, 0.9, 0.4]), np.random.default_rng(0))
    array([1, 2])
    """

    def __init__(
        self,
        n_arms: int,
        super_arms: Iterable[ArrayLike | Set[int]],
        *,
        reward: Callable[[FloatArray, IntArray], float],
        sense: Sense = "max",
    ) -> None:
        self.n_arms = integer("n_arms", n_arms, 1)
        self.super_arms = _family(super_arms, self.n_arms)
        if not callable(reward):
            raise ValueError(f"reward must be callable, got {shown(reward)}")
        self.reward = reward
        self.sense = one_of("sense", sense, ("max", "min"))

    def __repr__(self) -> str:
        return described(self, super_arms=len(self.super_arms))

    @property
    def max_size(self) -> int:
        return max(map(len, self.super_arms))

    def is_feasible(self, super_arm: IntArray) -> bool:
        return any(set(listed.tolist()) == set(super_arm.tolist()) for listed in self.super_arms)

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        return super_arm

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        value = float(self.reward(means, super_arm))
        if math.isnan(value):
            raise ValueError(
                f"reward must return a number, got nan for super arm {shown(super_arm.tolist())}"
            )
        return value

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        return self._best(means, self.super_arms)

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        left = [super_arm for super_arm in self.super_arms if available[super_arm].all()]
        if not left:
            raise self._none_within(available)
        return self._best(means, left)

    def _best(self, means: FloatArray, super_arms: list[IntArray]) -> IntArray:
        values = self._check_means(means)
        choose = max if self.sense == "max" else min
        value = unguarded(self.expected_reward)
        return choose(super_arms, key=lambda arm: value(arm, values)).copy()


def _family(super_arms: Iterable[ArrayLike | Set[int]], n_arms: int) -> list[IntArray]:
    """Return the super arms as arrays, refused if there is none or one comes twice."""
    # Copies: what the caller writes to an array afterwards must not change the family.
    given = listed("super_arms", super_arms, "arrays of arms")
    family = [arm_indices(f"super_arms[{i}]", arms, n_arms).copy() for i, arms in enumerate(given)]
    for arms in family:
        arms.setflags(write=False)
    if not family:
        raise ValueError("super_arms must list at least one, got none")
    seen: set[frozenset[int]] = set()
    for i, arms in enumerate(family):
        key = frozenset(arms.tolist())
        if key in seen:
            raise ValueError(f"super_arms must not repeat one, got {arms.tolist()} again at position {i}")
        seen.add(key)
    return family
