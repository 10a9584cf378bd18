"""The checks of policies, and `check_policy`, which runs them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cmab.environment import Environment
from cmab.policy import AnyPolicy, Policy
from cmab.testing import _generated as generated
from cmab.testing import _generators as generators
from cmab.testing import _policy_compiled as compiled
from cmab.testing import _policy_delays as delays
from cmab.testing import _policy_duplicates as duplicates
from cmab.testing import _policy_forms as forms
from cmab.testing import _policy_learning as learning
from cmab.testing import _policy_long as long
from cmab.testing import _policy_propensity as propensity
from cmab.testing import _policy_radius as radius
from cmab.testing import _policy_reports as reports
from cmab.testing import _policy_resuming as resuming
from cmab.testing import _policy_rounds as differing
from cmab.testing import _policy_runs as runs
from cmab.testing import _policy_states as states
from cmab.testing import _policy_unobserved as unobserved
from cmab.testing import _policy_worth as worth
from cmab.testing import _process_checks as process
from cmab.testing import _process_copies as copies
from cmab.testing import _process_history as history
from cmab.testing import _process_instances as instances
from cmab.testing import _process_interrupts as interrupts
from cmab.testing import _process_variations as variations
from cmab.testing import _property_rows as rows
from cmab.testing import _splits as splits
from cmab.testing import _untested as untested
from cmab.testing._checks import CheckFunction
from cmab.testing._policy_subject import Subject
from cmab.testing._results import Kind, Level, Report

_THOROUGH = {"seconds": 20.0, "rounds": 200}
_CHECKS: tuple[CheckFunction, ...] = (
    # The order matters: a fault that an early check finds may make later checks fail.
    process.check_process,
    runs.check_determinism,
    runs.check_feasibility,
    runs.check_state,
    resuming.check_resuming,
    runs.check_late_feedback,
    delays.check_delays,
    generated.check_sequences,
    runs.check_memory,
    runs.check_clock,
    runs.check_global_randomness,
    runs.check_feedback,
    runs.check_empty_feedback,
    differing.check_availability,
    differing.check_context,
    worth.check_worth,
    differing.check_tickets,
    learning.check_credit,
    learning.check_learning,
    learning.check_exploration,
    learning.check_optimism,
    radius.check_radius,
    radius.check_limit,
    reports.check_conservation,
    reports.check_report_order,
    splits.check_splitting,
    unobserved.check_unobserved,
    reports.check_missing_reward,
    states.check_rare_states,
    states.check_late_rounds,
    long.check_long_reports,
    states.check_constant_outcomes,
    states.check_relabelling,
    duplicates.check_duplication,
    states.check_aliasing,
    propensity.check_propensity,
    compiled.check_compiled,
    forms.check_reservations,
    runs.check_growth,
    history.check_history,  # before checks that use the other process
    process.check_output,
    generators.check_generator,
    variations.check_surroundings,
    interrupts.check_interrupts,
    copies.check_copies,
    copies.check_worker,
    instances.check_instances,
)


def check_policy(
    policy: AnyPolicy,
    environment: Environment,
    *,
    rounds: int | None = None,
    level: Level = "quick",
    progress: bool | None = None,
    seconds: float | None = None,
    expected_failures: Mapping[str, str] | None = None,
    rng: int = 0,
) -> Report:
    """Check that a policy learns, keeps no data outside its state, and can be saved and resumed.

    All checks run, and one error lists all faults. The checks of learning use artificial environments. Their
    outcomes are the two ends of the support of the policy or of the environment (0 and 1 if this support is
    unbounded).

    Parameters
    ----------
    policy : Policy
        The policy to check.
    environment : Environment
        An environment in which the policy can be run.
    rounds : int, optional
        Number of rounds of each run in a `Session`, by default 50. Other runs are longer.
    level : {"quick", "thorough"}
        Effort: about 2 seconds of work or less for "quick", at most a minute for "thorough".
    progress : bool, optional
        Whether to show a progress bar. If omitted, thorough checks show one on a terminal and in a notebook.
    seconds : float, optional
        Approximate limit of the total time. The first 150 rounds of each run do not count.
    expected_failures : mapping of str to str, optional
        Reason for each check that is known to fail, by the title of the check. Such a check must fail; if it
        passes, this is a fault.
    rng : int
        Seed of the runs.

    Returns
    -------
    Report
        How much each check tried.

    Raises
    ------
    ConformanceError
        If checks fail. The message lists all faults.
    ValueError
        If `expected_failures` names an unknown check or has an empty reason.

    Notes
    -----
    A check fails under its title. ``properties("policy")`` lists the titles in the order of the checks, with
    the property, the reason for it and the confidence of the check.

    Examples
    --------
    >>> from cmab import CUCB
    >>> from cmab.testing import check_policy
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(3, k=2)
    >>> report = check_policy(CUCB(oracle), SemiBandit(BernoulliArms([0.2, 0.6, 0.9]), oracle))
    >>> len(report.results)
    47
    """
    settings: dict[str, Any] = {"rounds": rounds, "level": level, "progress": progress, "seconds": seconds}
    return POLICIES.check(policy, environment, **settings, expected_failures=expected_failures, rng=rng)


POLICIES = Kind(Policy, Subject, _CHECKS, rows=rows.POLICY, thorough=_THOROUGH, untested=untested.POLICY)
