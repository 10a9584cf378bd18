"""KL-CUCB: optimism based on relative entropy."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.declared import interval, real
from cmab.policies._compiled import CompiledIndexPolicy


@dataclass(frozen=True, eq=False)
class KLCUCB(CompiledIndexPolicy):
    """CUCB with KL-UCB's index: the largest q in [mean, 1] with ``T kl(mean, q) <= ln t + c ln ln t``.

    Use this policy if equal states must give equal answers and no prior is known. In the arena, only
    `BayesUCB` has less regret among the deterministic rules without tuned parameters.

    Here kl is the relative entropy of Bernoulli variables. The bound is valid for all outcomes in [0, 1].
    Unobserved arms get 1. For costs (``oracle.sense == "min"``) the rule is the mirror image: the smallest q
    in [0, mean], and 0 for unobserved arms. ``ln ln t`` is replaced by 0 in rounds 1 and 2. Outcomes and
    bounds are rescaled to `support`.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    loglog : float
        The constant c above: 3 in the analysis of KL-UCB, 0 in practice.
    support : tuple of float
        Interval of the outcomes.

    Examples
    --------
    >>> from cmab import KLCUCB, Feedback, Session
    >>> from oracles import TopK
    >>> session = Session(KLCUCB(TopK(n_arms=4, k=2)), rng=0)
    >>> session.ask().super_arm
    array([0, 1])
    >>> session.tell(Feedback(arms=[0, 1], outcomes=[0.0, 1.0], reward=1.0))
    >>> session.policy.indices(session.state, session.rng)
    array([0.5, 1. , 1. , 1. ])

    References
    ----------
    A. Garivier, O. Cappé: The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond, COLT 2011,
    Algorithm 1. R. Combes, M. S. Talebi, A. Proutiere, M. Lelarge: Combinatorial Bandits Revisited, NIPS 2015
    (there the bound is for the sum over a super arm, ESCB-1).
    """

    loglog: float = field(default=0.0, metadata=real(0.0))
    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())

    def rule(self) -> Any:
        from cmab.policies._kernels_confidence import entropy_indices

        return entropy_indices

    def parameters(self) -> FloatArray:
        return np.array([self.oracle.sign, *self.support, self.loglog])
