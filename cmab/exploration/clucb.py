"""CLUCB: combinatorial pure exploration by an exact oracle, called twice a step."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled.forms import ExplorerKernel, Kernel, compiled_form
from cmab.confidence.radii import MODES, Mode, around, lil_parameters
from cmab.exploration.families import check_exact, check_takes_any_mean, possible
from cmab.exploration.parameters import check_epsilon, check_growth, check_noise, grown
from cmab.exploration.sampling import SamplingExplorer
from cmab.goals import BestSuperArm, Goal
from cmab.oracle import LinearOracle
from cmab.statistics import ArmStatistics
from cmab.validation import one_of


class Rivals(NamedTuple):
    """The disputed arm of largest radius (-1 if there is none), and the rival's revised advantage."""

    arm: int
    gap: float


@dataclass(frozen=True, eq=False)
class _CLUCBRule(SamplingExplorer):
    """Base: revised means are pessimistic inside the best super arm, optimistic outside."""

    oracle: LinearOracle
    _: KW_ONLY
    delta: float
    growth: float = 0.0

    in_kernel = (*SamplingExplorer.in_kernel, "radii", "rivals", "has_won")

    def __post_init__(self) -> None:
        check_exact(self.oracle)
        # A rule for a support has no field of this name.
        check_noise(self.delta, vars(self).get("sigma", 1.0))
        check_growth(self.growth)
        check_takes_any_mean(self.oracle)

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """Number of base arms."""
        return self.oracle.n_arms

    @property
    def goal(self) -> Goal:
        """The best super arm."""
        return BestSuperArm(self.oracle)

    def pulls(self, state: ArmStatistics) -> int:
        """Return how many outcomes are taken at once."""
        return grown(state, self.growth)

    @abstractmethod
    def _parameters(self) -> tuple[IntArray, FloatArray]:
        """Return the kind of radius and its parameters, as the compiled rule takes them."""

    @cached_property
    def _rule(self) -> tuple[IntArray, FloatArray]:
        return self._parameters()

    def rivals(self, state: ArmStatistics) -> Rivals:
        """Compare the best super arm with its rival, the best one for the revised means."""
        from cmab.exploration._kernels_clucb import dispute, revise

        best, rival = np.zeros(self.n_arms, np.bool_), np.zeros(self.n_arms, np.bool_)
        radii, revised = self.radii(state), np.empty(self.n_arms)
        best[self._solve(state.means)] = True
        revise(state.means, radii, best, self._sign, self.oracle.least_mean, revised)
        rival[self._solve(revised)] = True
        return Rivals(*dispute(revised, radii, best, rival, self._sign))

    def radii(self, state: ArmStatistics) -> FloatArray:
        """Return the radius of each arm."""
        from cmab.exploration._kernels_clucb import write_radii

        radii = np.empty(self.n_arms)
        write_radii(state.counts, int(state.counts.sum()), *self._rule, radii)
        return radii

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the means less and plus the radii; no mean is below the least that the oracle takes."""
        lower, upper = around(state.means, self.radii(state))
        return np.maximum(lower, self.oracle.least_mean), upper

    def has_won(self, rivals: Rivals) -> bool:
        """Return whether the best super arm is certain enough."""
        from cmab.exploration._kernels_clucb import has_won

        return has_won(*rivals, *self._rule)

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether the best super arm is certain enough."""
        return self.has_won(self.rivals(state))

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the disputed arm with the largest radius; ties go to the lower index."""
        arm = self.rivals(state).arm
        # Whoever goes on after the stop samples the least certain arm.
        return np.array([arm if arm >= 0 else np.argmax(self.radii(state))], np.int64)

    def step(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the arm to sample next, with two calls of the oracle."""
        unseen = self.unseen(state)
        if len(unseen):
            return unseen
        rivals = self.rivals(state)
        return np.array([] if self.has_won(rivals) else [rivals.arm], np.int64)

    @property
    def _sign(self) -> float:
        return self.oracle.sign

    def kernel(self) -> ExplorerKernel | None:
        """Return the compiled loop that calls the oracle's compiled form, if it has one; none for batches."""
        from cmab.compiled._kernels_exploration import Arguments
        from cmab.exploration._kernels_clucb import explore_oracle

        oracle: Kernel | None = compiled_form(self.oracle)
        if oracle is None or self.growth > 0.0:
            return None
        arguments = Arguments(oracle.integers, oracle.reals), Arguments(*self._rule)
        return ExplorerKernel(explore_oracle, (oracle.function, *arguments))

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the best super arm for the means, in increasing order."""
        return np.sort(self._solve(state.means))

    def _solve(self, means: FloatArray) -> IntArray:
        # Exact oracles need no randomness, and the stopping test must not advance a stream.
        return self.oracle.solve(possible(self.oracle, means), np.random.default_rng(0))


@dataclass(frozen=True, eq=False, kw_only=True)
class LilCLUCB(_CLUCBRule):
    """lil'CLUCB: the best super arm of any exact linear oracle, with lil radii.

    It stops when the best super arm stays the best with its own means lowered and all others raised by
    their radii. With ``TopK`` it is the rule for the best k arms.

    Parameters
    ----------
    oracle : LinearOracle
        An exact oracle, of either sense; it must take means of any size, for the revised ones may leave the
        support. They are cut at its `least_mean`: costs of a shortest path stay at 0 or above.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    growth : float
        Batches: ``max(1, growth t / n_arms)`` outcomes are taken at once after t samples, in [0, 1], so that
        the number of calls of the oracle grows like ``ln t``. 0 asks it before every sample.
    mode : {"faithful", "paper", "heuristic"}
        See `LilLUCB`.

    Raises
    ------
    ValueError
        If the oracle is not exact and linear, or does not take means of any size above its `least_mean`; or
        a parameter is out of its range.

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

    sigma: float = 0.5
    mode: Mode = "faithful"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("mode", self.mode, MODES)

    @property
    def is_proven(self) -> bool:
        """Whether the mode proves the answer."""
        return self.mode != "heuristic"

    @cached_property
    def _level(self) -> tuple[float, float]:
        epsilon, level = lil_parameters(self.mode, delta=self.delta, sides=(self.n_arms,), n_sides=1.0)
        # U(T, delta / N) of Algorithms 2 and 3.
        return epsilon, level / self.n_arms

    def _parameters(self) -> tuple[IntArray, FloatArray]:
        from cmab.exploration._kernels_clucb import LIL, clucb_parameters

        return clucb_parameters(LIL, self.oracle, self.sigma, *self._level)

    def kernel(self) -> ExplorerKernel | None:
        """Return the compiled rule: over trees where any k arms are a super arm, else over the oracle."""
        from cmab.exploration._kernels_clucb_trees import clucb_trees, explore_clucb_trees

        k, general = self.oracle.uniform_size, super().kernel()
        # Trees know k of n arms only, and no least mean at which bounds would be cut.
        if k is None or general is None or self.oracle.least_mean > -np.inf:
            return general
        epsilon, level = self._level
        trees = clucb_trees(k, self._sign, epsilon, self.sigma, level)
        return ExplorerKernel(explore_clucb_trees, (trees,))


