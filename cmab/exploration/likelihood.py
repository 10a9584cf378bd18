"""The base class of explorers that stop by likelihood ratios."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from cmab.arrays import IntArray
from cmab.confidence.radii import pair_threshold
from cmab.declared import one_of
from cmab.exploration.parameters import EPSILON, POSITIVE, PROVEN_OR_NOT
from cmab.exploration.ruled import RuledExplorer
from cmab.exploration.sampling import BestK
from cmab.statistics import ArmStatistics

Family = Literal["gaussian", "bernoulli"]
LikelihoodMode = Literal["faithful", "heuristic"]
# The sub-Gaussian scale of outcomes in [0, 1] by Hoeffding's lemma, and the default of all explorers.
_UNIT = 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class LikelihoodStop(RuledExplorer, BestK):
    """Base class of explorers that stop on likelihood ratios of all pairs of arms.

    The run stops when the evidence shows that every returned arm is better than every other arm less
    `epsilon`.
    """

    sigma: float = field(default=_UNIT, metadata=POSITIVE)
    epsilon: float = field(default=0.0, metadata=EPSILON)
    family: Family = field(default="gaussian", metadata=one_of("gaussian", "bernoulli"))
    mode: LikelihoodMode = field(default="faithful", metadata=PROVEN_OR_NOT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.family == "bernoulli":
            if self.sigma != _UNIT:
                raise ValueError(f"sigma must be omitted if family is 'bernoulli', got {self.sigma:g}")
            object.__setattr__(self, "support", (0.0, 1.0))

    @property
    def is_proven(self) -> bool:
        """Whether the explorer uses the proven threshold."""
        return self.mode == "faithful"

    def witness(self, state: ArmStatistics, named: IntArray) -> tuple[int, int] | None:
        """Return the pair with the least difference between its evidence and its threshold."""
        from cmab.exploration._kernels_evidence import pair_evidence, penalty

        reals, counts, means = np.array(self._stop), state.counts, state.means
        if len(self.unseen(state)):
            return None
        penalties = [penalty(mean, count, reals) for mean, count in zip(means, counts, strict=True)]

        def excess(pair: tuple[int, int]) -> float:
            i, j = pair
            spread = 1.0 / counts[i] + 1.0 / counts[j]
            own = pair_evidence(means[i], means[j], counts[i], counts[j], spread, reals)
            return float(own - penalties[i] - penalties[j])

        others = np.setdiff1d(np.arange(self.n_arms), named)
        return min(((int(i), int(j)) for i in named for j in others), key=excess)

    @cached_property
    def _threshold(self) -> float:
        """The part of the threshold of a pair that does not depend on the counts.

        A wrong answer needs a wrong pair, and each pair is wrong with probability at most delta / pairs.
        """
        pairs = self.k * (self.n_arms - self.k)
        if self.mode == "heuristic":
            return -math.log(self.delta)
        if self.family == "bernoulli":
            return math.log(pairs / self.delta)
        return pair_threshold(pairs, delta=self.delta)

    @property
    def _stop(self) -> list[float]:
        """The first parameters of the compiled rule."""
        sigma = 0.0 if self.family == "bernoulli" else self.sigma
        return [sigma, self._threshold, self.epsilon, float(self.mode == "heuristic")]
