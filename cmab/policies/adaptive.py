"""The learner to begin with: Thompson sampling that learns its prior and the scale of the outcomes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.declared import interval
from cmab.policies._compiled import CompiledIndexPolicy
from cmab.policies.hierarchical import MEANS, WEIGHTS, group_labels, pack_grid


@dataclass(frozen=True, eq=False)
class AdaptiveCTS(CompiledIndexPolicy):
    """Thompson sampling that learns its prior and the scale of the outcomes. It needs no parameters.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    groups : array_like of int, shape (n_arms,), optional
        Label of each arm's group. The default is `Oracle.arm_groups`, which oracles of influence define by
        the in-degree of the head of an arc. If the oracle defines no groups, all arms form one group.
    support : tuple of float
        Interval of the outcomes. Outcomes outside count as its nearest end.

    Examples
    --------
    >>> from cmab import AdaptiveCTS, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=6, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.1, 0.9, 0.2, 0.8, 0.1, 0.2]), oracle)
    >>> simulate(AdaptiveCTS(oracle), environment, horizon=500, rng=0).super_arms
    [array([1, 3])]
    """

    groups: ArrayLike | None = None
    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    is_random: ClassVar[bool] = True
    memory_parameters: ClassVar[tuple[str, ...] | None] = ("groups", "support")

    def rule(self) -> Any:
        from cmab.policies._kernels_adaptive import adaptive_indices

        return adaptive_indices

    def learning_rule(self) -> Any:
        """Return the compiled update rule of the priors."""
        from cmab.policies._kernels_adaptive import learn_weights

        return learn_weights

    def memory(self) -> FloatArray:
        """Return equal weights for all points of the grid of each group, and no outcomes."""
        n_groups, n_points = int(self._reals[2]), int(self._reals[3])
        return np.concatenate([np.ones(n_groups * n_points), np.zeros(2 * self.oracle.n_arms)])

    def parameters(self) -> FloatArray:
        labels = group_labels(self.oracle, self.groups)
        return pack_grid(self.support, np.array(MEANS), np.array(WEIGHTS), labels)


#: The learner to begin with.
Learner = AdaptiveCTS
