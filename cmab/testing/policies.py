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
    # In this order: what comes first names the fault from which those of later checks may follow.
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
    """Check that a policy learns, keeps state and parameters apart, and can be saved and resumed.

    All checks run, and one error lists all faults. Whether it learns is tried in worlds made up for the
    purpose, with outcomes at the ends of the environment's support (0 and 1 if that is unbounded).

    Parameters
    ----------
    policy : Policy
        The policy to check.
    environment : Environment
        Something to play against.
    rounds : int
        Rounds to play in a `Session`; other games are longer.
    seconds : float
        Longest time of all checks together, roughly, beyond 150 rounds of each game.
    expected_failures : mapping of str to str, optional
        Names of checks that are known to fail, each with the reason. One that passes is a fault.
    rng : int
        Seed.

    Returns
    -------
    Report
        Of each check, what it tried.

    Raises
    ------
    ConformanceError
        With all faults, the first one's name first: ``determinism`` (the same seed gives another run, or a
        fresh state remembers an old one), ``feasibility``, ``state`` (`select` changes it), ``resuming`` (a
        session that was saved and loaded plays another future), ``late feedback`` (feedback told in another
        order is refused, or teaches less), ``memory`` (outside the state), ``clock``, ``global randomness``,
        ``feedback`` (written to, or kept), ``empty feedback``, ``availability`` (it chooses what a context
        says is not available), ``tickets`` (`learn` writes to their super arm or context, or keeps it),
        ``credit`` (outcomes count for other arms, or not at all), ``learning`` (it plays no better for what
        it saw), ``exploration`` (some arms are never seen), ``optimism`` (what was seen often is preferred
        for that) or ``growth`` (of memory).
    ValueError
        If `expected_failures` names no check, or gives no reason.

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
