"""Semi-bandits with arms that consume resources: bandits with knapsacks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from cmab import Feedback
from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.bounds import best_mixture
from cmab.compiled import Kernel
from cmab.oracle import LinearOracle, check_super_arm
from cmab.validation import listed, shown, vector
from instances.arms import Arms, SemiBandit


class ResourceSemiBandit(SemiBandit):
    """A semi-bandit in which each played arm consumes a random amount in [0, 1] of each resource.

    `Feedback.costs` has the consumption of each arm, which is independent of its reward. An empty super arm
    is allowed; it has no reward and no consumption.

    Parameters
    ----------
    arms : Arms
        Distributions of the rewards of the base arms.
    oracle : LinearOracle
        The family of super arms.
    uses : iterable of Arms
        For each resource, the distributions of the consumption by each base arm, in [0, 1].
    allowance : array_like, shape (n_resources,), optional
        The allowed mean consumption of each resource per round, budget / horizon. The optimum is then that of
        the best mixture of super arms within the allowance (`cmab.bounds.best_mixture`), which is the
        benchmark of bandits with knapsacks. A single super arm that exceeds the allowance may have a larger
        reward. If None, the optimum is that of the best super arm, whatever it consumes.

    Raises
    ------
    ValueError
        If the oracle is not linear; if there is an allowance and the oracle is not exact or minimises; if
        `arms`, `uses` and `oracle` have different numbers of arms; or if `uses` may be outside [0, 1].
    TypeError
        If `arms` is not an `Arms`.

    Examples
    --------
    >>> import numpy as np
    >>> from instances import BernoulliArms, ResourceSemiBandit
    >>> from oracles import TopK
    >>> uses = [BernoulliArms([1.0, 0.1])]
    >>> place = ResourceSemiBandit(BernoulliArms([0.9, 0.3]), TopK(2, k=1), uses=uses, allowance=[0.5])
    >>> round(place.optimum, 3)
    0.567
    >>> place.play(np.array([0]), np.random.default_rng(0)).costs
    array([[1.]])

    References
    ----------
    A. Badanidiyuru, R. Kleinberg, A. Slivkins: Bandits with Knapsacks, FOCS 2013; K. A. Sankararaman,
    A. Slivkins: Combinatorial Semi-Bandits with Knapsacks, AISTATS 2018.
    """

    def __init__(
        self, arms: Arms, oracle: LinearOracle, *, uses: Iterable[Arms], allowance: ArrayLike | None = None
    ) -> None:
        super().__init__(arms, oracle)
        given: list[object] = list(listed("uses", uses, "arms"))
        for use in given:
            if not isinstance(use, Arms) or use.n_arms != self.n_arms:
                raise ValueError(f"uses must be Arms with {self.n_arms} base arms each, got {shown(use)}")
            if not 0.0 <= use.support[0] <= use.support[1] <= 1.0:
                raise ValueError(f"uses must be in [0, 1], got {use!r} with outcomes in {use.support}")
        if not given:
            raise ValueError("uses must have the arms of at least one resource, got none")
        self.uses = tuple(use for use in given if isinstance(use, Arms))
        self.allowance = None if allowance is None else vector("allowance", allowance, len(self.uses), 0.0)

    @property
    def costs(self) -> FloatArray:
        """Mean consumption of each resource by each base arm, shape (n_resources, n_arms)."""
        return np.array([use.means for use in self.uses])

    @cached_property
    def optimum(self) -> float:  # type: ignore[override]
        """Expected reward per round of the best mixture within the allowance, or of the best super arm."""
        if self.allowance is None:
            return super().optimum
        return best_mixture(self.oracle, self.means, self.costs, self.allowance).value

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Play `super_arm`, which may be empty; raise ``ValueError`` if it is not feasible."""
        arms = self._check_super_arm(super_arm)
        if len(arms):
            check_super_arm(self.oracle, arms)
        earned = self.arms.play(arms, rng)
        # Each resource takes one random number per round, whatever is played: common random numbers.
        costs = np.stack([use.play(arms, rng).outcomes for use in self.uses], axis=1)
        return Feedback(earned.arms, earned.outcomes, reward=earned.reward, costs=costs)

    def kernel(self) -> Kernel | None:
        """Return None, because compiled loops do not support resources."""
        return None
