"""The checks of explorers, and `check_explorer`, which runs them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cmab.environment import Environment
from cmab.explorer import AnyExplorer, Explorer
from cmab.testing import _explorer_answers as answers
from cmab.testing import _explorer_claims as claims
from cmab.testing import _explorer_ends as ends
from cmab.testing import _explorer_forms as forms
from cmab.testing import _explorer_reports as reports
from cmab.testing import _explorer_runs as runs_
from cmab.testing import _generated as generated
from cmab.testing import _generators as generators
from cmab.testing import _process_checks as process
from cmab.testing import _process_copies as copies
from cmab.testing import _process_history as history
from cmab.testing import _process_instances as instances
from cmab.testing import _process_interrupts as interrupts
from cmab.testing import _process_variations as variations
from cmab.testing import _property_rows as rows
from cmab.testing import _splits as splits
from cmab.testing import _untested as untested
from cmab.testing._checks import CheckFunction
from cmab.testing._explorer_runs import Subject
from cmab.testing._results import Kind, Level, Report

_THOROUGH = {"seconds": 20.0, "replications": 100}
_CHECKS: tuple[CheckFunction, ...] = (
    process.check_process,
    runs_.check_form,
    runs_.check_determinism,
    runs_.check_state,
    runs_.check_resuming,
    generated.check_sequences,
    runs_.check_memory,
    runs_.check_clock,
    runs_.check_global_randomness,
    runs_.check_budget,
    forms.check_steps,
    forms.check_ending,
    forms.check_compiled,
    reports.check_conservation,
    reports.check_report_order,
    splits.check_splitting,
    reports.check_constant_outcomes,
    reports.check_aliasing,
    reports.check_feedback,
    reports.check_undo,
    ends.check_late_states,
    ends.check_late_resuming,
    ends.check_answers,
    claims.check_certificates,
    claims.check_intervals,
    ends.check_comparisons,
    answers.check_errors,
    answers.check_places,
    history.check_history,  # before checks that use the other process
    process.check_output,
    generators.check_generator,
    variations.check_surroundings,
    interrupts.check_interrupts,
    copies.check_copies,
    copies.check_worker,
    instances.check_instances,
)


def check_explorer(
    explorer: AnyExplorer,
    environment: Environment,
    *,
    delta: float | None = None,
    replications: int | None = None,
    max_samples: int = 100_000,
    level: Level = "quick",
    progress: bool | None = None,
    seconds: float | None = None,
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
        Error probability that the explorer guarantees. If omitted, it is the attribute `delta` of an explorer
        with ``is_proven``; the error rate of other explorers is then not tested.
    replications : int, optional
        Minimal number of runs for the error rate, by default 30. If the runs take longer than ``seconds / 2``
        and none of them fails, 12 are enough.
    max_samples : int
        Maximal number of samples of a run. A run that reaches it counts as an error.
    level : {"quick", "thorough"}
        Effort: about 3 seconds of work or less for "quick", at most a minute for "thorough".
    progress : bool, optional
        Whether to show a progress bar. If omitted, thorough checks show one on a terminal and in a notebook.
    seconds : float, optional
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
    A check fails under its title. ``properties("explorer")`` lists the titles in the order of the checks,
    with the property, the reason for it and the confidence of the check.

    Examples
    --------
    >>> from cmab import LUCBPlusPlus
    >>> from cmab.testing import check_explorer
    >>> from instances import GaussianArms
    >>> arms = GaussianArms([2.0, 0.0, 0.0, 0.0], 0.5)
    >>> check_explorer(LUCBPlusPlus(4, 1, delta=0.1), arms, delta=0.1).false_alarm < 1e-6
    True
    """
    settings: dict[str, Any] = {"delta": delta, "replications": replications, "max_samples": max_samples}
    settings |= {"level": level, "progress": progress, "seconds": seconds}
    return EXPLORERS.check(explorer, environment, **settings, expected_failures=expected_failures, rng=rng)


EXPLORERS = Kind(
    Explorer, Subject, _CHECKS, rows=rows.EXPLORER, thorough=_THOROUGH, untested=untested.EXPLORER
)
