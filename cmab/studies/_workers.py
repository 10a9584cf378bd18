"""Playing the pieces of a study in this process, in other processes, or on a cluster."""

from __future__ import annotations

import importlib
import os
import socket
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, Literal, TypeVar

from cmab._faults import follow_the_command
from cmab.running._parallel import in_workers
from cmab.validation import check_jobs

Backend = Literal["loky", "dask", "ray"]
Result = TypeVar("Result")

_CONNECT_SECONDS = 10.0
# Environment variable that Ray reads during its import: whether to allow clusters of several machines.
_RAY_CLUSTERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
# The threads of a Dask worker must not use solvers and numerical libraries at the same time.
_ONE_AT_A_TIME = threading.Lock()


def spread(
    function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], n_jobs: int
) -> Generator[Result, None, None]:
    """Yield the results of all tasks as they finish, by joblib and its configured back end.

    Raises
    ------
    ChildProcessError
        If a worker died.
    """
    check_jobs(n_jobs)
    if n_jobs == 1:
        yield from (_alone(function, task) for task in tasks)
        return
    try:
        yield from in_workers(partial(_alone, function), tasks, n_jobs, interrupts=False)
    except ChildProcessError as error:
        raise ChildProcessError(f"{error}; finished pieces are stored") from None


@contextmanager
def backend(name: Backend, address: str | None = None) -> Iterator[None]:
    """Run joblib on the cluster at `address`, or on a temporary cluster that is started on this machine.

    Raises
    ------
    ImportError
        If the package of the cluster is not installed.
    ConnectionError
        If no cluster answers at `address`.
    """
    if name == "loky":
        yield
        return
    from joblib import parallel_config

    if name == "ray" and address is None:
        os.environ.setdefault(_RAY_CLUSTERS, "0")  # otherwise Ray listens on all network interfaces
    connect, package = {"dask": (_dask, "distributed"), "ray": (_ray, "ray")}[name]
    try:
        importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"the back end {name} needs the extra cmab[{name}]: {error}") from None
    with connect(address), parallel_config(backend=name):
        yield


@contextmanager
def limited_threads() -> Iterator[None]:
    """Limit numerical libraries in this process to one thread, as a context manager."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def _alone(function: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    """Call a function with one thread for numerical libraries, for equal sums and no oversubscription."""
    _limit_threads(len(sys.modules))
    follow_the_command()
    with _ONE_AT_A_TIME:
        return function(*arguments)


@lru_cache(maxsize=1)
def _limit_threads(_: int) -> None:
    """Limit the loaded libraries, once for each number of modules, because the search takes 1 ms."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def _dask(address: str | None) -> Any:
    import distributed

    client: Any = distributed.Client
    return client(address) if address else client(dashboard_address=None)


@contextmanager
def _ray(address: str | None) -> Iterator[None]:
    import ray
    from ray.util import joblib as ray_joblib

    if address is not None:
        _check_reachable(address)
    bridge: Any = ray_joblib
    ray.init(address=address or "local", log_to_driver=False, configure_logging=False)
    try:
        bridge.register_ray()
        yield
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise ``ConnectionError`` if nothing listens at an address. Ray would retry for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
        except OSError as error:
            raise ConnectionError(f"no cluster answers at {address}: {error}") from None
