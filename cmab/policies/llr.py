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

    Indices are not capped, so it is for linear oracles only. The rule that every arm is first played once,
    in any super arm that contains it, is kept by finite indices: an arm never seen gets more than the
    largest super arm without such arms could be worth. An exact oracle then always answers with a new arm, if
    any super arm holds one, and arms that none holds do no harm.

    For costs it is the mirror image, ``mean - sqrt(...)``, floored at the lower end of `support` because
    oracles for costs (shortest paths) may need them nonnegative. Nothing can be forced into an answer by
    nonnegative costs, so an arm never seen gets the floor, as in `CUCB`, and may stay unseen.

    Parameters
    ----------
    oracle : LinearOracle
        The family of super arms.
    max_super_arm_size : int, optional
        L, the size of the largest super arm; ``oracle.max_size`` if left out.
    support : tuple of float
        Interval of the outcomes; the radius scales with its length.

    Raises
    ------
    ValueError
        If the oracle is not linear, or a parameter is out of its range.

    Examples
    --------
    >>> from cmab import LLR, Feedback, Session
    >>> from oracles import TopK
    >>> session = Session(LLR(TopK(n_arms=4, k=2)), rng=0)
    >>> session.tell(Feedback(session.ask(), outcomes=[1.0, 1.0]))
    >>> session.ask().super_arm
    array([2, 3])

    References
    ----------
    Y. Gai, B. Krishnamachari, R. Jain: Combinatorial Network Optimization with Unknown Variables, IEEE/ACM
    Transactions on Networking 20 (2012), arXiv:1011.4748, Algorithm 1 (checked against a public
    transcription of it).
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
