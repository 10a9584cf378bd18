"""Replications in workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
Prefer = Literal["processes", "threads"]


def in_workers(
    run: Callable[[Task], Result],
    tasks: Iterable[Task],
    n_jobs: int,
    prefer: Prefer,
    sent: Mapping[str, object],
) -> Iterator[tuple[Task, Result]]:
    """Yield tasks with their results as they finish, by joblib and its configured back end.

    `sent` names what goes to the workers. Raises ``TypeError`` naming what cannot go there.
    """
    from concurrent.futures.process import BrokenProcessPool
    from pickle import PicklingError

    from joblib import Parallel, delayed

    workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered", prefer=prefer)
    try:
        yield from workers(delayed(_named)(run, task) for task in tasks)
    except (PicklingError, BrokenProcessPool) as error:
        # A pickling error says nothing of whose it is: each thing that was sent is tried alone.
        for name, thing in sent.items():
            _check_travels(name, thing, error)
        raise


def _named(run: Callable[[Task], Result], task: Task) -> tuple[Task, Result]:
    return task, run(task)


def _check_travels(name: str, thing: object, seen: Exception) -> None:
    import cloudpickle

    try:
        cloudpickle.loads(cloudpickle.dumps(thing))
    except Exception as error:
        raise TypeError(
            f"{name} must be picklable to go to worker processes, which {type(thing).__name__} is not"
            f" ({error}): leave what cannot travel out by __getstate__, or use n_jobs=1"
        ) from seen
