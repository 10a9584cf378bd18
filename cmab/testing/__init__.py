"""Conformance checks of oracles, policies, explorers and environments.

`check_oracle`, `check_policy`, `check_explorer` and `check_environment` run about thirty named checks of one
object. If checks fail, they raise one `ConformanceError` (an ``AssertionError``) that lists all faults.
Otherwise they return a `Report` that says which checks passed and which were not tried, with the reason.
`checks` returns the list of the checks, and `parametrize_with_checks` makes one pytest item of each.
"""

from collections.abc import Mapping
from typing import Any

from cmab.environment import Environment
from cmab.explorer import Explorer
from cmab.oracle import Oracle
from cmab.policy import Policy
from cmab.testing.common import (
    Check,
    CheckResult,
    ConformanceError,
    Report,
    named_checks,
    parametrize_with_checks,
)
from cmab.testing.environment import ENVIRONMENT_CHECKS, EnvironmentSubject, check_environment
from cmab.testing.explorer import EXPLORER_CHECKS, ExplorerSubject, check_explorer
from cmab.testing.oracle import ORACLE_CHECKS, OracleSubject, check_oracle
from cmab.testing.policy import POLICY_CHECKS, PolicySubject, check_policy
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

# Explorers are also policies, so they come first.
_KINDS: tuple[tuple[type, Any, Any], ...] = (
    (Oracle, OracleSubject, ORACLE_CHECKS),
    (Explorer, ExplorerSubject, EXPLORER_CHECKS),
    (Policy, PolicySubject, POLICY_CHECKS),
    (Environment, EnvironmentSubject, ENVIRONMENT_CHECKS),
)


def checks(
    thing: Any,
    *arguments: Any,
    expected_failures: Mapping[str, str] | None = None,
    name: str | None = None,
    **settings: Any,
) -> list[Check]:
    """Return the list of checks of an oracle, a policy, an explorer or an environment.

    Parameters
    ----------
    thing : Oracle, Policy, Explorer or Environment
        The object to check.
    *arguments, **settings
        The other arguments of `check_oracle`, `check_policy`, `check_explorer` or `check_environment`.
    expected_failures : mapping of str to str, optional
        Reason for each check that is known to fail, by its title.
    name : str, optional
        A prefix of the names of the checks; by default the name of the class.

    Examples
    --------
    >>> from cmab.testing import checks
    >>> from oracles import TopK
    >>> [check.title for check in checks(TopK(5, k=2))[:3]]
    ['declaration', 'form', 'feasibility']
    """
    for base, subject, functions in _KINDS:
        if isinstance(thing, base):
            return named_checks(subject(thing, *arguments, **settings), functions, expected_failures, name)
    raise TypeError(f"thing must be an oracle, a policy, an explorer or an environment, got {shown(thing)}")
