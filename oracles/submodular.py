"""Greedy choice for a user-defined submodular reward: sets of size k, bases of a matroid, and knapsacks."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.guarantees import Smoothness
from cmab.oracle import LinearOracle, Oracle
from cmab.parameters import described
from cmab.validation import arm_indices, integer, shown
from oracles.influence.certificate import BUDGET_RATIO
from oracles.matroids import Matroid
from oracles.packing import Knapsack


class SubmodularOracle(Oracle):
    """Sets of entries with a user-defined monotone submodular reward, chosen by the greedy algorithm.

    Monotone means that an additional entry never reduces the reward. Submodular means that the gain of an
    entry does not increase as the set grows. The constructor does not check this; `cmab.testing.check_oracle`
    detects functions for which the ratio fails.

    ``alpha`` is the proved ratio of greedy: ``1 - (1 - 1/k)^k`` for sets of size k, 1/2 for a matroid, and
    0.405 for a knapsack.

    Parameters
    ----------
    n_arms : int
        The number of base arms, at least 1.
    constraint : int, Matroid or Knapsack
        The family of super arms: all sets of this size, the bases of a matroid, or the sets within a
        knapsack.
    reward : callable
        A function of the means of all arms and a super arm (an int64 array) that returns its expected reward,
        which must not be ``nan``.
    n_choices : int, optional
        The number of entries from which super arms choose; by default `n_arms`. For example, entries can be
        facilities, and each pair of a facility and a client is a base arm.
    triggers : callable, optional
        A function of a super arm that returns the base arms that it triggers. The default is its entries, or
        all arms if `n_choices` is given.

    Raises
    ------
    ValueError
        If an argument is out of range. In any call, if `reward` returns ``nan``.

    Examples
    --------
    Two facilities for three clients, where arm ``3 f + c`` is the quality of facility f for client c:

    >>> import numpy as np
    >>> from oracles import SubmodularOracle
    >>> oracle = SubmodularOracle(
    ...     9,
    ...     2,
    ...     reward=lambda means, chosen: means.reshape(3, 3)[chosen].max(axis=0, initial=0.0).sum(),
    ...     n_choices=3,
    ...     triggers=lambda chosen: (3 * chosen[:, None] + np.arange(3)).ravel(),
    ... )
    >>> means = np.array([0.75, 0.75, 0.125, 0.75, 0.5, 0.0, 0.0, 0.125, 0.5])
    >>> chosen = oracle.solve(means, np.random.default_rng(0))
    >>> chosen, oracle.expected_reward(chosen, means), oracle.alpha
    (array([0, 2]), 2.0, 0.75)

    References
    ----------
    G. L. Nemhauser, L. A. Wolsey, M. L. Fisher: An analysis of approximations for maximizing submodular set
    functions I, Mathematical Programming 14 (1978). M. L. Fisher, G. L. Nemhauser, L. A. Wolsey: the same,
    II, Mathematical Programming Study 8 (1978). M. Minoux: Accelerated greedy algorithms for maximizing
    submodular set functions (1978). All from
    memory. J. Tang et al.: Revisiting Modified Greedy Algorithm for Monotone Submodular Maximization with a
    Knapsack Constraint, SIGMETRICS 2021.
    """

    has_membership = True

    def __init__(
        self,
        n_arms: int,
        constraint: int | Matroid | Knapsack,
        *,
        reward: Callable[[FloatArray, IntArray], float],
        n_choices: int | None = None,
        triggers: Callable[[IntArray], ArrayLike] | None = None,
    ) -> None:
        self.n_arms = integer("n_arms", n_arms, 1)
        self._n_choices = None if n_choices is None else integer("n_choices", n_choices, 1)
        for name, function in (("reward", reward), ("triggers", triggers or reward)):
            if not callable(function):
                raise ValueError(f"{name} must be callable, got {shown(function)}")
        self.reward, self.triggers, self.constraint = reward, triggers, constraint
        if not isinstance(constraint, Matroid | Knapsack):
            # Nemhauser et al. (1978), section 4.
            k = self._largest = self.constraint = integer("constraint", constraint, 1, self.n_choices)
            self.alpha = 1.0 if k == self.n_choices else 1.0 - (1.0 - 1.0 / k) ** k
        elif constraint.n_arms != self.n_choices:
            raise ValueError(
                f"constraint must have {self.n_choices} arms, one for each entry, got {constraint!r}"
            )
        elif isinstance(constraint, Matroid):
            # Fisher, Nemhauser, Wolsey (1978), theorem 2.1.
            self.alpha, self._largest = 0.5, constraint.rank
        else:
            # Greedy by gain per weight, or the best single entry (Tang et al. 2021).
            self.alpha, self._largest = BUDGET_RATIO, constraint.max_size

    def __repr__(self) -> str:
        return described(self, constraint=self.constraint)

    @property
    def n_choices(self) -> int:
        """The number of entries from which a super arm chooses."""
        return self.n_arms if self._n_choices is None else self._n_choices

    @property
    def max_size(self) -> int:
        """The largest number of base arms in a super arm, or an upper bound."""
        return self._largest if self.triggers is None and self._n_choices is None else self.n_arms

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the greedy set, in increasing order."""
        return self._chosen(self._check_means(means), np.arange(self.n_choices))

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        available = self._check_available(available)
        entries = np.flatnonzero(available)
        chosen = self._chosen(self._check_means(means), entries)
        if not self.is_feasible(chosen):
            raise self._none_within(available)
        return chosen

    def _fits(self, chosen: list[int], entry: int) -> bool:
        """Return whether `entry` can be added; if not, it can never be added later."""
        if isinstance(self.constraint, int):
            return len(chosen) < self.constraint
        arms = np.array([*chosen, entry], np.int64)
        if isinstance(self.constraint, Matroid):
            return self.constraint.is_independent(arms)
        return self.constraint.is_feasible(arms)

    def _chosen(self, means: FloatArray, entries: IntArray) -> IntArray:
        """Return the greedy set, which repeatedly adds the fitting entry of largest gain per price.

        Gains only decrease. So an entry with an outdated gain need not be evaluated again while the gain of
        another entry is larger (Minoux 1978). Ties go to the lower entry. If prices differ, the best single
        entry is returned if its value is larger.
        """

        def value(chosen: list[int]) -> float:
            return self._worth(np.array(chosen, np.int64), means)

        family = self.constraint
        prices = family.weights if isinstance(family, Knapsack) else np.ones(self.n_choices)
        chosen: list[int] = []
        worth = empty = value(chosen)
        fitting = [entry for entry in entries.tolist() if self._fits(chosen, entry)]
        alone = {entry: value([entry]) for entry in fitting}
        # Divide by the largest gain, so that no quotient overflows.
        unit = max((alone[entry] - empty for entry in fitting), default=0.0) or 1.0

        def rank(gain: float, entry: int) -> float:
            price = float(prices[entry])
            return -gain / unit / price if price > 0.0 else -math.inf

        heap = [(rank(alone[entry] - empty, entry), entry, alone[entry], 0) for entry in fitting]
        heapq.heapify(heap)
        while heap and len(chosen) < self._largest:
            _, entry, with_it, known = heapq.heappop(heap)
            if not self._fits(chosen, entry):
                continue
            if known < len(chosen):
                with_it = value([*chosen, entry])
                heapq.heappush(heap, (rank(with_it - worth, entry), entry, with_it, len(chosen)))
                continue
            chosen.append(entry)
            worth = with_it
        best = max(fitting, key=alone.__getitem__, default=None)
        if isinstance(family, Knapsack) and best is not None and alone[best] > worth:
            chosen = [best]
        return np.array(sorted(chosen), np.int64)

    def _worth(self, super_arm: IntArray, means: FloatArray) -> float:
        value = float(self.reward(means, super_arm))
        if math.isnan(value):
            raise ValueError(
                f"reward must return a number, got nan for super arm {shown(super_arm.tolist())}"
            )
        return value

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        return self._worth(super_arm, means)

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether the set satisfies the constraint; it must be full for a size or a matroid."""
        super_arm = self._check_entries(super_arm)
        if isinstance(self.constraint, int):
            return len(super_arm) == self.constraint
        return self.constraint.is_feasible(super_arm)

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return the result of `triggers`; by default the entries, or all arms if `n_choices` is given."""
        super_arm = self._check_entries(super_arm)
        if self.triggers is not None:
            return arm_indices("the result of triggers", self.triggers(super_arm), self.n_arms)
        return super_arm if self._n_choices is None else np.arange(self.n_arms)


