"""CUCB: optimism for each arm."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

from cmab.arrays import ArrayLike, FloatArray
from cmab.confidence.radii import LogRadius
from cmab.declared import interval, real
from cmab.policies._compiled import OptimisticPolicy, pack_optimism
from cmab.validation import shown


@dataclass(frozen=True, eq=False)
class CUCB(OptimisticPolicy):
    """Combinatorial upper confidence bounds. The defaults are exactly Algorithm 1 of Chen et al. (2016).

    Use this policy if a bound on the regret is required for any monotone rewards and fixed means.
    `AdaptiveCTS` and `CTS` have far less regret in practice.

    In round t the oracle receives ``min(mean + sqrt(3 ln t / 2T), 1)`` for each base arm, where T counts how
    often the arm was triggered. Unobserved arms get 1. There is no initialisation phase. For costs
    (``oracle.sense == "min"``) the index is the mirror image, ``max(mean - sqrt(3 ln t / 2T), 0)``, and 0 for
    unobserved arms.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    radius : LogRadius
        Numerator of the squared radius. `LogRadius.wide` and `LogRadius.tight` are alternatives.
    radius_factor : float
        Factor of the radius. Regret bounds require at least 1, but smaller values are common in practice.
    prior_mean : float or array_like of shape (n_arms,), optional
        Mean of the pseudo-outcomes with which every arm starts.
    prior_weight : float or array_like of shape (n_arms,)
        Number of the pseudo-outcomes. The default 0 is Algorithm 1. With a prior, the regret bounds do not
        hold.
    support : tuple of float
        Interval of the outcomes. Indices are clipped to it, and the radius is proportional to its length.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or `prior_mean` is given without a weight.

    Examples
    --------
    >>> from cmab import CUCB, Session, Feedback
    >>> from oracles import TopK
    >>> session = Session(CUCB(TopK(n_arms=4, k=2)), rng=0)
    >>> session.ask().super_arm
    array([0, 1])
    >>> session.tell(Feedback(arms=[0, 1], outcomes=[0.0, 1.0], reward=1.0))
    >>> session.state.means
    array([0., 1., 0., 0.])

    References
    ----------
    Chen et al. (JMLR 2016), Algorithm 1, Theorems 1 and 2.
    """

    radius: LogRadius = field(default_factory=LogRadius)
    _: KW_ONLY
    radius_factor: float = field(default=1.0, metadata=real(0.0))
    prior_mean: ArrayLike | None = None
    prior_weight: ArrayLike = 0.0
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())

    def parameters(self) -> FloatArray:
        if not isinstance(self.radius, LogRadius):
            raise ValueError(f"radius must be a LogRadius, got {shown(self.radius)}")
        radius = (self.radius.coefficient, self.radius.loglog, self.radius_factor)
        return pack_optimism(self.oracle, self.support, self.prior_mean, self.prior_weight, *radius)
