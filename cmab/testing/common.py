"""Named checks and their report, generated examples, and comparisons that all kinds of checks use."""

from __future__ import annotations

import math
import random
import unittest
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from time import process_time
from typing import Any, Literal

import numpy as np
from scipy.special import bdtrc

from cmab.arrays import FloatArray, IntArray
from cmab.validation import one_of, shown

Level = Literal["quick", "thorough"]

#: The probability with which one statistical comparison may fail for a correct object, over its seeds.
FALSE_ALARM = 1e-9
#: The largest relative difference of two sums that rounding alone explains.
ROUNDING = 1e-9


class NotTried(unittest.SkipTest):
    """The check does not apply to the object. pytest reports the item as skipped, with the reason."""


class Subject:
    """An object with the effort of its checks.

    Parameters
    ----------
    thing : object
        The object to check.
    level : {"quick", "thorough"}
        The effort of each check.
    rng : int
        The seed of all generated inputs.
    """

    def __init__(self, thing: Any, level: Level = "quick", rng: int = 0) -> None:
        one_of("level", level, ("quick", "thorough"))
        hypothesis()
        self.thing, self.level, self.seed = thing, level, rng
        self.effort = 1 if level == "quick" else 10
        #: Seconds of processor time after which a check tries no further example.
        self.limit = 0.5 if level == "quick" else 20.0

    def rng(self, *key: int) -> np.random.Generator:
        """Return a generator that depends on the seed and on `key` only."""
        return np.random.default_rng((self.seed, *key))

    def timed(self, examples: Iterable[Any], share: float = 1.0) -> Iterator[Any]:
        """Yield the examples until they have taken `share` times the limit of processor time."""
        until = process_time() + share * self.limit
        for example in examples:
            yield example
            if process_time() > until:
                return


@dataclass(frozen=True)
class Check:
    """A named check of one object.

    Attributes
    ----------
    name : str
        Class of the object and title of the check, for example ``"TopK-guarantee"``.
    statement : str
        The property that the check tests.
    examine : callable
        Function of the subject that raises ``AssertionError`` if the object fails the check, and `NotTried`
        if the check does not apply. It may return a text that says how much it tried.
    subject : Subject
        The object with the effort.
    expected_failure : str
        Reason for which the check is known to fail; empty if it should pass.

    Examples
    --------
    >>> from cmab.testing import checks
    >>> from oracles import TopK
    >>> checks(TopK(5, k=2))[0].name
    'TopK-declaration'
    """

    name: str
    statement: str
    examine: Callable[[Any], str | None]
    subject: Any
    expected_failure: str = ""

    @property
    def title(self) -> str:
        """The title of the check without the class, which is its key in `expected_failures`."""
        return self.name.rpartition("-")[2]

    def run(self) -> str:
        """Run the check, and return how much it tried.

        Raises
        ------
        AssertionError
            If the object fails the check, or raises an unexpected exception. The message begins with the
            title of the check.
        NotTried
            If the check does not apply to the object.
        """
        try:
            return self.examine(self.subject) or ""
        except (NotTried, KeyboardInterrupt):
            raise
        except AssertionError as error:
            raise AssertionError(f"{self.title}: {error}\n  Property: {self.statement}") from error
        except Exception as error:
            text = f"{self.title}: the check ended with {type(error).__name__}: {error}"
            raise AssertionError(f"{text}\n  Property: {self.statement}") from error


@dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    Attributes
    ----------
    name : str
        Title of the check.
    outcome : {"passed", "failed", "failed as expected", "not tried"}
        What happened.
    text : str
        How much the check tried, the fault, or the reason for which the check was not tried.

    Examples
    --------
    >>> from cmab.testing import CheckResult, check_oracle
    >>> from oracles import TopK
    >>> result = check_oracle(TopK(5, k=2)).results[0]
    >>> isinstance(result, CheckResult), result.name, result.outcome
    (True, 'declaration', 'passed')
    """

    name: str
    outcome: str
    text: str = ""


@dataclass(frozen=True)
class Report:
    """The results of all checks of an object.

    Attributes
    ----------
    subject : str
        Name of the class of the object.
    results : tuple of CheckResult
        One result for each check, in the order in which the checks ran.
    exhaustive : bool
        Whether the answers of an oracle were compared with the optimum over all its super arms.

    Examples
    --------
    >>> from itertools import combinations
    >>> from cmab.testing import check_oracle
    >>> from oracles import TopK
    >>> report = check_oracle(TopK(5, k=2), super_arms=combinations(range(5), 2))
    >>> report.exhaustive, "guarantee" in report.passed
    (True, True)
    """

    subject: str
    results: tuple[CheckResult, ...]
    exhaustive: bool = False

    def _of(self, outcome: str) -> dict[str, str]:
        return {result.name: result.text for result in self.results if result.outcome == outcome}

    @property
    def passed(self) -> dict[str, str]:
        """How much each check tried that passed, by the title of the check."""
        return self._of("passed")

    @property
    def not_tried(self) -> dict[str, str]:
        """The reasons for which checks were not tried, by the title of the check."""
        return self._of("not tried")

    def __str__(self) -> str:
        text = f"{self.subject}: {len(self.passed)} passed"
        for outcome in ("failed", "failed as expected"):
            if names := self._of(outcome):
                text += f", {len(names)} {outcome}: {', '.join(names)}"
        if self.not_tried:
            reasons: dict[str, list[str]] = {}
            for name, reason in self.not_tried.items():
                reasons.setdefault(reason, []).append(name)
            text += f", {len(self.not_tried)} not tried:"
            text += "".join(f"\n  {', '.join(names)}: {reason}" for reason, names in reasons.items())
        return text


class ConformanceError(AssertionError):
    """All faults that the checks of one object found.

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
    >>> class OneTooFew(TopK):
    ...     def solve(self, means, rng):
    ...         return np.argsort(-means)[: self.k - 1]
    >>> try:
    ...     check_oracle(OneTooFew(4, k=2))
    ... except ConformanceError as error:
    ...     print("feasibility" in error.faults)
    True
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        self.faults = {each.name: each.text for each in report.results if each.outcome == "failed"}
        lines = list(self.faults.values())
        if len(lines) > 1:
            names = ", ".join(self.faults)
            lines.append(f"({len(lines)} checks failed: {names}; the first fault may have caused the others)")
        super().__init__("\n".join(lines))


def hypothesis() -> Any:
    """Return the module ``hypothesis``; raise ``ImportError`` with the remedy if it is not installed."""
    try:
        import hypothesis as module
        import hypothesis.strategies
    except ImportError as error:
        raise ImportError(
            'cmab.testing generates its examples with Hypothesis: install it with pip install "cmab[checks]"'
        ) from error
    return module


def named_checks(
    subject: Subject,
    functions: Iterable[Callable[[Any], str | None]],
    expected_failures: Mapping[str, str] | None,
    name: str | None = None,
) -> list[Check]:
    """Return one `Check` for each function. Its title is the name of the function.

    Raises
    ------
    ValueError
        If `expected_failures` names an unknown check or has an empty reason.
    """
    prefix = type(subject.thing).__name__ if name is None else name
    reasons = dict(expected_failures or {})
    found = []
    for function in functions:
        title = function.__name__.removeprefix("check_").replace("_", " ")
        statement = (function.__doc__ or "").partition("\n")[0]
        found.append(Check(f"{prefix}-{title}", statement, function, subject, reasons.get(title, "")))
    titles = [check.title for check in found]
    if unknown := sorted(set(reasons) - set(titles)):
        raise ValueError(f"expected_failures must name checks from {titles}, got {unknown}")
    if empty := sorted(title for title, reason in reasons.items() if not reason):
        raise ValueError(f"expected_failures must give a reason for each check, got none for {empty}")
    return found


def run_checks(checks: list[Check], *, exhaustive: bool = False) -> Report:
    """Run all checks and return the report. Raise `ConformanceError` if a check fails unexpectedly."""
    results = []
    for check in checks:
        outcome = "passed"
        try:
            text = check.run()
            if check.expected_failure:
                outcome, text = "failed", f"{check.title}: passed although expected_failures lists it"
        except NotTried as reason:
            outcome, text = "not tried", str(reason)
        except AssertionError as fault:
            outcome, text = "failed as expected" if check.expected_failure else "failed", str(fault)
        results.append(CheckResult(check.title, outcome, text))
    report = Report(type(checks[0].subject.thing).__name__, tuple(results), exhaustive)
    if any(result.outcome == "failed" for result in results):
        raise ConformanceError(report)
    return report