@dataclass(frozen=True, eq=False, kw_only=True)
class CLUCB(_CLUCBRule):
    """CLUCB (Chen et al. 2014), and CLUCB-PAC with `epsilon`: radii with a clock of samples.

    With probability at least ``1 - delta`` the value of the returned super arm is within `epsilon` (of the
    sum) of the optimum.

    Parameters
    ----------
    oracle : LinearOracle
        An exact oracle, of either sense; it must take means of any size, for the revised ones may leave the
        support. They are cut at its `least_mean`: costs of a shortest path stay at 0 or above.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance; 0 is CLUCB.
    sigma : float
        Sub-Gaussian scale of the outcomes.
    growth : float
        Batches: ``max(1, growth t / n_arms)`` outcomes are taken at once after t samples, in [0, 1], so that
        the number of calls of the oracle grows like ``ln t``. 0 asks it before every sample.

    Raises
    ------
    ValueError
        If the oracle is not exact and linear, or does not take means of any size above its `least_mean`; or
        a parameter is out of its range.

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
    NIPS 2014, Algorithm 1 (from memory).
    """

    epsilon: float = 0.0
    sigma: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_epsilon(self.epsilon)

    @property
    def goal(self) -> Goal:
        """A super arm within `epsilon` of the best."""
        return BestSuperArm(self.oracle, self.epsilon)

    def _parameters(self) -> tuple[IntArray, FloatArray]:
        from cmab.exploration._kernels_clucb import ANYTIME, clucb_parameters

        return clucb_parameters(ANYTIME, self.oracle, self.sigma, self.epsilon, self.delta)
