"""Ordered lists of k arms."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.compiled.forms import Kernel
from cmab.feedback import Feedback
from cmab.oracle import Oracle
from cmab.smoothness import Smoothness
from cmab.validation import integer, one_of, place_of

Reward = Literal["disjunctive", "conjunctive"]


class RankedTopK(Oracle):
    """Ordered lists of exactly `k` arms, best first, that a user examines from the top. Exact.

    With a disjunctive reward, the user wants one good entry and stops at the first one. The reward of the
    list is the probability that it has a good entry, ``1 - prod (1 - mean)``. With a conjunctive reward, all
    entries must be good, like the links of a connection, and the first bad entry ends the examination. The
    reward is ``prod mean``. A super arm lists the arms in the order in which they are shown. The order does
    not change the reward, but it changes the feedback: an entry shows its outcome only if the user reaches
    it, so better arms come first. Ties go to the lower index.

    With this oracle, `CUCB` is CascadeUCB1 (CombCascade for conjunctive rewards), `KLCUCB` is CascadeKL-UCB,
    `CTS` is TS-Cascade with Beta priors, and `C2UCB` with a constant `radius` is CascadeLinUCB.

    Parameters
    ----------
    n_arms : int
        The number of base arms, at least 1.
    k : int
        The length of a list, in ``[1, n_arms]``.
    reward : {"disjunctive", "conjunctive"}
        Whether one entry must succeed, or all entries.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import RankedTopK
    >>> oracle = RankedTopK(n_arms=4, k=2)
    >>> means = np.array([0.25, 0.5, 0.75, 0.5])
    >>> shown = oracle.solve(means, np.random.default_rng(0))
    >>> shown, oracle.expected_reward(shown, means)
    (array([2, 1]), 0.875)
    >>> oracle.triggering_probabilities(shown, means)
    array([0.  , 0.25, 1.  , 0.  ])

    References
    ----------
    B. Kveton, C. Szepesvari, Z. Wen, A. Ashkan: Cascading Bandits: Learning to Rank in the Cascade Model,
    ICML 2015. B. Kveton, Z. Wen, A. Ashkan, C. Szepesvari: Combinatorial Cascading Bandits, NIPS 2015.
    Q. Wang, W. Chen (NIPS 2017): smoothness of both rewards.
    """

    triggers_surely = False

    has_membership = True

    def __init__(self, n_arms: int, k: int, *, reward: Reward = "disjunctive") -> None:
        self.n_arms = integer("n_arms", n_arms, 1)
        self.k = integer("k", k, 1, self.n_arms)
        self.reward: Reward = one_of("reward", reward, ("disjunctive", "conjunctive"))

    @property
    def max_size(self) -> int:
        return self.k

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the k best arms, best first."""
        return self._ranked(self._check_means(means))

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the k best available arms, best first; raise ``ValueError`` if fewer are available."""
        available = self._check_available(available)
        values, free = self._check_means(means), np.flatnonzero(available)
        if len(free) < self.k:
            raise self._none_within(available)
        return free[self._ranked(values[free])]

    def uniform_family(self, available: BoolArray) -> tuple[int, int]:
        """Return the number of lists of k available arms, and k."""
        available = self._check_available(available)
        return math.perm(int(available.sum()), self.k), self.k

    def kernel(self) -> Kernel:
        from oracles.lists._kernels_lists import solve_ranked

        return Kernel(solve_ranked, np.array([self.k]))

    def _ranked(self, values: FloatArray) -> IntArray:
        from oracles.lists._kernels_lists import rank

        chosen = np.empty(self.k, np.int64)
        rank(values, self.k, chosen)
        return chosen

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        from oracles.lists._kernels_lists import list_worth

        chances = self._check_means(means, 0.0, 1.0)
        return float(list_worth(super_arm, len(super_arm), chances, self.reward == "disjunctive"))

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        return len(super_arm) == self.k

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return the whole list, because the number of examined entries depends on the means."""
        return self._check_entries(super_arm)

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray:
        """Return the probability that the user examines each arm, i.e. did not stop above it."""
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        chances = self._check_means(means, 0.0, 1.0)
        goes_on = 1.0 - chances if self.reward == "disjunctive" else chances
        reached = np.zeros(self.n_arms)
        reached[super_arm] = np.cumprod(np.concatenate([[1.0], goes_on[super_arm[:-1]]]))[: len(super_arm)]
        return reached

    def feedback_of(self, super_arm: IntArray, **report: Any) -> Feedback:
        """Return the feedback of a list for which the stopping entry is known.

        Parameters
        ----------
        super_arm : IntArray, shape (k,)
            The list.
        **report
            One argument. With a disjunctive reward ``clicked``, the clicked entry, or None if the user
            clicked no entry. With a conjunctive reward ``failed``, the first entry that failed, or None if
            all entries succeeded.

        Examples
        --------
        >>> from oracles import RankedTopK
        >>> seen = RankedTopK(5, k=3).feedback_of([4, 0, 2], clicked=0)
        >>> seen.arms, seen.outcomes, seen.reward
        (array([4, 0]), array([0., 1.]), 1.0)
        """
        super_arm = self._check_entries(super_arm)
        word = "clicked" if self.reward == "disjunctive" else "failed"
        if set(report) != {word}:
            raise ValueError(
                f"a report must have only the keyword {word}, got {', '.join(report) or 'nothing'}"
            )
        place = place_of(word, report[word], self.labels(super_arm))
        settles = 1.0 if self.reward == "disjunctive" else 0.0
        if place is None:
            return Feedback(super_arm, np.full(len(super_arm), 1.0 - settles), reward=1.0 - settles)
        outcomes = np.full(place + 1, 1.0 - settles)
        outcomes[place] = settles
        return Feedback(super_arm[: place + 1], outcomes, reward=settles)

    def smoothness(self) -> Smoothness:
        """Return ``k x``; the constant modulated by triggering is 1."""
        return Smoothness.linear(self.k)
