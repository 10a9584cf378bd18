"""Run the quick checks on mutants of correct user classes: ``user_classes.py [NUMBER] [SEED] [CLASS...]``.

The classes are those of `tests/support` that all checks accept. Each mutant changes one line of a class. The
first check that fails kills it. `user_classes.txt` lists survivors with the reasons.
"""

import ast
import copy
import os
import random
import signal
import sys
import types
import warnings
from pathlib import Path

HERE = Path(__file__).parent
SUPPORT = HERE.parent / "support"
sys.path[:0] = [str(HERE.parents[1]), str(HERE), str(SUPPORT)]

import planted_explorers  # noqa: E402
import planted_policies  # noqa: E402
from generate import changes  # noqa: E402

from cmab.policy import IndexPolicy  # noqa: E402
from cmab.testing import checks  # noqa: E402

#: File, class, and whether it is an explorer.
SUBJECTS = [
    *(("odd_but_correct", name, "policy") for name in ("Jittered", "GaussianSampler", "Listed", "Mixed")),
    *(("planted_own_states", name, "policy") for name in ("LedgerUCB", "RunningMeans", "Posterior")),
    ("planted_contexts", "Prices", "policy"),
    *(("odd_but_correct", name, "explorer") for name in ("Base2", "OneByOne", "WithIntervals", "OwnState")),
    *(("planted_sheets", name, "explorer") for name in ("SheetRace", "SheetBatches")),
]
#: Seconds after which a mutant counts as killed, because it does not end.
LIMIT = 120


def mutants(file, name):
    """Yield the line, the change and the changed module for each slip in a class."""
    text = (SUPPORT / f"{file}.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    node = next(one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == name)
    for place, each in enumerate(ast.walk(node)):
        for change, other in changes(each):
            twin = copy.deepcopy(tree)
            there = next(one for one in twin.body if isinstance(one, ast.ClassDef) and one.name == name)
            target = list(ast.walk(there))[place]
            for parent in ast.walk(there):
                for part, value in ast.iter_fields(parent):
                    if value is target:
                        setattr(parent, part, other)
                    elif isinstance(value, list):
                        setattr(parent, part, [other if one is target else one for one in value])
            line = getattr(each, "lineno", 0)
            yield line, change, text.splitlines()[line - 1].strip(), ast.fix_missing_locations(twin)


def subject_of(kind, cls):
    """Return the checks of an object of a class."""
    if kind == "policy":
        thing = cls(planted_policies.ORACLE) if issubclass(cls, IndexPolicy) else cls()
        return checks(thing, planted_policies.environment())
    return checks(cls(), planted_explorers.environment(), delta=0.1)


def killer(file, kind, name, tree):
    """Return the title of the first check that fails, or '' if none does."""
    module = types.ModuleType(f"mutant_{file}")
    sys.modules[module.__name__] = module
    module.__file__ = str(SUPPORT / f"{file}.py")
    try:
        exec(compile(tree, module.__file__, "exec"), vars(module))
        for check in subject_of(kind, getattr(module, name)):
            try:
                check.run()
            except AssertionError:
                return check.title
    except Exception as error:
        return type(error).__name__
    return ""


def _stop(*_):
    raise TimeoutError


def main():
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 7)
    wanted = sys.argv[3:]
    every = [
        (file, kind, name, *mutant)
        for file, name, kind in SUBJECTS
        if not wanted or name in wanted
        for mutant in mutants(file, name)
    ]
    chosen = every if number >= len(every) else rng.sample(every, number)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _stop)
    survivors = 0
    for file, kind, name, line, change, text, tree in chosen:
        signal.alarm(LIMIT)
        found = killer(file, kind, name, tree)
        signal.alarm(0)
        survivors += not found
        print(f"{found or 'SURVIVED':20} {file}:{line} {name} {change} | {text}", flush=True)
    print(f"{len(chosen)} of {len(every)} mutants, {survivors} survived")


if __name__ == "__main__":
    os.nice(10)
    main()
