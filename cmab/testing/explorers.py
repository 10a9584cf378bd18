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
    """Check that an explorer stops, returns valid answers, errs rarely, and can be saved and resumed.

    All checks run, and one error lists all faults. A sequential test compares the error rate with `delta`: it
    counts errors until they are evidence for `delta` or for ``1.5 * delta``. Another check permutes the arms.

    Parameters
    ----------
    explorer : Explorer
        The explorer to check. Its errors are counted only if it has a `goal`.
    environment : Environment
        An environment whose gaps are large enough for the explorer to stop within `max_samples` samples.
    delta : float, optional
        The error probability that the explorer guarantees. If omitted, errors are not counted.
    replications : int
        The smallest number of runs for the error rate, unless they take four times as long as `seconds`.
    max_samples : int
        The largest number of samples of a run. A run that reaches it counts as an error.
    seconds : float
        The approximate time limit of all checks together, apart from these runs. The report has the error
        rate that would be detected.
    expected_failures : mapping of str to str, optional
        The names of checks that are known to fail, with a reason for each. Such a check must not pass.
    rng : int
        The seed.

    Returns
    -------
    Report
        A report that describes the trials of each check and the faults that they would detect.

    Raises
    ------
    ConformanceError
        If a check fails. The error lists all faults and starts with the name of the first one. The possible
        faults are ``form`` (of selected or recommended arms), ``determinism`` (the same seed gives a
        different run), ``state`` (`select`, `is_done` or `recommend` changes it), ``resuming`` (a session
        that was saved and loaded continues differently), ``memory`` (the explorer remembers data outside the
        state), ``clock`` (the requests depend on the time), ``global randomness`` (a global generator is
        used), ``budget`` (more outcomes than its `budget`), ``errors`` (more than `delta` allows), or
        ``places`` (wrong answers if the arms are permuted). A correct explorer fails with probability below
        1e-6.
    ValueError
        If `expected_failures` has a name that is not a check, or an empty reason.

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
