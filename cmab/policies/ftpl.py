"""Follow the perturbed leader, with geometric resampling: adversarial losses by a linear oracle alone."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.context import Context
from cmab.feedback import Feedback
from cmab.guards import Takes, generator
from cmab.oracle import LinearOracle
from cmab.policy import IndexPolicy, best_within, fits
from cmab.statistics import ArmStatistics
from cmab.ticket import Ticket
from cmab.validation import arm_indices, integer, interval, shown


@dataclass(frozen=True, eq=False)
class FTPL(IndexPolicy):
    """Follow the perturbed leader with geometric resampling, for any exact linear oracle.

    It plays the best super arm for estimated cumulative losses with exponential noise. What a loss that was
    seen weighs, one over the probability that its arm is played, is estimated by drawing super arms anew
    until the arm comes, at most `cap` times: a geometric number with that mean. Regret at most ``3 L sqrt(2
    m T (ln(m / L) + 1))`` in expectation, L being the size of a super arm, whatever losses come, as long as
    they do not look at what is drawn.

    It asks the oracle in `learn`, about as often as there are arms to be seen. With late feedback the
    probabilities are those of the round in which it comes in.

    Parameters
    ----------
    oracle : LinearOracle
        The family of super arms; it must take means of any sign.
    horizon : int, optional
        The T above. If left out, the number of the round takes its place, which is our choice, without a
        proof.
    support : tuple of float
        Interval of the outcomes, which losses in [0, 1] stand for.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or the oracle is not linear, or takes no negative means.

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
    horizon: int | None = None
    support: tuple[float, float] = (0.0, 1.0)

    # Its indices are no means: they cannot be turned into what arms are worth.
    understood: ClassVar[tuple[str, ...]] = ("available",)

    def __post_init__(self) -> None:
        interval("support", self.support)
        if self.horizon is not None:
            integer("horizon", self.horizon, 1)
        if not (isinstance(self.oracle, LinearOracle) and self.oracle.least_mean == -np.inf):
            raise ValueError(
                f"oracle must be linear for FTPL, for means of any sign, got {shown(self.oracle)}"
            )

    _takes: ClassVar[Takes] = {"waits": (fits, None, generator)}

    def memory(self) -> FloatArray:
        """Return the estimated losses before the first round."""
        return np.zeros(self.oracle.n_arms)

    def rate(self, t: int) -> float:
        """Return the learning rate, sqrt((ln(m / L) + 1) / 2mT)."""
        return math.sqrt(self._entropy / (2.0 * self.oracle.n_arms * (self.horizon or t)))

    def cap(self, t: int) -> int:
        """Return the most draws for an estimate, sqrt(mT) / (e sqrt(2 (ln(m / L) + 1))), at least 1."""
        drawn = math.sqrt(self.oracle.n_arms * (self.horizon or t) / (2.0 * self._entropy)) / math.e
        return max(1, math.ceil(drawn))

    @property
    def _entropy(self) -> float:
        return math.log(self.oracle.n_arms / max(1, self.oracle.max_size)) + 1.0

    def indices(self, stats: ArmStatistics, rng: np.random.Generator) -> FloatArray:
        """Return estimated losses with noise, as rewards or as costs."""
        noise = rng.standard_exponential(self.oracle.n_arms)
        # As rewards the sign is turned, for the oracle then looks for the largest.
        indices: FloatArray = self.oracle.sign * (noise - self.rate(stats.rounds + 1) * stats.memory)
        return indices

    def update(
        self,
        state: ArmStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Take in one round of feedback: estimate each loss that was seen, then change the statistics.

        Without a generator nothing is drawn, and only the statistics change.
        """
        if rng is None:
            super().update(state, feedback)
            return
        if feedback.pulls is not None:
            raise ValueError("feedback.pulls must be None for FTPL, which learns outcome by outcome")
        weights = self.waits(state, feedback.arms, rng, None if ticket is None else ticket.context)
        low, high = self.support
        places = (feedback.outcomes - low) / (high - low)
        losses = 1.0 - places if self.oracle.sense == "max" else places
        super().update(state, feedback)
        state.memory[feedback.arms] += losses * weights

    def waits(
        self, state: ArmStatistics, arms: IntArray, rng: np.random.Generator, context: Context | None = None
    ) -> FloatArray:
        """Return how many super arms were drawn until each of `arms` came, at most the cap.

        They are drawn among what was available in the round of `context`, as the one that was played.
        """
        arms, cap = arm_indices("arms", arms, self.oracle.n_arms), self.cap(state.rounds + 1)
        waits, waiting = np.full(len(arms), float(cap)), np.ones(len(arms), bool)
        for drawn in range(1, cap + 1):
            if not waiting.any():
                break
            # Neu and Bartók (2016), section 3: one sequence of draws for all arms that were seen.
            came = waiting & np.isin(arms, best_within(self.oracle, self.indices(state, rng), context, rng))
            waits[came] = drawn
            waiting &= ~came
        return waits
