"""Checks of explorers."""

from __future__ import annotations

from collections.abc import Mapping

from cmab.environment import Environment
from cmab.explorer import AnyExplorer, Explorer
from cmab.testing import _explorer_answers as answers
from cmab.testing import _explorer_runs as runs_
from cmab.testing._checks import CheckFunction
from cmab.testing._explorer_runs import Subject
from cmab.testing._results import Kind, Report

_CHECKS: tuple[CheckFunction, ...] = (
    runs_.check_form,
    runs_.check_determinism,
    runs_.check_state,
    runs_.check_resuming,
    runs_.check_memory,
    runs_.check_clock,
    runs_.check_global_randomness,
    runs_.check_budget,
    answers.check_errors,
    answers.check_places,
)


def check_explorer(
    explorer: AnyExplorer,
    environment: Environment,
    *,
    delta: float | None = None,
    replications: int = 30,
    max_samples: int = 100_000,
    seconds: float = 3.0,
    expected_failures: Mapping[str, str] | None = None,
    rng: int = 0,
) -> Report:
    """Check that an explorer stops, answers in the right form, errs rarely, and can be saved and resumed.

    All checks run, and one error lists all faults. Errors are counted until they speak for `delta` or against
    it (a sequential test against 1.5 `delta`), and again with the arms in other places.

    Parameters
    ----------
    explorer : Explorer
        The explorer to check; one with a `goal` if its errors are to be counted.
    environment : Environment
        Arms with gaps that it can find within `max_samples`.
    delta : float, optional
        Error probability that it promises; errors are not counted if left out.
    replications : int
        Fewest runs for the error rate, unless they take four times as long as `seconds`.
    max_samples : int
        Most samples of a run; reaching it counts as an error.
    seconds : float
        Longest time of all checks together, roughly, beyond those runs: the report says which error rate
        would have been seen.
    expected_failures : mapping of str to str, optional
        Names of checks that are known to fail, each with the reason. One that passes is a fault.
    rng : int
        Seed.

    Returns
    -------
    Report
        Of each check, what it tried and which faults it would have seen.

    Raises
    ------
    ConformanceError
        With all faults, the first one's name first: ``form`` (of what is selected or recommended),
        ``determinism``, ``state`` (`select`, `is_done` or `recommend` changes it), ``resuming``, ``memory``
        (outside the state), ``clock``, ``global randomness``, ``budget`` (more outcomes than its `budget`),
        ``errors`` (more than `delta` allows) or ``places`` (it errs, or answers the same, when the arms have
        changed places). A sound explorer fails with probability below 1e-6.
    ValueError
        If `expected_failures` names no check, or gives no reason.

    Examples
    --------
    >>> from cmab import LUCBPlusPlus
    >>> from cmab.testing import check_explorer
    >>> from instances import GaussianArms
    >>> arms = GaussianArms([2.0, 0.0, 0.0, 0.0], 0.5)
    >>> check_explorer(LUCBPlusPlus(4, 1, delta=0.1), arms, delta=0.1).false_alarm < 1e-6
    True
    """
    settings = {"delta": delta, "replications": replications, "max_samples": max_samples, "seconds": seconds}
    return EXPLORERS.check(explorer, environment, **settings, expected_failures=expected_failures, rng=rng)


EXPLORERS = Kind(Explorer, Subject, _CHECKS)
