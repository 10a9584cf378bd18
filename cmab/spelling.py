"""Names that are spelt otherwise: what is meant, said in the error.

``@names_arguments`` on a public function or constructor refuses a keyword that it does not have, and asks
whether it is that which is called so here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

#: What the command line, and other libraries, call otherwise.
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
}


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a question after the known name that is spelt most like this one, if there is such a name."""
    by_letters = {other.lower(): other for other in sorted(known)}
    found = get_close_matches(name.lower()[:100], by_letters, 1)
    return f" (did you mean {by_letters[found[0]]!r}?)" if found else ""


def names_arguments(function: Function) -> Function:
    """Have a function refuse keywords that it does not have with a question after the one that it has.

    For what is called once a run: looking at the names takes half a microsecond.
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
    return nearest(name, own) or f"; it takes {', '.join(own)}"
