"""Suggestions for misspelt names in error messages.

``@names_arguments`` on a public function or constructor raises ``TypeError`` for an unknown keyword, and
suggests the argument that the user probably means.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

#: Arguments of this library, with their names on the command line and in other libraries.
_CALLED_HERE = {
    "rng": ("seed", "random_state", "random_seed", "generator"),
    "horizon": ("rounds", "n_rounds", "steps", "n_steps", "t", "max_rounds"),
    "n_jobs": ("jobs", "workers", "n_workers", "processes"),
    "replications": ("runs", "n_runs", "repetitions", "repeats", "trials", "pieces", "n_replications"),
    "policy": ("learner", "agent", "algorithm", "explorer"),
    "explorer": ("learner", "agent", "algorithm", "policy"),
    "learner": ("policy", "oracle"),
    "learners": ("policies", "explorers", "agents", "algorithms"),
    "environment": ("env", "bandit", "problem", "instance", "arms"),
    "max_samples": ("budget", "horizon", "max_rounds", "rounds"),
    "path": ("file", "filename", "folder", "out"),
    "where": ("path", "file", "filename", "store", "url"),
}


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a question with the most similar known name, or "" if no known name is similar."""
    by_letters = {other.lower(): other for other in sorted(known)}
    found = get_close_matches(name.lower()[:100], by_letters, 1)
    return f" (did you mean {by_letters[found[0]]!r}?)" if found else ""


def names_arguments(function: Function) -> Function:
    """Decorate a function to raise ``TypeError`` for an unknown keyword, with a suggestion.

    Use it for functions that are called once per run, because the check takes half a microsecond.
    """
    parameters = inspect.signature(function).parameters.values()
    known = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    called = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        for name in named:
            if name not in known:
                raise TypeError(f"{called} has no argument {name!r}{_meant(name, known)}")
        return function(*args, **named)

    return cast(Function, checked)


def _meant(name: str, known: list[str]) -> str:
    for here, elsewhere in _CALLED_HERE.items():
        if here in known and name.lower() in elsewhere:
            return f" (did you mean {here!r}?)"
    own = [other for other in known if other != "self"]
    return nearest(name, own) or f"; its arguments are {', '.join(own)}"
