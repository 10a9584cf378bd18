"""The checks of policies, and `check_policy`, which runs them all."""

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
    # The order matters: a fault that an early check finds may make later checks fail.
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
    rounds : int
        Number of rounds of each run in a `Session`. Other runs are longer.
    seconds : float
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
    A check fails under its title, in this order, if:

    - ``determinism``: the same seed gives different runs, or a new state depends on an earlier run.
    - ``feasibility``: a super arm is not feasible.
    - ``state``: `select` changes the state, or a run changes the policy.
    - ``resuming``: a session that was saved and loaded selects other super arms.
    - ``late feedback``: feedback in another order than that of the tickets is rejected, or changes the state
      in fewer rounds.
    - ``memory``: the policy depends on data outside the state.
    - ``clock``: the super arms depend on the time.
    - ``global randomness``: the policy uses or seeds a global random generator.
    - ``feedback``: `update` modifies the arrays of the feedback, or the state refers to them.
    - ``empty feedback``: a round without observed arms causes an exception or an infeasible super arm.
    - ``availability``: the policy selects entries that are not available according to the context.
    - ``tickets``: `update` modifies the super arm or the context of the ticket, or the state refers to them.
    - ``credit``: an outcome changes the statistics of another arm, or is ignored.
    - ``learning``: the policy does not use the feedback to select better super arms.
    - ``exploration``: some arms are never observed.
    - ``optimism``: the policy always prefers arms with many observations to arms with few and the same mean.
    - ``growth``: memory grows with the number of rounds.

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
