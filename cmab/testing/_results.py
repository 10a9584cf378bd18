"""Run a list of checks and collect their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from cmab.run.workers import progress_bar as shown_bar
from cmab.testing._checks import Check, CheckFunction, EndlessCall, UnfinishedCheck, named_checks
from cmab.testing._limits import limited_calls
from cmab.testing._process_state import kept_settings
from cmab.testing._property_rows import SHARED
from cmab.testing._shared_state import note_state
from cmab.testing._untested import SHARED as UNTESTED

Level = Literal["quick", "thorough"]


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
    failed : bool
        Whether the check found a fault that was not expected. `text` is then its message.

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
    failed: bool = False

    @property
    def was_tried(self) -> bool:
        """Whether the check tried anything."""
        return not self.text.startswith("not tried")


@dataclass(frozen=True)
class Report:
    """The results of all checks of an object that passed them.

    Attributes
    ----------
    subject : str
        Name of the class of the object.
    results : tuple of CheckResult
        One result for each check, in the order in which the checks ran.
    level : str
        The level of the checks, "quick" or "thorough".
    untested : tuple of str
        Properties of this kind of objects that no check tests.

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
    level: str = "quick"
    untested: tuple[str, ...] = ()

    @property
    def not_checked(self) -> dict[str, str]:
        """Reasons for which properties were not tested, by the title of the check."""
        return {result.name: result.text for result in self.results if not result.was_tried}

    def as_json(self) -> str:
        """Return the report as a JSON object with one entry for each property.

        Examples
        --------
        >>> import json
        >>> from cmab.testing import check
        >>> from oracles import TopK
        >>> json.loads(check(TopK(4, k=1), seconds=0.1).as_json())["level"]
        'quick'
        """
        entries = [
            {
                "property": result.name,
                "outcome": _outcome(result),
                "text": result.text,
                "false_alarm": result.false_alarm,
                "seconds": round(result.seconds, 4),
                "expected_failure": result.expected_failure,
            }
            for result in self.results
        ]
        told = {
            "subject": self.subject,
            "level": self.level,
            "false_alarm": self.false_alarm,
            "checks": entries,
            "untested": list(self.untested),
        }
        return json.dumps(told, indent=1)

    @property
    def false_alarm(self) -> float:
        """Upper bound on the probability that an object without faults fails at least one check."""
        return sum(result.false_alarm for result in self.results)

    def __str__(self) -> str:
        passed = [result for result in self.results if not result.expected_failure and not result.failed]
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
        if self.not_checked:
            lines.append(f"not checked: {', '.join(self.not_checked)}")
        if self.level == "quick":
            lines.append("rare faults were searched for a short time only; level='thorough' searches longer")
        lines += [f"untested: {each}" for each in self.untested]
        return "\n".join(lines)


def _outcome(result: CheckResult) -> str:
    if result.failed:
        return "failed"
    if result.expected_failure:
        return "failed as expected"
    return "passed" if result.was_tried else "not tried"


