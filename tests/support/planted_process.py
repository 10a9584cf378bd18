"""Faults that concern the process, planted in a sound object of each kind, and the check that names each.

An effect runs in each call of the object. A condition decides whether its answer is wrong.
"""

import atexit
import datetime
import gc
import locale
import logging
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import planted_environments
import planted_explorers
import planted_oracles
import planted_policies
from planted_oracles import Fault

from cmab import Feedback

#: What the class of each kind is, and the method that a fault is planted in.
BASES = {
    "oracle": (planted_oracles.Best, "solve"),
    "policy": (planted_policies.UCB, "select"),
    "environment": (planted_environments.Links, "play"),
    "explorer": (planted_explorers.Sound, "select"),
}
HERE, STARTED = os.getpid(), datetime.datetime.now()
_left = []


SIZES = {"oracle": planted_oracles.N, "policy": planted_policies.N, "explorer": 4}


def other(kind, answer):
    """Return a wrong answer."""
    if isinstance(answer, Feedback):
        return Feedback(answer.arms, 1.0 - answer.outcomes, reward=len(answer.arms) - answer.reward)
    return np.sort((answer + 1) % SIZES[kind])


def with_effect(kind, name, effect):
    """Return a class of this kind whose method calls `effect` first."""
    base, method = BASES[kind]

    def changed(self, first, rng):
        effect()
        return getattr(base, method)(self, first, rng)

    return type(name, (base,), {method: changed, "__module__": __name__})


def with_condition(kind, name, condition):
    """Return a class of this kind that is wrong if the condition holds."""
    base, method = BASES[kind]

    def changed(self, first, rng):
        answer = getattr(base, method)(self, first, rng)
        return other(kind, answer) if condition() else answer

    return type(name, (base,), {method: changed, "__module__": __name__})


def thread():
    threading.Thread(target=time.sleep, args=(10,), daemon=True).start()


def descriptor():
    _left.append(os.open(os.devnull, os.O_RDONLY))


def open_file():
    Path(os.devnull).open()  # noqa: SIM115


def writes_here():
    Path("log.txt").write_text("called")


def temporary():
    os.close(tempfile.mkstemp()[0])


def child():
    if os.fork() == 0:
        os._exit(0)


