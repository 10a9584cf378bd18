"""An oracle for an explicit list of super arms: the reference for every other oracle."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Set

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.guarantees import Smoothness
from cmab.oracle import LinearOracle, Sense
from cmab.parameters import described
from cmab.validation import arm_indices, check_flag, integer, listed, one_of, shown, vector


class BruteForce(LinearOracle):
    """The best super arm of a list, by the sum of its means or by another reward. Exact.

    Ties go to the super arm that comes first in the list. With a `reward`, the oracle is not linear.

    Parameters
    ----------
    n_arms : int
        Number of base arms, at least 1.
    super_arms : iterable of array_like of int
        All super arms: at least one, without repetitions. Each one is a list of distinct base arms, all of
        which it triggers. `solve` returns the arms in the order given here.
    reward : callable, optional
        A function of the means of all arms and a super arm that returns its expected reward. The default is
        the sum of the means.
    sense : {"max", "min"}
        Whether to maximise or to minimise the reward.
    monotone : bool
        Whether increasing a mean never decreases `reward`. Regret bounds need it, and the constructor tests
        it on random means of every super arm. The sum of the means is monotone in any case.

    Raises
    ------
    ValueError
        If `reward` returns ``nan``, or if `monotone` is true and a test finds a decrease.

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
    >>> weakest = BruteForce(3, [[0, 1], [1, 2]], reward=lambda means, arms: means[arms].min())
    >>> weakest.solve(np.array([0.2, 0.9, 0.4]), np.random.default_rng(0))
    array([1, 2])
    """

    has_membership = True
    reward: Callable[[FloatArray, IntArray], float] | None = None

    def __init__(
        self,
        n_arms: int,
        super_arms: Iterable[ArrayLike | Set[int]],
        *,
        reward: Callable[[FloatArray, IntArray], float] | None = None,
        sense: Sense = "max",
        monotone: bool = False,
    ) -> None:
        self.n_arms = integer("n_arms", n_arms, 1)
        self.super_arms = _family(super_arms, self.n_arms)
        self.sense = one_of("sense", sense, ("max", "min"))
        if reward is not None:
            if not callable(reward):
                raise ValueError(f"reward must be callable, got {shown(reward)}")
            self.reward = reward
        self._contains = np.zeros((len(self.super_arms), self.n_arms), bool)
        for row, super_arm in zip(self._contains, self.super_arms, strict=True):
            row[super_arm] = True
        check_flag("monotone", monotone)
        self.is_monotone = reward is None or bool(monotone)
        if reward is not None and monotone:
            self._check_monotone()

    def _check_monotone(self) -> None:
        """Raise ``ValueError`` if a larger mean decreases the reward of a super arm, on random means."""
        rng = np.random.default_rng(0)
        for super_arm in self.super_arms:
            for _ in range(8):
                low, raised = rng.random(self.n_arms), int(rng.integers(self.n_arms))
                high = low.copy()
                high[raised] += (1.0 - low[raised]) * rng.random()
                values = [self.expected_reward(super_arm, means) for means in (low, high)]
                if values[1] < values[0] - 1e-9 * (1.0 + abs(values[0])):
                    raise ValueError(
                        f"monotone must be False for this reward: it decreases from {values[0]:.6g} to"
                        f" {values[1]:.6g} for super arm {super_arm.tolist()} if the mean of arm {raised}"
                        " increases"
                    )

    def __repr__(self) -> str:
        return described(self, super_arms=len(self.super_arms))

    @property
    def is_linear(self) -> bool:  # type: ignore[override]
        """Whether the reward of a super arm is the sum of its means, i.e. there is no `reward`."""
        return self.reward is None

    can_constrain = is_linear

    @property
    def max_size(self) -> int:
        return max(map(len, self.super_arms))

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        wanted = np.zeros(self.n_arms, bool)
        wanted[super_arm] = True
        return bool((self._contains == wanted).all(axis=1).any())

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        if self.reward is None:
            return super().expected_reward(super_arm, means)
        value = float(self.reward(means, super_arm))
        if math.isnan(value):
            raise ValueError(
                f"reward must return a number, got nan for super arm {shown(super_arm.tolist())}"
            )
        return value

    def smoothness(self) -> Smoothness | None:
        """Return the smoothness of a sum; None for any other reward, because its smoothness is unknown."""
        return Smoothness.linear(max(1, self.max_size)) if self.reward is None else None

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        return self._best(self._check_means(means), np.ones(len(self.super_arms), bool))

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        available = self._check_available(available)
        return self._best(self._check_means(means), self._left(available))

    def solve_constrained(
        self, means: FloatArray, include: ArrayLike, exclude: ArrayLike, rng: np.random.Generator
    ) -> IntArray | None:
        if self.reward is not None:
            return super().solve_constrained(means, include, exclude, rng)
        required, banned = self._check_constraints(include, exclude)
        left = np.logical_and(self._contains[:, required].all(axis=1), ~self._contains[:, banned].any(axis=1))
        return self._best(self._check_means(means), left) if left.any() else None

    def solve_root(
        self,
        means: FloatArray,
        squares: FloatArray,
        rng: np.random.Generator,
        *,
        available: BoolArray | None = None,
    ) -> IntArray:
        """Return the best super arm by its sum and root."""
        if self.reward is not None:
            return super().solve_root(means, squares, rng, available=available)
        means, squares = self._check_means(means), vector("squares", squares, self.n_arms, 0.0)
        values = self._sign * (self._contains @ means) + np.sqrt(self._contains @ squares)
        if available is not None:
            values = np.where(self._left(self._check_available(available)), values, -np.inf)
        return self.super_arms[np.argmax(values)].copy()

    def _left(self, available: BoolArray) -> BoolArray:
        """Return which super arms have only available arms; raise ``ValueError`` if no super arm does."""
        left: BoolArray = np.logical_not(self._contains[:, ~available].any(axis=1))
        if not left.any():
            raise self._none_within(available)
        return left

    def _best(self, means: FloatArray, left: BoolArray) -> IntArray:
        if self.reward is not None:
            value, choose = self.expected_reward, max if self.sense == "max" else min
            within = (self.super_arms[i] for i in np.flatnonzero(left))
            return choose(within, key=lambda super_arm: value(super_arm, means)).copy()
        with np.errstate(over="ignore"):
            values = self._sign * (self._contains @ means)
        if not np.isfinite(values).all():
            # These sums overflow to infinity. Scaling by a power of two keeps their order.
            values = self._sign * (self._contains @ np.ldexp(means, -self.n_arms.bit_length()))
        return self.super_arms[np.argmax(np.where(left, values, -np.inf))].copy()


def _family(super_arms: Iterable[ArrayLike | Set[int]], n_arms: int) -> list[IntArray]:
    """Return the super arms as arrays; reject an empty list and repeated super arms."""
    # Copy the arrays, so that a caller who changes one later does not change the family.
    given = listed("super_arms", super_arms, "arrays of arms")
    family = [arm_indices(f"super_arms[{i}]", arms, n_arms).copy() for i, arms in enumerate(given)]
    for arms in family:
        arms.setflags(write=False)
    if not family:
        raise ValueError("super_arms must list at least one super arm, got none")
    seen: set[frozenset[int]] = set()
    for i, arms in enumerate(family):
        key = frozenset(arms.tolist())
        if key in seen:
            raise ValueError(
                f"super_arms must not repeat a super arm, got {arms.tolist()} again at position {i}"
            )
        seen.add(key)
    return family
