"""Milliseconds a call of the knapsack oracles, beside scipy's and HiGHS' integer programs, ratios of one run.

Run: python tests/benchmarks/knapsack.py. Means are uniform, all ones (as optimism has them at the start),
and weight plus a constant, which is hard. OR-tools' dynamic program, of another day, took 0.2, 7.8 and 8,758
ms for 30, 200 and 2,000 arms with uniform means.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import LinearConstraint, milp

from oracles import Knapsack, MultidimensionalKnapsack


def milliseconds(call: Callable[[], object], calls: int) -> float:
    call()
    started = time.process_time()
    for _ in range(calls):
        call()
    return 1e3 * (time.process_time() - started) / calls


def main() -> None:
    columns = ("exact, ms", "epsilon .05, ms", "HiGHS, ms", "scipy, ms", "HiGHS/exact", "scipy/exact")
    print(f"{'n':>6}{'means':>9}" + "".join(f"{column:>17}" for column in columns))
    rng = np.random.default_rng(0)
    for n, capacity in ((30, 100), (200, 10_000), (1000, 50_000)):
        weights = rng.integers(1, capacity // 10 + 1, n)
        kinds = {"uniform": rng.random(n), "ones": np.ones(n), "hard": (weights + capacity / 20) / capacity}
        exact, nearly = Knapsack(weights, capacity), Knapsack(weights, capacity, epsilon=0.05)
        program = MultidimensionalKnapsack([weights], [capacity])
        row = LinearConstraint(weights[None], ub=capacity)
        for kind, means in kinds.items():
            ours, rounded, highs = (
                milliseconds(lambda o=o, x=means: o.solve(x, 0), 3) for o in (exact, nearly, program)
            )
            scipys = milliseconds(
                lambda x=means, r=row: milp(-x, constraints=r, integrality=np.ones(len(x)), bounds=(0, 1)), 1
            )
            figures = (ours, rounded, highs, scipys, highs / ours, scipys / ours)
            print(f"{n:>6}{kind:>9}" + "".join(f"{figure:>17.3g}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
