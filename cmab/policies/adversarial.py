"""Policies for outcomes that may change in any way: FTPL for linear oracles, BarrierFTRL for sets of k."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled import index_kernel, lean_kernel, learn_kernel
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import LinearOracle
from cmab.parameters import integer, interval, real
from cmab.policy import CompiledIndexPolicy, IndexPolicy, best_within
from cmab.statistics import ArmStatistics
from cmab.validation import shown

# FTPL ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FTPL(IndexPolicy):
    """Follow the perturbed leader with geometric resampling, for any exact linear oracle.

    Use this policy if outcomes may change in any way and the super arms are not all sets of k arms. For sets
    of k arms, `BarrierFTRL` has far less regret.

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


# BarrierFTRL --------------------------------------------------------------------------------------------

_STEPS = 200
_CLOSE = 1e-13


@lean_kernel
def barrier_share(level, gamma, start):
    """Return the x in (0, 1) at which the barrier's derivative is `level`, by safeguarded Newton steps."""
    low, high, x = 0.0, 1.0, start
    for _ in range(_STEPS):
        # Tsuchiya et al. (2023): phi(x) = x - 1 - ln x + gamma (x + (1 - x) ln(1 - x)).
        excess = 1.0 - 1.0 / x - gamma * math.log1p(-x) - level
        if excess > 0.0:
            high = x
        else:
            low = x
        step = excess / (1.0 / (x * x) + gamma / (1.0 - x))
        # The derivative is nearly linear in 1 / x if x is small, so the step is then one of 1 / x.
        ratio = 1.0 + step / x
        following = x / ratio if x < 0.5 and ratio > 0.0 else x - step
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - x) <= _CLOSE * x or following >= 1.0 or following <= 0.0:
            return x
        x = following
    return x


@lean_kernel
def next_in_bracket(x, newton, low, high, step):
    """Return ``x + newton`` if that lies between `low` and `high`, otherwise a point that narrows these."""
    if low < x + newton < high:
        return x + newton
    if low > -np.inf and high < np.inf:
        return 0.5 * (low + high)
    # Double the step until both ends of the bracket are known.
    return x + math.copysign(2.0**step, newton)


@lean_kernel
def barrier_marginals(losses, predicted, squares, k, gamma, multiplier, out):
    """Replace the earlier marginals in `out` by the minimisers with sum k; return their multiplier.

    They minimise the sum of ``(losses + predicted) x + sqrt(squares) phi(x)``.
    """
    m = losses.shape[0]
    if k >= m:
        out[:] = 1.0
        return 0.0
    # The sum increases in the multiplier, and Newton's steps are bracketed.
    low, high = -np.inf, np.inf
    for step in range(_STEPS):
        total, change = 0.0, 0.0
        for i in range(m):
            rate = math.sqrt(squares[i])
            x = barrier_share((multiplier - losses[i] - predicted[i]) / rate, gamma, out[i])
            out[i] = x
            total += x
            change += 1.0 / (rate * (1.0 / (x * x) + gamma / (1.0 - x)))
        if abs(total - k) <= 1e-11 * k:
            break
        if total > k:
            high = multiplier
        else:
            low = multiplier
        following = next_in_bracket(multiplier, (k - total) / change, low, high, step)
        if following == multiplier:
            break
        multiplier = following
    return multiplier


@lean_kernel
def systematic_draw(rng, k, sign, out):
    """Replace marginals with sum k by `sign` for k drawn arms and 0 for the others.

    The marginals are intervals side by side, beginning with a random arm, and k marks at unit distance have a
    random offset. Arm i contains at most one mark, with probability x_i.
    """
    m = out.shape[0]
    offset, first = rng.random(), int(rng.random() * m)
    reached, marks = 0.0, 0.0
    for j in range(m):
        i = (first + j) % m
        reached = k if j == m - 1 else reached + out[i]
        passed = math.ceil(reached - offset)
        out[i] = sign if passed > marks else 0.0
        marks = passed


