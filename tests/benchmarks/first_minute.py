"""Processor time until a newcomer's first answers, each in a new process, and of a million rounds.

Run: python tests/benchmarks/first_minute.py [--times 3] [NAME ...]. Prints the table of
docs/start/install.md: the least seconds of the processor in some runs, with its children and all imports. The
cache of compiled code is new and empty in the first column, has what the first run compiled in the second,
and has what ``cmab warmup`` compiles in the third.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
MILLION = """
import time; import numpy as np
from cmab import CTS, CUCB, simulate
from instances import BernoulliArms, SemiBandit; from oracles import TopK
oracle = TopK(100, 10)
place = SemiBandit(BernoulliArms(np.random.default_rng(1).uniform(0.1, 0.9, 100)), oracle)
simulate({0}(oracle), place, 20_000, rng=0)
start = time.process_time()
simulate({0}(oracle), place, 1_000_000, rng=0)
print("seconds", time.process_time() - start)
"""
#: The arguments of Python for each row; a row with `MILLION` prints the seconds that count.
ROWS: dict[str, tuple[str, ...]] = {
    "imports of the next row": ("-c", "from cmab import CUCB, Session; from oracles import TopK"),
    "first decision": (
        "-c",
        "from cmab import CUCB, Session, Feedback; from oracles import TopK\n"
        "session = Session(CUCB(TopK(100, 10)), rng=0); ticket = session.ask()\n"
        "session.tell(Feedback(ticket, [1.0] * 10), ticket); session.ask()",
    ),
    "README": ("-c", README[1] if README else ""),
    "influence": (
        "-c",
        "import networkx as nx; import numpy as np; from oracles import InfluenceMaximization\n"
        "graph = nx.barabasi_albert_graph(300, 3, seed=0).to_directed()\n"
        "oracle = InfluenceMaximization(graph, k=5)\n"
        "oracle.solve(np.full(oracle.n_arms, 0.05), np.random.default_rng(0))",
    ),
    "demo": ("-m", "cmab.cli", "demo", "influence"),
    "identify": (
        "-c",
        "from cmab import LilRandLUCB, identify; from instances import BernoulliArms\n"
        "identify(LilRandLUCB(10, 2, delta=0.1), BernoulliArms([0.9] * 2 + [0.3] * 8), rng=0)",
    ),
    "help": ("-m", "cmab.cli", "--help"),
    "list": ("-m", "cmab.cli", "list"),
    "million rounds of CUCB": ("-c", MILLION.format("CUCB")),
    "million rounds of CTS": ("-c", MILLION.format("CTS")),
}


def seconds(arguments: tuple[str, ...], cache: str) -> float:
    """Return the processor time of a new Python process, or the seconds that it prints."""
    setting = os.environ | {"XDG_CACHE_HOME": cache, "PYTHONPATH": str(ROOT), "MPLCONFIGDIR": cache}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    options = {"env": setting, "cwd": cache, "check": True, "capture_output": True, "text": True}
    printed = subprocess.run([sys.executable, *arguments], **options).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if printed.startswith("seconds "):
        return float(printed.split()[1])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("names", nargs="*", default=ROWS)
    options = parser.parse_args()
    print("| | first run | second run | after `cmab warmup` |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as warm:
        seconds(("-m", "cmab.cli", "warmup"), warm)
        for name in options.names:
            runs = []
            for _ in range(options.times):
                with tempfile.TemporaryDirectory() as cold:
                    runs.append([seconds(ROWS[name], cache) for cache in (cold, cold, warm)])
            least = map(min, zip(*runs, strict=True))
            print(f"| {name} |", *(f"{each:.2f} |" for each in least), flush=True)


if __name__ == "__main__":
    main()
