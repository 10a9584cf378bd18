"""Checks of policies."""

from __future__ import annotations

from collections.abc import Mapping

from cmab.environment import Environment
from cmab.policy import AnyPolicy, Policy
from cmab.testing import _policy_learning as learning
from cmab.testing import _policy_rounds as differing
from cmab.testing import _policy_runs as runs
from cmab.testing._checks import CheckFunction
from cmab.testing._policy_subject import Subject
from cmab.testing._results import Kind, Report

_CHECKS: tuple[CheckFunction, ...] = (
    # The order matters: an early check names the fault that can cause failures of later checks.
    runs.check_determinism,
    runs.check_feasibility,
    runs.check_state,
    runs.check_resuming,
    runs.check_late_feedback,
    runs.check_memory,
    runs.check_clock,
    runs.check_global_randomness,
    runs.check_feedback,
    runs.check_empty_feedback,
    differing.check_availability,
    differing.check_tickets,
    learning.check_credit,
    learning.check_learning,
    learning.check_exploration,
    learning.check_optimism,
    runs.check_growth,
)


def check_policy(
    policy: AnyPolicy,
    environment: Environment,
    *,
    rounds: int = 50,
    seconds: float = 2.0,
    expected_failures: Mapping[str, str] | None = None,
    rng: int = 0,
) -> Report:
    """Check that a policy learns, keeps its state separate from its parameters, and can be saved and resumed.

    All checks run, and one error lists all faults. The checks of learning use artificial problems with
    outcomes at the two ends of the environment's support (0 and 1 if the support is unbounded).

    Parameters
    ----------
    policy : Policy
        The policy to check.
    environment : Environment
        The environment to play in.
    rounds : int
        The number of rounds in a `Session`. Other games are longer.
    seconds : float
        The approximate time limit of all checks together. Each game has at least 150 rounds, which can exceed
        the limit.
    expected_failures : mapping of str to str, optional
        The names of checks that are known to fail, with a reason for each. Such a check must not pass.
    rng : int
        The seed.

    Returns
    -------
    Report
        A report that describes the trials of each check.

    Raises
    ------
    ConformanceError
        If a check fails. The error lists all faults and starts with the name of the first one. The possible
        faults are ``determinism`` (the same seed gives a different run, or a new state remembers an old one),
        ``feasibility`` (a super arm is not feasible), ``state`` (`select` changes it), ``resuming`` (a
        session that was saved and loaded continues differently), ``late feedback`` (feedback in another order
        raises an error or is learned less), ``memory`` (the policy remembers data outside the state),
        ``clock`` (the choice depends on the time), ``global randomness`` (a global generator is used),
        ``feedback`` (`learn` changes the feedback or keeps its arrays), ``empty feedback`` (a round without
        outcomes raises an error), ``availability`` (an unavailable entry is chosen), ``tickets`` (`learn`
        changes the super arm or the context of the ticket, or keeps their arrays), ``credit`` (an outcome
        does not count for its arm, or counts for another), ``learning`` (play does not improve with
        feedback), ``exploration`` (some arms are never observed), ``optimism`` (of equal arms, those with
        more observations are always preferred), or ``growth`` (memory grows in each round).
    ValueError
        If `expected_failures` has a name that is not a check, or an empty reason.

    Examples
    --------
    >>> from cmab import CUCB
    >>> from cmab.testing import check_policy
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(3, k=2)
    >>> report = check_policy(CUCB(oracle), SemiBandit(BernoulliArms([0.2, 0.6, 0.9]), oracle))
    >>> len(report.results)
    17
    """
    return POLICIES.check(
        policy, environment, rounds=rounds, seconds=seconds, expected_failures=expected_failures, rng=rng
    )


POLICIES = Kind(Policy, Subject, _CHECKS)
