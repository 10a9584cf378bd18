"""When modules were imported: what runs is what their files held then, not what they hold now."""

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
    """Stands first among the finders of modules, notes the time, and finds nothing."""

    def find_spec(self, name: str, path: Any = None, target: types.ModuleType | None = None) -> None:  # noqa: ARG002
        _times[name] = time.time_ns()
        # importlib.reload passes the module that is there.
        if target is not None:
            _reloaded.add(name)
            if "cmab.studies._registry" in sys.modules:  # not imported for this: `import cmab` is light
                sys.modules["cmab.studies._registry"].refresh()  # a plug-in may offer other names then


def watch() -> None:
    """Begin to note the time of each import; those before count as made just now."""
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
        changed = max(facts.st_mtime_ns, facts.st_ctime_ns)  # copying tools set the first one back
        if _times.get(name, _BEGIN) < changed <= now:  # a later time than now is that of another clock
            found.append(str(file))
    return found


def outlived(packages: Iterable[str]) -> list[str]:
    """Return what modules still hold of others that were reloaded since."""
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
        return current.__code__ is not value.__code__  # IPython gives old functions the new code
    return isinstance(current, type) and current is not value


def _loaded(packages: Iterable[str]) -> list[tuple[str, types.ModuleType]]:
    wanted = set(packages)
    return [
        (name, module)
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in wanted and isinstance(module, types.ModuleType)
    ]


watch()
