"""Semi-bandits whose features or available arms are new in each round."""

from __future__ import annotations

import numpy as np

from cmab import Context
from cmab.arrays import ArrayLike, FloatArray
from cmab.oracle import LinearOracle
from cmab.validation import per_arm, vector
from instances.arms import Arms, BernoulliArms, SemiBandit


class LinearSemiBandit(SemiBandit):
    """Bernoulli arms with means ``features @ coefficients`` and new features in each round.

    Features are random unit vectors: absolute values of standard normal numbers, divided by their norm.
    Because coefficients are nonnegative and have norm at most 1, all means are in [0, 1]. The means of the
    instance itself, outside any round, are those of average features.

    Parameters
    ----------
    coefficients : array_like, shape (d,)
        Coefficients of the means, nonnegative, with norm at most 1.
    oracle : LinearOracle
        The family of super arms.

    Examples
    --------
    >>> from cmab import C2UCB, simulate
    >>> from instances import LinearSemiBandit
    >>> from oracles import TopK
    >>> environment = LinearSemiBandit([0.6, 0.8], TopK(20, k=3))
    >>> policy = C2UCB(environment.oracle, dimension=2, radius=0.5)
    >>> simulate(policy, environment, 500, rng=0)
    Simulation(C2UCB: 1 x 500 rounds, mean regret 16.05)
    """

    def __init__(self, coefficients: ArrayLike, oracle: LinearOracle) -> None:
        self.coefficients = vector("coefficients", coefficients, low=0.0)
        size = float(np.linalg.norm(self.coefficients))
        if not len(self.coefficients):
            raise ValueError("coefficients must have at least one entry, got none")
        if not size <= 1.0 + 1e-12:
            raise ValueError(f"coefficients must have norm at most 1, got {size:.6g}")
        d = len(self.coefficients)
        # By symmetry, all features have the same mean.
        usual = float(_directions(1000, d, np.random.default_rng(0)).mean())
        # If `oracle` is not an oracle, `SemiBandit` raises the error.
        means = np.full(getattr(oracle, "n_arms", 1), min(1.0, usual * float(self.coefficients.sum())))
        super().__init__(BernoulliArms(means), oracle)

    def in_round(self, t: int, rng: np.random.Generator) -> SemiBandit:
        features = _directions(self.n_arms, len(self.coefficients), rng)
        today = SemiBandit(BernoulliArms(np.minimum(features @ self.coefficients, 1.0)), self.oracle)
        today.context = Context(features=features)
        return today


def _directions(n: int, d: int, rng: np.random.Generator) -> FloatArray:
    drawn: FloatArray = np.abs(rng.standard_normal((n, d)))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn


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

    def in_round(self, t: int, rng: np.random.Generator) -> SemiBandit:
        today = SemiBandit(self.arms, self.oracle)
        today.context = Context(available=rng.random(self.n_arms) < self.availability)
        return today
