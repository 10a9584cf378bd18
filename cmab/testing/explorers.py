"""The checks of explorers, and `check_explorer`, which runs them all."""

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
    """Check that an explorer stops, returns valid answers, is seldom wrong, and can be saved and resumed.

    All checks run, and one error lists all faults. A sequential test compares the error rate with `delta` and
    with ``1.5 * delta``; its number of runs depends on the errors. Further runs permute the arms.

    Parameters
    ----------
    explorer : Explorer
        The explorer to check. Its errors are counted only if it has a `goal`.
    environment : Environment
        Base arms with gaps so large that the explorer stops within `max_samples` samples.
    delta : float, optional
        Error probability that the explorer guarantees. If omitted, its error rate is not tested.
    replications : int
        Minimal number of runs for the error rate, unless these runs take longer than ``4 * seconds``.
    max_samples : int
        Maximal number of samples of a run. A run that reaches it counts as an error.
    seconds : float
        Approximate limit of the time of all checks beyond these runs. The report shows which error rate would
        have been detected.
    expected_failures : mapping of str to str, optional
        Reason for each check that is known to fail, by the title of the check. Such a check must fail; if it
        passes, this is a fault.
    rng : int
        Seed of the runs.

    Returns
    -------
    Report
        How much each check tried, and which faults it would have detected.

    Raises
    ------
    ConformanceError
        If checks fail. The message lists all faults. An explorer without faults fails with probability below
        1e-6.
    ValueError
        If `expected_failures` names an unknown check or has an empty reason.

    Notes
    -----
    A check fails under its title, in this order, if:

    - ``form``: the arms of `select` or `recommend`, or the number of `pulls`, are invalid.
    - ``determinism``: the same seed gives different requests.
    - ``state``: `select`, `is_done` or `recommend` changes the state, or a run changes the explorer.
    - ``resuming``: a session that was saved and loaded requests other arms.
    - ``memory``: the explorer depends on data outside the state.
    - ``clock``: the requests depend on the time.
    - ``global randomness``: the explorer uses or seeds a global random generator.
    - ``budget``: the explorer requests more outcomes than its `budget`, or does not stop.
    - ``errors``: the error rate is larger than `delta`.
    - ``places``: the answers are wrong if the arms are permuted.

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
