"""The checks of environments, and `check_environment`, which runs them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cmab.arrays import ArrayLike
from cmab.environment import Environment
from cmab.testing import _environment_in_round as differing
from cmab.testing import _environment_pulls as pulls
from cmab.testing import _environment_rounds as rounds
from cmab.testing._checks import CheckFunction
from cmab.testing._environment_subject import Subject
from cmab.testing._results import Kind, Report

_CHECKS: tuple[CheckFunction, ...] = (
    # The order matters: a fault that an early check finds may make later checks fail.
    rounds.check_determinism,
    rounds.check_coins,
    rounds.check_support,
    rounds.check_outcomes,
    rounds.check_triggers,
    rounds.check_rewards,
    rounds.check_optimum,
    differing.check_rounds,
    differing.check_optima,
    differing.check_played_rounds,
    pulls.check_pulls,
    pulls.check_squares,
    pulls.check_independence,
    rounds.check_stationarity,
    rounds.check_clock,
    rounds.check_global_randomness,
    pulls.check_pickling,
)


def check_environment(
    environment: Environment,
    super_arms: Iterable[ArrayLike],
    *,
    draws: int = 4000,
    seconds: float = 2.0,
    expected_failures: Mapping[str, str] | None = None,
    rng: int = 0,
) -> Report:
    """Check that the feedback of an environment agrees with its declared means, rewards and optimum.

    All checks run, and one error lists all faults. The outcomes of one round may be dependent or constant.
    Single pulls must be independent.

    Parameters
    ----------
    environment : Environment
        The environment to check.
    super_arms : iterable of array_like
        Feasible super arms with which the environment is played.
    draws : int
        Number of rounds for each super arm. A base arm with an average outcome two standard errors from its
        mean gets more rounds.
    seconds : float
        Approximate limit of the time of everything else.
    expected_failures : mapping of str to str, optional
        Reason for each check that is known to fail, by the title of the check. Such a check must fail; if it
        passes, this is a fault.
    rng : int
        Seed of the rounds and pulls.

    Returns
    -------
    Report
        How much each check tried, and which faults it would have detected.

    Raises
    ------
    ConformanceError
        If checks fail. The message lists all faults. An environment without faults fails with probability
        below 1e-6.
    ValueError
        If `expected_failures` names an unknown check or has an empty reason.

    Notes
    -----
    A check fails under its title, in this order, if:

    - ``determinism``: the same generator state gives different rounds or pulls.
    - ``coins``: two super arms observe different outcomes of the same base arm for the same generator state.
    - ``support``: an outcome is outside the support, or a base arm is not in ``range(n_arms)``.
    - ``outcomes``: the average outcome of an arm is not its mean.
    - ``triggers``: a round shows an arm that is not in `triggered_arms` of the oracle, or the frequency of an
      observation is not that of `Environment.triggering_probabilities`.
    - ``rewards``: the average reward is not the expected reward, or a reward that is a sum is not the sum of
      the outcomes.
    - ``optimum``: a super arm is better than the optimum, or an exact oracle does not attain it.
    - ``rounds``: `in_round` changes the environment, returns different instances for one generator state, or
      returns an instance that cannot be played.
    - ``optima``: as ``optimum``, on the instances that `in_round` returns.
    - ``played rounds``: as the checks from ``determinism`` to ``rewards`` except ``support``, for these
      instances.
    - ``pulls``: the average of the pulls of an arm, or the average or variance of their sums, is wrong.
    - ``squares``: the sums of squares of `pull_many` do not agree with the sums, the support or the single
      pulls.
    - ``independence``: pulls of one arm or of two arms are correlated.
    - ``stationarity``: rounds, pulls, means, expected rewards, the optimum or attributes change while the
      environment is played.
    - ``clock``: rounds or pulls depend on the time.
    - ``global randomness``: rounds or pulls use or seed a global random generator.
    - ``pickling``: the environment cannot be pickled, or a pickled copy gives other rounds or pulls.

    Examples
    --------
    >>> from cmab.testing import check_environment
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> environment = SemiBandit(BernoulliArms([0.2, 0.6, 0.9]), TopK(3, k=2))
    >>> check_environment(environment, [[0, 1], [1, 2]]).false_alarm < 1e-6
    True
    """
    settings = {"draws": draws, "seconds": seconds, "rng": rng}
    return ENVIRONMENTS.check(environment, super_arms, **settings, expected_failures=expected_failures)


ENVIRONMENTS = Kind(Environment, Subject, _CHECKS)
