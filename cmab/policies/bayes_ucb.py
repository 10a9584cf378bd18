"""Bayes-UCB: quantiles of the posteriors."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.declared import interval, real
from cmab.policies._compiled import CompiledIndexPolicy
from cmab.policies.thompson import pack_beta


@dataclass(frozen=True, eq=False)
class BayesUCB(CompiledIndexPolicy):
    """The quantile of each arm's Beta posterior at level ``1 - 1/t``, or at a fixed level.

    Use this policy if choices must be deterministic and outcomes lie in the unit interval. `KLCUCB` is
    similar and needs no prior.

    Prior and posterior are those of `CTS`, but nothing is random. For costs, the index is the quantile at
    ``1/t``, or at one minus `level`. The index keeps the meaning of the prior, unlike an upper confidence
    bound: given the past, a mean is above its index with probability 1/t if the prior is correct. On a large
    network the level ``1 - 1/t`` is too optimistic (see the page on influence). A level of 3/4 is closer to
    the behaviour of `CTS`.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    level : float, optional
        A fixed level in (0, 1). By default the level is ``1 - 1/t``, and 1/2 in round 1.
    prior_mean, prior_weight : float or array_like of shape (n_arms,)
        As in `CTS`. The default is the uniform distribution.
    support : tuple of float
        Interval of the outcomes.

    Examples
    --------
    >>> from cmab import BayesUCB, ArmStatistics, Feedback
    >>> from oracles import TopK
    >>> stats = ArmStatistics.empty(2)
    >>> for _ in range(3):
    ...     stats.update(Feedback([0], [0.0]))
    >>> BayesUCB(TopK(n_arms=2, k=1)).indices(stats, rng=None).round(3)  # Beta(1, 4) and Beta(1, 1), round 4
    array([0.293, 0.75 ])

    References
    ----------
    E. Kaufmann, O. Cappé, A. Garivier: On Bayesian Upper Confidence Bounds for Bandit Problems, AISTATS 2012
    (Algorithm 1 with c = 0, which they use in practice; from memory).
    """

    level: float | None = field(default=None, metadata=real(0.0, 1.0, inside=True, optional=True))
    _: KW_ONLY
    prior_mean: ArrayLike | None = None
    prior_weight: ArrayLike = 2.0
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())

    def rule(self) -> Any:
        from cmab.policies._kernels_shared import bayes_indices

        return bayes_indices

    def parameters(self) -> FloatArray:
        prior = pack_beta(self.oracle, self.support, self.prior_mean, self.prior_weight)
        return np.append(prior, [self.level or 0.0, self.oracle.sign])
