"""The times at which modules were imported, to detect files that changed afterwards."""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_BEGIN = time.time_ns()
_times: dict[str, int] = {}
_reloaded: set[str] = set()


class _Clock:
    """The first finder in ``sys.meta_path``, which records the time of each import and finds no module."""

    def find_spec(self, name: str, path: Any = None, target: types.ModuleType | None = None) -> None:  # noqa: ARG002
        _times[name] = time.time_ns()
        # Only importlib.reload passes the existing module.
        if target is not None:
            _reloaded.add(name)
            if "cmab.studies._registry" in sys.modules:  # do not import it here, to keep `import cmab` fast
                sys.modules["cmab.studies._registry"].refresh()  # a plug-in may register other names now


def watch() -> None:
    """Start to record the time of each import. Earlier imports count as made at the start of this module."""
    sys.meta_path.insert(0, _Clock())


def edited(packages: Iterable[str]) -> list[str]:
    """Return the files of loaded modules that were changed after they were imported."""
    now = time.time_ns()
    found = []
    for name, module in _loaded(packages):
        file = Path(str(getattr(module, "__file__", None) or ""))
        if file.suffix != ".py" or not file.is_file():
            continue
        facts = file.stat()
        changed = max(facts.st_mtime_ns, facts.st_ctime_ns)  # copying may keep an old mtime
        if _times.get(name, _BEGIN) < changed <= now:  # a time in the future is from another clock
            found.append(str(file))
    return found


def outlived(packages: Iterable[str]) -> list[str]:
    """Return the names in loaded modules that refer to old objects of reloaded modules."""
    return [
        f"{name}.{key}"
        for name, module in (_loaded(packages) if _reloaded else ())
        for key, value in list(vars(module).items())
        if any(map(_is_outlived, (value.__mro__ if isinstance(value, type) else (value,))))
    ]


def _is_outlived(value: Any) -> bool:
    home = getattr(value, "__module__", None)
    if home not in _reloaded or not isinstance(value, type | types.FunctionType):
        return False
    current = getattr(sys.modules.get(home), value.__name__, value)
    if isinstance(current, types.FunctionType) and isinstance(value, types.FunctionType):
        return current.__code__ is not value.__code__  # IPython puts new code into old functions
    return isinstance(current, type) and current is not value


def _loaded(packages: Iterable[str]) -> list[tuple[str, types.ModuleType]]:
    wanted = set(packages)
    return [
        (name, module)
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in wanted and isinstance(module, types.ModuleType)
    ]


watch()
