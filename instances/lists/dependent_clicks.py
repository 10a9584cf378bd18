"""The dependent-click model: a user clicks the items that attract him or her until satisfied."""

from __future__ import annotations

import numpy as np

from cmab.arrays import ArrayLike, IntArray
from cmab.description import described
from cmab.environment import round_key
from cmab.feedback import Feedback
from cmab.validation import frozen, shown, vector
from instances._valued_by_oracle import ValuedByOracle
from oracles import DependentClickLists


class DependentClickModel(ValuedByOracle):
    """A user looks at a list from the top, clicks attractive items, and may be satisfied after each click.

    A satisfied user leaves, and the reward is 1. The reward is 0 if the user reaches the end of the list. The
    reward shows how far the user looked: to the last click if it is 1, to the end if it is 0. Whether an arm
    is observed then does not depend on its own outcome, so the means of observed arms are unbiased.

    In the paper the satisfaction is not observed, and arms up to the last click count as observed (from
    memory). The means of arms below a click are then biased upwards. `DependentClickLists.feedback_of` leaves
    out these arms if the satisfaction is unknown.

    The outcome of an arm depends only on the round and the arm, and satisfaction only on the round and the
    position, so all policies see the same user in a round.

    Parameters
    ----------
    means : array_like, shape (n_arms,)
        Probability that each arm attracts the user, in [0, 1].
    oracle : DependentClickLists
        The family of lists, and the probability of satisfaction at each position.

    Examples
    --------
    >>> import numpy as np
    >>> from instances import DependentClickModel
    >>> from oracles import DependentClickLists
    >>> page = DependentClickModel([0.25, 0.5, 0.75, 0.5], DependentClickLists(4, termination=[1.0, 0.5]))
    >>> page.optimum
    0.8125
    >>> seen = page.play(np.array([0, 2]), np.random.default_rng(0))
    >>> seen.arms, seen.outcomes, seen.reward
    (array([0, 2]), array([0., 1.]), 1.0)

    References
    ----------
    As in `DependentClickLists`.
    """

    oracle: DependentClickLists

    def __init__(self, means: ArrayLike, oracle: DependentClickLists) -> None:
        if not isinstance(oracle, DependentClickLists):
            raise ValueError(f"oracle must be a DependentClickLists, got {shown(oracle)}")
        self.oracle = oracle
        self.n_arms = self.n_choices = oracle.n_arms
        self.means = frozen(vector("means", means, self.n_arms, 0.0, 1.0))

    def __repr__(self) -> str:
        return described(self, oracle=self.oracle, means=self.means)

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Show a list of k arms; raise ``ValueError`` if `super_arm` is not feasible."""
        from cmab.kernels import keyed_uniforms

        chosen, key = self.oracle.check_super_arm(super_arm), round_key(rng)
        clicks = keyed_uniforms(key, chosen) < self.means[chosen]
        # Positions have numbers after those of the arms, so that no random number is used twice.
        places = self.n_arms + np.arange(len(chosen))
        ends = np.flatnonzero(clicks & (keyed_uniforms(key, places) < self.oracle.termination))
        seen = int(ends[0]) + 1 if len(ends) else len(chosen)
        return Feedback.unchecked(chosen[:seen], clicks[:seen].astype(np.float64), float(len(ends) > 0))
