"""Combinatorial Thompson sampling with Gaussian posteriors."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from cmab.arrays import FloatArray
from cmab.declared import interval, one_of, real
from cmab.policies._compiled import CompiledIndexPolicy

Coupling = Literal["independent", "shared", "boosted"]
#: The default factor of each coupling.
_FACTORS: dict[str, float] = {"independent": 1.1, "shared": 0.4, "boosted": 1.0}
#: Used instead of infinity, as in the code of Hu et al.
_HUGE = 1e8


@dataclass(frozen=True, eq=False)
class GaussianCTS(CompiledIndexPolicy):
    """Thompson sampling with Gaussian posteriors, for arms of any scale and for correlated outcomes.

    Use this policy if outcomes have no bounded support, or are correlated within a round.

    Write N for the count of an arm, Z for a standard normal number, f for `variance_factor`, and L for
    `max_size` of the oracle. The index of an arm is its mean plus a random term:

    - ``"independent"`` (CTS-Gaussian): ``Z_i sigma sqrt(f / N)`` with f > 1. Unobserved arms come first. The
      regret is ``O(m log(L)^2 log(T) / gap)`` for independent sub-Gaussian outcomes, plus a constant that is
      exponential in L. For correlated outcomes, `sigma` must bound the row sums of their covariance.
    - ``"shared"`` (CL-SG): ``Z sigma sqrt(f ln t / (N + 1))`` with one Z per round, so that all arms are
      optimistic together. The regret is ``O(sqrt(L m T))`` up to logarithms, for any sets of available arms.
      The mean of an unobserved arm is the worst end of `support`. Without a support, the arm comes first.
    - ``"boosted"`` (BG-CTS): ``Z_i sigma sqrt(g(t) / N)`` with ``g(t) ln t = 2 f (ln t + (L + 2) ln ln t +
      (L / 2) ln(1 + e / (f - 1)))``. The last term is omitted for f = 1, and ``ln t`` is at least 1. An
      unobserved arm comes first or last with equal probability. The regret is
      ``O(sigma^2 m log(L) log(T) / gap)`` plus a polynomial in L. This was the first finite-time bound of
      Thompson sampling without an exponential term.

    These bounds are for linear rewards and exact oracles. Rewards and costs are treated alike. Ties between
    unobserved arms are broken at random, by changes of at most 1e-12 of the support.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    coupling : {"shared", "independent", "boosted"}
        The rule, as above.
    sigma : float, optional
        Sub-Gaussian scale of the outcomes. The default is half the length of `support`.
    variance_factor : float, optional
        The factor f above, positive. The default is 1.1 for ``"independent"`` (the bound holds for any f >
        1), 0.4 for ``"shared"`` (with sigma 1/2 this is gamma = 0.1 of the authors' figures), and 1 for
        ``"boosted"``, where f is ``1 + lambda`` and at least 1.
    support : tuple of float or None
        Interval to which indices are clipped, for oracles that require it. `simulate` rejects outcomes
        outside it. With None, as in the papers, outcomes may be any numbers.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or both `sigma` and `support` are missing.

    Examples
    --------
    >>> from cmab import GaussianCTS, simulate
    >>> from instances import GaussianArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=3, k=1)
    >>> environment = SemiBandit(GaussianArms([20.0, 90.0, 10.0], 15.0), oracle)
    >>> policy = GaussianCTS(oracle, sigma=15.0, support=None)
    >>> simulate(policy, environment, horizon=500, rng=0).super_arms
    [array([1])]

    References
    ----------
    P. Perrault, E. Boursier, V. Perchet, M. Valko: Statistical Efficiency of Thompson Sampling for
    Combinatorial Semi-Bandits, NeurIPS 2020 (the constants from memory).
    B. Hu, J. Pan, Z. Huang: Worst-Case Regret Bounds for Combinatorial Thompson Sampling in Sleeping
    Semi-Bandits, INFOCOM 2026, arXiv:2605.09277 (abstract and the authors' code).
    R. Zhang, R. Combes: Thompson Sampling for Combinatorial Bandits: Polynomial Regret and Mismatched
    Sampling Paradox, NeurIPS 2024, arXiv:2410.05441 (abstract; f and g are from the code of Hu et al.).
    """

    coupling: Coupling = field(default="shared", metadata=one_of(*_FACTORS))
    _: KW_ONLY
    sigma: float | None = field(default=None, metadata=real(0.0, inside=True, optional=True))
    variance_factor: float | None = field(default=None, metadata=real(0.0, inside=True, optional=True))
    support: tuple[float, float] | None = field(default=(0.0, 1.0), metadata=interval(optional=True))
    is_random: ClassVar[bool] = True

    def rule(self) -> Any:
        from cmab.policies import _kernels_gaussian as kernels

        if self.coupling == "shared":
            return kernels.shared_normal_indices
        return kernels.boosted_indices if self.coupling == "boosted" else kernels.independent_indices

    def parameters(self) -> FloatArray:
        factor = _FACTORS[self.coupling] if self.variance_factor is None else self.variance_factor
        if self.coupling == "boosted" and factor < 1.0:
            raise ValueError(
                f"variance_factor must be at least 1 with coupling='boosted', got {self.variance_factor!r}"
            )
        low, high = self.support or (-np.inf, np.inf)
        if self.sigma is None and self.support is None:
            raise ValueError("sigma must be given if support is None, got None")
        sigma = (high - low) / 2 if self.sigma is None else self.sigma
        sign, best, worst = self.oracle.sign, *((high, low) if self.oracle.sense == "max" else (low, high))
        # With a support, an unobserved arm of CL-SG has the worst mean, as in the authors' code, and its
        # width makes it optimistic. Without one, it comes first, except in BG-CTS, whose width is huge.
        if self.coupling == "boosted":
            unseen = 0.0 if self.support is None else worst
        elif self.support is None:
            unseen = sign * _HUGE * sigma
        else:
            unseen = worst if self.coupling == "shared" else best
        return np.array([sigma, factor, self.oracle.max_size, _HUGE, low, high, unseen])
