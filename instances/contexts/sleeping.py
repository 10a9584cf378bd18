"""Semi-bandits with arms that are not available in all rounds."""

from __future__ import annotations

import numpy as np

from cmab import Context
from cmab.arrays import ArrayLike
from cmab.oracle import LinearOracle
from cmab.validation import per_arm
from instances.arms.arms import Arms
from instances.arms.semi_bandit import SemiBandit


class SleepingSemiBandit(SemiBandit):
    """A semi-bandit in which each arm is available in a round with its own probability, independently.

    Regret is measured against the best super arm of the available arms of each round. The oracle must have a
    feasible super arm for every set of available arms. For example, `Knapsack` with weights of 1 takes the k
    best arms, or all available arms if there are fewer.

    Parameters
    ----------
    arms : Arms
        Distributions of the base arms.
    oracle : LinearOracle
        The family of super arms; it must define `solve_within`.
    availability : float or array_like of shape (n_arms,)
        Probability that each arm is available in a round, in [0, 1].

    Examples
    --------
    >>> from cmab import CUCB, simulate
    >>> from instances import BernoulliArms, SleepingSemiBandit
    >>> from oracles import Knapsack
    >>> oracle = Knapsack([1, 1, 1, 1], 2)
    >>> environment = SleepingSemiBandit(BernoulliArms([0.1, 0.9, 0.2, 0.8]), oracle, availability=0.5)
    >>> simulate(CUCB(oracle), environment, 200, rng=0)
    Simulation(CUCB: 1 x 200 rounds, mean regret 3.4)

    References
    ----------
    R. Kleinberg, A. Niculescu-Mizil, Y. Sharma: Regret Bounds for Sleeping Experts and Bandits, Machine
    Learning 80 (2010).
    """

    def __init__(self, arms: Arms, oracle: LinearOracle, *, availability: ArrayLike) -> None:
        super().__init__(arms, oracle)
        self.availability = per_arm("availability", availability, self.n_arms, 0.0, 1.0)

    def in_round(self, t: int, rng: np.random.Generator) -> SemiBandit:  # noqa: ARG002
        today = SemiBandit(self.arms, self.oracle)
        today.context = Context(available=rng.random(self.n_arms) < self.availability)
        return today