def parametrize_with_checks(*checks: Iterable[Check]) -> Any:
    """Return a pytest decorator that runs the test function once for each check.

    The id of each item is the name of the check. A check that does not apply is skipped. A check with an
    expected failure is a strict ``xfail``: its item fails as soon as the check passes.

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
        marks = [pytest.mark.xfail(reason=reason, raises=AssertionError, strict=True)] if reason else []
        return pytest.param(check, id=check.name, marks=marks)

    return pytest.mark.parametrize("check", [item(check) for group in checks for check in group])


def require(condition: Any, text: str, *values: Any) -> None:
    """Raise ``AssertionError`` with `text`, formatted with `values`, unless `condition` holds."""
    if not condition:
        raise AssertionError(text.format(*(_text(value) for value in values)))


def _text(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return shown([float(f"{x:.6g}") if isinstance(x, float) else x for x in value], 300)
    return value


def for_all(subject: Subject, strategy: Any, test: Callable[[Any], None], examples: int = 40) -> str:
    """Run `test` on generated values. If it raises ``AssertionError``, raise that of the simplest value.

    After the limit of processor time, no further value is tried. The time begins with the first value:
    before that, Hypothesis reads the loaded modules, which takes long.
    """
    module = hypothesis()
    until: float | None = None
    state = {"tried": 0, "failed": False}

    settings = module.settings(
        max_examples=examples * subject.effort,
        database=None,
        derandomize=True,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(module.HealthCheck),
        phases=[module.Phase.generate, module.Phase.shrink],
    )

    def search(value: Any) -> None:
        nonlocal until
        until = until or process_time() + subject.limit
        if process_time() > until and not state["failed"]:
            return
        state["tried"] += 1
        try:
            test(value)
        except NotTried:
            state["tried"] -= 1
        except Exception:
            state["failed"] = True
            raise

    try:
        settings(module.given(strategy)(search))()
    except Exception as error:
        error.__notes__ = []  # notes of Hypothesis, which repeat the generated value
        raise
    if not state["tried"]:
        raise NotTried("no generated example applies")
    return f"{state['tried']} examples"


def means_strategy(n_arms: int, low: float, high: float) -> Any:
    """Return a Hypothesis strategy of arrays of means in ``[low, high]``.

    A few levels are drawn, so that ties are frequent, and half of the arrays have a disturbance of random
    size. The arrays shrink to equal means at `low`.
    """
    st = hypothesis().strategies
    length = min(n_arms, 10)

    def made(drawn: tuple[list[int], int, int]) -> FloatArray:
        levels, seed, power = drawn
        rng = np.random.default_rng(seed)
        places = np.arange(n_arms) if n_arms == length else rng.integers(length, size=n_arms)
        fractions = np.array(levels)[places] / 10
        if power:
            fractions = np.clip(fractions + rng.uniform(-1, 1, n_arms) * 10.0**-power, 0.0, 1.0)
        means: FloatArray = low + (high - low) * fractions
        return means

    levels = st.lists(st.integers(0, 10), min_size=length, max_size=length)
    return st.tuples(levels, st.integers(0, 2**16), st.sampled_from([0, 1, 0, 2, 6])).map(made)


def usual_means(n_arms: int, low: float, high: float, rng: np.random.Generator) -> list[FloatArray]:
    """Return constant means, means with one arm apart, means of two levels, random and nearly equal means."""
    ones, eye = np.ones(n_arms), np.eye(n_arms)[rng.permutation(n_arms)[:6]]
    fractions = [0.0 * ones, ones, 0.5 * ones, *eye, *(1.0 - eye)]
    fractions += [rng.integers(2, size=n_arms) * 1.0 for _ in range(4)]
    fractions += [rng.random(n_arms) for _ in range(12)]
    fractions += [0.5 + size * rng.random(n_arms) for size in (1e-3, 1e-6, 1e-8, 1e-8)]
    return [low + (high - low) * fraction for fraction in fractions]


def entries(answer: Any, n: int, what: str = "the super arm") -> IntArray:
    """Return an answer as an int64 array; it must be distinct entries of ``range(n)``."""
    values = sorted(answer) if isinstance(answer, set | frozenset) else answer
    array = np.asarray(values)
    if array.ndim == 1 and array.size == 0:
        return np.empty(0, np.int64)
    require(
        array.ndim == 1 and array.dtype.kind in "iu",
        "{} must be a 1-D array of integers, got {} of dtype {} and shape {}",
        what,
        shown(answer),
        array.dtype,
        array.shape,
    )
    inside = array.min() >= 0 and array.max() < n
    require(inside, "the entries of {} must lie in range({}), got {}", what, n, array)
    require(len(np.unique(array)) == array.size, "{} must not repeat an entry, got {}", what, array)
    return np.array(array, np.int64)


def leaves(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the arrays and numbers in a state, with names."""
    if isinstance(value, np.random.Generator):
        yield f"{name}.state", str(value.bit_generator.state)
    elif depth > 6 or isinstance(value, np.ndarray | str | bytes | int | float | np.generic):
        yield name, value
    elif isinstance(value, Mapping):
        for key in value:
            yield from leaves(value[key], f"{name}[{key!r}]", depth + 1)
    elif isinstance(value, list | tuple):
        yield f"len({name})", len(value)
        for i, part in enumerate(value):
            yield from leaves(part, f"{name}[{i}]", depth + 1)
    elif isinstance(value, set | frozenset):
        yield name, str(sorted(map(repr, value)))
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from leaves(getattr(value, field.name, None), f"{name}.{field.name}", depth + 1)
    elif hasattr(value, "__dict__") and not callable(value):
        for key, part in vars(value).items():
            yield from leaves(part, f"{name}.{key}", depth + 1)


