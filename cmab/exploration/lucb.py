"""LUCB: the least certain arm of the best k against the most promising of the others.

The rules differ in three choices: the radius for each side, which of the two critical arms to sample, and
when to stop.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.compiled.forms import ExplorerKernel, Rule
from cmab.confidence.radii import MODE, Mode, around, lil_parameters, lil_radii, lucb1_radii
from cmab.exploration.parameters import EPSILON, POSITIVE
from cmab.exploration.ruled import RuledExplorer
from cmab.exploration.sampling import BestK
from cmab.statistics import ArmStatistics


class Pair(NamedTuple):
    """The critical arm of either side, and by how much the other side may still be better."""

    high: int
    low: int
    gap: float


def best_mask(means: FloatArray, k: int) -> BoolArray:
    """Mark the `k` best means; ties go to the lower index."""
    from cmab.compiled._kernels_select import mark_best

    is_high = np.empty(len(means), np.bool_)
    mark_best(means, k, is_high)
    return is_high


class LUCBRule(BestK):
    """Base for rules of one's own: a subclass says what the bounds are, and whether one of the pair is drawn.

    Examples
    --------
    >>> from cmab import LUCBRule, identify
    >>> from cmab.confidence import kl_bounds, kl_rate
    >>> from instances import BernoulliArms
    >>> class Entropy(LUCBRule):
    ...     support = (0.0, 1.0)
    ...     def bounds(self, state, is_high):
    ...         rate = kl_rate(self.n_arms, state.rounds, delta=self.delta)
    ...         return kl_bounds(state.means, state.counts, rate=rate)
    >>> identify(Entropy(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]
    """

    one_arm: ClassVar[bool] = False

    @abstractmethod
    def bounds(self, state: ArmStatistics, is_high: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper bound of each arm; `is_high` marks the k best means."""

    def pair(self, state: ArmStatistics) -> Pair:
        """Return the critical pair; ties go to the lower index."""
        from cmab.exploration._kernels_lucb import critical_pair

        is_high = best_mask(state.means, self.k)
        return Pair(*critical_pair(*self.bounds(state, is_high), is_high))

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return both critical arms; if `one_arm`, only one, the high one with odds ``T_low : T_high``."""
        from cmab.exploration._kernels_lucb import choose_critical

        pair, chosen = self.pair(state), np.empty(2, np.int64)
        coin = rng.random() if self.one_arm else 0.0
        return chosen[: choose_critical(pair.high, pair.low, int(self.one_arm), state.counts, coin, chosen)]

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        return self.bounds(state, best_mask(state.means, self.k))

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether the intervals of the two sides do not overlap."""
        return self.pair(state).gap <= 0.0


class RadiusRule(LUCBRule):
    """The rules whose intervals lie around the mean: a subclass says what the radii are.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import RadiusRule, identify
    >>> from instances import BernoulliArms
    >>> class Simple(RadiusRule):
    ...     sigma = 0.5
    ...     def radii(self, state, is_high):
    ...         return np.sqrt(np.log(4 * self.n_arms * state.counts**2 / self.delta) / (2 * state.counts))
    >>> identify(Simple(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]
    """

    @abstractmethod
    def radii(self, state: ArmStatistics, is_high: BoolArray) -> FloatArray:
        """Return the radius of each arm; `is_high` marks the k best means."""

    def bounds(self, state: ArmStatistics, is_high: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the means less and plus their radii."""
        radii = self.radii(state, is_high)
        return state.means - radii, state.means + radii


@dataclass(frozen=True, eq=False, kw_only=True)
class LUCB1(RuledExplorer, BestK):
    """LUCB1 (Kalyanakrishnan et al. 2012): a radius with a clock, both critical arms, Explore-m.

    With probability at least ``1 - delta`` every returned arm has a mean of at least the k-th largest less
    `epsilon`. The clock counts decisions.

    Parameters
    ----------
    n_arms, k : int
        Number of arms, and how many to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance, 0 for the best k exactly.
    sigma : float
        Sub-Gaussian scale of the outcomes; half the length of their support will do.

    Examples
    --------
    >>> from cmab import LUCB1, identify
    >>> from instances import BernoulliArms
    >>> identify(LUCB1(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]

    References
    ----------
    S. Kalyanakrishnan, A. Tewari, P. Auer, P. Stone: PAC Subset Selection in Stochastic Multi-armed
    Bandits, ICML 2012, section 3.
    """

    epsilon: float = field(default=0.0, metadata=EPSILON)
    sigma: float = field(default=0.5, metadata=POSITIVE)

    def rule(self) -> Rule:
        """Return the compiled rule: a scan of all arms, for the clock moves every radius."""
        from cmab.exploration._kernels_lucb import lucb1_rule

        return lucb1_rule(self.k, self.delta, self.sigma, self.epsilon)

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the means less and plus the radii of this round."""
        return around(
            state.means, lucb1_radii(state.counts, state.rounds, delta=self.delta, sigma=self.sigma)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class LilLUCB(RuledExplorer, BestK):
    """lil'LUCB (Jamieson and Nowak 2014): one lil radius for all arms, both critical arms sampled.

    Parameters
    ----------
    n_arms, k : int
        Number of arms, and how many to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    mode : {"faithful", "paper", "heuristic"}
        "faithful" proves an error of at most `delta`; so does "paper", with the theorem's cruder constant;
        "heuristic" takes far fewer samples, proves nothing, so certifies nothing, and may never stop.

    Examples
    --------
    >>> from cmab import LilLUCB, identify
    >>> from instances import GaussianArms
    >>> identify(LilLUCB(3, k=1, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    K. Jamieson, R. Nowak: Best-arm identification algorithms for multi-armed bandits in the fixed
    confidence setting, CISS 2014.
    """

    sigma: float = field(default=0.5, metadata=POSITIVE)
    mode: Mode = field(default="faithful", metadata=MODE)

    #: 0 for both critical arms, 1 for one at random, 2 for the one of fewer samples.
    one_arm: ClassVar[int] = 0
    in_kernel = (*RuledExplorer.in_kernel, "rule")

    @property
    def is_proven(self) -> bool:
        return self.mode != "heuristic"

    @cached_property
    def _levels(self) -> tuple[float, float, float]:
        """The lil exponent, and the level of an arm of the k best and of another."""
        epsilon, level = lil_parameters(self.mode, delta=self.delta, sides=(self.n_arms,), n_sides=1.0)
        return epsilon, level / self.n_arms, level / self.n_arms

    def rule(self) -> Rule:
        """Return the compiled rule: a scan of all arms."""
        from cmab.exploration._kernels_lucb import lil_rule

        epsilon, *levels = self._levels
        return lil_rule(self.k, self.one_arm, epsilon, self.sigma, *levels)

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the means less and plus the radii, which differ on the two sides."""
        epsilon, high, low = self._levels
        levels = np.where(best_mask(state.means, self.k), high, low)
        return around(state.means, lil_radii(state.counts, levels, epsilon=epsilon, sigma=self.sigma))

    def kernel(self) -> ExplorerKernel:
        """Return the same rule over tournament trees: O(log n_arms) a sample."""
        from cmab.exploration._kernels_lucb_trees import explore_lil_trees, lil_trees

        epsilon, *levels = self._levels
        return ExplorerKernel(
            explore_lil_trees, (lil_trees(self.k, self.one_arm, epsilon, self.sigma, *levels),)
        )

    def scan_kernel(self) -> ExplorerKernel | None:
        """Return the loop that looks at every arm before each sample: the yardstick of the trees."""
        return super().kernel()


@dataclass(frozen=True, eq=False)
class LUCBPlusPlus(LilLUCB):
    """LUCB++ (Simchowitz et al. 2017): the union over the *other* side only; both critical arms sampled.

    Parameters
    ----------
    n_arms, k, delta, sigma, mode
        As for `LilLUCB`.

    Examples
    --------
    >>> from cmab import LUCBPlusPlus, identify
    >>> from instances import GaussianArms
    >>> identify(LUCBPlusPlus(3, k=1, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    M. Simchowitz, K. Jamieson, B. Recht: The Simulator, COLT 2017.
    """

    @cached_property
    def _levels(self) -> tuple[float, float, float]:
        n_low = self.n_arms - self.k
        epsilon, level = lil_parameters(self.mode, delta=self.delta, sides=(self.k, n_low), n_sides=2.0)
        # Algorithm 1 of Jiang et al. (2017): U(T, delta / [2 (N - K)]) for the high
        # arms, U(T, delta / 2K) for the low.
        return epsilon, level / (2.0 * n_low), level / (2.0 * self.k)


@dataclass(frozen=True, eq=False)
class LilRandLUCB(LUCBPlusPlus):
    """lil'RandLUCB: the radii of LUCB++, and one critical arm at random, the less sampled one more often.

    Parameters
    ----------
    n_arms, k, delta, sigma, mode
        As for `LilLUCB`.

    Examples
    --------
    >>> from cmab import LilRandLUCB, identify
    >>> from instances import GaussianArms
    >>> identify(LilRandLUCB(3, k=1, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    H. Jiang, J. Li, M. Qiao: Practical Algorithms for Best-K Identification in Multi-Armed Bandits, 2017,
    Algorithm 1 and Theorem 3.1.
    """

    one_arm = 1
