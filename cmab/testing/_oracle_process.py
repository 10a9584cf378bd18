"""The answers of an oracle in another process, with another order of sets of strings."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import Oracle
from cmab.testing._checks import pickled

# What the oracle prints must not reach the pipe of the answers.
_PROGRAM = """
import os, pickle, sys
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
import numpy as np
oracle, problems = pickle.load(sys.stdin.buffer)
pickle.dump([oracle.solve(means, np.random.default_rng(7)) for means in problems], answers)
answers.close()
"""


def answers_of_another_process(oracle: Oracle, problems: list[FloatArray]) -> list[IntArray]:
    """Return what a fresh interpreter answers, in the generator state of `Subject.solve`."""
    # Two seeds differ in the order of almost all sets; whichever this process has, one is another.
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        input=pickled((oracle, problems)),
        env=environment,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise AssertionError(f"hashing: the oracle could not be used in another process: {said}")
    answers: list[IntArray] = pickle.loads(done.stdout)
    return answers
