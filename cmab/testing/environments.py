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
    # In this order: what comes first names the fault from which those of later checks may follow.
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
    """Check that an environment's feedback has the means and rewards that it claims.

    All checks run, and one error lists all faults. Outcomes of one round may depend on each other, and need
    not vary: nothing promises otherwise. Single pulls must be independent.

    Parameters
    ----------
    environment : Environment
        The environment to check.
    super_arms : iterable of array_like
        Some feasible super arms.
    draws : int
        Rounds played with each; many more where a mean looks doubtful.
    seconds : float
        Longest time, roughly, of what is tried beyond that.
    expected_failures : mapping of str to str, optional
        Names of checks that are known to fail, each with the reason. One that passes is a fault.
    rng : int
        Seed.

    Returns
    -------
    Report
        Of each check, what it tried and which faults it would have seen.

    Raises
    ------
    ConformanceError
        With all faults, the first one's name first: ``determinism``, ``coins``, ``support``, ``outcomes``,
        ``triggers`` (against the oracle's `triggered_arms`, and `Environment.triggering_probabilities` where
        it says something), ``rewards``, ``optimum``, ``rounds`` (`in_round` changes its environment, or gives
        one round twice and not the same, or one that no run takes), ``optima`` (one is not that of its
        round), ``played rounds`` (what is seen in a round has not its means), ``pulls``, ``squares``,
        ``independence`` (of pulls),
        ``stationarity`` (a round depends on those before it), ``clock``, ``global randomness`` or
        ``pickling``. All statistical comparisons together fail with probability below 1e-6 where the claims
        are true.
    ValueError
        If `expected_failures` names no check, or gives no reason.

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
