"""Seconds and worth of greedy sets for facility location, by a function of the user's and without one.

Run: python tests/benchmarks/submodular.py. `plain` asks the same function for every entry in every step;
`arrays` is greedy written for facility location alone, all gains of a step by one numpy expression, as
libraries with a fixed list of functions have it (apricot's naive optimiser, in kind).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from oracles import SubmodularOracle


def served(means: np.ndarray, chosen: np.ndarray, n: int) -> float:
    return float(means.reshape(n, n)[chosen].max(axis=0, initial=0.0).sum())


def plain(means: np.ndarray, n: int, k: int) -> np.ndarray:
    chosen: list[int] = []
    for _ in range(k):
        left = [i for i in range(n) if i not in chosen]
        chosen.append(max(left, key=lambda i: served(means, np.array([*chosen, i]), n)))
    return np.array(chosen)


def arrays(means: np.ndarray, n: int, k: int) -> np.ndarray:
    worths, best, chosen = means.reshape(n, n), np.zeros(n), []
    for _ in range(k):
        gains = np.maximum(worths - best, 0.0).sum(axis=1)
        gains[chosen] = -1.0
        chosen.append(int(np.argmax(gains)))
        best = np.maximum(best, worths[chosen[-1]])
    return np.array(chosen)


def main() -> None:
    ways = ("lazy", "stochastic", "plain", "arrays")
    print(f"{'n':>5}{'k':>4}" + "".join(f"{way + ', s':>16}{'worth':>8}" for way in ways))
    for n, k in ((50, 5), (100, 10), (200, 20), (400, 20)):
        points, rng = np.random.default_rng(n).random((n, 2)), np.random.default_rng(0)
        means = np.exp(-5.0 * np.linalg.norm(points[:, None] - points, axis=2)).ravel()
        oracles = [
            SubmodularOracle(
                n * n,
                k,
                reward=lambda means, chosen, n=n: served(means, chosen, n),
                n_choices=n,
                triggers=lambda chosen, n=n: (n * chosen[:, None] + np.arange(n)).ravel(),
                method=method,
            )
            for method in ("lazy", "stochastic")
        ]
        asked: list[Callable[[], np.ndarray]] = [
            *(partial(oracle.solve, means, rng) for oracle in oracles),
            *(partial(way, means, n, k) for way in (plain, arrays)),
        ]
        line = f"{n:>5}{k:>4}"
        for ask in asked:
            ask()
            started = time.process_time()
            chosen = ask()
            line += f"{time.process_time() - started:>16.4f}{served(means, chosen, n):>8.2f}"
        print(line)


if __name__ == "__main__":
    main()
