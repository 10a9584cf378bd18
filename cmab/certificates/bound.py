"""The bound on the regret of a policy, from its statistics."""

from __future__ import annotations

from cmab.certificates.arguments import statistics_for, support_for
from cmab.certificates.certified import certified
from cmab.certificates.played import Played
from cmab.certificates.regret_certificate import RegretCertificate
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy
from cmab.seeding import Seed
from cmab.statistics import ArmStatistics
from cmab.validation import real


def regret_bound(
    policy: AnyPolicy,
    state: ArmStatistics,
    *,
    delta: float = 0.05,
    support: tuple[float, float] | None = None,
    rewards: float | None = None,
    reward_range: tuple[float, float] | None = None,
    independent: bool = False,
    rng: Seed = 0,
) -> RegretCertificate:
    """Return an upper bound on the regret so far and on the gap of the present choice.

    With probability at least ``1 - delta``, all certificates of a run hold, whichever policy played. The
    bound needs outcomes whose expectations never change. `Session.regret_bound` and `Campaign.regret_bound`
    know the rewards and the unreported outcomes of their rounds.

    Parameters
    ----------
    policy : Policy
        The policy.
    state : ArmStatistics
        The state of the policy.
    delta : float
        The probability with which any of the bounds is ever wrong, in (0, 1).
    support : tuple of float, optional
        An interval that contains all outcomes. If omitted, the support of the policy.
    rewards : float, optional
        The sum of the rewards of all rounds, such as ``result.rewards[0, -1]`` of a `Simulation`. Only
        rewards that are not sums of means need it. If omitted, the bound counts no rewards.
    reward_range : tuple of float, optional
        An interval that contains the reward of every round. If omitted, it begins at 0 and ends at the
        largest reward if all means are at the upper end of `support`.
    independent : bool
        Whether the outcomes of one round are independent of each other. If True, the bound is tighter.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        The seed for randomised oracles.

    Returns
    -------
    RegretCertificate

    Raises
    ------
    TypeError
        If `policy` is not a policy, or is an explorer, or if `state` is not an `ArmStatistics`, for example
        because the policy forgets outcomes.
    ValueError
        If a number is out of range, if the support is unknown or unbounded, or if outcomes or rewards are
        outside their ranges. If rewards are sums: also if there are more outcomes than the rounds can have,
        because outcomes of arms that were not played are not part of what the rounds earned.

    Notes
    -----
    If rewards are sums, the regret is a linear function of the means with the factor ``T - N_i`` for arms of
    the optimum and ``-N_i`` for other arms, where ``N_i`` counts the plays of arm i in T rounds. The oracle
    maximises it over all super arms and a confidence set. Every arm that was played must have been reported,
    or `support` must not contain negative rewards. Every outcome must be of an arm that its round played. The
    page "The regret certificate" has the theorem.

    Examples
    --------
    >>> from cmab import CUCB, regret_bound, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> policy = CUCB(TopK(4, k=2))
    >>> arms = BernoulliArms([0.1, 0.9, 0.1, 0.8])
    >>> played = simulate(policy, SemiBandit(arms, policy.oracle), 2000, rng=0)
    >>> print(regret_bound(policy, played.states[0]).gap_in_words())
    With 95 % confidence, the best super arm would bring at most 0 more a round than the present choice, 1, 3.
    """
    oracle, stats = statistics_for(policy, state)
    _check_plays(oracle, stats)
    played = Played()
    if rewards is not None and stats.rounds:
        played = Played(told=stats.rounds, total=real("rewards", rewards), spread=None)
    return certified(
        oracle,
        stats,
        played,
        delta=delta,
        support=support_for(policy, support),
        reward_range=reward_range,
        independent=independent,
        rng=rng,
    )


def _check_plays(oracle: Oracle, stats: ArmStatistics) -> None:
    """Raise ``ValueError`` if the outcomes cannot be those of the arms that were played in the rounds."""
    if not oracle.is_linear:
        return
    most, total = int(stats.counts.max(initial=0)), int(stats.counts.sum())
    if most > stats.rounds or total > stats.rounds * oracle.max_size:
        raise ValueError(
            "state must have at most one outcome of each arm a round, and no more outcomes a round than"
            f" max_size={oracle.max_size} of the oracle, got {total:,} outcomes in {stats.rounds:,} rounds,"
            f" at most {most:,} of an arm"
        )
