"""CombLinTS: Thompson sampling for means that are linear in features of the arms."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import FloatArray
from cmab.declared import real
from cmab.linear.statistics import LinearStatistics
from cmab.policies.linear import LinearPolicy


@dataclass(frozen=True, eq=False, repr=False)
class CombLinTS(LinearPolicy):
    """CombLinTS: Thompson sampling of the coefficients of linear means.

    Use this policy if means are linear in features and choices may be random. `C2UCB` is the deterministic
    alternative.

    In each round theta is drawn from ``N(V^-1 b, (deviation_factor sigma)^2 V^-1)``, and the oracle receives
    ``x . theta`` for each arm with features x, clipped to `support`. With a factor of 1, this is the
    posterior for Gaussian outcomes of scale sigma and the prior ``N(0, sigma^2 / ridge)`` of each
    coefficient. The Bayesian regret is then ``O(K d sqrt(T))`` up to logarithms, independent of the number of
    arms. One draw of d numbers determines all indices, so arms with similar features are optimistic together.

    With ``features=np.eye(n_arms)``, a tiny `ridge` and ``deviation_factor=math.sqrt(1.1)``, observed arms
    have the indices of `GaussianCTS` with independent draws and ``variance_factor=1.1``.

    Parameters
    ----------
    oracle, features, dimension, groups, ridge, norm, sigma, support
        As in `LinearPolicy`. For lambda and sigma of the paper, pass ``ridge = sigma^2 / lambda^2``.
    deviation_factor : float
        Factor of the standard deviation of the draws. With 1, they are draws from the posterior.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or features are of a wrong shape, not finite or too long.

    Notes
    -----
    A round takes O(d^3 + m d^2) operations for m arms with d features each, and O(d^2) numbers of memory.
    With one feature for each arm, 1,000 arms take 0.1 s per round on one core.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import CombLinTS, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle, features = TopK(4, k=1), np.array([[0.1, 0.9], [0.5, 0.5], [0.9, 0.1], [0.3, 0.3]])
    >>> environment = SemiBandit(BernoulliArms(features @ [0.2, 0.8]), oracle)
    >>> simulate(CombLinTS(oracle, features), environment, horizon=300, rng=0).super_arms
    [array([0])]

    References
    ----------
    Z. Wen, B. Kveton, A. Ashkan: Efficient Learning in Large-Scale Combinatorial Semi-Bandits, ICML 2015,
    Algorithm 1 and Theorem 1 (from memory).
    """

    _: KW_ONLY
    deviation_factor: float = field(default=1.0, metadata=real(0.0, inside=True))

    def indices(self, state: LinearStatistics, features: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return ``x . theta`` of each arm for a newly drawn theta."""
        posterior = state.posterior()
        # Wen et al. (2015), Algorithm 1: theta ~ N(mean, Sigma) with Sigma = sigma^2 V^-1.
        drawn = posterior.draw(self.deviation_factor * self.scale, rng)
        return posterior._replace(theta=drawn).means(features, self._groups)
