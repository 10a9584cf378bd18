"""The cascade model: a user looks at a list until one entry decides the outcome."""

from __future__ import annotations

import numpy as np

from cmab.arrays import ArrayLike, IntArray
from cmab.compiled.forms import Kernel
from cmab.description import described
from cmab.environment import round_key
from cmab.feedback import Feedback
from cmab.validation import frozen, shown, vector
from instances._valued_by_oracle import ValuedByOracle
from oracles import RankedTopK


class CascadeModel(ValuedByOracle):
    """A user looks at the entries of a list from the top and stops at the first one that decides the reward.

    If the reward is disjunctive, the user clicks the first entry that attracts him or her. The entries above
    it have outcome 0, and the entries below it are not observed. The reward is 1 if there is a click and 0
    otherwise. If the reward is conjunctive, the user stops at the first entry that fails, and the reward is 1
    if all entries succeed and 0 otherwise. The outcome of an arm depends only on the round and the arm, so
    all policies that play it in a round see the same outcome.

    Parameters
    ----------
    means : array_like, shape (n_arms,)
        Probability that each arm attracts the user (or succeeds), in [0, 1].
    oracle : RankedTopK
        The family of lists, and the kind of the reward.

    Examples
    --------
    >>> import numpy as np
    >>> from instances import CascadeModel
    >>> from oracles import RankedTopK
    >>> page = CascadeModel([0.25, 0.5, 0.75, 0.5], RankedTopK(4, k=3))
    >>> page.optimum
    0.9375
    >>> seen = page.play(np.array([0, 2, 1]), np.random.default_rng(0))
    >>> seen.arms, seen.outcomes, seen.reward
    (array([0, 2]), array([0., 1.]), 1.0)

    References
    ----------
    N. Craswell, O. Zoeter, M. Taylor, B. Ramsey: An experimental comparison of click position-bias models,
    WSDM 2008. Kveton et al., ICML and NIPS 2015, as in `RankedTopK`.
    """

    oracle: RankedTopK

    def __init__(self, means: ArrayLike, oracle: RankedTopK) -> None:
        if not isinstance(oracle, RankedTopK):
            raise ValueError(f"oracle must be a RankedTopK, got {shown(oracle)}")
        self.oracle = oracle
        self.n_arms = self.n_choices = oracle.n_arms
        self.means = frozen(vector("means", means, self.n_arms, 0.0, 1.0))

    def __repr__(self) -> str:
        return described(self, oracle=self.oracle, means=self.means)

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Show a list of k arms; raise ``ValueError`` if `super_arm` is not feasible."""
        from cmab.kernels import keyed_uniforms

        chosen = self.oracle.check_super_arm(super_arm)
        successes = keyed_uniforms(round_key(rng), chosen) < self.means[chosen]
        is_disjunctive = self.oracle.reward == "disjunctive"
        settling = np.flatnonzero(successes == is_disjunctive)
        seen = int(settling[0]) + 1 if len(settling) else len(chosen)
        reward = float((len(settling) > 0) == is_disjunctive)
        return Feedback.unchecked(chosen[:seen], successes[:seen].astype(np.float64), reward)

    def kernel(self) -> Kernel:
        from instances.lists._kernels_cascade_model import play_list

        return Kernel(play_list, np.array([int(self.oracle.reward == "disjunctive")]), self.means.copy())
