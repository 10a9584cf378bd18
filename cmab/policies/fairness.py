"""LFG: each arm gets its minimum share of the rounds, and the other rounds maximise the reward."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.declared import interval, real
from cmab.policies._compiled import CompiledIndexPolicy
from cmab.rules import compiled_rule
from cmab.validation import per_arm

#: Positions in `reals`. The shares begin at SHARES, followed by the values.
ETA, SIGN, LOW, HIGH, SHARES = range(5)


@compiled_rule("index")
def fair_indices(
    counts: IntArray,
    means: FloatArray,
    deviations: FloatArray,
    memory: FloatArray,
    t: int,
    reals: FloatArray,
    rng: np.random.Generator,
    out: FloatArray,
) -> None:
    """Write queue + eta * value * bound. `memory` holds the queues of round t."""
    sign, low, high, m = reals[SIGN], reals[LOW], reals[HIGH], counts.shape[0]
    values = reals[SHARES + m :]
    term = 1.5 * math.log(t) * (high - low) ** 2
    for i in range(m):
        bound = high if sign > 0.0 else low
        if counts[i] > 0:
            # Li, Liu and Ji (2019), equation 9: min(mean + sqrt(3 ln t / 2 N), 1), and 1 if unobserved.
            bound = min(max(means[i] + sign * math.sqrt(term / counts[i]), low), high)
        # Line 9 of Algorithm 1. For costs, the queue is subtracted.
        out[i] = sign * memory[i] + reals[ETA] * values[i] * bound


@compiled_rule("learn")
def fair_queues(
    arms: IntArray, n: int, outcomes: FloatArray, t: int, reals: FloatArray, memory: FloatArray
) -> None:
    """Increase each queue by its share, and decrease the queues of played arms by 1."""
    for i in range(memory.shape[0]):
        memory[i] += reals[SHARES + i]
    for j in range(n):
        memory[arms[j]] -= 1.0
    # Equation 8: Q(t + 1) = max(Q(t) + r - 1{played in t}, 0), with Q(1) = r.
    for i in range(memory.shape[0]):
        memory[i] = max(memory[i], 0.0)


@dataclass(frozen=True, eq=False)
class LFG(CompiledIndexPolicy):
    """Learning with fairness guarantees: in the long run, each arm is played in its share of the rounds.

    Use this policy if each arm must be played in at least a given share of the rounds.

    Each arm has a queue. It grows by the share of the arm in every round, and shrinks by 1 when the arm is
    played. A long queue means that the arm was played too rarely. The oracle receives ``queue + eta *
    value * bound`` for each arm, with CUCB's bound ``min(mean + sqrt(3 ln t / 2T), 1)``. If some policy can
    meet the shares with the available arms, all queues stay bounded, so the shares are met. The regret per
    round against the best such policy is ``m / (2 eta) + O(sqrt(m K ln T / T))``. A larger `eta` earns more,
    but takes longer to meet the shares, because the length of the queues is of the order of eta.

    The oracle must be linear, and all arms of a super arm must be observed. The queue of an unavailable arm
    keeps growing. For costs, the rule is the mirror image, and queues are subtracted, so the oracle must
    accept means of any sign.

    Parameters
    ----------
    oracle : LinearOracle
        The family of super arms.
    shares : float or array_like of shape (n_arms,)
        Minimum share of the rounds of each arm, in [0, 1]. LFG does not check that a policy can meet them.
    eta : float
        Weight of rewards relative to queues.
    values : float or array_like of shape (n_arms,)
        Known value of one unit of outcome of each arm, at least 0.
    support : tuple of float
        Interval of the outcomes.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or the oracle is not linear.

    Examples
    --------
    >>> from cmab import LFG, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=3, k=1)
    >>> environment = SemiBandit(BernoulliArms([0.1, 0.5, 0.9]), oracle)
    >>> run = simulate(LFG(oracle, [0.2, 0.3, 0.0], eta=5.0), environment, 1000, rng=0)
    >>> (run.states[0].counts / 1000).round(2)
    array([0.2 , 0.31, 0.49])

    References
    ----------
    F. Li, J. Liu, B. Ji: Combinatorial Sleeping Bandits with Fairness Constraints, IEEE Transactions on
    Network Science and Engineering 7 (2019), Algorithm 1 and Theorems 1 and 2 (from memory).
    """

    shares: ArrayLike
    _: KW_ONLY
    eta: float = field(default=10.0, metadata=real(0.0))
    values: ArrayLike = 1.0
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    #: Values and costs are excluded, because they would also multiply the queues.
    understood: ClassVar[tuple[str, ...]] = ("available",)

    def rule(self) -> Any:
        return fair_indices()

    def learning_rule(self) -> Any:
        """Return the compiled update rule of the queues."""
        return fair_queues()

    def memory(self) -> FloatArray:
        """Return the queues of the first round, which equal the shares."""
        return self._reals[SHARES : SHARES + self.oracle.n_arms].copy()

    def parameters(self) -> FloatArray:
        if not self.oracle.is_linear:
            raise ValueError(f"oracle must be a LinearOracle for LFG, got {self.oracle!r}")
        shares = per_arm("shares", self.shares, self.oracle.n_arms, 0.0, 1.0)
        values = per_arm("values", self.values, self.oracle.n_arms, 0.0)
        numbers = [self.eta, self.oracle.sign, *self.support]
        return np.concatenate([numbers, shares, values])
