"""CLUCB: combinatorial pure exploration by an exact oracle, called twice a step."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cmab._validation import one_of, real
from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.confidence import clock_radii, lil_radii
from cmab.exploration.sampling import MODES, Mode, SamplingExplorer, check_noise, lil_parameters
from cmab.goals import BestSuperArm, Goal
from cmab.oracle import LinearOracle
from cmab.statistics import ArmStatistics


class Rivals(NamedTuple):
    """The best super arm, its rival by revised means, their differences, all radii and the revised gap."""

    best: IntArray
    disputed: BoolArray
    radii: FloatArray
    gap: float


@dataclass(frozen=True, eq=False)
class _CLUCBRule(SamplingExplorer):
    """Base: revised means are pessimistic inside the best super arm, optimistic outside."""

    oracle: LinearOracle
    delta: float
    sigma: float = 0.5

    def __post_init__(self) -> None:
        oracle: object = self.oracle
        if not (isinstance(oracle, LinearOracle) and oracle.is_exact):
            raise ValueError(f"oracle must be an exact LinearOracle, got {oracle!r}")
        check_noise(self.delta, self.sigma)

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """Number of base arms."""
        return self.oracle.n_arms

    @property
    def goal(self) -> Goal:
        """The best super arm."""
        return BestSuperArm(self.oracle)

    @abstractmethod
    def radii(self, state: ArmStatistics) -> FloatArray:
        """Return the radius of each arm."""

    def rivals(self, state: ArmStatistics) -> Rivals:
        """Return what the two oracle calls say."""
        best = self.recommend(state)
        radii, sign = self.radii(state), (1.0 if self.oracle.sense == "max" else -1.0)
        inside, rival = np.zeros(self.n_arms, np.bool_), np.zeros(self.n_arms, np.bool_)
        inside[best] = True
        revised = state.means + sign * np.where(inside, -radii, radii)
        rival[self._solve(revised)] = True
        gap = sign * float(revised[rival].sum() - revised[inside].sum())
        return Rivals(best, inside != rival, radii, gap)

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the disputed arm with the largest radius; ties go to the lower index."""
        rivals = self.rivals(state)
        return np.array([np.argmax(np.where(rivals.disputed, rivals.radii, -1.0))], np.int64)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the best super arm for the means, in increasing order."""
        return np.sort(self._solve(state.means))

    def _solve(self, means: FloatArray) -> IntArray:
        # Exact oracles need no randomness, and the stopping test must not advance a stream.
        return self.oracle.solve(means, np.random.default_rng(0))


@dataclass(frozen=True, eq=False)
class LilCLUCB(_CLUCBRule):
    """lil'CLUCB: the best super arm of any exact linear oracle, with lil radii.

    It stops when the best super arm stays the best with its own means lowered and all others raised by
    their radii. With ``TopK`` it is the rule for the best k arms.

    Parameters
    ----------
    oracle : LinearOracle
        An exact oracle, of either sense; it must take the revised means, which may leave the support.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    mode : {"faithful", "paper", "heuristic"}
        See `LilLUCB`.

    Raises
    ------
    ValueError
        If the oracle is not exact and linear, or a parameter is out of its range.

    Examples
    --------
    >>> from cmab import LilCLUCB, identify
    >>> from instances import GaussianArms
    >>> from oracles import TopK
    >>> identify(LilCLUCB(TopK(3, k=1), delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    H. Jiang, J. Li, M. Qiao: Practical Algorithms for Best-K Identification in Multi-Armed Bandits,
    Algorithms 2 and 3.
    """

    mode: Mode = "faithful"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("mode", self.mode, MODES)

    @cached_property
    def _level(self) -> tuple[float, float]:
        epsilon, level = lil_parameters(self.mode, self.delta, (self.n_arms,), 1.0)
        return epsilon, level / self.n_arms

    def radii(self, state: ArmStatistics) -> FloatArray:
        """Return the lil radius."""
        epsilon, level = self._level
        return lil_radii(state.counts, level, epsilon, self.sigma)

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether no arm is disputed."""
        return not self.rivals(state).disputed.any()


@dataclass(frozen=True, eq=False)
class CLUCB(_CLUCBRule):
    """CLUCB (Chen et al. 2014), and CLUCB-PAC with `epsilon`: radii with a clock of samples.

    With probability at least ``1 - delta`` the value of the returned super arm is within `epsilon` (of the
    sum) of the optimum.

    Parameters
    ----------
    oracle : LinearOracle
        An exact oracle, of either sense; it must take the revised means, which may leave the support.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    epsilon : float
        Tolerance; 0 is CLUCB.

    Raises
    ------
    ValueError
        If the oracle is not exact and linear, or a parameter is out of its range.

    Examples
    --------
    >>> from cmab import CLUCB, identify
    >>> from instances import GaussianArms
    >>> from oracles import TopK
    >>> identify(CLUCB(TopK(3, k=1), delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    S. Chen, T. Lin, I. King, M. R. Lyu, W. Chen: Combinatorial Pure Exploration of Multi-Armed Bandits,
    NIPS 2014, Algorithm 1.
    """

    epsilon: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        real("epsilon", self.epsilon, 0.0)

    @property
    def goal(self) -> Goal:
        """A super arm within `epsilon` of the best."""
        return BestSuperArm(self.oracle, self.epsilon)

    def radii(self, state: ArmStatistics) -> FloatArray:
        """Return the radius after as many samples as there are."""
        return clock_radii(state.counts, int(state.counts.sum()), self.delta, self.sigma)

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether the rival's revised value exceeds the best one's by at most `epsilon`."""
        rivals = self.rivals(state)
        return not rivals.disputed.any() or rivals.gap <= self.epsilon
