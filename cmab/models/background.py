"""Fits in a worker process."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from typing import Any, Self

from cmab.arrays import FloatArray, IntArray
from cmab.models import estimators
from cmab.models.warned import shown_once, warn

#: The arguments of `estimators.fit` for each member of an ensemble.
Task = tuple[Any, FloatArray, FloatArray, IntArray, int]
Finish = Callable[[list[Task], list[Any]], list[Any]] | None
#: The executor of each process; a forked process needs its own.
_EXECUTORS: dict[int, Any] = {}
_IDLE_SECONDS = 60


def fit_all(tasks: list[Task], finish: Finish) -> list[Any]:
    """Return the fitted models, after `finish` has changed them, which gets the tasks and the models."""
    models = [estimators.fit(*task) for task in tasks]
    return models if finish is None else finish(tasks, models)


def fit_in_worker(tasks: list[Task], finish: Finish) -> list[Any]:
    """Return `fit_all`, in a worker process, which shows the same warning once for all policies."""
    with shown_once(Later):
        return fit_all(tasks, finish)


class Later:
    """Models that a worker process fits. Pickles of it are empty, so they lose the work and not the data."""

    def __init__(self, future: Any = None) -> None:
        self.future = future

    def __reduce__(self) -> tuple[Any, ...]:
        return Later, ()

    def __deepcopy__(self, _: object) -> Self:
        return self

    def models(self) -> list[Any] | None:
        """Return the models, and wait if they are not ready; None if no worker could fit them.

        Raises
        ------
        ModelError
            If a fit failed.
        """
        if self.future is None:
            return None
        try:
            models: list[Any] = self.future.result()
        except estimators.ModelError:
            raise
        except Exception as error:  # the worker died, or the estimator or the model cannot be pickled
            warn(
                f"a worker process must fit the models, but failed with {type(error).__name__}: {error}."
                " The policy fits them in this process"
            )
            return None
        return models


def begin(tasks: list[Task], finish: Finish) -> Later:
    """Begin to fit models in the worker process, which ends after a minute without work."""
    from joblib.externals.loky import ProcessPoolExecutor

    executor = _EXECUTORS.get(os.getpid())
    try:
        if executor is None:
            raise RuntimeError("no executor yet")
        return Later(executor.submit(fit_in_worker, tasks, finish))
    except Exception:  # the executor is new, was shut down or lost its worker
        executor = ProcessPoolExecutor(max_workers=1, timeout=_IDLE_SECONDS)
        _EXECUTORS[os.getpid()] = executor
        atexit.register(_end, os.getpid())
        return Later(executor.submit(fit_in_worker, tasks, finish))


def _end(process: int) -> None:
    """End the worker of a process at its exit, also within a fit that nobody will use."""
    executor = _EXECUTORS.pop(process, None) if process == os.getpid() else None
    if executor is not None:
        executor.shutdown(wait=True, kill_workers=True)
