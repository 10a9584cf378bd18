"""Named checks, their findings, and the pytest decorator that runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """The result of a check that passed.

    Attributes
    ----------
    text : str
        How much the check tried, and which faults it would have detected.
    false_alarm : float
        Probability that an object without faults fails the check, over the seeds of the check; 0 for exact
        checks.

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
        Class of the object and title of the check, for example ``"TopK-guarantee"``.
    examine : callable
        Function that runs the check. It raises ``AssertionError`` if the object fails. Otherwise it returns
        a `Finding`, or None if there is nothing to report.
    expected_failure : str
        Reason for which the check is known to fail; empty if it should pass.
    hint : str
        Why the property matters and what to look at if the check fails. The message of a failure ends with
        it.

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
    hint: str = ""

    def run(self) -> None:
        """Run the check.

        Raises
        ------
        AssertionError
            If the object fails the check, or raises another exception during the check. The message begins
            with the title of the check.
        """
        self.find()

    def find(self) -> Finding:
        """Run the check and return its finding; raise ``AssertionError`` as `run` does."""
        try:
            return self.examine() or Finding()
        # The check found a fault. Any other exception comes from the object, and the check did not expect it.
        except EndlessCall as error:
            raise EndlessCall(f"{self.title}: {error}{self.hint}") from error.__cause__
        except AssertionError as error:
            raise AssertionError(f"{error}{self.hint}") from error.__cause__
        except Exception as error:
            text = f"{self.title}: {self.name} did not finish because of {error!r}{self.hint}"
            raise UnfinishedCheck(text) from error

    @property
    def title(self) -> str:
        """The title of the check without the class, which is its key in `expected_failures`."""
        return self.name.rpartition("-")[2].replace("_", " ")


class UnfinishedCheck(AssertionError):
    """The object raised an unexpected exception during a check, perhaps because of another fault."""


class EndlessCall(AssertionError):
    """A call of the object did not return within the time that a check allows."""


def named_checks(
    prefix: str,
    subject: Any,
    checks: Sequence[CheckFunction],
    expected_failures: Mapping[str, str] | None = None,
    hints: Mapping[str, str] | None = None,
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> list[Check]:
    """Return one `Check` of `subject` for each function, named ``prefix-function``.

    Each check runs in a new context `around`.
    """
    names = [check.__name__.removeprefix("_").removeprefix("check_") for check in checks]
    reasons = dict(expected_failures or {})
    titles = [name.replace("_", " ") for name in names]
    # A misspelt title would have no effect, and the failure of the check would be unexpected.
    if unknown := sorted(set(reasons) - set(titles)):
        raise ValueError(f"expected_failures must name checks from {titles}, got {unknown}")
    if silent := sorted(title for title, reason in reasons.items() if not reason):
        raise ValueError(
            f"expected_failures must give a reason for each check, got an empty reason for {silent}"
        )
    return [
        Check(
            f"{prefix}-{name}",
            _bound(check, subject, around),
            reasons.get(title, ""),
            (hints or {}).get(title, ""),
        )
        for name, title, check in zip(names, titles, checks, strict=True)
    ]


def _bound(
    check: CheckFunction, subject: Any, around: Callable[[], AbstractContextManager[None]]
) -> Callable[[], Finding | None]:
    def examine() -> Finding | None:
        with around():
            return check(subject)

    return examine


def parametrize_with_checks(*checks: Iterable[Check]) -> Any:
    """Return a pytest decorator that runs the test function once for each check.

    The id of each item is the name of the check. A check with an expected failure is marked as a strict
    ``xfail``: its item fails as soon as the check passes.

    Parameters
    ----------
    *checks : iterable of Check
        Lists of checks, as returned by `checks`.

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
        # Strict, so that an expected failure is removed from the list once the fault is mended.
        marks = [pytest.mark.xfail(reason=reason, raises=AssertionError, strict=True)] if reason else []
        return pytest.param(check, id=check.name, marks=marks)

    return pytest.mark.parametrize("check", [item(check) for group in checks for check in group])
