"""What rules for the single best of Gaussian arms share: the stop by likelihood ratios."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property

from cmab.arrays import IntArray
from cmab.confidence.radii import pair_threshold
from cmab.exploration.parameters import check_noise
from cmab.exploration.ruled import RuledExplorer
from cmab.goals import ExploreM, Goal, best_k
from cmab.statistics import ArmStatistics
from cmab.validation import integer


@dataclass(frozen=True, eq=False)
class BestArmRule(RuledExplorer):
    """Base: the stop of `MixtureGLR` for one arm, which is proven for any way of sampling Gaussian arms."""

    n_arms: int
    _: KW_ONLY
    delta: float
    sigma: float = 0.5

    def __post_init__(self) -> None:
        integer("n_arms", self.n_arms, 2)
        check_noise(self.delta, self.sigma)

    @property
    def goal(self) -> Goal:
        """The best arm."""
        return ExploreM(1)

    @cached_property
    def _threshold(self) -> float:
        return pair_threshold(self.n_arms - 1, delta=self.delta)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the best mean."""
        return best_k(state.means, 1)
