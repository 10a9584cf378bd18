"""The checks of environments, and `check_environment`, which runs them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cmab.arrays import ArrayLike
from cmab.environment import Environment
from cmab.testing import _environment_aliasing as aliasing
from cmab.testing import _environment_forms as forms
from cmab.testing import _environment_growth as growth
from cmab.testing import _environment_in_round as differing
from cmab.testing import _environment_laws as laws
from cmab.testing import _environment_optimum as optimum
from cmab.testing import _environment_pulls as pulls
from cmab.testing import _environment_relations as relations
from cmab.testing import _environment_rewards as rewards
from cmab.testing import _environment_rounds as rounds
from cmab.testing import _environment_scales as scales
from cmab.testing import _environment_succession as succession
from cmab.testing import _environment_sums as sums
from cmab.testing import _environment_tails as tails
from cmab.testing import _generators as generators
from cmab.testing import _process_checks as process
from cmab.testing import _process_copies as copies
from cmab.testing import _process_history as history
from cmab.testing import _process_instances as instances
from cmab.testing import _process_interrupts as interrupts
from cmab.testing import _process_variations as variations
from cmab.testing import _property_rows as rows
from cmab.testing import _untested as untested
from cmab.testing._checks import CheckFunction
from cmab.testing._environment_subject import subject_of
from cmab.testing._results import Kind, Level, Report

_THOROUGH = {"seconds": 20.0, "draws": 20_000}
_CHECKS: tuple[CheckFunction, ...] = (
    # The order matters: a fault that an early check finds may make later checks fail.
    process.check_process,
    relations.check_declaration,
    rounds.check_determinism,
    rounds.check_coins,
    relations.check_order,
    relations.check_stream,
    relations.check_input,
    aliasing.check_aliasing,
    rounds.check_support,
    rounds.check_outcomes,
    rounds.check_triggers,
    rewards.check_rewards,
    optimum.check_optimum,
    differing.check_rounds,
    differing.check_optima,
    differing.check_played_rounds,
    pulls.check_pulls,
    pulls.check_squares,
    sums.check_large_sums,
    pulls.check_independence,
    relations.check_pull_order,
    scales.check_scale,
    tails.check_tails,
    laws.check_laws,
    laws.check_samples,
    relations.check_agreement,
    succession.check_succession,
    succession.check_replay,
    rounds.check_stationarity,
    rounds.check_clock,
    rounds.check_global_randomness,
    pulls.check_pickling,
    forms.check_compiled,
    growth.check_growth,
    history.check_history,  # before checks that use the other process
    process.check_output,
    generators.check_generator,
    variations.check_surroundings,
    interrupts.check_interrupts,
    copies.check_copies,
    copies.check_worker,
    instances.check_instances,
)


def check_environment(
    environment: Environment,
    super_arms: Iterable[ArrayLike],
    *,
    draws: int | None = None,
    exhaustive: bool | None = None,
    level: Level = "quick",
    progress: bool | None = None,
    seconds: float | None = None,
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
    draws : int, optional
        Number of rounds for each super arm. By default, 8000 rounds are divided among the super arms, at
        least 300 and at most 4000 for each, and fewer if they take long. Averages two standard errors from
        their declared values get more.
    exhaustive : bool, optional
        Whether `super_arms` lists all feasible super arms. If so, the optimum must be the best of their
        expected rewards, in every round. Otherwise, it must only be at least as good.
    level : {"quick", "thorough"}
        Effort: about 2 seconds of work or less for "quick", at most a minute for "thorough".
    progress : bool, optional
        Whether to show a progress bar. If omitted, thorough checks show one on a terminal and in a notebook.
    seconds : float, optional
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
    A check fails under its title. ``properties("environment")`` lists the titles in the order of the checks,
    with the property, the reason for it and the confidence of the check.

    Examples
    --------
    >>> from cmab.testing import check_environment
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> environment = SemiBandit(BernoulliArms([0.2, 0.6, 0.9]), TopK(3, k=2))
    >>> check_environment(environment, [[0, 1], [1, 2]]).false_alarm < 1e-6
    True
    """
    settings: dict[str, Any] = {"draws": draws, "level": level, "progress": progress}
    settings |= {"seconds": seconds, "rng": rng, "exhaustive": exhaustive}
    return ENVIRONMENTS.check(environment, super_arms, **settings, expected_failures=expected_failures)


ENVIRONMENTS = Kind(
    Environment, subject_of, _CHECKS, rows=rows.ENVIRONMENT, thorough=_THOROUGH, untested=untested.ENVIRONMENT
)
