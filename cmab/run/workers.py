"""Workers, signals and progress bars of runs."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from copy import copy
from functools import partial
from types import FrameType
from typing import Any, TypeVar

from cmab.validation import check_flag

Task = TypeVar("Task")
Result = TypeVar("Result")

_PATIENCE = 1.0  # seconds before a bar appears by default
_WATCH_SECONDS = 1.0
_ENDINGS = signal.SIGINT, signal.SIGTERM


def in_workers(
    run: Callable[[Task], Result], tasks: Iterable[Task], n_jobs: int, *, threads: bool = False
) -> Generator[Result, None, None]:
    """Yield the results of all tasks as they finish, from workers of joblib and its configured back end.

    Parameters
    ----------
    threads : bool
        Whether the workers are threads, which need no copy of `run`.

    Raises
    ------
    TypeError
        If `run` cannot be sent to other processes.
    ChildProcessError
        If a worker died.
    """
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import BrokenProcessPool
    from joblib.parallel import LokyBackend, get_active_backend

    backend = copy(get_active_backend(prefer="threads" if threads else "processes")[0])
    # joblib returns the results of the pools of Ray only as a list, because leaving a generator early ends
    # the pool. Here this is intended.
    vars(backend)["supports_return_generator"] = True
    call = run if threads else Packed(run)
    try:
        with parallel_config(backend=backend):
            own = isinstance(backend, LokyBackend)
            watch: dict[str, Any] = {"initializer": _follow, "initargs": (os.getpid(),)} if own else {}
            workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered", **watch)
            results = workers(delayed(call)(task) for task in tasks)
            try:
                yield from results
            finally:
                with warnings.catch_warnings():
                    # If the caller stops early, the cancelled tasks are no reason for a warning.
                    warnings.simplefilter("ignore", UserWarning)
                    results.close()
    except BrokenProcessPool as error:
        message = f"a worker process died, perhaps because it ran out of memory ({error})"
        raise ChildProcessError(message) from None


def replicated(
    run: Callable[[int], Result], replications: int, n_jobs: int, *, threads: bool = False
) -> Iterator[tuple[int, Result]]:
    """Yield the number and the result of each replication as it finishes; one job is this process."""
    numbers = range(replications)
    if n_jobs == 1 or replications == 1:
        yield from ((number, run(number)) for number in numbers)
    else:
        yield from in_workers(partial(_numbered, run), numbers, n_jobs, threads=threads)


def _numbered(run: Callable[[int], Result], number: int) -> tuple[int, Result]:
    return number, run(number)


def _follow(parent: int) -> None:
    """Leave Ctrl-C to the parent of this worker, and end with it, because a killed parent ends no worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Packed:
    """A function that is pickled once, and unpickled by each call in a worker.

    Workers that are threads of a cluster then share nothing, and arrays are not the memory maps of joblib,
    which are read-only.

    Raises
    ------
    TypeError
        If the function or its arguments cannot be pickled.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        import cloudpickle

        try:
            self._data = cloudpickle.dumps(function)
        except Exception as error:
            raise TypeError(
                "learners, oracles and environments must be picklable to run in worker processes, got"
                f" {type(error).__name__}: {error}; use n_jobs=1"
            ) from error

    def __call__(self, *arguments: Any) -> Any:
        return pickle.loads(self._data)(*arguments)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM raise ``KeyboardInterrupt`` during a run, as Ctrl-C does, unless the program handles it."""
    # Only the main thread can set handlers.
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def signals_wait() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM until a compiled call returns.

    numba crashes if the exception occurs while it reads the compiled functions.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    # A handler that was set outside of Python cannot be called, and one that is not set needs no delay.
    usual = {number: handler for number in _ENDINGS if callable(handler := signal.getsignal(number))}
    for number in usual:
        signal.signal(number, lambda *received: came.append(received))
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
    if came:
        usual[signal.Signals(came[0][0])](*came[0])


def progress_bar(progress: bool | None, **options: Any) -> Any:
    """Return a context manager of a bar of tqdm, or of None if no bar is shown.

    If `progress` is None, a bar appears after one second on a terminal or in a notebook, unless the
    environment variable ``CMAB_QUIET`` is set, or tqdm (the extra ``progress``) is not installed.
    """
    if progress is not None:
        check_flag("progress", progress)
    ipython = sys.modules.get("IPython")
    is_watched = (sys.stderr is not None and sys.stderr.isatty()) or hasattr(
        ipython and ipython.get_ipython(), "kernel"
    )
    if not (progress if progress is not None else is_watched and not os.environ.get("CMAB_QUIET")):
        return nullcontext()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm warns in a notebook without ipywidgets
        try:
            from tqdm.auto import tqdm
        except ModuleNotFoundError:
            if progress:
                raise
            return nullcontext()
    return tqdm(**options, delay=_PATIENCE if progress is None else 0.0)