class AtLeastOne(Oracle):
    """The super arms of a linear family, worth the probability that at least one of their arms succeeds.

    For example, several models answer a request within a budget, and one right answer is enough. Each arm
    succeeds with the probability `mean`, independently of the others. The reward is ``1 - prod (1 - mean)``,
    which is largest where the sum of ``-log(1 - mean)`` is. So an oracle for sums is as good for this reward:
    the answer is exact if the family is exact, and otherwise it has the same ratio. If the successes depend
    on each other, state their joint probabilities as the reward of a `SubmodularOracle`.

    Parameters
    ----------
    family : LinearOracle
        The super arms, such as `TopK`, `Knapsack` or a matroid, with ``sense="max"``.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import AtLeastOne, Knapsack
    >>> oracle = AtLeastOne(Knapsack([0.06, 0.12, 0.22, 0.44], capacity=0.5))
    >>> means = np.array([0.5, 0.4, 0.25, 0.8])
    >>> asked = oracle.solve(means, np.random.default_rng(0))
    >>> asked, round(oracle.expected_reward(asked, means), 3)
    (array([0, 3]), 0.9)

    Notes
    -----
    The ratio is the same because ``1 - exp(-a x) >= a (1 - exp(-x))`` for a in [0, 1] and x >= 0.
    """

    def __init__(self, family: Oracle) -> None:
        if not isinstance(family, LinearOracle) or family.sense != "max":
            raise ValueError(f"family must be a linear oracle with sense='max', got {shown(family)}")
        self.family = family
        self.n_arms = family.n_arms
        self.alpha, self.beta = family.alpha, family.beta
        self.has_membership = family.has_membership

    def __repr__(self) -> str:
        return described(self, family=self.family)

    @property
    def max_size(self) -> int:
        return self.family.max_size

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        """Return the names of the arms in the family."""
        return self.family.labels(super_arm)

    def _weights(self, means: FloatArray) -> FloatArray:
        """Return ``-log(1 - mean)``, which is 36.7 for a mean of 1."""
        return -np.log1p(-np.clip(self._check_means(means), 0.0, 1.0 - 2.0**-53))

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the answer of the family to ``-log(1 - mean)``; means outside [0, 1] are cut."""
        return self.family.solve(self._weights(means), rng)

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        return self.family.solve_within(self._weights(means), available, rng)

    def _uniform_family(self, available: BoolArray) -> tuple[int, int] | None:
        return self.family._uniform_family(available)

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        return float(-np.expm1(np.log1p(-np.clip(means[super_arm], 0.0, 1.0 - 2.0**-53)).sum()))

    def is_feasible(self, super_arm: IntArray) -> bool:
        return self.family.is_feasible(super_arm)

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return the super arm itself, because each of its arms is observed."""
        return self._check_entries(super_arm)

    def smoothness(self) -> Smoothness:
        """Return ``L x`` for super arms of at most L arms, and the modulated constant 1."""
        return Smoothness.linear(max(1, self.max_size))
