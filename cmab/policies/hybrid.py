"""HYBRID: nearly optimal for stochastic and for adversarial outcomes, on sets of k arms."""

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
    """HYBRID for sets of k of m arms: regret O(ln T) for stochastic outcomes, O(sqrt(k m T)) for all.

    The policy estimates the cumulative loss of each arm, and draws a super arm with marginal probabilities x.
    These minimise the estimated loss plus ``sqrt(t) * sum of -sqrt(x) + gamma (1 - x) ln(1 - x)`` over all x
    with sum k. An observed loss in [-1, 1] is estimated by ``(loss + 1) / x``. An adversary may change the
    means of the arms, but must not see the draws.

    Estimates use the x of the round in which the feedback arrives. Delayed feedback is therefore biased, and
    has no guarantee. Contexts that exclude arms have no guarantee either.

    Parameters
    ----------
    oracle : LinearOracle
        A family of all sets of k arms, such as `TopK` (its `uniform_size` is k).
    gamma : float, optional
        Weight of the second term. The default is 1 if k is at most m / 2, and ``min(1, 1 / sqrt(ln(m / (m -
        k))))`` otherwise.
    support : tuple of float
        Interval of the outcomes. It is mapped to losses in [-1, 1].

    Raises
    ------
    ValueError
        If a parameter is out of its range, or the super arms are not all sets of k arms.

    Examples
    --------
    >>> from cmab import simulate
    >>> from cmab.policies.hybrid import HybridFTRL
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
    which has ``ln k`` instead of ``ln(m / (m - k))`` in gamma). We draw by systematic sampling, because the
    regret depends only on the marginals.
    """

    _: KW_ONLY
    gamma: float | None = field(default=None, metadata=real(0.0, inside=True, optional=True))
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    is_random: ClassVar[bool] = True
    memory_parameters: ClassVar[tuple[str, ...]] = ("gamma", "support")
    #: The indices mark the drawn arms, so that values and costs would have no effect or a wrong one.
    understood: ClassVar[tuple[str, ...]] = ("available",)

    def rule(self) -> Any:
        """Return the compiled index rule, which draws."""
        from cmab.policies._kernels_hybrid import drawn_indices

        return drawn_indices

    def learning_rule(self) -> Any:
        """Return the compiled update rule of the loss estimates."""
        from cmab.policies._kernels_hybrid import learn_losses

        return learn_losses

    def memory(self) -> FloatArray:
        """Return losses of 0, equal marginals, and the initial multiplier."""
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
