"""Identification of the best super arm by likelihood ratios against its rivals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.confidence.radii import mixture_threshold
from cmab.exploration.families import SuperArmExplorer, copied_family, possible, rivals_of
from cmab.exploration.parameters import DELTA, EPSILON, GROWTH, POSITIVE
from cmab.oracle import LinearOracle
from cmab.statistics import ArmStatistics

_KEPT = 64


class _Rivals(NamedTuple):
    """The rivals of the best super arm, one row each: signs of the arms, and count-free thresholds."""

    signs: FloatArray
    thresholds: FloatArray


@dataclass(frozen=True, eq=False)
class SuperArmGLR(SuperArmExplorer):
    """The best super arm of a matroid or of a list, with the stopping rule of `BestKGLR`.

    Use `PFWS` instead, which needs fewer samples and no list. This class stays for comparisons.

    Let S be the best super arm for the empirical means, S' a rival, and D the set of arms that only one of
    them contains. The evidence for S is ``(m(S) - m(S') + e)^2 / (2 sigma^2 sum_D 1 / T_i)``, where e is the
    tolerance for one rival (see Notes). The critical rival has the least sum of its evidence and ``sum_D ln
    T_i``. The explorer samples an arm i of its D with probability proportional to ``1 / T_i``, the share of
    the arm in the evidence.

    The rivals are all other super arms of the list. For a matroid, they are the super arms that differ from S
    by one exchange. With `UniformMatroid`, the explorer takes the same samples as `BestKGLR` if no two means
    are equal.

    Parameters
    ----------
    oracle : LinearOracle
        An exact oracle for rewards or costs that accepts means of any size above its `least_mean`.
    super_arms : sequence of sequences of int, optional
        All super arms, at most a few thousand. Omit it for a matroid: its oracle has `exchange_pairs`.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes. The default, 1/2, is valid for outcomes between 0 and 1.
    epsilon : float
        Tolerance of the value of the super arm. With 0, the default, the answer must be the best super arm.
        With a positive tolerance, runs also end if super arms are tied.
    growth : float
        Growth of the batches, in [0, 1]. After t samples, the explorer takes ``max(1, growth t / n_arms)``
        outcomes of the selected arm at once, so the number of oracle calls grows like ``ln t``. With 0, the
        default, it calls the oracle before every sample.

    Raises
    ------
    ValueError
        If the oracle is not exact and linear, if it is not a matroid and `super_arms` is None, or if a
        parameter is out of its range.

    Notes
    -----
    A wrong answer S is worse than the best super arm B by more than `epsilon`. For a list, B is one of the
    rivals of S, and ``e = epsilon``. For a matroid of rank r, there is a bijection between the arms that only
    S contains and those that only B contains, such that every single exchange in S gives a basis (Brualdi
    1969). One of these exchanges gains more than ``e = epsilon / min(r, n - r)``. It is one of the ``r (n -
    r)`` pairs of an arm outside B and an arm of B.

    The evidence against a rival that is better by more than e is at most ``sum_D T_i (m_i - mu_i)^2 / 2
    sigma^2``. Let d be the size of D, and C the function `cmab.confidence.mixture_threshold`. The probability
    that this sum ever exceeds the threshold ``d C(x / d) + sum_D 2 ln(4 + ln T_i)`` is at most ``exp(-x)``,
    for every way of sampling (Kaufmann and Koolen, constants from memory). With ``x = ln(p / delta)``, where
    p is the number of rivals in the list or of pairs above, the probability of error is at most `delta`.

    There is no proof that every run ends, so limit the number of samples.

    Examples
    --------
    >>> import networkx as nx
    >>> from cmab import identify
    >>> from cmab.exploration.super_arm_glr import SuperArmGLR
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
        if self.super_arms is not None:
            object.__setattr__(self, "super_arms", copied_family(self.oracle, self.super_arms))
        self._rivals(np.sort(self._solve(np.full(self.n_arms, max(0.5, self.oracle.least_mean)))))

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return an arm that distinguishes the critical rival, or the least sampled arm without rivals."""
        rivals = self._rivals(self.recommend(state))
        if not len(rivals.signs):
            return np.array([np.argmin(state.counts)])
        involved = np.abs(rivals.signs)
        penalised = self._evidence(state, rivals) + involved @ np.log(state.counts)
        shares = involved[np.argmin(penalised)] / state.counts
        # Arms of the best super arm come first, as in the pairs of `BestKGLR`.
        order = np.lexsort((np.arange(self.n_arms), -rivals.signs[np.argmin(penalised)]))
        order = order[shares[order] > 0.0]
        passed = int((np.cumsum(shares[order]) <= rng.random() * shares.sum()).sum())
        return np.array([order[min(passed, len(order) - 1)]], np.int64)

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether the evidence against every rival exceeds its threshold."""
        rivals = self._rivals(self.recommend(state))
        penalties = 2.0 * np.log(4.0 + np.log(state.counts))
        needs = rivals.thresholds + np.abs(rivals.signs) @ penalties
        return bool((self._evidence(state, rivals) > needs).all())

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the best super arm for the means, in increasing order."""
        return np.sort(self._solve(state.means))

    def _solve(self, means: FloatArray) -> IntArray:
        # Exact oracles need no randomness, and the stopping rule must not advance a random generator.
        return self.oracle.solve(possible(self.oracle, means), np.random.default_rng(0))

    def _evidence(self, state: ArmStatistics, rivals: _Rivals) -> FloatArray:
        """Return the evidence against each rival: that the best super arm is better than the rival less e."""
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
        """A cache of the rivals of the super arms that were the best so far."""
        return {}
