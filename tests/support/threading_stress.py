"""One object in four threads: each answer that differs from that of one thread is printed.

Run: PYTHONPATH=.:tests python tests/support/threading_stress.py ORACLES 3. Every public method is called with
good arguments, by one thread first, by four at once then. A process of its own, for what goes wrong here may
end it.
"""

import copy
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import cases
import numpy as np
from fuzzing import Subject, outcome

from instances import IndependentCascade, LinearThreshold
from oracles import DirectedGraph

THREADS, SECONDS = 4, 120
# What changes a state that the caller owns and hands over.
WRITES = {"update"}


# Rewards too large to enumerate: read from a pool that all threads share.
CROWD = DirectedGraph.from_edges(
    np.repeat(np.arange(60), 7), (np.repeat(np.arange(60), 7) + np.tile([1, 2, 5, 9, 14, 20, 31], 60)) % 60
)
EXTRA = {
    "ENVIRONMENTS": [
        cases.EnvironmentCase(
            f"pool_of_{kind.__name__}",
            partial(kind, CROWD, np.full(CROWD.n_arcs, 0.05), k=2, n_rr_sets=2**14),
            tuple((i, 59 - i) for i in range(20)),
        )
        for kind in (IndependentCascade, LinearThreshold)
    ]
}


def arguments(subject, method, names, number):
    """Return good arguments, other means in each task."""
    subject.super_arm = subject.super_arms[number % len(subject.super_arms)]
    good = {name: subject.good(method, name) for name in names}
    if "means" in good:
        good["means"] = good["means"] * (1.0 - 0.1 * (number % 5))
    return {name: partial(lambda value: value, value) for name, value in good.items()}


def tasks(subject, times):
    """Yield (method, arguments) of every method, in turn."""
    for number in range(times):
        for method, names in subject.methods().items():
            if method not in WRITES and not method.endswith(("kernel", "rule")):  # compiled functions
                yield method, names, number


def work(subject, listed, start=None):
    """Return the answers to all tasks, each with arguments of its own."""
    subject = copy.copy(subject)  # the same thing, with super arms of each thread's own
    if start is not None:
        start.wait()
    return [
        outcome(subject.thing, method, arguments(subject, method, names, n)) for method, names, n in listed
    ]


def main(kind, times):
    """Print what differs in each row of a table."""
    sys.setswitchinterval(1e-6)
    for case in [*getattr(cases, kind), *EXTRA.get(kind, [])]:
        print(f"# {case.name}", flush=True)
        signal.alarm(SECONDS)
        listed = list(tasks(Subject(kind, case), 10 * times if case in EXTRA.get(kind, ()) else times))
        wanted = work(Subject(kind, case), listed)
        # A fresh object, so that what it computes once is computed by threads.
        subject, start = Subject(kind, case), Barrier(THREADS)
        with ThreadPoolExecutor(THREADS) as pool:
            found = list(pool.map(partial(work, subject, listed), [start] * THREADS))
        for answers in found:
            for (method, _, n), answer, right in zip(listed, answers, wanted, strict=True):
                if answer != right:
                    print(f"{case.name}.{method} [{n}]: {str(answer)[:200]}, not {str(right)[:200]}")


if __name__ == "__main__":
    *kinds, times = sys.argv[1:]
    for kind in kinds:
        main(kind, int(times))
    print("done")
