"""Run a list of checks and collect their results."""

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
        Title of the check without the class, as in `expected_failures`.
    text : str
        How much the check tried, and which faults it would have detected. If the check failed as expected,
        the fault.
    false_alarm : float
        Probability that an object without faults fails the check.
    seconds : float
        Duration of the check in wall-clock seconds.
    expected_failure : str
        Reason given in `expected_failures`; empty if the check passed.

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
    """The results of all checks of an object that passed them.

    Attributes
    ----------
    subject : str
        Name of the class of the object.
    results : tuple of CheckResult
        One result for each check, in the order in which the checks ran.

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
        """Upper bound on the probability that an object without faults fails at least one check."""
        return sum(result.false_alarm for result in self.results)

    def __str__(self) -> str:
        passed = [result for result in self.results if not result.expected_failure]
        lines = [
            f"{self.subject}: {len(passed)} of {len(self.results)} checks passed in"
            f" {sum(result.seconds for result in self.results):.1f} s; the probability of a false alarm is"
            f" below {max(self.false_alarm, 1e-12):.0e}"
        ]
        for result in self.results:
            what = result.text or "passed"
            if result.expected_failure:
                what = f"failed as expected ({result.expected_failure}): {result.text}"
            lines.append(f"  {result.name}: {what}")
        return "\n".join(lines)


class ConformanceError(AssertionError):
    """All faults that the checks of one object found. The message begins with the first fault.

    Attributes
    ----------
    faults : dict of str to str
        Message of each failed check, by the title of the check.

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
            lines.append(f"(not finished because {subject} raised an exception: {', '.join(unfinished)})")
        super().__init__("\n".join(lines))


def run_checks(subject: str, checks: Sequence[Check]) -> tuple[CheckResult, ...]:
    """Run all checks. Return their results, or raise one `ConformanceError` with all faults."""
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
                # An earlier fault is the likely cause of the exception, so that only the title is listed.
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
                    f"expected failures: {check.title} passed, although expected_failures lists it"
                    f" ({expected}); remove it from expected_failures"
                )
        seconds = perf_counter() - started
        results.append(CheckResult(check.title, text, false_alarm, seconds, expected))
    if faults:
        raise ConformanceError(subject, faults, unfinished, len(checks))
    return tuple(results)


def _plain(name: str, results: tuple[CheckResult, ...], _: object) -> Report:
    return Report(name, results)


class Kind(NamedTuple):
    """A kind of object: its class, the maker of the subject of the checks, the checks and the report."""

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
        """Return the subject of `thing` and its checks."""
        subject = self.subject(thing, *arguments, **settings)
        return subject, named_checks(name or type(thing).__name__, subject, self.checks, expected_failures)

    def check(self, thing: object, *arguments: Any, **settings: Any) -> Report:
        """Run all checks of `thing` and return the report."""
        (subject, checks), name = self.list(thing, *arguments, **settings), type(thing).__name__
        return self.report(name, run_checks(name, checks), subject)