def difference(one: Any, other: Any, tolerance: float = 0.0) -> str:
    """Return where two states differ by more than a relative `tolerance`, or '' if they agree."""
    here, there = dict(leaves(one)), dict(leaves(other))
    if here.keys() != there.keys():
        return f"the parts {shown(sorted(here.keys() ^ there.keys()))}"
    for name, value in here.items():
        if not _agree(value, there[name], tolerance):
            left, right = _text(value), _text(there[name])
            return f"{name.lstrip('.') or 'the state'}: {left} and {right}"
    return ""


def _agree(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, str | bytes) or isinstance(other, str | bytes):
        return bool(one == other)
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape:
        return False
    if a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return str(a) == str(b)
    if tolerance == 0.0:
        return bool(np.array_equal(a, b, equal_nan=True))
    scale = max(1.0, float(np.abs(a[np.isfinite(a)]).max(initial=0.0)))
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True))


def dirty(array: Any) -> None:
    """Overwrite an array, if it is one that can be written to."""
    if isinstance(array, np.ndarray) and array.flags.writeable and array.size:
        array[...] = np.array(97).astype(array.dtype)


def exceeds(failures: int, trials: int, rate: float, level: float = FALSE_ALARM) -> bool:
    """Return whether so many failures have a probability below `level` if their rate is `rate`."""
    return failures > 0 and float(bdtrc(failures - 1, trials, rate)) < level


def mean_differs(values: FloatArray, mean: float, scale: float) -> bool:
    """Return whether the average of independent values in an interval of length `scale` contradicts `mean`.

    The comparison uses the empirical Bernstein bound (Maurer and Pontil 2009, Theorem 4), which holds for
    any number of bounded values.
    """
    n = len(values)
    if n < 2:
        return False
    log = math.log(4 / FALSE_ALARM)
    width = math.sqrt(2 * float(values.var(ddof=1)) * log / n) + 7 * scale * log / (3 * (n - 1))
    return abs(float(values.mean()) - mean) > width + ROUNDING * (scale + abs(mean))


def seeded_globally(times: int) -> Iterator[int]:
    """Yield numbers, with the global generators of Python and NumPy seeded by them, and restore these."""
    held = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        for seed in range(times):
            np.random.seed(seed)  # noqa: NPY002
            random.seed(seed)
            yield seed
    finally:
        np.random.set_state(held[0])  # noqa: NPY002
        random.setstate(held[1])
