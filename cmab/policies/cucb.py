"""CUCB: optimism arm by arm."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

from cmab.arrays import ArrayLike, FloatArray
from cmab.confidence.radii import LogRadius
from cmab.declared import interval, real
from cmab.policies._compiled import OptimisticPolicy, pack_optimism
from cmab.validation import shown


@dataclass(frozen=True, eq=False)
class CUCB(OptimisticPolicy):
    """Combinatorial upper confidence bounds, exactly Algorithm 1 unless a parameter says otherwise.

    In round t the oracle is given ``min(mean + sqrt(3 ln t / 2T), 1)`` for each base arm, where T counts
    how often the arm was *triggered*; arms never seen get 1. There is no initialisation phase. For costs
    (``oracle.sense == "min"``) it is the mirror image: ``max(mean - radius, 0)`` and 0.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    radius : LogRadius
        Numerator of the radius; see section 3.2 for `LogRadius.wide` and `LogRadius.tight`.
    radius_factor : float
        Factor on the radius. Below 1 the regret bounds no longer hold, and it is what practitioners run.
    prior_mean : float or array_like of shape (n_arms,), optional
        Mean of the pseudo-outcomes that every arm starts with.
    prior_weight : float or array_like of shape (n_arms,)
        Their number; 0, the default, is Algorithm 1. With a prior, the regret bounds no longer hold.
    support : tuple of float
        Interval of the outcomes: indices are capped to it, and the radius scales with its length.

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
