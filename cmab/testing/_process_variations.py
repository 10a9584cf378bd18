"""Other surroundings in which an object must give the same answers."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from cmab.testing._checks import Finding
from cmab.testing._comparisons import Stopwatch, require
from cmab.testing._process_state import kept_settings
from cmab.testing._trials import Answer, Trial, prepared

_SHARE = 0.15
#: Variables that the system and libraries need. Their effect is known.
_NEEDED = (
    "PATH",
    "HOME",
    "TMPDIR",
    "TEMP",
    "TMP",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "SHELL",
    "TERM",
    "TZ",
)
_LIBRARIES = (
    "NUMBA_",
    "CMAB_",
    "OMP_",
    "MKL_",
    "OPENBLAS_",
    "PYTHON",
    "PYTEST_",
    "LC_",
    "LD_",
    "XDG_",
    "MPL",
)
_VALUES = ("1", "0", "true", "other")


@contextmanager
def _folder() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        yield
        os.chdir(tempfile.gettempdir())


@contextmanager
def _arguments() -> Iterator[None]:
    sys.argv[:] = ["other", "--fast", "1"]
    yield


@contextmanager
def _errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


_RAISING: Any = {"divide": "raise", "over": "raise", "invalid": "raise"}
_PLACES: dict[str, Callable[[], Any]] = {
    "in another working directory": _folder,
    "if numpy raises floating-point errors": lambda: np.errstate(**_RAISING),
    "if numpy ignores floating-point errors": lambda: np.errstate(all="ignore"),
    "if numpy prints two digits of three numbers": lambda: np.printoptions(precision=2, threshold=3),
    "if warnings are errors": _errors,
    "with other arguments of the program": _arguments,
}


def check_surroundings(subject: Any) -> Finding:
    """Check that answers do not depend on variables, folders, error states, warnings or threads."""
    trial, watch, tried = prepared(subject), Stopwatch(), 0
    for where, place in _PLACES.items():
        with kept_settings():
            _compare(trial, where, place)
        tried += 1
    _compare_thread(trial)
    read = _variables(trial)
    for name in read:
        for value in (None, *_VALUES):
            if watch.seconds() > 4 * _SHARE * subject.seconds:
                break
            with kept_settings():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
                _compare(trial, f"if the environment variable {name} is {value or 'missing'}", None)
                tried += 1
    named = f", of them for the variables {', '.join(read)}" if read else ""
    return Finding(f"{tried + 1} surroundings{named}")


def _compare(trial: Trial, where: str, place: Callable[[], Any] | None) -> None:
    """Compare the answers in other surroundings. A call may refuse them with an exception."""
    answers: list[Answer] = []
    try:
        if place is None:
            answers = trial.run()
        else:
            with place():
                answers = trial.run()
    except (ArithmeticError, Warning, ValueError, KeyError):  # refused
        return
    trial.require_same(answers, "surroundings", where)


def _compare_thread(trial: Trial) -> None:
    found: list[Any] = []

    def work() -> None:
        try:
            found.append(trial.run())
        except BaseException as error:
            found.append(error)

    with kept_settings():
        thread = threading.Thread(target=work, name="another thread")
        thread.start()
        thread.join()
    is_error = isinstance(found[0], BaseException)
    require(not is_error, "surroundings", "in another thread, a call raised {!r}", found[0])
    trial.require_same(found[0], "surroundings", "in another thread")


def _variables(trial: Trial) -> list[str]:
    """Return the environment variables that the run reads, without those that libraries need."""
    read: dict[str, None] = {}
    usual = type(os.environ)

    class Recording(usual):  # type: ignore[misc, valid-type]
        def __getitem__(self, key: str) -> str:
            read.setdefault(str(key))
            return str(usual.__getitem__(self, key))

    os.environ.__class__ = Recording
    try:
        trial.run()
    finally:
        os.environ.__class__ = usual
    return [name for name in read if name not in _NEEDED and not name.startswith(_LIBRARIES)][:4]