class ConformanceError(AssertionError):
    """All faults that the checks of one object found. The message begins with the first fault.

    Attributes
    ----------
    faults : dict of str to str
        Message of each failed check, by the title of the check.
    report : Report
        The results of all checks, also of those that passed.

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
        self,
        subject: str,
        faults: Mapping[str, str],
        unfinished: Mapping[str, str],
        results: tuple[CheckResult, ...] = (),
        level: str = "quick",
    ) -> None:
        self.faults = dict(faults)
        self.report = Report(subject, results, level)
        total = len(results)
        lines = list(faults.values())
        if len(faults) > 1:
            names = f"{', '.join(faults)}; the first fault may have caused the others"
            lines.append(f"({len(faults)} of {total} checks of {subject} failed: {names})")
        if unfinished:
            lines.append(f"(not finished because {subject} raised an exception: {', '.join(unfinished)})")
        super().__init__("\n".join(lines))


def run_checks(
    subject: str, checks: Sequence[Check], progress: bool | None = False, level: str = "quick"
) -> tuple[CheckResult, ...]:
    """Run all checks. Return their results, or raise one `ConformanceError` with all faults."""
    results: list[CheckResult] = []
    faults: dict[str, str] = {}
    unfinished: dict[str, str] = {}
    for check in _shown(subject, checks, progress):
        started = perf_counter()
        text, false_alarm, expected, was_ended = "", 0.0, check.expected_failure, False
        try:
            with kept_settings():  # a fault of one check must not disturb the others
                finding = check.find()
        except UnfinishedCheck as error:
            if not expected:
                # An earlier fault is the likely cause of the exception, so that only the title is listed.
                (unfinished if faults else faults)[check.title] = str(error)
            text = str(error)
        except AssertionError as error:
            if not expected:
                faults[check.title] = str(error)
            text, was_ended = str(error), isinstance(error, EndlessCall)
        else:
            text, false_alarm = finding.text, finding.false_alarm
            if expected:
                faults[check.title] = (
                    f"expected failures: {check.title} passed, although expected_failures lists it"
                    f" ({expected}); remove it from expected_failures"
                )
        seconds = perf_counter() - started
        failed = check.title in faults or check.title in unfinished
        results.append(CheckResult(check.title, text, false_alarm, seconds, expected, failed))
        if was_ended and check.title in faults:  # the other checks might take as long
            faults[check.title] += f"\n  The other {len(checks) - len(results)} checks were not run."
            break
    if faults:
        raise ConformanceError(subject, faults, unfinished, tuple(results), level)
    return tuple(results)


def _shown(subject: str, checks: Sequence[Check], progress: bool | None) -> Iterator[Check]:
    """Yield the checks with a progress bar that names the present one."""
    with shown_bar(progress, total=len(checks), desc=f"checks of {subject}") as bar:
        for check in checks:
            if bar is not None:
                bar.set_postfix_str(check.title)
            yield check
            if bar is not None:
                bar.update()


def _plain(
    name: str, results: tuple[CheckResult, ...], _: object, level: str, untested: tuple[str, ...]
) -> Report:
    return Report(name, results, level, untested)


class Kind(NamedTuple):
    """A kind of object: its class, the maker of the subject of the checks, the checks and the report."""

    of: type
    subject: Callable[..., Any]
    checks: tuple[CheckFunction, ...]
    report: Callable[[str, tuple[CheckResult, ...], Any, str, tuple[str, ...]], Report] = _plain
    rows: tuple[tuple[str, str, str, str], ...] = ()
    thorough: Mapping[str, Any] = MappingProxyType({"seconds": 20.0})
    untested: tuple[str, ...] = ()

    @property
    def hints(self) -> dict[str, str]:
        """The end of the message of each check: the reason for the property, and what to look at."""
        return {
            title: f"\n  Reason: {reason} Look at: {look_at}."
            for title, reason, _, look_at in (*SHARED, *self.rows)
        }

    def list(
        self,
        thing: object,
        *arguments: Any,
        name: str | None = None,
        expected_failures: Mapping[str, str] | None = None,
        level: Level = "quick",
        **settings: Any,
    ) -> tuple[Any, list[Check]]:
        """Return the subject of `thing` and its checks."""
        if level not in ("quick", "thorough"):
            raise ValueError(f"level must be 'quick' or 'thorough', got {level!r}")
        given = {name: value for name, value in settings.items() if value is not None}
        note_state(thing)
        subject = self.subject(
            thing, *arguments, **{**(self.thorough if level == "thorough" else {}), **given}
        )
        return subject, named_checks(
            name or type(thing).__name__,
            subject,
            self.checks,
            expected_failures,
            self.hints,
            partial(limited_calls, type(thing)),
        )

    def check(
        self,
        thing: object,
        *arguments: Any,
        level: Level = "quick",
        progress: bool | None = None,
        **settings: Any,
    ) -> Report:
        """Run all checks of `thing` at a level and return the report."""
        (subject, checks), name = self.list(thing, *arguments, level=level, **settings), type(thing).__name__
        shown = progress if level == "thorough" else progress or False
        results = run_checks(name, checks, shown, level)
        return self.report(name, results, subject, level, (*UNTESTED, *self.untested))
