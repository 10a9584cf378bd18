"""The results of a list of checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

from cmab.testing._checks import Check, CheckFunction, UnfinishedCheck, named_checks


@dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    Attributes
    ----------
    name : str
        The name of the check without the class, as in `expected_failures`.
    text : str
        The trials of the check and the faults that they would detect. If the check failed as expected, its
        fault.
    false_alarm : float
        The probability with which a correct object fails the check.
    seconds : float
        The wall-clock time in seconds.
    expected_failure : str
        The given reason if the check failed as expected; otherwise empty.

    Examples
    --------
    >>> from cmab.testing import check_oracle
    >>> from oracles import TopK
    >>> results = check_oracle(TopK(4, k=1), super_arms=[[0], [1], [2], [3]], seconds=0.1).results
    >>> {result.expected_failure for result in results}
    {''}
    """

    name: str
    text: str
    false_alarm: float
    seconds: float
    expected_failure: str = ""


@dataclass(frozen=True)
class Report:
    """A report on the checks that an object passed: their trials, and the faults that they would detect.

    Attributes
    ----------
    subject : str
        The name of the class.
    results : tuple of CheckResult
        One result for each check, in order.

    Examples
    --------
    >>> from cmab import CUCB
    >>> from cmab.testing import check_policy
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(3, k=2)
    >>> report = check_policy(CUCB(oracle), SemiBandit(BernoulliArms([0.2, 0.6, 0.9]), oracle))
    >>> report.false_alarm < 1e-6
    True
    """

    subject: str
    results: tuple[CheckResult, ...]

    @property
    def false_alarm(self) -> float:
        """An upper bound on the probability with which a correct object fails any of the checks."""
        return sum(result.false_alarm for result in self.results)

    def __str__(self) -> str:
        passed = [result for result in self.results if not result.expected_failure]
        lines = [
            f"{self.subject}: {len(passed)} of {len(self.results)} checks passed in"
            f" {sum(result.seconds for result in self.results):.1f} s; a correct one fails with probability"
            f" below {max(self.false_alarm, 1e-12):.0e}"
        ]
        for result in self.results:
            what = result.text or "passed"
            if result.expected_failure:
                what = f"failed as expected ({result.expected_failure}): {result.text}"
            lines.append(f"  {result.name}: {what}")
        return "\n".join(lines)


class ConformanceError(AssertionError):
    """An error with all faults of an object. Its text starts with the name of the first fault.

    Attributes
    ----------
    faults : dict of str to str
        The message of each failed check, by the name of the check.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.testing import ConformanceError, check_oracle
    >>> from oracles import TopK
    >>> class Forgetful(TopK):
    ...     def solve(self, means, rng):
    ...         return np.array([0.0, 1.0])
    >>> try:
    ...     check_oracle(Forgetful(4, k=2))
    ... except ConformanceError as error:
    ...     print("form" in error.faults)
    True
    """

    def __init__(
        self, subject: str, faults: Mapping[str, str], unfinished: Mapping[str, str], total: int
    ) -> None:
        self.faults = dict(faults)
        lines = list(faults.values())
        if len(faults) > 1:
            names = f"{', '.join(faults)}; the first fault may have caused the others"
            lines.append(f"({len(faults)} of {total} checks of {subject} failed: {names})")
        if unfinished:
            lines.append(f"(not finished, because {subject} raised an error: {', '.join(unfinished)})")
        super().__init__("\n".join(lines))


def run_checks(subject: str, checks: Sequence[Check]) -> tuple[CheckResult, ...]:
    """Run all checks; return their results, or raise one `ConformanceError` with all faults."""
    results: list[CheckResult] = []
    faults: dict[str, str] = {}
    unfinished: dict[str, str] = {}
    for check in checks:
        started = perf_counter()
        text, false_alarm, expected = "", 0.0, check.expected_failure
        try:
            finding = check.find()
        except UnfinishedCheck as error:
            if not expected:
                # Do not repeat a fault that another check has named already.
                (unfinished if faults else faults)[check.title] = str(error)
            text = str(error)
        except AssertionError as error:
            if not expected:
                faults[check.title] = str(error)
            text = str(error)
        else:
            text, false_alarm = finding.text, finding.false_alarm
            if expected:
                faults[check.title] = (
                    f"expected failures: {check.title} passed, but its failure was expected ({expected});"
                    " remove it from expected_failures"
                )
        seconds = perf_counter() - started
        results.append(CheckResult(check.title, text, false_alarm, seconds, expected))
    if faults:
        raise ConformanceError(subject, faults, unfinished, len(checks))
    return tuple(results)


def _plain(name: str, results: tuple[CheckResult, ...], _: object) -> Report:
    return Report(name, results)


class Kind(NamedTuple):
    """A class of objects to check: the constructor of the subject, the checks, and the form of the report."""

    of: type
    subject: Callable[..., Any]
    checks: tuple[CheckFunction, ...]
    report: Callable[[str, tuple[CheckResult, ...], Any], Report] = _plain

    def list(
        self,
        thing: object,
        *arguments: Any,
        name: str | None = None,
        expected_failures: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> tuple[Any, list[Check]]:
        """Return the subject and its checks."""
        subject = self.subject(thing, *arguments, **settings)
        return subject, named_checks(name or type(thing).__name__, subject, self.checks, expected_failures)

    def check(self, thing: object, *arguments: Any, **settings: Any) -> Report:
        """Run all checks and return the report."""
        (subject, checks), name = self.list(thing, *arguments, **settings), type(thing).__name__
        return self.report(name, run_checks(name, checks), subject)
