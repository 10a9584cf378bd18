"""The dependent-click model: a user clicks what attracts him until he is satisfied."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.environment import Environment, round_key
from cmab.feedback import Feedback
from cmab.guards import unguarded
from cmab.validation import frozen, shown, vector
from oracles import DependentClickLists


class DependentClickModel(Environment):
    """A user looks at a list from the top, clicks what attracts him, and may be satisfied by each click.

    Once satisfied he leaves, and the reward is 1; it is 0 if he reaches the end. A learner is told the
    reward, and with it how far the user came: up to the last click if he was satisfied, to the end if not. So
    whether an arm is seen does not depend on its own outcome, and means of what is seen are unbiased. In the
    paper it is not known who was satisfied, and arms up to the last click count as seen (from memory). That
    is biased upwards for what stands below a click: see `DependentClickLists.feedback_of`, which leaves such
    arms out where satisfaction is not known. The coins of an arm, and of a position, belong to (round, arm)
    and (round, position): policies meet the same ones.

    Parameters
    ----------
    means : array_like, shape (n_arms,)
        Probability of each arm to attract the user, in [0, 1].
    oracle : DependentClickLists
        The lists, and how easily users are satisfied at each position.

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

    def __init__(self, means: ArrayLike, oracle: DependentClickLists) -> None:
        if not isinstance(oracle, DependentClickLists):
            raise ValueError(f"oracle must be a DependentClickLists, got {shown(oracle)}")
        self.oracle = oracle
        self.n_arms = self.n_choices = oracle.n_arms
        self.means = frozen(vector("means", means, self.n_arms, 0.0, 1.0))

    def __repr__(self) -> str:
        return described(self, oracle=self.oracle, means=self.means)

    @cached_property
    def optimum(self) -> float:  # type: ignore[override]
        return self.expected_reward(self.oracle.solve(self.means, np.random.default_rng(0)))

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Show a list; refuses what is not k arms."""
        from cmab.kernels import keyed_uniforms

        chosen, key = self.oracle.check_super_arm(super_arm), round_key(rng)
        clicks = keyed_uniforms(key, chosen) < self.means[chosen]
        # Positions are numbered behind the arms, so that no coin is used twice.
        places = self.n_arms + np.arange(len(chosen))
        ends = np.flatnonzero(clicks & (keyed_uniforms(key, places) < self.oracle.termination))
        seen = int(ends[0]) + 1 if len(ends) else len(chosen)
        return Feedback.unchecked(chosen[:seen], clicks[:seen].astype(np.float64), float(len(ends) > 0))

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        return (rng.random(len(arms)) < self.means[arms]).astype(np.float64)

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray:
        return self.oracle.triggering_probabilities(super_arm, self.means)

    def expected_reward(self, super_arm: IntArray) -> float:
        return unguarded(self.oracle.expected_reward)(super_arm, self.means)
