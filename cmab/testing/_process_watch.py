"""Watch a run: its output, its warnings, the files that it leaves, and the settings that it changes."""

from __future__ import annotations

import gc
import io
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cmab.testing import _process_state as state
from cmab.testing._trials import Answer, Trial

#: Categories of warnings that Python hides by default.
_QUIET = (DeprecationWarning, PendingDeprecationWarning, ImportWarning)


@dataclass
class Watched:
    """What one run did besides returning its answers."""

    answers: list[Answer] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    leaked: dict[str, int] = field(default_factory=dict)
    output: str = ""
    warned: list[str] = field(default_factory=list)
    steps_with_warnings: int = 0
    files: list[str] = field(default_factory=list)
    temporary: list[str] = field(default_factory=list)
    imported: bool = False


def watch(trial: Trial, thing: Any = None) -> Watched:
    """Run the trial in a folder of its own and return what it changed. The settings are restored."""
    seen = Watched()
    modules = len(sys.modules)
    with state.kept_settings(), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        here, scratch = Path(folder) / "here", Path(folder) / "scratch"
        here.mkdir()
        scratch.mkdir()
        with _temporary(scratch), _captured(seen), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            logging.root.handlers[:] = []  # so that messages of loggers reach the standard error
            os.chdir(here)
            before, held = state.settings(), state.resources()
            for answer in trial.each(thing):
                seen.answers.append(answer)
                loud = [str(each.message) for each in caught if not issubclass(each.category, _QUIET)]
                seen.steps_with_warnings += len(loud) > len(seen.warned)
                seen.warned = loud
            seen.settings = state.changed(before, state.settings())
            seen.leaked = _more(held)
            os.chdir(folder)
        seen.files = sorted(path.name for path in here.iterdir())
        seen.temporary = sorted(path.name for path in scratch.iterdir())
    seen.imported = len(sys.modules) > modules
    return seen


def _more(held: dict[str, set[Any]]) -> dict[str, int]:
    """Return the number of new resources of each kind, after unreachable objects are collected."""
    if all(parts <= held[name] for name, parts in state.resources().items()):
        return {}
    gc.collect()
    left = {name: len(parts - held[name]) for name, parts in state.resources().items()}
    return {name: number for name, number in left.items() if number}


@contextmanager
def _temporary(folder: Path) -> Iterator[None]:
    """Let `tempfile` use the folder."""
    kept, said = tempfile.tempdir, os.environ.get("TMPDIR")
    tempfile.tempdir = str(folder)
    os.environ["TMPDIR"] = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = kept
        os.environ.pop("TMPDIR", None)
        if said is not None:
            os.environ["TMPDIR"] = said


@contextmanager
def _captured(seen: Watched) -> Iterator[None]:
    """Capture what Python code prints, and what other code writes to the descriptors 1 and 2."""
    text = io.StringIO()
    with tempfile.TemporaryFile() as file:
        kept = []
        for number in (1, 2):
            with suppress(OSError):
                kept.append((number, os.dup(number)))
                os.dup2(file.fileno(), number)
        try:
            with redirect_stdout(text), redirect_stderr(text):
                yield
        finally:
            for number, copy in kept:
                os.dup2(copy, number)
                os.close(copy)
        file.seek(0)
        seen.output = text.getvalue() + file.read().decode(errors="replace")
