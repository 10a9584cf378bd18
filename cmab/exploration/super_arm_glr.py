"""The best super arm by likelihood ratios against its rivals: exchanges of a matroid, or a list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.confidence.radii import mixture_threshold
from cmab.exploration.families import check_exact, check_takes_any_mean, possible, rivals_of
from cmab.exploration.parameters import DELTA, EPSILON, GROWTH, POSITIVE, grown
from cmab.exploration.sampling import SamplingExplorer
from cmab.goals import BestSuperArm, Goal
from cmab.oracle import LinearOracle
from cmab.statistics import ArmStatistics
from cmab.validation import arm_indices, listed

_KEPT = 64


class _Rivals(NamedTuple):
    """What the best super arm is compared with, a row each: signs, and the threshold without the counts."""

    signs: FloatArray
    thresholds: FloatArray


@dataclass(frozen=True, eq=False)
class SuperArmGLR(SamplingExplorer):
    """The stop of `BestKGLR` for super arms: any matroid, or any list of super arms.

    Of the best super arm S for the means and a rival S', with D the arms that only one of them has, the
    evidence is ``(m(S) - m(S') + e)^2 / (2 sigma^2 sum_D 1 / T_i)``. The rival of least evidence plus ``sum_D
    ln T_i`` is critical, and an arm i of D is sampled with probability in proportion to ``1 / T_i``, its
    share of the evidence. On a matroid the rivals are those one exchange away, and `UniformMatroid` gives
    `BestKGLR`, sample for sample where no means are equal.

    Parameters
    ----------
    oracle : LinearOracle
        An exact oracle, of either sense, that takes means of any size above its `least_mean`.
    super_arms : sequence of sequences of int, optional
        All super arms, at most some thousands; left out for a matroid, whose oracle has `exchange_pairs`.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes; 1/2 covers all in [0, 1].
    epsilon : float
        Tolerance of the sum, 0 for the best super arm exactly; with one, runs end on ties too.
    growth : float
        Batches: ``max(1, growth t / n_arms)`` outcomes are taken at once after t samples, in [0, 1], so that
        the number of calls of the oracle grows like ``ln t``. 0 asks it before every sample.

    Raises
    ------
    ValueError
        If the oracle is not exact and linear, or no matroid where there is no list; or a parameter is out of
        its range.

    Notes
    -----
    A wrong answer S loses by more than `epsilon` to the best super arm B. From a list, B is a rival. On a
    matroid there is a bijection of the arms that only one has under which every single exchange gives a basis
    (Brualdi 1969), so one of them gains more than ``e = epsilon / min(r, n - r)``, for rank r: the pair of an
    arm outside B and one of B, of which there are ``r (n - r)``. A wrong rival's evidence is at most ``sum_D
    T_i (m_i - mu_i)^2 / 2 sigma^2``, which exceeds ``d C(x / d) + sum_D 2 ln(4 + ln T_i)`` for d arms with
    probability at most ``exp(-x)``, for any way of sampling and at all times (Kaufmann and Koolen, their
    constants from memory). That a run ends is not proven, so set a cap.

    Examples
    --------
    >>> import networkx as nx
    >>> from cmab import SuperArmGLR, identify
    >>> from instances import GaussianArms
    >>> from oracles import GraphicMatroid
    >>> arms = GaussianArms([1.0, 0.0, 1.0, 1.0], sigma=0.5)
    >>> identify(SuperArmGLR(GraphicMatroid(nx.cycle_graph(4)), delta=0.1), arms, rng=0).arms
    [array([0, 2, 3])]

    References
    ----------
    E. Kaufmann, W. M. Koolen: Mixture Martingales Revisited, JMLR 22 (2021).
    R. A. Brualdi: Comments on Bases in Dependence Structures, Bull. Austral. Math. Soc. 1 (1969).
    W. You, C. Qin, Z. Wang, S. Yang: Information-Directed Selection for Top-Two Algorithms, COLT 2023.
    """

    oracle: LinearOracle
    _: KW_ONLY
    super_arms: Sequence[Sequence[int]] | None = None
    delta: float = field(metadata=DELTA)
    sigma: float = field(default=0.5, metadata=POSITIVE)
    epsilon: float = field(default=0.0, metadata=EPSILON)
    growth: float = field(default=0.0, metadata=GROWTH)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_exact(self.oracle)
        check_takes_any_mean(self.oracle)
        if self.super_arms is not None:
            family = listed("super_arms", self.super_arms, "super arms")
            # A copy: a list that is changed later must not change what is proven.
            each = (arm_indices("super_arms", arms, self.n_arms).tolist() for arms in family)
            object.__setattr__(self, "super_arms", tuple(tuple(arms) for arms in each))
            for arms in self.super_arms:
                self.oracle.check_super_arm(arms, "super_arms")
        self._rivals(np.sort(self._solve(np.full(self.n_arms, max(0.5, self.oracle.least_mean)))))

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """Number of base arms."""
        return self.oracle.n_arms

    @property
    def goal(self) -> Goal:
        """A super arm within `epsilon` of the best."""
        return BestSuperArm(self.oracle, self.epsilon)

    def pulls(self, state: ArmStatistics) -> int:
        return grown(state, self.growth)

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return an arm of the critical rival, or the least sampled one where there is no rival."""
        rivals = self._rivals(self.recommend(state))
        if not len(rivals.signs):
            return np.array([np.argmin(state.counts)])
        involved = np.abs(rivals.signs)
        penalised = self._evidence(state, rivals) + involved @ np.log(state.counts)
        shares = involved[np.argmin(penalised)] / state.counts
        # Arms that it has come first, as in a pair.
        order = np.lexsort((np.arange(self.n_arms), -rivals.signs[np.argmin(penalised)]))
        order = order[shares[order] > 0.0]
        passed = int((np.cumsum(shares[order]) <= rng.random() * shares.sum()).sum())
        return np.array([order[min(passed, len(order) - 1)]], np.int64)

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether every rival has enough evidence against it."""
        rivals = self._rivals(self.recommend(state))
        penalties = 2.0 * np.log(4.0 + np.log(state.counts))
        needs = rivals.thresholds + np.abs(rivals.signs) @ penalties
        return bool((self._evidence(state, rivals) > needs).all())

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the best super arm for the means, in increasing order."""
        return np.sort(self._solve(state.means))

    def _solve(self, means: FloatArray) -> IntArray:
        # Exact oracles need no randomness, and the stopping test must not advance a stream.
        return self.oracle.solve(possible(self.oracle, means), np.random.default_rng(0))

    def _evidence(self, state: ArmStatistics, rivals: _Rivals) -> FloatArray:
        """Return the evidence that the best super arm is better than each rival less the tolerance."""
        tolerance = self.epsilon
        if self.super_arms is None and len(rivals.signs):
            rank = int((rivals.signs > 0.0).any(axis=0).sum())
            tolerance /= max(1, min(rank, self.n_arms - rank))
        gaps = np.maximum(self.oracle.sign * (rivals.signs @ state.means) + tolerance, 0.0)
        spread = np.abs(rivals.signs) @ (1.0 / state.counts)
        return np.asarray(gaps**2 / (2.0 * self.sigma**2 * spread), np.float64)

    def _rivals(self, best: IntArray) -> _Rivals:
        key = best.tobytes()
        if key not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            signs, n_wrong = rivals_of(self.oracle, best, self.super_arms)
            sizes, x = np.abs(signs).sum(axis=1), math.log(max(1, n_wrong) / self.delta)
            each = {size: size * mixture_threshold(x / size) for size in np.unique(sizes)}
            self._known[key] = _Rivals(signs, np.array([each[size] for size in sizes]))
        return self._known[key]

    @cached_property
    def _known(self) -> dict[bytes, _Rivals]:
        """The rivals of super arms that were the best before."""
        return {}
