"""Checks of environments."""

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
    # The order matters: an early check names the fault that can cause failures of later checks.
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
    """Check that the feedback of an environment has the means and rewards that the environment declares.

    All checks run, and one error lists all faults. The outcomes of one round may be dependent or constant.
    Single pulls must be independent.

    Parameters
    ----------
    environment : Environment
        The environment to check.
    super_arms : iterable of array_like
        Some feasible super arms.
    draws : int
        The number of rounds for each super arm. If a mean looks wrong, the check plays many more.
    seconds : float
        The approximate time limit for the trials beyond these rounds.
    expected_failures : mapping of str to str, optional
        The names of checks that are known to fail, with a reason for each. Such a check must not pass.
    rng : int
        The seed.

    Returns
    -------
    Report
        A report that describes the trials of each check and the faults that they would detect.

    Raises
    ------
    ConformanceError
        If a check fails. The error lists all faults and starts with the name of the first one. The possible
        faults are ``determinism`` (the same generator state gives different feedback), ``coins`` (an arm has
        two outcomes in one round), ``support``, ``outcomes`` (their means), ``triggers`` (compared with
        `triggered_arms` of the oracle, and with `Environment.triggering_probabilities` if they are declared),
        ``rewards``, ``optimum``, ``rounds`` (`in_round` changes the environment, returns different results
        for one round, or returns an invalid environment), ``optima`` (the optimum of a round),
        ``played rounds`` (the feedback of a round does not have its means), ``pulls``, ``squares``,
        ``independence`` (of pulls), ``stationarity`` (a round depends on earlier rounds), ``clock``,
        ``global randomness`` or ``pickling``. If the declarations are true, all statistical tests together
        fail with probability below 1e-6.
    ValueError
        If `expected_failures` has a name that is not a check, or an empty reason.

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
