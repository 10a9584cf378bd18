"""Conformance checks of oracles, policies, explorers and environments.

`check_oracle`, `check_policy`, `check_explorer` and `check_environment` run about thirty named checks of one
object. If checks fail, they raise one `ConformanceError` (an ``AssertionError``) that lists all faults.
Otherwise they return a `Report` that says which checks passed and which were not tried, with the reason.
`checks` returns the list of the checks, and `parametrize_with_checks` makes one pytest item of each.
"""

from typing import Any

from cmab.environment import Environment
from cmab.explorer import Explorer
from cmab.oracle import Oracle
from cmab.policy import Policy
from cmab.testing.common import Check, CheckResult, ConformanceError, Report, parametrize_with_checks
from cmab.testing.environment import check_environment, environment_checks
from cmab.testing.explorer import check_explorer, explorer_checks
from cmab.testing.oracle import check_oracle, oracle_checks
from cmab.testing.policy import check_policy, policy_checks
from cmab.validation import shown

__all__ = [
    "Check",
    "CheckResult",
    "ConformanceError",
    "Report",
    "check_environment",
    "check_explorer",
    "check_oracle",
    "check_policy",
    "checks",
    "parametrize_with_checks",
]


def checks(thing: Any, *arguments: Any, **settings: Any) -> list[Check]:
    """Return the list of checks of an oracle, a policy, an explorer or an environment.

    Parameters
    ----------
    thing : Oracle, Policy, Explorer or Environment
        The object to check.
    *arguments, **settings
        The other arguments of `check_oracle`, `check_policy`, `check_explorer` or `check_environment`. The
        keyword `name` replaces the name of the class in the names of the checks.

    Examples
    --------
    >>> from cmab.testing import checks
    >>> from oracles import TopK
    >>> [check.title for check in checks(TopK(5, k=2))[:3]]
    ['declaration', 'form', 'feasibility']
    """
    if isinstance(thing, Oracle):
        return oracle_checks(thing, *arguments, **settings)
    if isinstance(thing, Explorer):
        return explorer_checks(thing, *arguments, **settings)
    if isinstance(thing, Policy):
        return policy_checks(thing, *arguments, **settings)
    if isinstance(thing, Environment):
        return environment_checks(thing, *arguments, **settings)
    raise TypeError(f"thing must be an oracle, a policy, an explorer or an environment, got {shown(thing)}")
