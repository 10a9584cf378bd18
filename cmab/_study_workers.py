"""Where the pieces of a study are played: here, in processes of this machine, or on a cluster."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, TypeVar

Backend = Literal["loky", "dask", "ray"]
Result = TypeVar("Result")

_CHUNK_SECONDS = 5.0
# Solvers and numerical libraries are a process's own: the threads of a Dask worker must not share them.
_ONE_AT_A_TIME = threading.Lock()


def spread(
    function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], n_jobs: int
) -> Iterator[Result]:
    """Yield the results of all tasks as they finish, by joblib and the back end that is configured.

    Raises
    ------
    ChildProcessError
        If a worker died.
    """
    if n_jobs == 1:
        yield from (_alone(function, *task) for task in tasks)
        return
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    try:
        if get_active_backend()[0].supports_return_generator:
            workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
            yield from workers(delayed(_alone)(function, *task) for task in tasks)
        else:
            with Parallel(n_jobs=n_jobs) as workers:
                for chunk in _chunks(tasks):
                    yield from workers(delayed(_alone)(function, *task) for task in chunk)
    except BrokenProcessPool as error:
        raise ChildProcessError(
            f"a worker process died, perhaps for want of memory ({error}); what was finished is kept"
        ) from None


@contextmanager
def backend(name: Backend, address: str | None = None) -> Iterator[None]:
    """Have joblib use a cluster: the one at `address`, or one started on this machine for the time being.

    Raises
    ------
    ImportError
        If the package of the cluster is not installed.
    """
    if name == "loky":
        yield
        return
    from joblib import parallel_config

    connect, package = {"dask": (_dask, "distributed"), "ray": (_ray, "ray")}[name]
    try:
        importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"the back end {name} needs the extra cmab[{name}]: {error}") from None
    with connect(address), parallel_config(backend=name):
        yield


@contextmanager
def limited_threads() -> Iterator[None]:
    """Give numerical libraries one thread, here, until the end."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def _alone(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function with one thread for numerical libraries: neither do workers fight nor sums differ."""
    _limit_threads(len(sys.modules))
    with _ONE_AT_A_TIME:
        return function(*arguments)


@lru_cache(maxsize=1)
def _limit_threads(_: int) -> None:
    """Limit the libraries that are loaded, once for each number of modules: looking for them takes 1 ms."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def _chunks(tasks: Sequence[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the tasks in chunks that grow until one takes some seconds: what a crash may lose."""
    from joblib import effective_n_jobs

    left, size = iter(tasks), effective_n_jobs(-1)
    while chunk := list(islice(left, size)):
        started = time.perf_counter()
        yield chunk
        if time.perf_counter() - started < _CHUNK_SECONDS:
            size *= 2


def _dask(address: str | None) -> Any:
    import distributed

    client: Any = distributed.Client
    return client(address) if address else client(dashboard_address=None)


@contextmanager
def _ray(address: str | None) -> Iterator[None]:
    import ray
    from ray.util import joblib as ray_joblib

    bridge: Any = ray_joblib
    ray.init(address=address, log_to_driver=False, configure_logging=False)
    try:
        bridge.register_ray()
        yield
    finally:
        ray.shutdown()
