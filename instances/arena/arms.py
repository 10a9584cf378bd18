"""Arms of the arena: coins, with outcomes that may be shrunk to their means, scaled, and coupled."""

from __future__ import annotations

import numpy as np

from cmab import Feedback
from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.compiled import Kernel, keyed_uniform, keyed_uniforms, play_kernel
from cmab.environment import round_key
from cmab.validation import frozen, per_arm, real, vector
from instances.arms import Arms, sum_in_order


@play_kernel
def play_coins(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """Play a round; `reals` contains the chances, the spreads, the scale and the coupling."""
    n = integers[0]
    scale, coupling = reals[2 * n], reals[2 * n + 1]
    totals[0], totals[1] = 0.0, 0.0
    common = keyed_uniform(key, 2 * n)
    for j in range(size):
        arm = super_arm[j]
        arms[j] = arm
        chance = reals[arm]
        # The second uniform number of an arm decides whether the arm uses the common number of the round.
        is_own = coupling == 0.0 or keyed_uniform(key, n + arm) >= coupling
        coin = 1.0 if (keyed_uniform(key, arm) if is_own else common) < chance else 0.0
        outcomes[j] = scale * (chance + reals[n + arm] * (coin - chance))
        totals[0] += outcomes[j]
        totals[1] += scale * chance
    return size


class ShrunkCoins(Arms):
    """Arms with two outcomes, shrunk towards their mean, scaled, and coupled within a round.

    An arm with chance p, spread s and scale c has the outcome ``c (p + s (coin - p))``, where the coin is 1
    with probability p and 0 otherwise. The mean is ``c p``. The variance is ``s**2`` times the variance of a
    scaled coin. Therefore spread 1 gives coins and spread 0 gives deterministic arms. In each round, each arm
    uses one common uniform number in place of its own with probability `coupling`.

    Parameters
    ----------
    chances : array_like, shape (n_arms,)
        Probability of the larger outcome of each arm, in [0, 1].
    spread : float or array_like of shape (n_arms,)
        The spread of each arm, in [0, 1].
    scale : float
        The scale of all outcomes, in (0, 1].
    coupling : float
        Probability that an arm uses the common number of the round, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from instances.arena.arms import ShrunkCoins
    >>> arms = ShrunkCoins([0.5, 0.25], spread=0.0, scale=0.5)
    >>> arms.means, arms.pull(arms.means.argsort(), np.random.default_rng(0))
    (array([0.25 , 0.125]), array([0.125, 0.25 ]))
    """

    def __init__(
        self, chances: ArrayLike, *, spread: ArrayLike = 1.0, scale: float = 1.0, coupling: float = 0.0
    ) -> None:
        self.chances = frozen(vector("chances", chances, low=0.0, high=1.0))
        self.spread = per_arm("spread", spread, len(self.chances), 0.0, 1.0)
        self.scale = real("scale", scale, 0.0, 1.0)
        self.coupling = real("coupling", coupling, 0.0, 1.0)
        self.means = frozen(self.scale * self.chances)

    def quantile(self, arms: IntArray, uniforms: FloatArray) -> FloatArray:
        chances = self.chances[arms]
        coins = (uniforms < chances).astype(np.float64)
        outcomes: FloatArray = self.scale * (chances + self.spread[arms] * (coins - chances))
        return outcomes

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        arms = self._check_arms(arms)
        return self.quantile(arms, rng.random(len(arms)))

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Return the outcomes of the arms in `super_arm` and their sum."""
        super_arm = self._check_super_arm(super_arm)
        key, n = round_key(rng), self.n_arms
        uniforms = keyed_uniforms(key, super_arm)
        if self.coupling > 0.0:
            is_own = keyed_uniforms(key, super_arm + n) >= self.coupling
            uniforms = np.where(is_own, uniforms, keyed_uniform(key, 2 * n))
        outcomes = self.quantile(super_arm, uniforms)
        return Feedback(super_arm, outcomes, reward=sum_in_order(outcomes))

    def kernel(self) -> Kernel:
        parameters = [self.chances, self.spread, np.array([self.scale, self.coupling])]
        return Kernel(play_coins, np.array([self.n_arms]), np.concatenate(parameters))