@index_kernel
def barrier_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Draw k arms with the marginals. Write the best index for the drawn arms and 0 for the others."""
    k, sign, m = reals[0], reals[1], out.shape[0]
    for i in range(m):
        out[i] = memory[m + i]
    systematic_draw(rng, k, sign, out)


@learn_kernel
def learn_predicted_losses(arms, n, outcomes, t, reals, memory):
    """Add the estimates of the losses of the round, and update the rates, predictions and marginals.

    `memory` has five parts of m numbers each, and one number: the estimated cumulative losses, the marginals
    of the next round, the squared learning rates, the predicted losses, the numbers of observations, and the
    multiplier.
    """
    k, sign, low, high, log_horizon, step = reals[0], reals[1], reals[2], reals[3], reals[4], reals[5]
    m = memory.shape[0] // 5
    losses, chances, squares = memory[:m], memory[m : 2 * m], memory[2 * m : 3 * m]
    predicted, seen = memory[3 * m : 4 * m], memory[4 * m : 5 * m]
    gamma = max(1.0, log_horizon if log_horizon > 0.0 else math.log(t + 1.0))
    for i in range(m):
        losses[i] += predicted[i]
    for j in range(n):
        i = arms[j]
        place = min(max((outcomes[j] - low) / (high - low), 0.0), 1.0)
        surprise = (1.0 - place if sign > 0.0 else place) - predicted[i]
        x = chances[i]
        losses[i] += surprise / x
        # alpha(t) of the paper, and beta(t + 1)^2 = (1 + epsilon)^2 + sum of alpha / gamma.
        alpha = surprise * surprise * min(1.0, 2.0 * (1.0 - x) / (x * x * gamma))
        squares[i] += alpha / gamma
        seen[i] += 1.0
        predicted[i] += surprise * (step if step > 0.0 else 1.0 / (seen[i] + 1.0))
    least = np.inf
    for loss in losses:
        least = min(least, loss)
    for i in range(m):
        # Equal shifts of all losses do not change the marginals. Small numbers have small rounding errors.
        losses[i] -= least
    memory[5 * m] = barrier_marginals(losses, predicted, squares, k, gamma, memory[5 * m], chances)


@dataclass(frozen=True, eq=False)
class BarrierFTRL(CompiledIndexPolicy):
    """LBINFV for sets of k of m arms: best of both worlds, with regret that adapts to variances and drifts.

    Use this policy if outcomes may change in any way, but may also be stochastic. If they are certainly
    stochastic, `CTS` has less regret. For super arms other than all sets of k arms, use `FTPL`, because each
    round would need a convex program over their convex hull instead of one multiplier.

    The policy estimates the cumulative loss of each arm, and draws a super arm with marginal probabilities x.
    These minimise the estimated losses plus ``sum of beta_i (x - 1 - ln x + gamma (x + (1 - x) ln(1 - x)))``
    over all x with sum k, where gamma is ln T. The loss l, mapped to the unit interval, is predicted by p.
    Its estimate is ``p + (l - p) / x`` if the arm is observed, and p otherwise. The squared rate ``beta_i^2``
    begins with 1.44, and an observation adds ``(l - p)^2 min(1, 2 (1 - x) / (x^2 gamma)) / gamma``. An arm
    whose losses are predicted well therefore has large steps. For stochastic outcomes, the regret is O(ln T)
    with a factor of the variances. For all outcomes, it is ``O(sqrt(k m T ln T))``, and smaller if the losses
    vary or drift little.

    Estimates use the x of the last update. Delayed feedback is therefore biased, and has no guarantee.
    Contexts that exclude arms have no guarantee either.

    Parameters
    ----------
    oracle : LinearOracle
        A family of all sets of k arms, such as `TopK`.
    horizon : int, optional
        The number T of rounds. If omitted, the number of the round replaces it, which has no guarantee.
    step : float, optional
        Step of the predictions, in (0, 0.5). A prediction moves by this fraction towards each observed loss,
        which suits losses that drift. If omitted, the prediction is the mean of the observed losses and 1/2,
        which suits stochastic losses.
    support : tuple of float
        Interval of the outcomes.

    Examples
    --------
    >>> from cmab import BarrierFTRL, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=4, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.1, 0.9, 0.2, 0.8]), oracle)
    >>> result = simulate(BarrierFTRL(oracle, horizon=2000), environment, horizon=2000, rng=0)
    >>> bool(result.regret[0, -1] < 100)
    True

    References
    ----------
    T. Tsuchiya, S. Ito, J. Honda: Further Adaptive Best-of-Both-Worlds Algorithm for Combinatorial
    Semi-Bandits, AISTATS 2023 (LBINFV, by the authors' code with epsilon = 1/5, and the bounds from memory).
    The rates use the prediction before the observation. The authors' code of the form with `step` uses the
    one after it. S. Ito: Hybrid Regret Bounds for Combinatorial Semi-Bandits and Adversarial Linear Bandits,
    NeurIPS 2021.
    We draw by systematic sampling, because the regret depends only on the marginals.
    """

    _: KW_ONLY
    horizon: int | None = field(default=None, metadata=integer(1, optional=True))
    step: float | None = field(default=None, metadata=real(0.0, 0.5, inside=True, optional=True))
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    is_random: ClassVar[bool] = True
    memory_parameters: ClassVar[tuple[str, ...]] = ("horizon", "step", "support")
    #: The indices mark the drawn arms, so that values and costs would have no effect or a wrong one.
    understood: ClassVar[tuple[str, ...]] = ("available",)

    def rule(self) -> Any:
        return barrier_indices

    def learning_rule(self) -> Any:
        return learn_predicted_losses

    def memory(self) -> FloatArray:
        """Return losses of 0, equal marginals, squared rates of 1.44, predictions of 1/2, no observations."""
        m, k = self.oracle.n_arms, self._reals[0]
        parts = (np.zeros(m), np.full(m, k / m), np.full(m, 1.2**2), np.full(m, 0.5), np.zeros(m), [0.0])
        return np.concatenate(parts)

    def parameters(self) -> FloatArray:
        if not isinstance(self.oracle, LinearOracle) or self.oracle._uniform_size is None:
            raise ValueError(f"oracle must have all sets of k arms for BarrierFTRL, got {self.oracle!r}")
        log_horizon = 0.0 if self.horizon is None else max(1.0, math.log(self.horizon))
        numbers = [self.oracle._uniform_size, self.oracle._sign, *self.support, log_horizon, self.step or 0.0]
        return np.array(numbers)
