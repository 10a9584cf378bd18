"""The options of the certificates of a simulation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cmab import declared
from cmab.certificates.arguments import statistics_for, support_for
from cmab.certificates.certified import LEAST_DELTA, certified
from cmab.certificates.played import Played
from cmab.certificates.regret_certificate import RegretCertificate
from cmab.declared import Declared
from cmab.policy import AnyPolicy
from cmab.statistics import ArmStatistics


@dataclass(frozen=True)
class Certify(Declared):
    """The options of the certificates of a simulation.

    Parameters
    ----------
    delta : float
        The probability with which any certificate of a run is wrong, in (0, 1).
    reward_range : tuple of float, optional
        An interval that contains the reward of every round, as in `regret_bound`.
    independent : bool
        Whether the outcomes of one round are independent of each other.
    support : tuple of float, optional
        An interval that contains all outcomes. If omitted, the support of the environment.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import CUCB, Certify, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> policy = CUCB(TopK(3, k=1))
    >>> arms = SemiBandit(BernoulliArms([0.2, 0.9, 0.1]), policy.oracle)
    >>> result = simulate(policy, arms, 100, rng=0, certify=Certify(delta=0.05))
    >>> bool((result.regret <= result.regret_bounds).all())
    True
    """

    delta: float = field(default=0.05, metadata=declared.real(LEAST_DELTA, 1.0, inside=True))
    reward_range: tuple[float, float] | None = field(default=None, metadata=declared.interval(optional=True))
    independent: bool = field(default=False, metadata=declared.flag())
    support: tuple[float, float] | None = field(default=None, metadata=declared.interval(optional=True))

    def fitted(self, policy: AnyPolicy, support: tuple[float, float]) -> Certify:
        """Return these options with a bounded support; raise if the policy has no certificate.

        Raises
        ------
        TypeError, ValueError
            As `regret_bound`.
        """
        statistics_for(policy, policy.initial_state())
        return replace(self, support=support_for(policy, self.support or support))

    def now(self, policy: AnyPolicy, state: ArmStatistics, played: Played) -> RegretCertificate:
        """Return the certificate of a state and of the record of the rounds."""
        return certified(
            policy.oracle,
            state,
            played,
            delta=self.delta,
            support=support_for(policy, self.support),
            reward_range=self.reward_range,
            independent=self.independent,
            rng=0,
        )
