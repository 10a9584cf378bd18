"""Error rates with a fixed budget on the six settings of Wang, Tzeng and Proutiere (NeurIPS 2023).

Run: python tests/benchmarks/continuous_rejects.py [RUNS]. The settings and the budgets, one of several for
each setting, are those of the authors' code, with ten arms (15 in the stairs). With 1,000 runs it takes about
four minutes of the processor. The order of the arms is random in each run.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from cmab import UCBE, ContinuousRejects, UniformAllocation, identify
from cmab.exploration.rejects import SuccessiveRejects
from instances import BernoulliArms

ARMS = np.arange(1, 11)
SETTINGS = {
    "one group": (np.repeat([0.5, 0.45], [1, 9]), 5600),
    "two groups": (np.repeat([0.5, 0.45, 0.4], [1, 4, 5]), 4400),
    "linear": (0.75 - 0.05 * (ARMS - 1), 2800),
    "concave": (np.sin(np.r_[0.45 * math.pi, 0.45 * math.pi * (11 - ARMS[1:]) / 10]), 900),
    "convex": (0.3 / (ARMS + 1), 1500),
    "stairs": (np.repeat(0.75 * 3.0 ** (-ARMS[:5] / 5), ARMS[:5]), 1600),
}
RULES = {
    "CR-A": lambda n, budget: ContinuousRejects(n, budget=budget),
    "CR-C": lambda n, budget: ContinuousRejects(n, budget=budget, variant="C"),
    "SR": lambda n, budget: SuccessiveRejects(n, budget=budget),
    "UCB-E": lambda n, budget: UCBE(n, budget=budget),
    "uniform": lambda n, budget: UniformAllocation(n, 1, budget=budget),
}


def main(runs: int) -> None:
    for title, (means, budget) in SETTINGS.items():
        cells = []
        for make in RULES.values():
            wrong = 0
            for run in range(runs):
                arms = BernoulliArms(np.random.default_rng(run).permutation(means))
                wrong += int(not identify(make(len(means), budget), arms, rng=run).correct.all())
            cells.append(f"{wrong / runs:.3f}")
        print(f"{title:12}{budget:6}  " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    print(" " * 20 + "  ".join(RULES))
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
