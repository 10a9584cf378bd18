"""Tries generated mutants of a folder or a file against the conformance checks of its rows, and its tests.

``python tests/mutants/generated.py oracles/matroids 20 1`` tries 20 mutants, in the order of seed 1. Further
words restrict the rows to those whose names are one of them, which saves the search for rows. A fork
for each loads the mutant in place of the file, without compilation, and runs the checks of those rows of
`cases.py` whose short run executes the file. Mutants that survive the checks are run against the tests that
are named after the file or its folder. Survivors are printed with their lines.
"""

import ast
import contextlib
import functools
import importlib.machinery
import io
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

os.environ.update(NUMBA_DISABLE_JIT="1", MPLBACKEND="Agg", CMAB_QUIET="1")

import networkx
import numba
import numpy as np
import pulp
import pytest
import scipy.optimize
import scipy.special
import scipy.stats
from generate import sample

LOADED = (networkx, numba, np, pulp, scipy.optimize, scipy.special, scipy.stats)
ROOT = Path(__file__).resolve().parent.parent.parent
PATHS = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "support")]
SECONDS, ROWS = 120, 3
# These checks start processes, which load the original.
ELSEWHERE = {"copies"}


def in_a_fork(work, seconds=SECONDS):
    """Return whether `work` returns a true value in a fork of its own, within `seconds` of the processor."""
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        sys.dont_write_bytecode = True
        sys.path[:0] = PATHS
        os.chdir(ROOT)
        good = False
        quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
        with quiet[0], quiet[1], contextlib.suppress(BaseException):
            good = work()
        os._exit(0 if good else 1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def load(mutant):
    """Let the import system read the mutant in place of its file."""
    usual = importlib.machinery.SourceFileLoader.get_code

    def get_code(self, fullname):
        if Path(self.path).resolve() == mutant.file.resolve():
            return compile(mutant.text, str(mutant.file), "exec", dont_inherit=True)
        return usual(self, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code


def rows():
    """Yield the name of each row of `cases.py` and a function that returns its checks and its subject."""
    from cases import ENVIRONMENTS, EXPLORERS, GROWING, ORACLES, POLICIES

    from cmab.testing import checks
    from instances import BernoulliArms, SemiBandit

    arms = BernoulliArms([0.9, 0.1, 0.85, 0.1])

    def listed(make, *arguments, **settings):
        return lambda: checks(make(), *arguments, **settings)

    def policy(case):
        oracle = case.family(5, k=2, sense=case.senses[0])
        return lambda: case.make(oracle), SemiBandit(BernoulliArms([0.9, 0.75, 0.6, 0.3, 0.1]), oracle)

    for case in ORACLES:
        family = None if case.super_arms is None else [*case.super_arms()]
        yield f"oracle {case.name}", listed(case.make, family, low=case.low, high=case.high)
    for case in (*POLICIES, *GROWING):
        yield f"policy {case.name}", listed(*policy(case))
    for case in EXPLORERS:
        yield f"explorer {case.name}", listed(case.make, arms, delta=case.delta)
    for case in ENVIRONMENTS:
        yield f"environment {case.name}", listed(case.make, case.super_arms)


def executed(make):
    """Return the files that the short run of a row executes."""
    files = set()

    def visit(frame, event, arg):
        files.add(frame.f_code.co_filename)

    sys.setprofile(visit)
    for check in make()[:6]:
        with contextlib.suppress(Exception):
            check.run()
    sys.setprofile(None)
    return files


def rows_of(folder, words=()):
    """Return the names of the rows that execute each file of a folder, of all rows or of those of `words`."""
    with tempfile.NamedTemporaryFile("r+", encoding="utf-8") as told:

        def work():
            found = {}
            for name, make in rows():
                if words and name.partition(" ")[2] not in words:
                    continue
                for file in executed(make):
                    if str(folder) in file:
                        found.setdefault(file, []).append(name)
            told.write(repr(found))
            told.flush()
            return True

        if not in_a_fork(work, seconds=20 * SECONDS):
            raise SystemExit("the rows do not run")
        told.seek(0)
        return ast.literal_eval(told.read())


def passes_checks(mutant, names):
    """Return whether all checks of these rows pass with the mutant; None for the original."""

    def work():
        if mutant is not None:
            load(mutant)
        from cmab.testing.common import NotTried

        for name, make in rows():
            if name in names:
                for check in make():
                    if check.title not in ELSEWHERE:
                        with contextlib.suppress(NotTried):
                            check.run()
        return True

    return in_a_fork(work)


def tests_of(file):
    """Return the files of tests that are named after a file, or else after its folder."""
    package, *_, name = file.relative_to(ROOT).parts
    found = []
    for word in (name.removesuffix(".py").strip("_"), file.parent.name):
        named = [path for path in (ROOT / "tests").rglob("test_*.py") if word in str(path.relative_to(ROOT))]
        found += [path for path in named if package in path.relative_to(ROOT).parts] or named
    return list(dict.fromkeys(found))[:6]


def passes_tests(path, mutant=None):
    """Return whether the fast tests of a file pass with the mutant, or with the original, in time."""

    def work():
        if mutant is not None:
            load(mutant)
        arguments = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not slow and not many"]
        return pytest.main([*arguments, str(path)]) == 0

    return in_a_fork(work)


@functools.cache
def sound_tests(path):
    """Return whether a file of tests passes without a mutant, as it must before it accuses one."""
    return passes_tests(path)


@functools.cache
def sound_rows(names):
    """Return whether the checks of these rows pass without a mutant."""
    return passes_checks(None, names)


def main(folder, number, seed=0, words=()):
    """Print what became of each mutant; return how many nothing noticed."""
    folder = (ROOT / folder).resolve()
    (chosen, of), found = sample(folder, number, seed), rows_of(folder, words)
    survivors = []
    for mutant in chosen:
        started, names = time.monotonic(), found.get(str(mutant.file), [])[:ROWS]
        if names and not sound_rows(tuple(names)):
            raise SystemExit(f"the checks of {names} do not pass without a mutant")
        killer = "no row executes the file"
        if names and not passes_checks(mutant, names):
            killer = "checks"
        elif not all(passes_tests(path, mutant) for path in tests_of(mutant.file) if sound_tests(path)):
            killer = "tests"
        else:
            survivors.append(mutant)
            line = mutant.text.splitlines()[mutant.line - 1].strip()
            killer = f"SURVIVES ({', '.join(names) or 'no row'}): {line}"
        print(f"{time.monotonic() - started:5.0f} s  {mutant.name}: {killer}", flush=True)
    print(f"{len(chosen)} of {of} mutants of {folder.relative_to(ROOT)}, {len(survivors)} survive")
    return len(survivors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:4]), words=sys.argv[4:]))
