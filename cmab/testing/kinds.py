"""Functions that check an oracle, a policy, an explorer or an environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cmab.testing._checks import Check
from cmab.testing._results import Kind, Report
from cmab.testing.environments import ENVIRONMENTS
from cmab.testing.explorers import EXPLORERS
from cmab.testing.oracles import ORACLES
from cmab.testing.policies import POLICIES
from cmab.validation import shown

_KINDS = (ORACLES, ENVIRONMENTS, EXPLORERS, POLICIES)  # an explorer is a policy as well, so it comes first


def check(
    thing: Any, *arguments: Any, expected_failures: Mapping[str, str] | None = None, **settings: Any
) -> Report:
    """Check an oracle, a policy, an explorer or an environment.

    All checks run, and one error lists all faults.

    Parameters
    ----------
    thing : Oracle, Policy, Explorer or Environment
        The object to check.
    *arguments, **settings
        The arguments of `check_oracle`, `check_policy`, `check_explorer` or `check_environment`.
    expected_failures : mapping of str to str, optional
        The names of checks that are known to fail, with a reason for each. Such a check must not pass.

    Returns
    -------
    Report
        A report that describes the trials of each check.

    Raises
    ------
    ConformanceError
        If a check fails. The error lists all faults and starts with the name of the first one.
    TypeError
        If `thing` is not an object of these classes.
    ValueError
        If `expected_failures` has a name that is not a check, or an empty reason.

    Examples
    --------
    >>> from cmab.testing import check
    >>> from oracles import TopK
    >>> len(check(TopK(5, k=2), seconds=0.1).results)
    28
    """
    return _kind_of(thing).check(thing, *arguments, expected_failures=expected_failures, **settings)


def checks(
    thing: Any,
    *arguments: Any,
    name: str | None = None,
    expected_failures: Mapping[str, str] | None = None,
    **settings: Any,
) -> list[Check]:
    """Return the list of checks that `check` runs, for `parametrize_with_checks`.

    Parameters
    ----------
    thing, *arguments, expected_failures, **settings
        As in `check`.
    name : str, optional
        The first part of the name of each check. By default, the name of the class.

    Returns
    -------
    list of Check

    Examples
    --------
    >>> from cmab.testing import checks
    >>> from oracles import TopK
    >>> checks(TopK(5, k=2))[0].name
    'TopK-declaration'
    """
    named: dict[str, Any] = {"name": name, "expected_failures": expected_failures}
    return _kind_of(thing).list(thing, *arguments, **named, **settings)[1]


def _kind_of(thing: Any) -> Kind:
    for kind in _KINDS:
        if isinstance(thing, kind.of):
            return kind
    raise TypeError(f"thing must be an Oracle, a Policy, an Explorer or an Environment, got {shown(thing)}")
