"""Check an object of any kind: an oracle, a policy, an explorer or an environment."""

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

_KINDS = (ORACLES, ENVIRONMENTS, EXPLORERS, POLICIES)  # explorers before policies: an explorer is a policy


def check(
    thing: Any, *arguments: Any, expected_failures: Mapping[str, str] | None = None, **settings: Any
) -> Report:
    """Run all checks of an oracle, a policy, an explorer or an environment, and list all faults together.

    Parameters
    ----------
    thing : Oracle, Policy, Explorer or Environment
        The object to check.
    *arguments, **settings
        Further arguments of `check_oracle`, `check_policy`, `check_explorer` or `check_environment`,
        according to the kind of the object.
    expected_failures : mapping of str to str, optional
        Reason for each check that is known to fail, by the title of the check. Such a check must fail; if it
        passes, this is a fault.

    Returns
    -------
    Report
        How much each check tried, and which faults it would have detected.

    Raises
    ------
    ConformanceError
        If checks fail. The message lists all faults.
    TypeError
        If `thing` is not an oracle, a policy, an explorer or an environment.
    ValueError
        If `expected_failures` names an unknown check or has an empty reason.

    Notes
    -----
    In the main thread, a call of the object that uses the processor for a minute without returning is ended.
    This is a fault, and the remaining checks do not run.

    Examples
    --------
    >>> from cmab.testing import check
    >>> from oracles import TopK
    >>> len(check(TopK(5, k=2), seconds=0.1).results)
    51
    """
    return _kind_of(thing).check(thing, *arguments, expected_failures=expected_failures, **settings)


def checks(
    thing: Any,
    *arguments: Any,
    name: str | None = None,
    expected_failures: Mapping[str, str] | None = None,
    **settings: Any,
) -> list[Check]:
    """Return a list of the checks that `check` runs, for `parametrize_with_checks`.

    Parameters
    ----------
    thing, *arguments, expected_failures, **settings
        As for `check`.
    name : str, optional
        First part of the name of each check. The default is the name of the class.

    Returns
    -------
    list of Check

    Examples
    --------
    >>> from cmab.testing import checks
    >>> from oracles import TopK
    >>> checks(TopK(5, k=2))[0].name
    'TopK-process'
    """
    named: dict[str, Any] = {"name": name, "expected_failures": expected_failures}
    return _kind_of(thing).list(thing, *arguments, **named, **settings)[1]


def _kind_of(thing: Any) -> Kind:
    for kind in _KINDS:
        if isinstance(thing, kind.of):
            return kind
    raise TypeError(f"thing must be an Oracle, a Policy, an Explorer or an Environment, got {shown(thing)}")
