"""Tasks in workers, of this machine or of a cluster: by joblib and the back end that is configured."""

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
        What goes to the workers, by the names that an error calls it by.
    interrupts : bool
        Whether the workers hear Ctrl-C too.

    Raises
    ------
    TypeError
        Naming what cannot go to the workers.
    ChildProcessError
        If a worker died.
    """
    from concurrent.futures.process import BrokenProcessPool
    from pickle import PicklingError

    from joblib import Parallel, delayed, parallel_config
    from joblib.parallel import LokyBackend, MultiprocessingBackend, get_active_backend

    active = copy.copy(get_active_backend(prefer=prefer)[0])
    if isinstance(active, MultiprocessingBackend):  # as Ray's is
        # joblib gives the results of such pools as a list only, so that a crash would lose them: who leaves a
        # generator early ends the pool, which is right here.
        vars(active)["supports_return_generator"] = True  # for this one, not for its class
    parent = os.getpid() if isinstance(active, LokyBackend) and os.name == "posix" else None
    try:
        with open_streams(), parallel_config(backend=active):  # workers inherit the streams
            # The watch begins before a worker first waits for anything that a dead parent could hold.
            watch: dict[str, Any] = {"initializer": _end_with, "initargs": (parent,)} if parent else {}
            workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered", **watch)
            with nullcontext() if interrupts or not parent else _unseen_interrupts():
                results = workers(delayed(run)(task) for task in tasks)
            for result in results:
                try:
                    yield result
                except GeneratorExit:
                    with warnings.catch_warnings():
                        # joblib warns that it cancels tasks, which is what leaving early asks for.
                        warnings.simplefilter("ignore", UserWarning)
                        results.close()
                    raise
    except (PicklingError, BrokenProcessPool) as error:
        # A pickling error says nothing of whose it is: each thing that was sent is tried alone.
        for name, thing in (sent or {}).items():
            _check_travels(name, thing, error)
        if isinstance(error, PicklingError):
            raise
        message = f"a worker process died, perhaps for want of memory ({error})"
        raise ChildProcessError(message) from None


def _check_travels(name: str, thing: object, seen: Exception) -> None:
    import cloudpickle

    try:
        cloudpickle.loads(cloudpickle.dumps(thing))
    except Exception as error:
        raise TypeError(
            f"{name} must be picklable to go to worker processes, which {type(thing).__name__} is not"
            f" ({error}): leave what cannot travel out by __getstate__, or use n_jobs=1"
        ) from seen


@contextmanager
def _unseen_interrupts() -> Iterator[None]:
    """Block Ctrl-C in the processes started here, for good, and in this thread until the end.

    It goes to all processes of a terminal. The parent alone has to stop and ends its workers; one that is
    just starting would print a traceback.
    """
    from multiprocessing import resource_tracker

    # Else the first worker's start brings that of Python's tracker of shared memory, which on Python 3.11
    # unblocks Ctrl-C for all workers after that one.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: int) -> None:
    """Have this worker end soon after its parent: when that is killed, nobody else would tell it."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="cmab-parent-watch", daemon=True).start()
