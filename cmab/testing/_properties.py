"""The list of properties that the checks test."""

from __future__ import annotations

from dataclasses import dataclass

from cmab.testing import _property_rows as rows
from cmab.testing.environments import ENVIRONMENTS
from cmab.testing.explorers import EXPLORERS
from cmab.testing.oracles import ORACLES
from cmab.testing.policies import POLICIES

_KINDS = {
    "oracle": (ORACLES, rows.ORACLE),
    "policy": (POLICIES, rows.POLICY),
    "environment": (ENVIRONMENTS, rows.ENVIRONMENT),
    "explorer": (EXPLORERS, rows.EXPLORER),
}


@dataclass(frozen=True)
class Property:
    """A property that a check tests.

    Attributes
    ----------
    kind : str
        Kind of the objects: "oracle", "policy", "environment" or "explorer".
    name : str
        Title of the check.
    statement : str
        The property.
    reason : str
        Why it matters.
    confidence : str
        "exact" if the check has no false alarms, otherwise the probability of one.
    look_at : str
        Parts of a class in which the usual causes of a failure lie.

    Examples
    --------
    >>> from cmab.testing import properties
    >>> properties("policy")[0].name
    'process'
    """

    kind: str
    name: str
    statement: str
    reason: str
    confidence: str
    look_at: str


def properties(kind: str | None = None) -> list[Property]:
    """Return the properties that the checks of a kind of objects test, in the order of the checks.

    Parameters
    ----------
    kind : {"oracle", "policy", "environment", "explorer"}, optional
        The kind of the objects. If omitted, the properties of all kinds are returned.

    Returns
    -------
    list of Property

    Raises
    ------
    ValueError
        If `kind` is another word.

    Examples
    --------
    >>> from cmab.testing import properties
    >>> [each.reason for each in properties("explorer") if each.name == "undo"]
    ['An undone report must leave no trace.']
    """
    if kind is not None and kind not in _KINDS:
        raise ValueError(f"kind must be one of {', '.join(_KINDS)}, got {kind!r}")
    found = []
    for name in _KINDS if kind is None else (kind,):
        checks, own = _KINDS[name]
        told = {row[0]: row[1:] for row in (*rows.SHARED, *own)}
        for check in checks.checks:
            title = check.__name__.removeprefix("check_").replace("_", " ")
            # "Check that A, and that B." becomes "A, and B."
            statement = str(check.__doc__).partition("\n")[0].removeprefix("Check that ")
            statement = statement.replace(", and that ", ", and ")
            found.append(Property(name, title, statement[:1].upper() + statement[1:], *told[title]))
    return found
