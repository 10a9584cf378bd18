"""Demos as commands: the parameters of a problem, and the parameters that all demos have."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from cmab import Study
from instances.demos import _comparison
from instances.demos._demo import YARDSTICK, Demo, Problem

# Characters of a file's path in the name of a folder, which may have at most 255 bytes.
_LONGEST = 50
_TEXT = f"""horizon : int
    Number of rounds per replication{{}}
replications : int
    Number of independent replications of each learner. The learner Random probabilities {YARDSTICK}
n_jobs : int
    Worker processes, -1 for all cores
out : Path
    Folder for the stored runs, pictures (PNG and PDF) and numbers (CSV). Stored runs are not repeated. By
    default, each input file has a folder of its own"""


def command(
    *,
    learners: Mapping[str, Mapping[str, Any]],
    reward: str,
    unit: str,
    heading: str,
    arms: str,
    sentence: str,
    horizon: int | Callable[[Problem], int],
    replications: int,
    n_jobs: int = 1,
    further: Mapping[str, Mapping[str, Any]] | None = None,
    then: Callable[..., Callable[[Study], object] | None] | None = None,
) -> Callable[[Callable[..., Problem]], Callable[..., Iterator[dict[str, Any] | str]]]:
    """Return a decorator that makes the command of a demo from the function that makes its problem.

    If `horizon` is a function, it returns the default number of rounds for a problem. The learners in
    `further` play only if `every_learner` is set. `then` adds parameters to the command; it is called before
    the run, and the function that it returns is called after the run.
    """

    def of(make: Callable[..., Problem]) -> Callable[..., Iterator[dict[str, Any] | str]]:
        name = make.__name__.replace("_", "-")
        demo = Demo(name, make, learners, reward, unit, heading, arms, sentence, horizon, further or {})
        usual = Path(f"cmab-{demo.name}")

        def folder_for(given: Mapping[str, Any]) -> Path:
            # Each input file has its own folder, so that its pictures do not replace those of another file.
            files = [value for name, value in given.items() if name in problem and isinstance(value, Path)]
            return Path("-".join([str(usual), *map(_slug, files)]))

        def run(
            *,
            horizon: int | None = None if callable(horizon) else horizon,
            replications: int = replications,
            rng: int = 0,
            n_jobs: int = n_jobs,
            out: Path | None = usual,
            **given: Any,
        ) -> Iterator[dict[str, Any] | str]:
            wanted = {name: given.pop(name) for name in more if name in given}
            last = then(**wanted) if then is not None else None
            everyone = given.pop("every_learner", False)
            if out is usual:
                out = folder_for(given)
            study = demo.study(
                given, horizon=horizon, replications=replications, rng=rng, every_learner=everyone
            )
            yield from _comparison.run(demo, study, n_jobs=n_jobs, out=out)
            if last is not None:
                last(study)

        more = inspect.signature(then).parameters if then is not None else {}
        problem = inspect.signature(make).parameters
        _describe(run, make, demo, then)
        made: Any = run
        made.folder_for = folder_for
        return run

    return of


def _slug(file: Path) -> str:
    """Return the path of a file, relative to the current folder if possible, as part of a folder's name."""
    place, here = file.resolve(), Path.cwd().resolve()
    path = place.relative_to(here) if place.is_relative_to(here) else place
    return re.sub(r"\W+", "-", str(path)).strip("-")[-_LONGEST:] or "file"


def _describe(
    run: Callable[..., Any], make: Callable[..., Problem], demo: Demo, then: Callable[..., Any] | None
) -> None:
    """Give a command the parameters and the documentation of the problem before its own."""
    own = [p for p in inspect.signature(run).parameters.values() if p.kind is p.KEYWORD_ONLY]
    first = [p for p in inspect.signature(make).parameters.values() if p.name != "rng"]
    hints = get_type_hints(make) | get_type_hints(run)
    text = _TEXT.format(". The default depends on the size of the problem" if callable(demo.horizon) else "")
    if demo.further:
        first.append(inspect.Parameter("every_learner", inspect.Parameter.KEYWORD_ONLY, default=False))
        hints["every_learner"] = bool
        text = f"every_learner : bool\n    Include the learners {' and '.join(demo.further)}\n{text}"
    if then is not None:
        first += inspect.signature(then).parameters.values()
        hints |= get_type_hints(then)
    made: Any = run
    made.demo, made.__module__ = demo, make.__module__
    made.__name__ = made.__qualname__ = make.__name__
    made.__annotations__ = hints
    # `cmab demo NAME --help` shows these, and they become options.
    made.__signature__ = inspect.Signature([*first, *own])
    made.__doc__ = f"{inspect.cleandoc(make.__doc__ or '')}\n{text}\n"
