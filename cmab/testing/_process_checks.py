"""Checks that an object leaves the process as it was, for objects of all kinds."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._oracle_process import prepare_another_process
from cmab.testing._process_copies import needs_another_process
from cmab.testing._process_state import kept_settings
from cmab.testing._process_watch import Watched, watch
from cmab.testing._trials import prepared

_WAIT = 0.5
_RUNS = 3


def check_process(subject: Any) -> Finding:
    """Check that a run changes no setting of the process and leaves no resource behind."""
    trial = prepared(subject)
    first, second = watch(trial), watch(trial)
    for name, what in first.settings.items():
        # Modules that are imported at the first call may change settings once.
        again = name in second.settings
        require(again is False and first.imported, "process", "a run changed {}: {}", name, what)
    _require_no_leak(trial, [first, second, watch(trial)])
    _require_released(trial)
    # The other process starts and imports modules while this one continues with other checks.
    if trial.untouched is not None and needs_another_process(subject):
        prepare_another_process()
    return Finding(f"{_RUNS} runs of {len(trial.answers)} calls: settings, threads, files, child processes")


def _require_no_leak(trial: Any, runs: list[Watched]) -> None:
    for name in runs[0].leaked.keys() | runs[-1].leaked.keys():
        # Pools and caches may open something once.
        grew = [run.leaked.get(name, 0) for run in runs]
        text = "{} grew by {} in three equal runs of {} calls; release them before the call returns"
        require(min(grew) == 0, "process", text, name, grew, len(trial.answers))
    left = [run for run in runs if run.files]
    text = "runs left files in the working directory: {}"
    require(not left, "process", text, left[0].files if left else [])
    more = [len(run.temporary) for run in runs]
    text = "each of three equal runs left files in the temporary folder: {}"
    require(min(more) == 0, "process", text, runs[-1].temporary[:3])


def _require_released(trial: Any) -> None:
    """Raise ``AssertionError`` if threads that a copy started outlive the copy."""
    thing = trial.copy()
    if thing is None:
        return
    before = set(threading.enumerate())
    with kept_settings():
        trial.run(thing)
    if set(threading.enumerate()) <= before:
        return
    del thing
    gc.collect()
    ends = time.monotonic() + _WAIT
    while (left := set(threading.enumerate()) - before) and time.monotonic() < ends:
        time.sleep(0.01)
    text = "threads {} are still alive after their object is gone"
    require(not left, "process", text, sorted(thread.name for thread in left))


def check_output(subject: Any) -> Finding:
    """Check that a run neither prints nor warns."""
    trial = prepared(subject)
    seen = watch(trial)
    text = "a repeated run wrote to the standard output or error: {!r}"
    require(not seen.output, "output", text, seen.output[:200])
    # A warning for a rare input is no fault, but one in most calls hides all others.
    often = 2 * seen.steps_with_warnings > len(seen.answers)
    text = "{} of {} calls of a repeated run gave warnings, such as {!r}"
    require(not often, "output", text, seen.steps_with_warnings, len(seen.answers), (seen.warned or [""])[0])
    return Finding(f"{len(seen.answers)} calls")
