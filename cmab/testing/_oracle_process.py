"""Calls in another process, which has another order of sets of strings, or which a call may crash."""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import tempfile
import threading
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
# The output of an oracle must not reach the pipe of the answers. The process ends if it has no requests.
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
    """A new interpreter that serves several oracles, because starting one takes a second."""

    def __init__(self) -> None:
        # Two different seeds give almost all sets a different order; one of them differs from this process.
        seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        # A forked process inherits the pipes, but must not use them. A process that is older than the sources
        # runs old code.
        self._owner, self._newest = os.getpid(), _newest_source()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(_IDLE_SECONDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=environment,
        )

    def is_current(self) -> bool:
        """Return whether the process runs, belongs to this process and has the present sources."""
        mine = self._owner == os.getpid() and self._process.poll() is None
        return mine and _newest_source() <= self._newest

    def ask(self, question: bytes) -> bytes | str:
        """Return the pickled answer, or a description of the failure."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            pickle.dump((sys.path, question), self._process.stdin)
            self._process.stdin.flush()
            answer: bytes | str = pickle.load(self._process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            self._process.wait()
            self._said.seek(0)
            last = self._said.read().decode(errors="replace").strip().splitlines()[-1:]
            return f"it ended with status {self._process.returncode} and the message {last}"
        return answer

    def stop(self) -> None:
        """End the process if it is a child of this one."""
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
    """Return the result of `function`, from an importable module, in another process, or raise the fault."""
    question = pickled((function, arguments))
    with _lock:
        answer: bytes | str = "no process was running"
        if _helpers and _helpers[-1].is_current():
            answer = _helpers[-1].ask(question)
        if isinstance(answer, str):  # try again in a new process, because earlier calls may have caused it
            _stop()
            _helpers.append(_Helper())
            answer = _helpers[-1].ask(question)
    if isinstance(answer, str):
        raise AssertionError(f"{fault}: the oracle cannot be used in another process: {answer}")
    result: T = pickle.loads(answer)
    return result


def solve_all(oracle: Oracle, problems: list[FloatArray]) -> list[IntArray]:
    """Return the answers in the generator state of `Subject.solve`."""
    return [oracle.solve(means, np.random.default_rng(7)) for means in problems]


def share(
    oracle: Oracle, problems: list[FloatArray], answers: list[IntArray], rounds: int, seconds: float
) -> tuple[int, str]:
    """Solve all problems `rounds` times in each thread; return the number of calls and the first fault."""
    watch = Stopwatch()

    def work(thread: int) -> tuple[int, str]:
        order, calls = np.random.default_rng(thread).permutation(len(problems)), 0
        for position in np.tile(order, rounds):
            if calls >= _AT_LEAST and watch.seconds() > seconds:
                break
            try:
                answer = oracle.solve(problems[position].copy(), np.random.default_rng(7))
            except RuntimeError:  # the oracle rejects calls from several threads at the same time
                continue
            except Exception as error:
                return calls, f"solve raised {error!r} for means {problems[position]}"
            calls += 1
            if not np.array_equal(answers[position], answer):
                return calls, f"means {problems[position]} gave {answer} instead of {answers[position]}"
        return calls, ""

    # The usual interval of 5 ms is longer than a call, so that calls would rarely overlap.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # Python switches between threads far more often
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
    """Return the time of the newest source file of this process."""
    newest = 0.0
    for module in list(sys.modules.values()):
        file = getattr(module, "__dict__", {}).get("__file__")  # other attributes can trigger imports
        if isinstance(file, str):
            with suppress(OSError):
                newest = max(newest, Path(file).stat().st_mtime)
    return newest
