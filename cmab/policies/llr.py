"""LLR: learning with linear rewards."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.declared import integer, interval
from cmab.policies._compiled import CompiledIndexPolicy
from cmab.validation import shown


@dataclass(frozen=True, eq=False)
class LLR(CompiledIndexPolicy):
    """Learning with linear rewards: ``mean + sqrt((L + 1) ln t / T)`` for an arm observed T times by round t.

    Use this policy only to compare with its paper. `CUCB` has a smaller radius and less regret.

    Indices are not clipped, so the policy is for linear oracles only. The paper first plays every arm once,
    in any super arm that contains it. Here an unobserved arm gets a finite index that is larger than the
    value of any super arm without unobserved arms. As long as a super arm contains unobserved arms, an exact
    oracle therefore returns such a super arm. Arms that no super arm contains have no effect.

    For costs, the index is the mirror image, ``mean - sqrt(...)``. It is at least the lower end of `support`,
    because oracles for costs (shortest paths) may require non-negative costs. Non-negative costs cannot force
    an arm into the answer. An unobserved arm therefore gets the lower end, as in `CUCB`, and may stay
    unobserved.

    Parameters
    ----------
    oracle : LinearOracle
        The family of super arms.
    max_super_arm_size : int, optional
        L, the size of the largest super arm. The default is ``oracle.max_size``.
    support : tuple of float
        Interval of the outcomes. The radius is proportional to its length.

    Raises
    ------
    ValueError
        If the oracle is not linear, or a parameter is out of its range.

    Examples
    --------
    >>> from cmab import Feedback, Session
    >>> from cmab.policies.llr import LLR
    >>> from oracles import TopK
    >>> session = Session(LLR(TopK(n_arms=4, k=2)), rng=0)
    >>> session.tell(Feedback(session.ask(), outcomes=[1.0, 1.0]))
    >>> session.ask().super_arm
    array([2, 3])

    References
    ----------
    Y. Gai, B. Krishnamachari, R. Jain: Combinatorial Network Optimization with Unknown Variables, IEEE/ACM
    Transactions on Networking 20 (2012), arXiv:1011.4748, Algorithm 1 (checked against a public
    transcription).
    """

    max_super_arm_size: int | None = field(default=None, metadata=integer(1, optional=True))
    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())

    def rule(self) -> Any:
        from cmab.policies._kernels_llr import llr_indices

        return llr_indices

    def parameters(self) -> FloatArray:
        if not self.oracle.is_linear:
            raise ValueError(f"oracle must be a LinearOracle, got {shown(self.oracle)}")
        size = self.oracle.max_size if self.max_super_arm_size is None else self.max_super_arm_size
        return np.array([size, self.oracle.sign, *self.support])
