"""Tries generated mutants of all shipped oracles and kernels of policies, for a number of minutes.

``python tests/mutants/shipped.py 25 1`` tries mutants for 25 processor minutes, in the order of seed 1. Each is
tried as in `generated.py`: first against the conformance checks of up to three rows of `cases.py` that execute
its file, then against the fast tests that are named after it. `survivors.txt` has the reasons for which those
of the last runs survive.
"""

import random
import resource
import sys
import time

import generated
from generate import mutants

FILES = [
    *(generated.ROOT / "oracles").rglob("*.py"),
    *(generated.ROOT / "cmab" / "policies").glob("_kernels_*.py"),
]


def spent():
    """Return the processor seconds of this process and of its forks."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def rows_by_file():
    """Return the names of the rows that execute each file, those of one kind and few arms first."""
    found = generated.rows_of(generated.ROOT)
    return {file: names for file, names in found.items() if file in set(map(str, FILES))}


def main(minutes, seed=0):
    """Print what became of each mutant; return how many nothing noticed."""
    found = rows_by_file()
    chosen = [mutant for file in sorted(FILES) if str(file) in found for mutant in mutants(file)]
    total = len(chosen)
    random.Random(seed).shuffle(chosen)
    counts = {"checks": 0, "tests": 0, "survive": 0}
    for mutant in chosen:
        if spent() > 60 * minutes:
            break
        started, names = (
            time.monotonic(),
            random.Random(seed).sample(
                found[str(mutant.file)], k=min(generated.ROWS, len(found[str(mutant.file)]))
            ),
        )
        if not generated.sound_rows(tuple(names)):
            print(f"the checks of {names} do not pass without a mutant", flush=True)
            continue
        killer = "survive"
        if not generated.passes_checks(mutant, names):
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
