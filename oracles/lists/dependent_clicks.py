"""Lists whose readers may click several entries, and leave satisfied after a click."""

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
    """Lists for users who click what attracts them until they are satisfied: dependent clicks. Exact.

    A user goes through the list from the top and clicks each entry that attracts him. After a click at
    position j he is satisfied and leaves with probability ``termination[j]``, and goes on otherwise. A list
    is worth the probability that he leaves satisfied, ``1 - prod (1 - termination mean)``. The best list has
    the arms of the largest means, the best of them where users are most easily satisfied. Ties go to the
    lower index. With all of `termination` 1 this is `RankedTopK` with a disjunctive reward.

    `KLCUCB` on it is dcmKL-UCB, but for what is taken to be seen: see `feedback_of`.

    Parameters
    ----------
    n_arms : int
        Number of base arms, at least 1.
    termination : array_like, shape (k,)
        Probability that a user who clicks at a position is satisfied, in [0, 1], one of them positive. Lists
        have k arms. Only the order of these numbers matters for the best list.

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

    def __init__(self, n_arms: int, termination: ArrayLike) -> None:
        self.n_arms = integer("n_arms", n_arms, 1)
        given = real_array("termination", termination)
        self.termination = frozen(vector("termination", given, given.size, 0.0, 1.0))
        self.k = integer("number of positions in termination", len(self.termination), 1, self.n_arms)
        if not self.termination.any():
            raise ValueError(f"termination must be positive somewhere, got {shown(termination)}")
        self._order = np.argsort(-self.termination, kind="stable")

    def __repr__(self) -> str:
        return described(self, n_arms=self.n_arms, termination=self.termination)

    @property
    def max_size(self) -> int:
        return self.k

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the k best arms, the best where users are most easily satisfied."""
        return self._placed(np.argsort(-self._check_means(means), kind="stable"))

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        values, free = self._check_means(means), np.flatnonzero(available)
        if len(free) < self.k:
            raise self._none_within(available)
        return self._placed(free[np.argsort(-values[free], kind="stable")])

    def _placed(self, ranked: IntArray) -> IntArray:
        # A pair of positions in the other order would be worth less: (1 - vw)(1 - v'w') is least with the
        # larger w at the larger v.
        chosen = np.empty(self.k, np.int64)
        chosen[self._order] = ranked[: self.k]
        return chosen

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        satisfied = self.termination[: len(super_arm)] * self._check_means(means, 0.0, 1.0)[super_arm]
        worth = 0.0
        for chance in satisfied.tolist():
            # Katariya et al. (2016), equation 2: 1 - prod (1 - v w), here without its cancellation.
            worth += (1.0 - worth) * chance
        return worth

    def is_feasible(self, super_arm: IntArray) -> bool:
        return len(super_arm) == self.k

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return the list: how far the user comes depends on the means."""
        return super_arm

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray:
        """Return the probability that the user comes to each arm: he was not satisfied above it."""
        chances = self._check_means(means, 0.0, 1.0)
        stays = 1.0 - self.termination[: len(super_arm)] * chances[super_arm]
        reached = np.zeros(self.n_arms)
        reached[super_arm] = np.cumprod(np.concatenate([[1.0], stays[:-1]]))[: len(super_arm)]
        return reached

    def feedback_of(self, super_arm: IntArray, **report: Any) -> Feedback:
        """Return the feedback of a list of which the clicks are known.

        A satisfied user has looked at everything up to his last click, one who was not at all of the list.
        Where it is not known whether he was, what he looked at for sure are the entries up to his *last*
        click. To learn from these would be biased: an entry below a click is counted whenever it is clicked,
        but not whenever it is looked at in vain. With two entries of attraction 0.5 and a termination of 0.5
        the second would seem to attract 0.6. Up to the *first* click nothing depends on what is counted, so
        these entries are what is learned from.

        Parameters
        ----------
        super_arm : IntArray, shape (k,)
            The list.
        **report
            ``clicked``, a list of the entries that the user clicked, and ``satisfied``, whether he left
            satisfied; None, or left out, if that is not known.

        Raises
        ------
        ValueError
            If a word is another, an entry is not in the list or named twice, or somebody was satisfied
            without a click.

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
        if not {"clicked"} <= set(report) <= {"clicked", "satisfied"}:
            given = ", ".join(report) or "nothing"
            raise ValueError(f"a report must have clicked, and satisfied if that is known, got {given}")
        outcomes, satisfied = self._clicks(super_arm, report["clicked"]), report.get("satisfied")
        if satisfied is not None and not isinstance(satisfied, bool | np.bool_):
            raise ValueError(f"satisfied must be True, False or None, got {shown(satisfied)}")
        places = np.flatnonzero(outcomes)
        if not len(places):
            if satisfied:
                raise ValueError("satisfied must be False where nothing was clicked, got True")
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
        """Return ``k v x`` with v the largest termination, which is the constant modulated by triggering."""
        return Smoothness.linear(self.k, float(self.termination.max()))
