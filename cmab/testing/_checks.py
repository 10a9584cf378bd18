"""Conformance checks: one check is one function, with a name and a subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """What a check that passed has to say.

    Attributes
    ----------
    text : str
        How much was tried, and which faults it would have noticed.
    false_alarm : float
        Probability with which a sound subject fails the check, over its random seeds; 0 for exact checks.

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
    """One named check, ready to run.

    Attributes
    ----------
    name : str
        What is checked, and of which class: ``"TopK-guarantee"``.
    examine : callable
        Raises ``AssertionError`` if the subject fails; returns a `Finding`, or None for nothing to say.
    expected_failure : str
        Why it is known to fail; empty if it should pass.

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
            If the subject fails; whatever else it raises is named by the check.
        """
        self.find()

    def find(self) -> Finding:
        """Run the check and return what it has to say; raises as `run` does."""
        try:
            return self.examine() or Finding()
        # A fault that was found; everything else is one that the check was not about.
        except AssertionError:
            raise
        except Exception as error:
            raise UnfinishedCheck(
                f"{self.title}: {self.name} came to no end, for {error!r} came up"
            ) from error

    @property
    def title(self) -> str:
        """What is checked, without the class: the key of `expected_failures`."""
        return self.name.rpartition("-")[2].replace("_", " ")


class UnfinishedCheck(AssertionError):
    """The subject raised in the middle of a check, which is a fault by itself or follows from another."""


def named_checks(
    prefix: str,
    subject: Any,
    checks: Sequence[CheckFunction],
    expected_failures: Mapping[str, str] | None = None,
) -> list[Check]:
    """Return one `Check` of `subject` for each function, named ``prefix-function``."""
    names = [check.__name__.removeprefix("_").removeprefix("check_") for check in checks]
    reasons = dict(expected_failures or {})
    titles = [name.replace("_", " ") for name in names]
    # A misspelt title would declare nothing, and its check would fail as if unexpected.
    if unknown := sorted(set(reasons) - set(titles)):
        raise ValueError(f"expected_failures must name checks, some of {titles}, got {unknown}")
    if silent := sorted(title for title, reason in reasons.items() if not reason):
        raise ValueError(f"expected_failures must give a reason for each check, got none for {silent}")
    return [
        Check(f"{prefix}-{name}", _bound(check, subject), reasons.get(title, ""))
        for name, title, check in zip(names, titles, checks, strict=True)
    ]


def _bound(check: CheckFunction, subject: Any) -> Callable[[], Finding | None]:
    # A function of its own: a lambda in the loop would see the last check only.
    return lambda: check(subject)


def parametrize_with_checks(*checks: Iterable[Check]) -> Any:
    """Return a pytest decorator that makes one item, with a readable id, of each check.

    A check whose failure is expected is marked as such, and fails the suite once it passes.

    Parameters
    ----------
    *checks : iterable of Check
        What `checks` returns.

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
        # Strict: a fault that is gone must be taken off the list.
        marks = [pytest.mark.xfail(reason=reason, raises=AssertionError, strict=True)] if reason else []
        return pytest.param(check, id=check.name, marks=marks)

    return pytest.mark.parametrize("check", [item(check) for group in checks for check in group])
