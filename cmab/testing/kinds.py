"""The list of checks of an object of any kind."""

from __future__ import annotations

from typing import Any

from cmab.environment import Environment
from cmab.explorer import Explorer
from cmab.oracle import Oracle
from cmab.policy import Policy
from cmab.testing.common import Check
from cmab.testing.environment import environment_checks
from cmab.testing.explorer import explorer_checks
from cmab.testing.oracle import oracle_checks
from cmab.testing.policy import policy_checks
from cmab.validation import shown


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
    >>> for check in checks(TopK(5, k=2))[:3]:
    ...     print(check.title)
    declaration
    form
    feasibility
    """
    kinds = ((Oracle, oracle_checks), (Explorer, explorer_checks), (Policy, policy_checks))
    for kind, listed in (*kinds, (Environment, environment_checks)):
        if isinstance(thing, kind):
            return listed(thing, *arguments, **settings)
    raise TypeError(f"thing must be an oracle, a policy, an explorer or an environment, got {shown(thing)}")
