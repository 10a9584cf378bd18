"""Tries wrong lines in a copy of the tree, each against the quick tests of its group.

``python tests/mutants/run.py [WORD ...]`` tries those whose name has one of the words, else all. What no
test notices is printed; the exit status is their number, but for those that are equivalent. A test that
hangs has noticed. Nothing is compiled, so that a line takes seconds: a fork for each has loaded what others
wrote already.
"""

import contextlib
import io
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

os.environ.update(NUMBA_DISABLE_JIT="1", MPLBACKEND="Agg", CMAB_QUIET="1")

import matplotlib.pyplot as plt
import networkx
import numba
import numpy as np
import pulp
import pytest
import scipy.optimize
import scipy.special
import scipy.stats
from exploration import EQUIVALENT, FOLDER, GROUPS, MUTANTS

LOADED = (plt, networkx, numba, np, pulp, scipy.optimize, scipy.special, scipy.stats)
ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 240


def passes(tree, group):
    """Return whether the tests of a group pass in `tree`; not if they take longer than `SECONDS`."""
    files, words = GROUPS[group]
    paths = [f"{FOLDER}/{file}" for file in files]
    process = os.fork()
    if process == 0:
        # Of the processor: a busy machine is no hanging test.
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        os.chdir(tree)
        sys.path[:] = [
            str(tree),
            str(tree / "tests"),
            str(tree / "tests" / "support"),
            *(p for p in sys.path if not Path(p).is_relative_to(ROOT)),
        ]
        sys.modules.pop("exploration", None)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-k", words, *paths])
        os._exit(int(status))
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    if code in (2, 3, 4, 5):
        raise SystemExit(f"the tests of {group} do not run: pytest ends with {code}")
    return code == 0


def main(words):
    """Print what became of each; return how many no test noticed."""
    chosen = [m for m in MUTANTS if not words or any(word in m.name for word in words)]
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "tree"
        for part in ("cmab", "oracles", "instances", "tests"):
            shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", tree)
        for group in dict.fromkeys(m.group for m in chosen):
            if not passes(tree, group):
                raise SystemExit(f"the tests of {group} do not pass without a mutant")
        survivors = []
        for mutant in chosen:
            file = tree / "cmab" / mutant.file
            right = file.read_text(encoding="utf-8")
            if right.count(mutant.old) != 1:
                raise SystemExit(f"{mutant.name}: {mutant.old!r} must stand once in {mutant.file}")
            file.write_text(right.replace(mutant.old, mutant.new), encoding="utf-8")
            # A new file of the same length and second may have the old one's bytes in a cache.
            shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)
            started = time.monotonic()
            if passes(tree, mutant.group):
                survivors.append(mutant.name)
            told = "survives" if mutant.name in survivors else "killed"
            print(f"{told:9} {time.monotonic() - started:5.0f} s  {mutant.name}", flush=True)
            file.write_text(right, encoding="utf-8")
            shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)
    missed = [name for name in survivors if name not in EQUIVALENT]
    print(
        f"{len(chosen)} mutants, {len(survivors)} survive, {len(survivors) - len(missed)} of them equivalent"
    )
    return len(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
