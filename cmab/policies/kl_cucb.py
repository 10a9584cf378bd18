"""KL-CUCB: optimism by relative entropy."""

# ruff: noqa: ARG001 - all index rules have the same arguments.

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.policies._compiled import CompiledIndexPolicy
from cmab.rules import compiled_rule
from cmab.validation import real

if TYPE_CHECKING:
    from cmab.confidence._kernels_kl import kl_lower, kl_upper
    from cmab.confidence._kernels_radii import log_term

#: Places in `reals`.
LOGLOG, SIGN = range(2)


@compiled_rule(
    "index",
    "cmab.confidence._kernels_kl:kl_lower",
    "cmab.confidence._kernels_kl:kl_upper",
    "cmab.confidence._kernels_radii:log_term",
)
def entropy_indices(
    counts: IntArray,
    means: FloatArray,
    deviations: FloatArray,
    memory: FloatArray,
    t: int,
    reals: FloatArray,
    rng: np.random.Generator,
    out: FloatArray,
) -> None:
    """Write KL-CUCB's indices for round t."""
    # Garivier and Cappé (2011), Algorithm 1, line 6.
    level = log_term(t, 1.0, reals[LOGLOG])
    is_max = reals[SIGN] > 0.0
    for i in range(counts.shape[0]):
        if counts[i] == 0:
            out[i] = 1.0 if is_max else 0.0
        elif is_max:
            out[i] = kl_upper(means[i], level / counts[i])
        else:
            out[i] = kl_lower(means[i], level / counts[i])


@dataclass(frozen=True, eq=False)
class KLCUCB(CompiledIndexPolicy):
    """CUCB with KL-UCB's index: the largest q in [mean, 1] with ``T kl(mean, q) <= ln t + c ln ln t``.

    kl is the relative entropy of Bernoulli variables; the bound holds for all outcomes in [0, 1]. For costs
    (``oracle.sense == "min"``) it is the mirror image, the least q in [0, mean]; arms never seen get 1 (0).
    ``ln ln t`` counts as 0 in rounds 1 and 2.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    c : float
        Factor on ln ln t: 3 in KL-UCB's analysis, 0 in practice.

    Raises
    ------
    ValueError
        If `c` is negative or not finite.

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
    (there the bound is on the sum over a super arm, ESCB-1).
    """

    # No annotation: a constant, not a parameter.
    support = (0.0, 1.0)
    c: float = 0.0

    def rule(self) -> Any:
        """Return the compiled rule."""
        return entropy_indices()

    def parameters(self) -> FloatArray:
        """Return the checked parameters of the rule."""
        return np.array([real("c", self.c, 0.0), 1.0 if self.oracle.sense == "max" else -1.0])
