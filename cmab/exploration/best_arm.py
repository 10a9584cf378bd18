"""What rules for the single best arm share: the stop by likelihood ratios."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from cmab.arrays import IntArray
from cmab.exploration.likelihood import LikelihoodStop
from cmab.goals import best_k
from cmab.statistics import ArmStatistics
from cmab.validation import integer


@dataclass(frozen=True, eq=False)
class BestArmRule(LikelihoodStop):
    """Base: the stop of `BestKGLR` for one arm, which is proven for any way of sampling."""

    n_arms: int
    _: KW_ONLY

    def __post_init__(self) -> None:
        integer("n_arms", self.n_arms, 2)
        super().__post_init__()

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the best mean."""
        return best_k(state.means, 1)
