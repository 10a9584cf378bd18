"""Outcomes that may change in any way: follow the perturbed leader."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import LinearOracle
from cmab.parameters import integer, interval
from cmab.policy import IndexPolicy, best_within
from cmab.statistics import ArmStatistics
from cmab.validation import shown


@dataclass(frozen=True, eq=False)
class FTPL(IndexPolicy):
    """Follow the perturbed leader with geometric resampling, for any exact linear oracle.

    Use this policy if outcomes may change in any way, as if an adversary chose them.

    The policy plays the best super arm for the estimated cumulative losses plus exponential noise. An
    observed loss is divided by the probability that its arm is played. One over this probability is estimated
    by the number of new draws of a super arm until the arm is part of it, at most `cap`. For any losses that
    do not depend on the policy's draws, the expected regret is at most ``3 L sqrt(2 m T (ln(m / L) + 1))``,
    where L is the size of a super arm.

    `update` calls the oracle about as often as there are observed arms. With delayed feedback, the
    probabilities are those of the round in which the feedback arrives.

    Parameters
    ----------
    oracle : LinearOracle
        The family of super arms. It must accept means of any sign.
    horizon : int, optional
        The number T of rounds. If omitted, the current round number replaces T. This is our choice, without a
        proof.
    support : tuple of float
        Interval of the outcomes. It is mapped to losses in [0, 1].

    Examples
    --------
    >>> from cmab import FTPL, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=4, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.1, 0.9, 0.2, 0.8]), oracle)
    >>> result = simulate(FTPL(oracle), environment, horizon=1000, rng=0)
    >>> bool(result.regret[0, -1] < 300)
    True

    References
    ----------
    G. Neu, G. Bartók: Importance Weighting Without Importance Weights: An Efficient Algorithm for
    Combinatorial Semi-Bandits, JMLR 17 (2016), Algorithms 1 and 2 (rate and cap from memory).
    """

    _: KW_ONLY
    horizon: int | None = field(default=None, metadata=integer(1, optional=True))
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    # The indices are not means, so values and costs cannot be applied to them.
    understood: ClassVar[tuple[str, ...]] = ("available",)

    def __post_init__(self) -> None:
        super().__post_init__()
        oracle = self.oracle
        if not (isinstance(oracle, LinearOracle) and oracle.is_linear and oracle.least_mean == -np.inf):
            raise ValueError(
                f"oracle must be linear and accept means of any sign for FTPL, got {shown(self.oracle)}"
            )

    def memory(self) -> FloatArray:
        """Return the initial estimated losses, which are 0."""
        return np.zeros(self.oracle.n_arms)

    def rate(self, t: int) -> float:
        """Return the learning rate ``sqrt((ln(m / L) + 1) / 2mT)``."""
        return math.sqrt(self._entropy / (2.0 * self.oracle.n_arms * (self.horizon or t)))

    def cap(self, t: int) -> int:
        """Return the largest number of draws, ``sqrt(mT) / (e sqrt(2 (ln(m / L) + 1)))``, at least 1."""
        drawn = math.sqrt(self.oracle.n_arms * (self.horizon or t) / (2.0 * self._entropy)) / math.e
        return max(1, math.ceil(drawn))

    @property
    def _entropy(self) -> float:
        return math.log(self.oracle.n_arms / max(1, self.oracle.max_size)) + 1.0

    def indices(self, stats: ArmStatistics, rng: np.random.Generator) -> FloatArray:
        """Return the estimated losses with noise, with the sign of rewards or costs."""
        noise = rng.standard_exponential(self.oracle.n_arms)
        # For rewards the sign is reversed, because the oracle then maximises.
        indices: FloatArray = self.oracle._sign * (noise - self.rate(stats.rounds + 1) * stats.memory)
        return indices

    def update(
        self,
        state: ArmStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update the loss estimates of the observed arms, and then the statistics.

        Without a generator, only the statistics are updated.
        """
        if feedback.pulls is not None:
            raise ValueError("feedback.pulls must be None for FTPL, which needs each outcome separately")
        arms, context = feedback.arms, None if ticket is None else ticket.context
        weights = np.zeros(len(arms)) if rng is None else self.waits(state, arms, rng, context)
        low, high = self.support
        places = (feedback.outcomes - low) / (high - low)
        losses = 1.0 - places if self.oracle.sense == "max" else places
        state.update(feedback)
        state.memory[arms] += losses * weights

    def waits(
        self, state: ArmStatistics, arms: IntArray, rng: np.random.Generator, context: Context | None = None
    ) -> FloatArray:
        """Return how many super arms were drawn until each of `arms` was part of one, at most the cap.

        They are drawn among the super arms that are available in `context`, as the played super arm was.
        """
        cap = self.cap(state.rounds + 1)
        waits, waiting = np.full(len(arms), float(cap)), np.ones(len(arms), bool)
        for drawn in range(1, cap + 1):
            if not waiting.any():
                break
            # Neu and Bartók (2016), section 3: one sequence of draws for all observed arms.
            came = waiting & np.isin(arms, best_within(self.oracle, self.indices(state, rng), context, rng))
            waits[came] = drawn
            waiting &= ~came
        return waits
