"""CLUCB: combinatorial pure exploration with two calls of an exact oracle in each step."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled import ExplorerKernel, Kernel, compiled_form
from cmab.confidence.radii import MODE, Mode, around, lil_parameters
from cmab.exploration.families import SuperArmExplorer, possible
from cmab.exploration.parameters import DELTA, EPSILON, GROWTH, POSITIVE
from cmab.oracle import LinearOracle
from cmab.statistics import ArmStatistics


class Rivals(NamedTuple):
    """The disputed arm with the largest radius (-1 if no arm is disputed), and the advantage of the rival.

    An arm is disputed if exactly one of the best super arm and its rival contains it. The advantage is the
    difference of their revised values.
    """

    arm: int
    gap: float


@dataclass(frozen=True, eq=False)
class _CLUCBRule(SuperArmExplorer):
    """Base class of rules that revise the means: lower for arms in the best super arm, higher for others."""

    oracle: LinearOracle
    _: KW_ONLY
    delta: float = field(metadata=DELTA)
    growth: float = field(default=0.0, metadata=GROWTH)

    _in_kernel = (*SuperArmExplorer._in_kernel, "radii", "rivals", "has_won")

    @abstractmethod
    def _parameters(self) -> tuple[IntArray, FloatArray]:
        """Return the kind of radius and its parameters, in the form for the compiled rule."""

    @cached_property
    def _rule(self) -> tuple[IntArray, FloatArray]:
        return self._parameters()

    def rivals(self, state: ArmStatistics) -> Rivals:
        """Compare the best super arm with its rival, the best super arm for the revised means."""
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
        """Return the means minus and plus the radii; lower bounds are at least the oracle's `least_mean`."""
        lower, upper = around(state.means, self.radii(state))
        return np.maximum(lower, self.oracle.least_mean), upper

    def has_won(self, rivals: Rivals) -> bool:
        """Return whether the stopping rule holds for the best super arm."""
        from cmab.exploration._kernels_clucb import has_won

        return bool(has_won(*rivals, *self._rule))

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether the stopping rule holds for the best super arm."""
        return self.has_won(self.rivals(state))

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the disputed arm with the largest radius; ties go to the lower index."""
        arm = self.rivals(state).arm
        # If a caller continues after the stop and no arm is disputed, take the arm with the largest radius.
        return np.array([arm if arm >= 0 else np.argmax(self.radii(state))], np.int64)

    def step(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the arm to sample next after two calls of the oracle; the array is empty after the stop."""
        unseen = self.unseen(state)
        if len(unseen):
            return unseen
        rivals = self.rivals(state)
        return np.array([] if self.has_won(rivals) else [rivals.arm], np.int64)

    @property
    def _sign(self) -> float:
        return self.oracle._sign

    def kernel(self) -> ExplorerKernel | None:
        """Return the compiled loop, or None if the oracle has no compiled form or `growth` is positive."""
        from cmab.compiled import Arguments
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
        # Exact oracles need no randomness, and the stopping rule must not advance a random generator.
        return self.oracle.solve(possible(self.oracle, means), np.random.default_rng(0))


@dataclass(frozen=True, eq=False, kw_only=True)
class LilCLUCB(_CLUCBRule):
    """lil'CLUCB: the best super arm of any exact linear oracle, with radii by the iterated logarithm.

    Use this explorer for the best super arm if the oracle rejects negative means, or if a decision must take
    microseconds. Otherwise, `PFWS` needs less than half of the samples.

    The explorer stops when the best super arm is still the best after its means are lowered by their radii
    and all other means are raised by theirs. With the oracle `TopK`, it identifies the best k arms.

    Parameters
    ----------
    oracle : LinearOracle
        An exact oracle for rewards or costs. It must accept means of any size from its `least_mean` on,
        because revised means may lie outside the support. Lower means are raised to `least_mean`; for a
        shortest path, costs stay at 0 or above.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    growth : float
        Growth of the batches, in [0, 1]. After t samples, the explorer takes ``max(1, growth t / n_arms)``
        outcomes of the selected arm at once, so the number of oracle calls grows like ``ln t``. With 0, the
        default, it calls the oracle before every sample.
    mode : {"faithful", "paper", "heuristic"}
        See `LUCBPlusPlus`.

    Raises
    ------
    ValueError
        If the oracle is not exact and linear, if it does not accept means of any size above its `least_mean`,
        or if a parameter is out of its range.

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

    sigma: float = field(default=0.5, metadata=POSITIVE)
    mode: Mode = field(default="faithful", metadata=MODE)

    @property
    def is_proven(self) -> bool:
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
        """Return the compiled loop: with trees if any k arms are a super arm, otherwise with the oracle."""
        from cmab.exploration._kernels_clucb_trees import clucb_trees, explore_clucb_trees

        k, general = self.oracle._uniform_size, super().kernel()
        # The trees support only super arms of any k arms, and no least mean.
        if k is None or general is None or self.oracle.least_mean > -np.inf:
            return general
        epsilon, level = self._level
        trees = clucb_trees(k, self._sign, epsilon, self.sigma, level)
        return ExplorerKernel(explore_clucb_trees, (trees,))


@dataclass(frozen=True, eq=False, kw_only=True)
class CLUCB(_CLUCBRule):
    """CLUCB (Chen et al. 2014), and CLUCB-PAC with `epsilon`: radii that grow with the number of samples.

    Use this explorer for the best super arm if one parameter-free radius is preferred. `LilCLUCB` needs fewer
    samples, and `PFWS` needs the fewest.

    With probability at least ``1 - delta``, the value of the returned super arm (the sum of its means) is
    within `epsilon` of the optimum.

    Parameters
    ----------
    oracle : LinearOracle
        An exact oracle for rewards or costs. It must accept means of any size from its `least_mean` on,
        because revised means may lie outside the support. Lower means are raised to `least_mean`; for a
        shortest path, costs stay at 0 or above.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance of the value of the super arm. With 0, the default, the rule is CLUCB.
    sigma : float
        Sub-Gaussian scale of the outcomes.
    growth : float
        Growth of the batches, in [0, 1]. After t samples, the explorer takes ``max(1, growth t / n_arms)``
        outcomes of the selected arm at once, so the number of oracle calls grows like ``ln t``. With 0, the
        default, it calls the oracle before every sample.

    Raises
    ------
    ValueError
        If the oracle is not exact and linear, if it does not accept means of any size above its `least_mean`,
        or if a parameter is out of its range.

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

    epsilon: float = field(default=0.0, metadata=EPSILON)
    sigma: float = field(default=0.5, metadata=POSITIVE)

    def _parameters(self) -> tuple[IntArray, FloatArray]:
        from cmab.exploration._kernels_clucb import ANYTIME, clucb_parameters

        return clucb_parameters(ANYTIME, self.oracle, self.sigma, self.epsilon, self.delta)
