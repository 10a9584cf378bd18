"""Run an oracle in another process, with other hashes of strings, and protected against crashes."""

from __future__ import annotations

import atexit
import importlib
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import Oracle
from cmab.saving._digest import pickled
from cmab.testing._comparisons import Stopwatch

T = TypeVar("T")
THREADS = 4
_AT_LEAST = 8
_IDLE_SECONDS = 60
#: Packages whose modules the other interpreter imports in advance.
_PREPARED = ("cmab", "instances", "numba", "oracles")
# The program redirects standard output, so that the output of an oracle does not reach the pipe of the
# answers. It ends after some idle time.
_PROGRAM = """
import os, pickle, sys, threading
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
while True:
    idle = threading.Timer(float(sys.argv[1]), os._exit, (0,))
    idle.daemon = True
    idle.start()
    try:
        sys.path[:], question = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    idle.cancel()
    try:
        function, arguments = pickle.loads(question)
        answer = pickle.dumps(function(*arguments))
    except BaseException as error:
        answer = f"{type(error).__name__}: {error}"
    pickle.dump(answer, answers)
    answers.flush()
"""


class _Helper:
    """Another interpreter that serves one oracle after the other, because its start takes a second."""

    def __init__(self) -> None:
        # Another hash seed than that of this process, so that almost all sets have another order.
        seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        # A fork of this process inherits the pipes, but must not use them. A helper that is older than the
        # sources runs old code. Sources that this process imports later are as old as the helper or older.
        self._owner, self._newest = os.getpid(), max(_newest_source(), time.time())
        self._is_preparing, self.is_fresh = False, True
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(_IDLE_SECONDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=environment,
        )

    def is_current(self) -> bool:
        """Return whether the helper runs, belongs to this process and has the current sources."""
        mine = self._owner == os.getpid() and self._process.poll() is None
        return mine and _newest_source() <= self._newest

    def prepare(self) -> None:
        """Let the helper import the modules that this process has imported, and do not wait for it."""
        assert self._process.stdin is not None
        names = [name for name in list(sys.modules) if name.partition(".")[0] in _PREPARED]
        with suppress(OSError):
            pickle.dump((sys.path, pickle.dumps((_import_all, (names,)))), self._process.stdin)
            self._process.stdin.flush()
            self._is_preparing = True

    def ask(self, question: bytes) -> bytes | str:
        """Return the pickled answers as bytes, or an error message as a string."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self.is_fresh = False
        try:
            if self._is_preparing:
                pickle.load(self._process.stdout)
                self._is_preparing = False
            pickle.dump((sys.path, question), self._process.stdin)
            self._process.stdin.flush()
            answer: bytes | str = pickle.load(self._process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            self._process.wait()
            self._said.seek(0)
            last = self._said.read().decode(errors="replace").strip().splitlines()[-1:]
            return f"the process ended with status {self._process.returncode}, its last output was {last}"
        return answer

    def stop(self) -> None:
        """End the helper if it is a child of this process."""
        if self._owner != os.getpid():
            return
        self._process.terminate()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._said):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


_helpers: list[_Helper] = []
_lock = threading.Lock()


def in_another_process(fault: str, function: Callable[..., T], *arguments: object) -> T:
    """Call an importable `function` in another interpreter and return its result, or raise the fault."""
    question = pickled((function, arguments))
    with _lock:
        answer: bytes | str = "no process was running"
        if _helpers and _helpers[-1].is_current():
            answer = _helpers[-1].ask(question)
        # A helper that served other oracles may be the cause of an error. Try again with a new one.
        if isinstance(answer, str):
            _stop()
            _helpers.append(_Helper())
            answer = _helpers[-1].ask(question)
    if isinstance(answer, str):
        raise AssertionError(f"{fault}: the oracle could not be used in another process: {answer}")
    result: T = pickle.loads(answer)
    return result


def in_fresh_process(fault: str, function: Callable[..., T], *arguments: object) -> T:
    """Call `function` as `in_another_process` does, in an interpreter that has served no other call."""
    with _lock:
        if _helpers and not _helpers[-1].is_fresh:
            _stop()
    return in_another_process(fault, function, *arguments)


def prepare_another_process() -> None:
    """Start the other interpreter unless one runs, so that it is ready when a check needs it."""
    with _lock:
        if not (_helpers and _helpers[-1].is_current()):
            _stop()
            _helpers.append(_Helper())
            _helpers[-1].prepare()


def _import_all(names: list[str]) -> None:
    for name in names:
        with suppress(Exception):  # a module that cannot be imported is of no use there
            importlib.import_module(name)


def solve_all(oracle: Oracle, problems: list[FloatArray]) -> list[IntArray]:
    """Return the answers for the seed that `Subject.solve` uses."""
    return [oracle.solve(means, np.random.default_rng(7)) for means in problems]


def share(
    oracle: Oracle, problems: list[FloatArray], answers: list[IntArray], rounds: int, seconds: float
) -> tuple[int, str]:
    """Let threads solve all problems `rounds` times. Return the number of calls and the first fault or ''."""
    watch = Stopwatch()

    def work(thread: int) -> tuple[int, str]:
        order, calls = np.random.default_rng(thread).permutation(len(problems)), 0
        for position in np.tile(order, rounds):
            if calls >= _AT_LEAST and watch.seconds() > seconds:
                break
            try:
                answer = oracle.solve(problems[position].copy(), np.random.default_rng(7))
            except RuntimeError:  # the oracle rejects the call because another thread uses it
                continue
            except Exception as error:
                return calls, f"solve raised {error!r} for means {problems[position]}"
            calls += 1
            if not np.array_equal(answers[position], answer):
                return calls, f"means {problems[position]} gave {answer} instead of {answers[position]}"
        return calls, ""

    # The default interval of 5 ms is longer than most calls, so that calls would seldom overlap.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # switch threads far more often than by default
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            ends = list(pool.map(work, range(THREADS)))
    finally:
        sys.setswitchinterval(interval)
    return sum(calls for calls, _ in ends), next((wrong for _, wrong in ends if wrong), "")


@atexit.register
def _stop() -> None:
    while _helpers:
        _helpers.pop().stop()


def _newest_source() -> float:
    """Return the modification time of the newest source file that this process has imported."""
    newest = 0.0
    for module in list(sys.modules.values()):
        # Read the dictionary, because other attribute accesses make lazy modules load.
        file = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(file, str):
            with suppress(OSError):
                newest = max(newest, Path(file).stat().st_mtime)
    return newest
