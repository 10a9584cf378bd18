"""Processor seconds until the first result: a process that has to compile, and later ones.

Run: python tests/benchmarks/first_use.py. Each line is a fresh process that simulates 100 rounds on ten of a
hundred Bernoulli arms. A later process is split into what any numpy program pays (start and numpy), what
numba's own import adds, and the rest: this library's imports and its compiled functions.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

RUN = """
import numpy as np
from cmab import {policy}, simulate
from instances import BernoulliArms, SemiBandit
from oracles import TopK
oracle = TopK(100, 10)
simulate({policy}(oracle), SemiBandit(BernoulliArms(np.linspace(0.1, 0.9, 100)), oracle), 100, rng=0)
"""


def seconds(code: str, bytecode: str, cache: str, repeats: int) -> float:
    """Return the least processor time of a process that runs `code`: other load does not count."""
    environment = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment |= {"XDG_CACHE_HOME": cache, "PYTHONPYCACHEPREFIX": bytecode}
    best = float("inf")
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def main() -> None:
    policies = ("CUCB", "CTS", "LLR")
    with tempfile.TemporaryDirectory() as bytecode, tempfile.TemporaryDirectory() as once:
        for policy in policies:  # bytecode is the installer's business
            seconds(RUN.format(policy=policy), bytecode, once, 1)
        numpy = seconds("import numpy", bytecode, once, 5)
        numba = seconds("import numba", bytecode, once, 5)
        print(f"numpy alone {numpy:.2f} s, numba adds {numba - numpy:.2f} s")
        for policy in policies:
            with tempfile.TemporaryDirectory() as cache:
                first = seconds(RUN.format(policy=policy), bytecode, cache, 1)
                later = seconds(RUN.format(policy=policy), bytecode, cache, 5)
            print(
                f"{policy}: cold cache {first:.2f} s (x{first / numba:.1f} numba's import), "
                f"later {later:.2f} s (x{later / numba:.1f})"
            )


if __name__ == "__main__":
    main()