def running_child():
    """Start a program and forget it; it ends by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _left[:] = [subprocess.Popen(["sleep", "0.3"])]


def prints():
    print("solving")


def writes():
    os.write(2, b"solving\n")


def warns():
    warnings.warn("solving", RuntimeWarning, stacklevel=2)


def logs():
    logging.getLogger("planted").warning("solving")


def forked():
    return (
        multiprocessing.parent_process() is not None
        or multiprocessing.current_process().name != "MainProcess"
    )


def invalid():
    try:
        np.float64(0.0) / np.float64(0.0)
    except FloatingPointError:
        return True
    return False


def quiet_invalid():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return invalid()


def as_error():
    try:
        with warnings.catch_warnings(record=True):
            pass
        if any(entry[0] == "error" for entry in warnings.filters[:1]):
            return True
    except Warning:
        return True
    return False


EFFECTS = {
    "variable": (lambda: os.environ.__setitem__("PLANTED", str(time.time())), "process"),
    "folder": (lambda: os.chdir("/"), "process"),
    "error_state": (lambda: np.seterr(all="ignore"), "process"),
    "print_options": (lambda: np.set_printoptions(precision=3), "process"),
    "handler": (lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN), "process"),
    "warning_filter": (lambda: warnings.simplefilter("ignore"), "process"),
    "recursion_limit": (lambda: sys.setrecursionlimit(54_321), "process"),
    "search_path": (lambda: sys.path.append("/planted"), "process"),
    "collector": (gc.disable, "process"),
    "alarm": (lambda: signal.alarm(3600), "process"),
    "memory_trace": (tracemalloc.start, "process"),
    "patched_class": (
        lambda: setattr(Feedback, "unchecked", len),
        "process",
    ),
    "root_logger": (lambda: logging.basicConfig(level=logging.DEBUG, force=True), "process"),
    "locale": (
        lambda: locale.setlocale(
            locale.LC_ALL, "C" if "UTF" in locale.setlocale(locale.LC_ALL) else "C.UTF-8"
        ),
        "process",
    ),
    "mask": (lambda: os.umask(0o77), "process"),
    "patched": (lambda: setattr(random, "planted", 1) or setattr(random, "shuffle", len), "process"),
    "thread": (thread, "process"),
    "descriptor": (descriptor, "process"),
    "file": (writes_here, "process"),
    "temporary": (temporary, "process"),
    "child": (child, "process"),
    "running_child": (running_child, "process"),
    "exit": (lambda: atexit.register(len, ()), "process"),
    "prints": (prints, "output"),
    "writes": (writes, "output"),
    "warns": (warns, "output"),
    "logs": (logs, "output"),
    "open_file": (open_file, "output"),
}
CONDITIONS = {
    "reads_variable": (lambda: os.environ.get("PLANTED_MODE") == "1", "surroundings"),
    "tests_variable": (lambda: "PLANTED_MODE" in os.environ, "surroundings"),
    "reads_folder": (lambda: "pytest-of" in str(Path.cwd()), "surroundings"),
    "reads_error_state": (quiet_invalid, "surroundings"),
    "reads_print_options": (lambda: str(np.array([0.123456])) != "[0.123456]", "surroundings"),
    "reads_arguments": (lambda: "--fast" in sys.argv, "surroundings"),
    "reads_filters": (as_error, "surroundings"),
    "reads_thread": (lambda: threading.current_thread() is not threading.main_thread(), "surroundings"),
    "worker": (forked, "worker"),
    "process": (lambda: os.getpid() != HERE, "worker"),
    "under_test": (lambda: "pytest" in sys.modules, "worker"),
    "calendar": (lambda: (datetime.datetime.now() - STARTED).days > 1, "clock"),
}


def swallows(kind):
    """Return a class of this kind that does not let an interrupt pass."""
    base, method = BASES[kind]

    def changed(self, first, rng):
        try:
            return getattr(base, method)(self, first, rng)
        except:  # noqa: E722
            return getattr(base, method)(self, first, rng)

    return type("Swallows", (base,), {method: changed, "__module__": __name__})


def shares(kind):
    """Return a class of this kind whose copies share a counter with the original."""
    base, method = BASES[kind]

    def __init__(self, *arguments):
        base.__init__(self, *arguments)
        object.__setattr__(self, "name", f"{id(self)}")
        object.__setattr__(self, "at_home", True)

    def changed(self, first, rng):
        answer = getattr(base, method)(self, first, rng)
        return answer if self.at_home else other(kind, answer)

    def __deepcopy__(self, memo):
        copy = type(self).__new__(type(self))
        for name, value in vars(self).items():
            object.__setattr__(copy, name, value)
        object.__setattr__(copy, "at_home", False)
        return copy

    names = {"__init__": __init__, method: changed, "__deepcopy__": __deepcopy__, "__module__": __name__}
    return type("Shares", (base,), names)


def reseeds(kind):
    """Return a class of this kind that seeds the generator that it is given."""
    base, method = BASES[kind]

    def changed(self, first, rng):
        answer = getattr(base, method)(self, first, rng)
        rng.bit_generator.state = np.random.default_rng(
            len(answer.arms if kind == "environment" else answer)
        ).bit_generator.state
        return answer

    return type("Reseeds", (base,), {method: changed, "__module__": __name__})


def faults(kind):
    """Return the faults of one kind."""
    made = [Fault(with_effect(kind, name, effect), check) for name, (effect, check) in EFFECTS.items()]
    made += [
        Fault(with_condition(kind, name, condition), check) for name, (condition, check) in CONDITIONS.items()
    ]
    return [
        *made,
        Fault(swallows(kind), "interrupts"),
        Fault(shares(kind), "copies"),
        Fault(reseeds(kind), "generator"),
    ]
