"""BarrierFTRL: nearly optimal for stochastic and adversarial outcomes, with a learned rate for each arm."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import FloatArray
from cmab.declared import integer, interval, real
from cmab.oracle import LinearOracle
from cmab.policies._compiled import CompiledIndexPolicy


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
        A family of all sets of k arms, such as `TopK` (its `uniform_size` is k).
    horizon : int, optional
        The number T of rounds. If omitted, the number of the round replaces it, which has no guarantee.
    step : float, optional
        Step of the predictions, in (0, 0.5). A prediction moves by this fraction towards each observed loss,
        which suits losses that drift. If omitted, the prediction is the mean of the observed losses and 1/2,
        which suits stochastic losses.
    support : tuple of float
        Interval of the outcomes.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or the super arms are not all sets of k arms.

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
        """Return the compiled index rule, which draws."""
        from cmab.policies._kernels_barrier import barrier_indices

        return barrier_indices

    def learning_rule(self) -> Any:
        """Return the compiled update rule of losses, rates, predictions and marginals."""
        from cmab.policies._kernels_barrier import learn_predicted_losses

        return learn_predicted_losses

    def memory(self) -> FloatArray:
        """Return losses of 0, equal marginals, squared rates of 1.44, predictions of 1/2, no observations."""
        m, k = self.oracle.n_arms, self._size
        start = np.zeros(1)
        parts = (np.zeros(m), np.full(m, k / m), np.full(m, 1.2**2), np.full(m, 0.5), np.zeros(m), start)
        return np.concatenate(parts)

    @property
    def _size(self) -> int:
        if not isinstance(self.oracle, LinearOracle) or self.oracle.uniform_size is None:
            raise ValueError(
                f"oracle must have all sets of k arms for BarrierFTRL (uniform_size), got {self.oracle!r}"
            )
        return self.oracle.uniform_size

    def parameters(self) -> FloatArray:
        log_horizon = 0.0 if self.horizon is None else max(1.0, math.log(self.horizon))
        step = 0.0 if self.step is None else self.step
        return np.array([self._size, self.oracle.sign, *self.support, log_horizon, step])
