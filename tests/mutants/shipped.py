"""Tries generated mutants of all shipped oracles and kernels of policies, for a number of minutes.

``python tests/mutants/shipped.py 25 1`` tries mutants for 25 processor minutes, in the order of seed 1, as
`generated.py` does: first against the conformance checks of up to three rows of `cases.py` that execute the
file, then against the fast tests that are named after it. `survivors.txt` has the reasons of the survivors.
"""

import ast
import functools
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

import generated
from generate import mutants

KERNELS = (generated.ROOT / "cmab" / "policies").glob("_kernels_*.py")
FILES = sorted([*(generated.ROOT / "oracles").rglob("*.py"), *KERNELS])


def spent():
    """Return the processor seconds of this process and of its forks."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def modules_of_rows():
    """Return the files that define the class of each row and its bases."""
    with tempfile.NamedTemporaryFile("r+", encoding="utf-8") as told:

        def work():
            found = {}
            for name, make in generated.rows():
                if name.startswith(("oracle", "policy")):
                    subject = make()[0]
                    thing = getattr(subject, name.partition(" ")[0])
                    modules = [sys.modules[cls.__module__] for cls in type(thing).__mro__]
                    found[name] = [
                        file for file in (getattr(one, "__file__", None) for one in modules) if file
                    ]
            told.write(repr(found))
            told.flush()
            return True

        if not generated.in_a_fork(work):
            raise SystemExit("the rows cannot be made")
        told.seek(0)
        return ast.literal_eval(told.read())


@functools.cache
def source(file):
    """Return the text of a file."""
    return Path(file).read_text(encoding="utf-8")


def main(minutes, seed=0):
    """Print what became of each mutant; return how many nothing noticed."""
    modules = modules_of_rows()

    @functools.cache
    def rows_of(file):
        # The rows whose classes are in the file or import from it, if their short runs execute it.
        near = [
            name.partition(" ")[2]
            for name, files in modules.items()
            if str(file) in files or any(file.stem in source(each) for each in files)
        ]
        some = random.Random(seed).sample(near, k=min(4 * generated.ROWS, len(near)))
        names = generated.rows_of(file, some).get(str(file), []) if some else []
        names = tuple(name for name in names if name in modules)[: generated.ROWS]
        return names if generated.sound_rows(names) else ()

    chosen = [mutant for file in FILES for mutant in mutants(file)]
    total, counts = len(chosen), {"checks": 0, "tests": 0, "survive": 0, "no row": 0}
    random.Random(seed).shuffle(chosen)
    for mutant in chosen:
        if spent() > 60 * minutes:
            break
        started, names = time.monotonic(), rows_of(mutant.file)
        killer = "survive"
        if not names:
            killer = "no row"
        elif not generated.passes_checks(mutant, names):
            killer = "checks"
        elif not generated.passes_tests(mutant):
            killer = "tests"
        counts[killer] += 1
        where = mutant.file.relative_to(generated.ROOT)
        text = f"{time.monotonic() - started:4.0f} s  {where}:{mutant.line} {mutant.change}: {killer}"
        if killer == "survive":
            text += f" ({', '.join(names)})\n        {mutant.text.splitlines()[mutant.line - 1].strip()}"
        print(text, flush=True)
    print(f"{sum(counts.values())} of {total} mutants: {counts}, {spent() / 60:.0f} processor minutes")
    return counts["survive"]


if __name__ == "__main__":
    sys.exit(min(main(float(sys.argv[1]), *map(int, sys.argv[2:])), 100))
