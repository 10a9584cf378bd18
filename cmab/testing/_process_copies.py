"""Checks of copies: in the same process, and in a process like those of `n_jobs`."""

from __future__ import annotations

import copy
import multiprocessing
import os
import tempfile
from typing import Any

from cmab.testing._checks import Finding
from cmab.testing._oracle_process import in_another_process
from cmab.testing._process_state import kept_settings
from cmab.testing._trials import Answer, Steps, prepared

#: Seconds from which on the checks are thorough.
THOROUGH = 10.0
SAME_ELSEWHERE = "its code reads nothing that differs in another process, which level='thorough' starts"


def check_copies(subject: Any) -> Finding:
    """Check that copies give the same answers, and that using a copy does not affect the original."""
    trial = prepared(subject)
    made = {"a copy from before the first call": trial.copy(), "a deep copy": _deep(trial.thing)}
    tried = [name for name, thing in made.items() if thing is not None]
    for name in tried:
        trial.require_same(trial.run(made[name]), "copies", name)
    trial.require_same(trial.run(), "copies", "after copies were used, the original")
    return Finding(" and ".join(tried) or "not tried: the object cannot be copied")


def _deep(thing: Any) -> Any:
    try:
        return copy.deepcopy(thing)
    except Exception:  # a deep copy is not required
        return None


def needs_another_process(subject: Any) -> bool:
    """Return whether checks use another process: thoroughly, or if the object may see a difference there."""
    return bool(subject.seconds >= THOROUGH or subject.trial.elsewhere)


def check_worker(subject: Any) -> Finding:
    """Check that a worker process, with another folder and other string hashes, gives the same answers."""
    trial = prepared(subject)
    if trial.untouched is None:
        return Finding("not tried: the object cannot be pickled")
    if not needs_another_process(subject):
        answers = as_worker(trial.steps, trial.copy(), trial.arguments)
        trial.require_same(answers, "worker", "in a process with the name of a worker")
        return Finding(f"{len(answers)} calls of a copy in this process; {SAME_ELSEWHERE}")
    answers = in_another_process("worker", as_worker, trial.steps, trial.thing, trial.arguments)
    trial.require_same(answers, "worker", "in a worker process")
    return Finding(f"{len(answers)} calls")


def as_worker(steps: Steps, thing: Any, arguments: tuple[Any, ...]) -> list[Answer]:
    """Return the answers in a process that looks like a worker of `multiprocessing`."""
    process: Any = multiprocessing.current_process()
    name, parent = process.name, multiprocessing.process._parent_process  # type: ignore[attr-defined]
    with kept_settings(), tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        process.name = "SpawnPoolWorker-1"
        multiprocessing.process._parent_process = process  # type: ignore[attr-defined]
        try:
            return list(steps(thing, *arguments))
        finally:
            process.name = name
            multiprocessing.process._parent_process = parent  # type: ignore[attr-defined]
            os.chdir(tempfile.gettempdir())
