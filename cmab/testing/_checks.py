"""What all conformance checks share: one check is one function, a list of them is run to its end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from operator import attrgetter
from time import perf_counter, process_time
from types import CellType, FunctionType
from typing import Any

import numpy as np

from cmab.arrays import AnyArray

LEVEL = 1e-7  # false-alarm probability of one statistical check
POWER = 0.99


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
    >>> from cmab.testing import oracle_checks
    >>> from oracles import TopK
    >>> for check in oracle_checks(TopK(5, k=2)):
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


@dataclass(frozen=True)
class CheckResult:
    """How one check ended.

    Attributes
    ----------
    name : str
        The check's name without the class, as in `expected_failures`.
    text : str
        What it tried and would have noticed; the fault if its failure was expected.
    false_alarm : float
        Probability with which a sound subject fails it.
    seconds : float
        Wall-clock seconds.
    expected_failure : str
        The reason that was given; empty if it passed.

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
    """What the checks of a subject that passed them tried, and what they would have noticed.

    Attributes
    ----------
    subject : str
        The class's name.
    results : tuple of CheckResult
        One for each check, in order.

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
        """Bound on the probability with which a sound subject fails any of the checks."""
        return sum(result.false_alarm for result in self.results)

    def __str__(self) -> str:
        passed = [result for result in self.results if not result.expected_failure]
        lines = [
            f"{self.subject}: {len(passed)} of {len(self.results)} checks passed in"
            f" {sum(result.seconds for result in self.results):.1f} s; a sound one fails with probability"
            f" below {max(self.false_alarm, 1e-12):.0e}"
        ]
        for result in self.results:
            what = result.text or "passed"
            if result.expected_failure:
                what = f"failed as expected ({result.expected_failure}): {result.text}"
            lines.append(f"  {result.name}: {what}")
        return "\n".join(lines)


class ConformanceError(AssertionError):
    """All faults that the checks of one subject found; its text begins with the first one's name.

    Attributes
    ----------
    faults : dict of str to str
        What each failed check says, by the check's name.

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
            names = f"{', '.join(faults)}; the others may follow from the first"
            lines.append(f"({len(faults)} of {total} checks of {subject} failed: {names})")
        if unfinished:
            lines.append(f"(not finished, for what {subject} raised: {', '.join(unfinished)})")
        super().__init__("\n".join(lines))


def run_checks(subject: str, checks: Sequence[Check]) -> tuple[CheckResult, ...]:
    """Run all checks, and return their results or raise one `ConformanceError` with all faults."""
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
                # What another check has named already is not told once more.
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
                    f"expected failures: {check.title} passed, though it was said to fail ({expected});"
                    " take it out of expected_failures"
                )
        seconds = perf_counter() - started
        results.append(CheckResult(check.title, text, false_alarm, seconds, expected))
    if faults:
        raise ConformanceError(subject, faults, unfinished, len(checks))
    return tuple(results)


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
        What `oracle_checks`, `environment_checks` and `policy_checks` return.

    Examples
    --------
    >>> from cmab.testing import oracle_checks, parametrize_with_checks
    >>> from oracles import TopK
    >>> @parametrize_with_checks(oracle_checks(TopK(5, k=2)))
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


class Stopwatch:
    """Seconds of work since it was made: of the processors here, or of a solver that is waited for.

    On a crowded machine both go on more slowly than the clock, and checks should not try less for that.
    """

    def __init__(self) -> None:
        self._work, self._clock = process_time(), perf_counter()

    def seconds(self) -> float:
        """Return processor seconds, or a quarter of the wall clock's if that is more."""
        # Processor time, for other work on the machine must not cut checks short. But who waits for another
        # process, as a solver, would never come to an end by it.
        return max(process_time() - self._work, (perf_counter() - self._clock) / 4)


def pickled(value: object) -> bytes:
    """Return `value` pickled as worker processes get it: classes from notebooks and tests go by value."""
    import cloudpickle

    data: bytes = cloudpickle.dumps(value)
    return data


def content(value: object) -> bytes:
    """Return what `value` holds as bytes, for comparisons before and after; nothing can be read back.

    Classes, and functions that have a name in their module, go by it. Pickled by value, as those of
    ``__main__`` are, they would differ for what Python itself writes on a class, ``__slotnames__`` once an
    instance was copied, and for what the variables of their module hold. Of other functions count what they
    close over, and defaults.
    """
    import cloudpickle

    class Contents(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, thing: Any) -> Any:
            if (isinstance(thing, type) and thing.__module__ != "builtins") or _has_name(thing):
                # By name: what a class holds is its module's matter, and may change between two looks.
                return str, (f"{thing.__module__}.{thing.__qualname__}",)
            if isinstance(thing, FunctionType):
                # The parts come as a state, after the function is known: its closure may hold itself.
                return object, (), _parts_of(thing)
            return super().reducer_override(thing)

    file = BytesIO()
    Contents(file).dump(value)
    return file.getvalue()


def _has_name(thing: object) -> bool:
    if not isinstance(thing, FunctionType):
        return False
    try:
        return attrgetter(thing.__qualname__)(sys.modules[thing.__module__]) is thing
    except (AttributeError, KeyError):
        return False


def _parts_of(function: FunctionType) -> tuple[Any, ...]:
    empty = CellType()  # of a variable that has no value yet
    filled = [cell.cell_contents for cell in function.__closure__ or () if cell != empty]
    named = (function.__module__, function.__qualname__)
    return named, function.__defaults__, function.__kwdefaults__, filled, dict(vars(function))


def require(condition: object, fault: str, message: str, *values: object) -> None:
    """Raise ``AssertionError`` with the fault's name unless `condition` holds (also under ``python -O``).

    `message` is a format string: writing arrays out takes longer than most checks, so it waits for a fault.
    """
    if not condition:
        raise AssertionError(f"{fault}: {message.format(*values)}")


def require_same(first: AnyArray, second: AnyArray, fault: str, what: str, *values: object) -> None:
    """Raise unless two answers are equal; `what` is a format string."""
    if not np.array_equal(first, second):
        raise AssertionError(f"{fault}: {what.format(*values)} gave {second} instead of {first}")
