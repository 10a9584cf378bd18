"""Named conformance checks; each is one function of a subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """The description of a check that passed.

    Attributes
    ----------
    text : str
        The number of trials, and the faults that they would detect.
    false_alarm : float
        The probability, over the seeds, with which a correct object fails the check; 0 for exact checks.

    Examples
    --------
    >>> from cmab.testing import Finding
    >>> Finding("200 problems", false_alarm=1e-9).text
    '200 problems'
    """

    text: str = ""
    false_alarm: float = 0.0


CheckFunction = Callable[[Any], Finding | None]


@dataclass(frozen=True)
class Check:
    """A named check of one object.

    Attributes
    ----------
    name : str
        The class and the property that is checked, such as ``"TopK-guarantee"``.
    examine : callable
        The function of the check. It raises ``AssertionError`` if the check fails; otherwise it returns a
        `Finding`, or None if there is nothing to describe.
    expected_failure : str
        The reason for a known failure; empty if the check should pass.

    Examples
    --------
    >>> from cmab.testing import checks
    >>> from oracles import TopK
    >>> for check in checks(TopK(5, k=2)):
    ...     check.run()
    """

    name: str
    examine: Callable[[], Finding | None]
    expected_failure: str = ""

    def run(self) -> None:
        """Run the check.

        Raises
        ------
        AssertionError
            If the check fails. Any other exception becomes an ``AssertionError`` with the name of the check.
        """
        self.find()

    def find(self) -> Finding:
        """Run the check and return its finding; raise ``AssertionError`` as `run` does."""
        try:
            return self.examine() or Finding()
        # A fault that the check found. Any other exception is not the subject of this check.
        except AssertionError:
            raise
        except Exception as error:
            raise UnfinishedCheck(
                f"{self.title}: {self.name} did not finish, because it raised {error!r}"
            ) from error

    @property
    def title(self) -> str:
        """The name of the check without the class: a key of `expected_failures`."""
        return self.name.rpartition("-")[2].replace("_", " ")


class UnfinishedCheck(AssertionError):
    """An error that interrupted a check. It is a fault by itself or follows from another fault."""


def named_checks(
    prefix: str,
    subject: Any,
    checks: Sequence[CheckFunction],
    expected_failures: Mapping[str, str] | None = None,
) -> list[Check]:
    """Return one `Check` of `subject` for each function, with the name ``prefix-function``."""
    names = [check.__name__.removeprefix("_").removeprefix("check_") for check in checks]
    reasons = dict(expected_failures or {})
    titles = [name.replace("_", " ") for name in names]
    # A misspelled title would have no effect, and its check would fail as if unexpected.
    if unknown := sorted(set(reasons) - set(titles)):
        raise ValueError(f"expected_failures must name checks from {titles}, got {unknown}")
    if silent := sorted(title for title, reason in reasons.items() if not reason):
        raise ValueError(f"expected_failures must give a reason for each check, but has none for {silent}")
    return [
        Check(f"{prefix}-{name}", _bound(check, subject), reasons.get(title, ""))
        for name, title, check in zip(names, titles, checks, strict=True)
    ]


def _bound(check: CheckFunction, subject: Any) -> Callable[[], Finding | None]:
    # A separate function is needed, because a lambda in the loop would refer to the last check only.
    return lambda: check(subject)


def parametrize_with_checks(*checks: Iterable[Check]) -> Any:
    """Return a pytest decorator that makes one item of each check, with a readable id.

    A check that is expected to fail gets a strict ``xfail`` mark: if it passes, the test suite fails.

    Parameters
    ----------
    *checks : iterable of Check
        The lists of checks that `checks` returns.

    Examples
    --------
    >>> from cmab.testing import checks, parametrize_with_checks
    >>> from oracles import TopK
    >>> @parametrize_with_checks(checks(TopK(5, k=2)))
    ... def test_my_oracle(check):
    ...     check.run()
    """
    import pytest

    def item(check: Check) -> Any:
        reason = check.expected_failure
        # The mark is strict, so that a repaired fault is removed from the list.
        marks = [pytest.mark.xfail(reason=reason, raises=AssertionError, strict=True)] if reason else []
        return pytest.param(check, id=check.name, marks=marks)

    return pytest.mark.parametrize("check", [item(check) for group in checks for check in group])
