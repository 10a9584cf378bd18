"""CUCB for means that change over time: the weight of an outcome decreases with every round."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import FloatArray
from cmab.declared import interval, real
from cmab.policies._compiled import CompiledIndexPolicy


@dataclass(frozen=True, eq=False)
class DiscountedCUCB(CompiledIndexPolicy):
    """CUCB with discounted counts and means: an outcome from s rounds ago has the weight ``discount**s``.

    Use this policy if means drift slowly, or change often at unknown times.

    In every round the counts of all arms are multiplied by the discount. The radius of an arm that is not
    observed therefore grows, and the policy plays the arm again. The index is
    ``min(mean + sqrt(3 ln n / 2 N), 1)`` with the discounted mean and count N of the arm and the discounted
    number n of rounds, including the current one. The policy remembers about ``1 / (1 - discount)`` rounds.
    With a discount of 1 it equals `CUCB` bit for bit. For costs, the index is the mirror image.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    discount : float
        Factor of the weights per round, in (0, 1]. For S changes in T rounds, theory suggests
        ``1 - sqrt(S / T) / 4``.
    radius_factor : float
        Factor of the radius. Regret bounds require at least 1, but smaller values are common in practice.
    support : tuple of float
        Interval of the outcomes. Indices are clipped to it, and the radius is proportional to its length.

    Examples
    --------
    >>> from cmab import CUCB, DiscountedCUCB, simulate
    >>> from instances import BernoulliArms, PiecewiseStationary, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=4, k=1)
    >>> means = [0.1, 0.6, 0.2, 0.5], [0.9, 0.6, 0.2, 0.5]
    >>> before, after = (SemiBandit(BernoulliArms(p), oracle) for p in means)
    >>> environment = PiecewiseStationary([before, after], changes=[1000])
    >>> plain = simulate(CUCB(oracle, radius_factor=0.3), environment, 2000, rng=0)
    >>> rule = DiscountedCUCB(oracle, discount=0.998, radius_factor=0.3)
    >>> discounted = simulate(rule, environment, 2000, rng=0)
    >>> bool(plain.regret[:, -1].mean() > 2 * discounted.regret[:, -1].mean())
    True

    References
    ----------
    A. Garivier, E. Moulines: On Upper-Confidence Bound Policies for Switching Bandit Problems, ALT 2011,
    section 2 (D-UCB), with one discounted mean for each base arm and CUCB's radius.
    """

    discount: float = field(default=0.99, metadata=real(0.0, 1.0))
    _: KW_ONLY
    radius_factor: float = field(default=1.0, metadata=real(0.0))
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    memory_parameters: ClassVar[tuple[str, ...] | None] = ("discount",)

    def memory(self) -> FloatArray:
        """Return the initial discounted counts, means and number of rounds."""
        return np.zeros(2 * self.oracle.n_arms + 1)

    def rule(self) -> Any:
        from cmab.policies._kernels_discounted import discounted_bounds

        return discounted_bounds

    def learning_rule(self) -> Any:
        from cmab.policies._kernels_discounted import discount

        return discount

    def parameters(self) -> FloatArray:
        if self.discount == 0.0:
            raise ValueError(f"discount must lie in (0, 1], got {self.discount!r}")
        low, high = self.support
        # In the order of the positions DISCOUNT to HIGH.
        return np.array([self.discount, self.radius_factor * (high - low), self.oracle.sign, low, high])
