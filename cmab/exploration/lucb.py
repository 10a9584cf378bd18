"""LUCB: explorers that compare the k best arms with the others by confidence bounds.

The critical arms are the one of the k best arms with the least lower bound and the one of the others with the
largest upper bound. The rules differ in the radius for each side, in the choice of the critical arms to
sample, and in the stopping rule.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.compiled import ExplorerKernel, Rule
from cmab.confidence.radii import MODE, Mode, around, lil_parameters, lil_radii, lucb1_radii
from cmab.exploration.parameters import EPSILON, POSITIVE
from cmab.exploration.ruled import RuledExplorer
from cmab.exploration.sampling import BestK
from cmab.statistics import ArmStatistics


class Pair(NamedTuple):
    """The critical arms, and the gap: the upper bound of `low` minus the lower bound of `high`."""

    high: int
    low: int
    gap: float


def best_mask(means: FloatArray, k: int) -> BoolArray:
    """Return a mask of the `k` largest means; ties go to the lower index."""
    from cmab.selection import mark_best

    is_high = np.empty(len(means), np.bool_)
    mark_best(means, k, is_high)
    return is_high


class LUCBRule(BestK):
    """Base class for your own LUCB rules.

    A subclass defines `bounds`. It may set `one_arm` to True, so that each round samples one critical arm at
    random instead of both.

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
        """Return the lower and the upper bound of each arm; `is_high` marks the k largest means."""

    def pair(self, state: ArmStatistics) -> Pair:
        """Return the two critical arms and their gap; ties go to the lower index."""
        from cmab.exploration._kernels_lucb import critical_pair

        is_high = best_mask(state.means, self.k)
        return Pair(*critical_pair(*self.bounds(state, is_high), is_high))

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return both critical arms, or one of them at random if `one_arm` is True.

        The odds of the high arm against the low arm are ``T_low : T_high``.
        """
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
    """Base class for your own LUCB rules with symmetric intervals; a subclass defines `radii`.

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
        """Return the radius of each arm; `is_high` marks the k largest means."""

    def bounds(self, state: ArmStatistics, is_high: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the means minus and plus their radii."""
        radii = self.radii(state, is_high)
        return state.means - radii, state.means + radii


@dataclass(frozen=True, eq=False, kw_only=True)
class LUCB1(RuledExplorer, BestK):
    """LUCB1 (Kalyanakrishnan et al. 2012): the k best arms, with radii that grow with the round.

    Use this explorer if a proof of the number of samples is required and a tolerance is accepted.
    `LUCBPlusPlus` and `BestKGLR` need fewer samples.

    With probability at least ``1 - delta``, the mean of every returned arm is at least the k-th largest mean
    minus `epsilon`. Each round samples the two critical arms: the arm of the k best with the least lower
    bound, and the arm of the others with the largest upper bound.

    Parameters
    ----------
    n_arms, k : int
        The number of arms, at least 2, and the number of arms to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance. With 0, the default, the answer must be the k best arms.
    sigma : float
        Sub-Gaussian scale of the outcomes. Half the length of their support is always valid.

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
        """Return the compiled rule, which scans all arms because every radius changes with time."""
        from cmab.exploration._kernels_lucb import lucb1_rule

        return lucb1_rule(self.k, self.delta, self.sigma, self.epsilon)

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the means minus and plus the radii of this round."""
        return around(
            state.means, lucb1_radii(state.counts, state.rounds, delta=self.delta, sigma=self.sigma)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class LilLUCB(RuledExplorer, BestK):
    """lil'LUCB (Jamieson and Nowak 2014): LUCB with radii by the law of the iterated logarithm (lil).

    Use this explorer to compare with its paper. `LUCBPlusPlus` has smaller radii.

    All arms have the same formula of the radius, and each round samples both critical arms.

    Parameters
    ----------
    n_arms, k : int
        The number of arms, at least 2, and the number of arms to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    mode : {"faithful", "paper", "heuristic"}
        The constants of the radius. With "faithful" and "paper", the probability of error is at most `delta`;
        "paper" uses the cruder constant of the theorem. "heuristic" takes far fewer samples but has no proof:
        no answer is certified, and a run may never stop.

    Examples
    --------
    >>> from cmab import identify
    >>> from cmab.exploration.lucb import LilLUCB
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

    #: Arms to sample: 0 for both critical arms, 1 for one of them at random, 2 for the less sampled one.
    one_arm: ClassVar[int] = 0
    _in_kernel = (*RuledExplorer._in_kernel, "rule")

    @property
    def is_proven(self) -> bool:
        return self.mode != "heuristic"

    @cached_property
    def _levels(self) -> tuple[float, float, float]:
        """The epsilon of the lil radius, the level of the k best arms, and the level of the others."""
        epsilon, level = lil_parameters(self.mode, delta=self.delta, sides=(self.n_arms,), n_sides=1.0)
        return epsilon, level / self.n_arms, level / self.n_arms

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms."""
        from cmab.exploration._kernels_lucb import lil_rule

        epsilon, *levels = self._levels
        return lil_rule(self.k, self.one_arm, epsilon, self.sigma, *levels)

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the means minus and plus the radii, which differ between the two sides."""
        epsilon, high, low = self._levels
        levels = np.where(best_mask(state.means, self.k), high, low)
        return around(state.means, lil_radii(state.counts, levels, epsilon=epsilon, sigma=self.sigma))

    def kernel(self) -> ExplorerKernel:
        """Return the compiled loop with tournament trees, which takes O(log n_arms) time per sample."""
        from cmab.exploration._kernels_lucb_trees import explore_lil_trees, lil_trees

        epsilon, *levels = self._levels
        return ExplorerKernel(
            explore_lil_trees, (lil_trees(self.k, self.one_arm, epsilon, self.sigma, *levels),)
        )

    def scan_kernel(self) -> ExplorerKernel | None:
        """Return the loop that scans every arm before each sample, the reference for the trees."""
        return super().kernel()


@dataclass(frozen=True, eq=False)
class LUCBPlusPlus(LilLUCB):
    """LUCB++ (Simchowitz et al. 2017): lil'LUCB with smaller radii.

    Use this explorer for the k best arms if a choice may take little time, and a deterministic rule is
    preferred. `LilRandLUCB` needs slightly fewer samples, and `BestKGLR` far fewer.

    The union bound for an arm counts only the arms on the *other* side: the n - k others for one of the k
    best, and the k best for one of the others. Each round samples both critical arms.

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
        # Algorithm 1 of Jiang et al. (2017): U(T, delta / [2 (N - K)]) for the high arms, and U(T, delta /
        # 2K) for the low arms.
        return epsilon, level / (2.0 * n_low), level / (2.0 * self.k)


@dataclass(frozen=True, eq=False)
class LilRandLUCB(LUCBPlusPlus):
    """lil'RandLUCB: the radii of LUCB++ and one critical arm at random in each round.

    Use this explorer for the k best of very many arms, because a choice takes O(log n) time. `BestKGLR` needs
    fewer samples, but compares all pairs of arms.

    The explorer draws each critical arm with probability proportional to the number of samples of the other
    arm, so it prefers the less sampled arm.

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
