"""Lists with several clicks per user: the dependent-click model."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.description import described
from cmab.feedback import Feedback
from cmab.oracle import Oracle
from cmab.smoothness import Smoothness
from cmab.validation import frozen, integer, place_of, real_array, shown, vector


class DependentClickLists(Oracle):
    """Lists for the dependent-click model: a user clicks attractive entries until satisfied. Exact.

    A user examines the list from the top and clicks each attractive entry. After a click at position j, the
    user is satisfied and leaves with probability ``termination[j]``; otherwise the user continues. The reward
    of a list is the probability that the user leaves satisfied, ``1 - prod (1 - termination mean)``. The best
    list contains the arms of the largest means, in the order of the termination probabilities: the best arm
    is at the position of the largest one. Ties go to the lower index. If all termination probabilities are 1,
    this is `RankedTopK` with a disjunctive reward.

    With this oracle `KLCUCB` is dcmKL-UCB, except for the entries that count as observed: see `feedback_of`.

    Parameters
    ----------
    n_arms : int
        The number of base arms, at least 1.
    termination : array_like, shape (k,)
        The probability that a click at each position satisfies the user, in [0, 1], at least one positive.
        Its length k is the length of the lists. The best list depends only on the order of these numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DependentClickLists
    >>> oracle = DependentClickLists(4, termination=[0.5, 1.0])
    >>> means = np.array([0.25, 0.5, 0.75, 0.5])
    >>> shown = oracle.solve(means, np.random.default_rng(0))
    >>> shown, oracle.expected_reward(shown, means)
    (array([1, 2]), 0.8125)
    >>> oracle.triggering_probabilities(shown, means)
    array([0.  , 1.  , 0.75, 0.  ])

    References
    ----------
    F. Guo, C. Liu, Y. Wang: Efficient Multiple-Click Models in Web Search, WSDM 2009. S. Katariya, B. Kveton,
    C. Szepesvari, Z. Wen: DCM Bandits: Learning to Rank with Multiple Clicks, ICML 2016.
    """

    triggers_surely = False

    has_membership = True

    def __init__(self, n_arms: int, termination: ArrayLike) -> None:
        self.n_arms = integer("n_arms", n_arms, 1)
        given = real_array("termination", termination)
        self.termination = frozen(vector("termination", given, given.size, 0.0, 1.0))
        self.k = integer("number of positions in termination", len(self.termination), 1, self.n_arms)
        if not self.termination.any():
            raise ValueError(
                f"termination must be positive for at least one position, got {shown(termination)}"
            )
        self._order = np.argsort(-self.termination, kind="stable")

    def __repr__(self) -> str:
        return described(self, n_arms=self.n_arms, termination=self.termination)

    @property
    def max_size(self) -> int:
        return self.k

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the k best arms, with better arms at positions of larger termination probability."""
        return self._placed(np.argsort(-self._check_means(means), kind="stable"))

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        available = self._check_available(available)
        values, free = self._check_means(means), np.flatnonzero(available)
        if len(free) < self.k:
            raise self._none_within(available)
        return self._placed(free[np.argsort(-values[free], kind="stable")])

    def _placed(self, ranked: IntArray) -> IntArray:
        # Swapping two positions would reduce the reward: (1 - vw)(1 - v'w') is smallest with the larger w at
        # the larger v.
        chosen = np.empty(self.k, np.int64)
        chosen[self._order] = ranked[: self.k]
        return chosen

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        satisfied = self.termination[: len(super_arm)] * self._check_means(means, 0.0, 1.0)[super_arm]
        worth = 0.0
        for chance in satisfied.tolist():
            # Katariya et al. (2016), equation 2: 1 - prod (1 - v w), computed here without cancellation.
            worth += (1.0 - worth) * chance
        return worth

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        return len(super_arm) == self.k

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return the whole list, because the number of examined entries depends on the means."""
        return self._check_entries(super_arm)

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray:
        """Return the probability that the user examines each arm, i.e. was not satisfied above it."""
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        chances = self._check_means(means, 0.0, 1.0)
        stays = 1.0 - self.termination[: len(super_arm)] * chances[super_arm]
        reached = np.zeros(self.n_arms)
        reached[super_arm] = np.cumprod(np.concatenate([[1.0], stays[:-1]]))[: len(super_arm)]
        return reached

    def feedback_of(self, super_arm: IntArray, **report: Any) -> Feedback:
        """Return the feedback of a list with known clicks.

        A satisfied user has examined all entries up to the last click; an unsatisfied user has
        examined the whole list. If it is unknown whether the user was satisfied, the feedback ends at the
        *first* click. The user has certainly examined the entries up to the *last* click, but learning from
        them would be biased: an entry below a click would be counted whenever it is clicked, but not always
        when it is examined without a click. For example, with two entries of attraction 0.5 and a termination
        probability of 0.5, the estimate of the second would converge to 0.6. Up to the first click, the
        selection of entries does not depend on their outcomes.

        Parameters
        ----------
        super_arm : IntArray, shape (k,)
            The list.
        **report
            ``clicked``, a list of the clicked entries, and ``satisfied``, whether the user left satisfied.
            Omit ``satisfied`` or pass None if it is unknown.

        Raises
        ------
        ValueError
            If there is any other argument, if an entry is not in the list or is repeated, or if a user
            without a click is reported as satisfied.

        Examples
        --------
        >>> from oracles import DependentClickLists
        >>> oracle = DependentClickLists(5, termination=[0.5, 0.5, 0.5])
        >>> seen = oracle.feedback_of([4, 0, 2], clicked=[4, 0], satisfied=True)
        >>> seen.arms, seen.outcomes, seen.reward
        (array([4, 0]), array([1., 1.]), 1.0)
        >>> oracle.feedback_of([4, 0, 2], clicked=[4, 0]).arms
        array([4])
        """
        super_arm = self._check_entries(super_arm)
        if not {"clicked"} <= set(report) <= {"clicked", "satisfied"}:
            given = ", ".join(report) or "nothing"
            raise ValueError(f"a report must have the keyword clicked, and may have satisfied, got {given}")
        outcomes, satisfied = self._clicks(super_arm, report["clicked"]), report.get("satisfied")
        if satisfied is not None and not isinstance(satisfied, bool | np.bool_):
            raise ValueError(f"satisfied must be True, False or None, got {shown(satisfied)}")
        places = np.flatnonzero(outcomes)
        if not len(places):
            if satisfied:
                raise ValueError("satisfied must be False if nothing was clicked, got True")
            return Feedback(super_arm, outcomes, reward=0.0)
        if satisfied is None:
            end, reward = int(places[0]) + 1, float("nan")
        else:
            end, reward = int(places[-1]) + 1 if satisfied else len(super_arm), float(satisfied)
        return Feedback(super_arm[:end], outcomes[:end], reward=reward)

    def _clicks(self, super_arm: IntArray, clicked: object) -> FloatArray:
        names, outcomes = self.labels(super_arm), np.zeros(len(super_arm))
        if not isinstance(clicked, list | tuple | set | frozenset):
            raise ValueError(f"clicked must be a list of entries, got {shown(clicked)}")
        for entry in clicked:
            place = None if entry is None else place_of("an entry of clicked", entry, names)
            if place is None or outcomes[place]:
                raise ValueError(f"clicked must have distinct entries of the list, got {shown(clicked)}")
            outcomes[place] = 1.0
        return outcomes

    def smoothness(self) -> Smoothness:
        """Return ``k v x``, where v is the largest termination probability.

        The constant modulated by triggering is v.
        """
        return Smoothness.linear(self.k, float(self.termination.max()))
