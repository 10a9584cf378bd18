"""Running tasks in workers of this machine or of a cluster, by joblib and its configured back end."""

from __future__ import annotations

import copy
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, Literal, TypeVar

from cmab._streams import open_streams

Task = TypeVar("Task")
Result = TypeVar("Result")
Prefer = Literal["processes", "threads"]

_WATCH_SECONDS = 1.0


def in_workers(
    run: Callable[[Task], Result],
    tasks: Iterable[Task],
    n_jobs: int,
    *,
    prefer: Prefer = "processes",
    sent: Mapping[str, object] | None = None,
    interrupts: bool = True,
) -> Iterator[Result]:
    """Yield the results of all tasks as they finish.

    Parameters
    ----------
    sent : mapping
        The objects that are sent to the workers, by their names in error messages.
    interrupts : bool
        Whether the workers also receive Ctrl-C.

    Raises
    ------
    TypeError
        If an object cannot be sent to the workers. The message names it.
    ChildProcessError
        If a worker died.
    """
    from concurrent.futures.process import BrokenProcessPool
    from pickle import PicklingError

    from joblib import Parallel, delayed, parallel_config
    from joblib.parallel import LokyBackend, MultiprocessingBackend, get_active_backend

    active = copy.copy(get_active_backend(prefer=prefer)[0])
    if isinstance(active, MultiprocessingBackend):  # as Ray's is
        # joblib returns the results of such pools only as a list, because leaving a generator early ends the
        # pool. Here this is intended, and a generator keeps the results before a crash.
        vars(active)["supports_return_generator"] = True  # for this instance, not for its class
    parent = os.getpid() if isinstance(active, LokyBackend) and os.name == "posix" else None
    try:
        with open_streams(), parallel_config(backend=active):  # workers inherit the streams
            # Start the watch before a worker waits for a resource of its parent, which may die.
            watch: dict[str, Any] = {"initializer": _end_with, "initargs": (parent,)} if parent else {}
            workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered", **watch)
            with nullcontext() if interrupts or not parent else _unseen_interrupts():
                results = workers(delayed(run)(task) for task in tasks)
            for result in results:
                try:
                    yield result
                except GeneratorExit:
                    with warnings.catch_warnings():
                        # Cancelling the tasks is intended, so ignore the warning of joblib.
                        warnings.simplefilter("ignore", UserWarning)
                        results.close()
                    raise
    except (PicklingError, BrokenProcessPool) as error:
        # A pickling error does not name the object, so try each object separately.
        for name, thing in (sent or {}).items():
            _check_travels(name, thing, error)
        if isinstance(error, PicklingError):
            raise
        message = f"a worker process died, perhaps because it ran out of memory ({error})"
        raise ChildProcessError(message) from None


def _check_travels(name: str, thing: object, seen: Exception) -> None:
    import cloudpickle

    try:
        cloudpickle.loads(cloudpickle.dumps(thing))
    except Exception as error:
        raise TypeError(
            f"{name} must be picklable to run in worker processes, got {type(thing).__name__} ({error});"
            " exclude the part that cannot be pickled by __getstate__, or use n_jobs=1"
        ) from seen


@contextmanager
def _unseen_interrupts() -> Iterator[None]:
    """Block Ctrl-C permanently in processes that are started here, and in this thread until the end.

    A terminal sends Ctrl-C to all processes. Only the parent must handle it and end its workers. A worker
    that is just starting would print a traceback.
    """
    from multiprocessing import resource_tracker

    # Otherwise the first worker starts the resource tracker of Python, which unblocks Ctrl-C on Python 3.11
    # for all later workers.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: int) -> None:
    """End this worker soon after its parent, because a killed parent cannot end its workers."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="cmab-parent-watch", daemon=True).start()
