"""HYBRID: nearly the best of both worlds on sets of k arms."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import FloatArray
from cmab.declared import interval, real
from cmab.oracle import LinearOracle
from cmab.policies._compiled import CompiledIndexPolicy
from cmab.renamed import find as __getattr__  # noqa: F401


@dataclass(frozen=True, eq=False)
class HybridFTRL(CompiledIndexPolicy):
    """HYBRID, for sets of k of m arms: regret O(ln T) if outcomes are random, O(sqrt(k m T)) whatever comes.

    It estimates the cumulative loss of each arm, and draws a super arm whose marginal probabilities x
    minimise the estimated loss and ``sqrt(t) * sum of -sqrt(x) + gamma (1 - x) ln(1 - x)`` over all x that
    sum to k. A loss in [-1, 1] that was seen is estimated by ``(loss + 1) / x``. Means of arms may move as an
    adversary likes, as long as he does not look at what is drawn.

    Estimates take the x of the round in which feedback comes in: with late feedback they are biased, and
    nothing is proven; nor where a context leaves arms out.

    Parameters
    ----------
    oracle : LinearOracle
        With a `uniform_size`, such as `TopK`: its super arms are the sets of k arms.
    gamma : float, optional
        Weight of the second term; if left out, 1 where k is at most m / 2, and ``min(1, 1 / sqrt(ln(m / (m -
        k))))`` otherwise.
    support : tuple of float
        Interval of the outcomes, which losses in [-1, 1] stand for.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or the super arms are not all sets of k arms.

    Examples
    --------
    >>> from cmab import HybridFTRL, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=4, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.1, 0.9, 0.2, 0.8]), oracle)
    >>> result = simulate(HybridFTRL(oracle), environment, horizon=2000, rng=0)
    >>> bool(result.regret[0, -1] < 200)
    True

    References
    ----------
    J. Zimmert, H. Luo, C.-Y. Wei: Beating Stochastic and Adversarial Semi-bandits Optimally and
    Simultaneously, ICML 2019: Algorithm 1 with the learning rate ``1 / sqrt(t)`` (by the authors' code,
    which has ``ln k`` in place of ``ln(m / (m - k))`` in gamma). The draw is ours, systematic sampling: only
    marginals matter to the regret.
    """

    _: KW_ONLY
    gamma: float | None = field(default=None, metadata=real(0.0, inside=True, optional=True))
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    is_random: ClassVar[bool] = True
    memory_parameters: ClassVar[tuple[str, ...]] = ("gamma", "support")

    def rule(self) -> Any:
        """Return the compiled rule, which draws."""
        from cmab.policies._kernels_hybrid import drawn_indices

        return drawn_indices

    def learning_rule(self) -> Any:
        """Return the compiled rule that estimates losses."""
        from cmab.policies._kernels_hybrid import learn_losses

        return learn_losses

    def memory(self) -> FloatArray:
        """Return no losses, equal marginals, and the multiplier to start from."""
        m, (k, *_) = self.oracle.n_arms, self.parameters()
        return np.concatenate([np.zeros(m), np.full(m, k / m), [0.0]])

    def parameters(self) -> FloatArray:
        if not isinstance(self.oracle, LinearOracle) or self.oracle.uniform_size is None:
            raise ValueError(
                f"oracle must have all sets of k arms for HybridFTRL (uniform_size), got {self.oracle!r}"
            )
        m, k = self.oracle.n_arms, self.oracle.uniform_size
        # Zimmert et al. (2019), section 4.2 (from memory): 1 up to m / 2.
        default = 1.0 if 2 * k <= m or k == m else min(1.0, 1.0 / math.sqrt(math.log(m / (m - k))))
        gamma = default if self.gamma is None else self.gamma
        return np.array([k, gamma, self.oracle.sign, *self.support])
