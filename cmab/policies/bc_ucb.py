"""BC-UCB: optimism based on empirical variances."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.declared import interval
from cmab.policies._compiled import CompiledIndexPolicy


@dataclass(frozen=True, eq=False)
class BCUCB(CompiledIndexPolicy):
    """Bernstein's bound for each arm: ``mean + sqrt(6 V ln t / T) + 9 ln t / T``, V the empirical variance.

    The last term is multiplied by the length of `support`. Indices are clipped to `support`, and unobserved
    arms get its best end. For costs, the rule is the mirror image. If rewards are smooth in the variances, as
    for cascades and influence, the regret bound does not grow with the number of arms triggered at once. The
    last term exceeds the whole support until an arm has been observed ``9 ln t`` times. The policy is
    therefore for long runs and for arms with outcomes that vary little.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    support : tuple of float
        Interval of the outcomes.

    Examples
    --------
    >>> from cmab import ArmStatistics, Feedback
    >>> from cmab.policies.bc_ucb import BCUCB
    >>> from oracles import TopK
    >>> stats = ArmStatistics.empty(2)
    >>> for _ in range(99):
    ...     stats.update(Feedback([0], [0.1]))
    >>> BCUCB(TopK(n_arms=2, k=1)).indices(stats, rng=None).round(3)
    array([0.519, 1.   ])

    References
    ----------
    N. Merlis, S. Mannor: Batch-Size Independent Regret Bounds for the Combinatorial Multi-Armed Bandit
    Problem, COLT 2019. X. Liu et al.: Batch-Size Independent Regret Bounds for Combinatorial Semi-Bandits
    with Probabilistically Triggered Arms or Independent Arms, NeurIPS 2022 (BCUCB-T). The constants were read
    in X. Liu et al.: Offline Learning for Combinatorial Multi-armed Bandits, ICML 2025, appendix C.
    """

    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())

    def rule(self) -> Any:
        from cmab.policies._kernels_confidence import bernstein_indices

        return bernstein_indices

    def parameters(self) -> FloatArray:
        return np.array([self.oracle.sign, *self.support])
