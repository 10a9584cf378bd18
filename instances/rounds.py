"""Environments whose rounds differ: new features, or sudden changes of the means."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import numpy as np

from cmab import Context, Environment, Feedback
from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.oracle import LinearOracle
from cmab.validation import arm_indices, integer, listed, shown, vector
from instances.arms import BernoulliArms, SemiBandit


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


class PiecewiseStationary(Environment):
    """A sequence of environments: the means jump at the changes and are constant between them.

    With a `period` the sequence repeats, as days and seasons do. Regret is measured against the best super
    arm of each round.

    Parameters
    ----------
    environments : iterable of Environment
        At least one environment; all have the same number of base arms.
    changes : array_like of int
        The last round of each environment except the last one. The rounds increase, and there is one fewer
        than environments.
    period : int, optional
        Number of rounds after which the sequence repeats, larger than the last of `changes`. If None (the
        default), it does not repeat.

    Examples
    --------
    >>> from cmab import CUCB, simulate
    >>> from instances import BernoulliArms, PiecewiseStationary, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=3, k=1)
    >>> week, weekend = (SemiBandit(BernoulliArms(p), oracle) for p in ([0.2, 0.8, 0.5], [0.9, 0.1, 0.5]))
    >>> environment = PiecewiseStationary([week, weekend], changes=[5], period=7)
    >>> [float(environment.in_round(t, None).means[0]) for t in range(1, 9)]
    [0.2, 0.2, 0.2, 0.2, 0.2, 0.9, 0.9, 0.2]
    """

    def __init__(
        self, environments: Iterable[Environment], changes: ArrayLike, *, period: int | None = None
    ) -> None:
        self.environments = tuple(listed("environments", environments, "environments"))
        self.changes = tuple(arm_indices("changes", changes, 2**53).tolist())
        for environment in self.environments:
            if not isinstance(environment, Environment):
                raise ValueError(f"environments must contain environments only, got {shown(environment)}")
        if not self.environments or len(self.changes) != len(self.environments) - 1:
            raise ValueError(
                "environments must not be empty, and changes must have one entry fewer than environments,"
                f" got {len(self.changes)} changes and {len(self.environments)} environments"
            )
        if list(self.changes) != sorted({*self.changes} - {0}):
            raise ValueError(f"changes must be increasing integers from 1 on, got {list(self.changes)}")
        last = max(self.changes, default=0)
        self.period = None if period is None else integer("period", period, last + 1)
        first = self.environments[0]
        shapes = {(each.n_arms, each.n_choices) for each in self.environments}
        if len(shapes) > 1:
            raise ValueError(f"environments must agree in (n_arms, n_choices), got {sorted(shapes, key=str)}")
        self.n_arms, self.n_choices, self.means = first.n_arms, first.n_choices, first.means
        lows, highs = zip(*(each.support for each in self.environments), strict=True)
        self.support = (min(lows), max(highs))

    @property
    def sigma(self) -> float:
        return max(each.sigma for each in self.environments)

    @property
    def optimum(self) -> float:  # type: ignore[override]
        return self.environments[0].optimum

    def in_round(self, t: int, rng: np.random.Generator) -> Environment:
        place = t - 1 if self.period is None else (t - 1) % self.period
        return self.environments[bisect_right(self.changes, place)].in_round(t, rng)

    # Outside `in_round`, the sequence is its first environment.

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        return self.environments[0].play(super_arm, rng)

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        return self.environments[0].pull(arms, rng)

    def expected_reward(self, super_arm: IntArray) -> float:
        return self.environments[0].expected_reward(super_arm)

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray | None:
        return self.environments[0].triggering_probabilities(super_arm)
