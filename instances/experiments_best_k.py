"""Best-K identification with fixed confidence: the sample counts of lil'RandLUCB's paper, Figures 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from cmab import LUCB1, LilCLUCB, LilLUCB, LilRandLUCB, LUCBPlusPlus, identify
from cmab.arrays import FloatArray
from cmab.explorer import AnyExplorer
from cmab.seeding import Seed, root
from instances._explorations import Row
from instances.arms import GaussianArms
from instances.best_k import synthetic, two_groups
from oracles import TopK

DELTA, SIGMA, _CAP = 0.01, 0.5, 20_000_000
Mode = Literal["faithful", "heuristic"]


def run(quick: bool = True, rng: Seed = 0, n_jobs: int = 1) -> Iterator[Row]:
    """Yield one row for each instance, number of arms, k, mode and explorer: mean samples to the stop.

    Gaussian rewards of variance 1/4, error 0.01; 1-sparse and 0.3-exponential means; k = 1, 2 and half of
    the arms. LUCB1 has one mode only and appears in both.

    Examples
    --------
    >>> from instances.experiments_best_k import run
    >>> rows = list(run(quick=True, rng=0))  # doctest: +SKIP
    """
    sizes, replications = ((10, 30), 10) if quick else ((10, 30, 100, 300, 1000), 30)
    cells = [(name, n, k) for name in ("1-sparse", "0.3-exponential") for n in sizes for k in (1, 2, n // 2)]
    for (name, n_arms, k), seed in zip(cells, root(rng).spawn(len(cells)), strict=True):
        means = two_groups(n_arms, k, 0.5, 0.0) if name == "1-sparse" else synthetic(n_arms, k, 0.3)
        arms = GaussianArms(means, SIGMA)
        for mode, explorers in rivals(n_arms, k).items():
            for rule, explorer in explorers.items():
                found = identify(
                    explorer, arms, replications=replications, rng=seed, n_jobs=n_jobs, max_samples=_CAP
                )
                error = found.samples.std(ddof=1) / np.sqrt(replications)
                yield {
                    "instance": name,
                    "arms": n_arms,
                    "k": k,
                    "mode": mode,
                    "explorer": rule,
                    "samples": float(found.samples.mean()),
                    "s.e.": float(error),
                    "wrong or capped": int((~(found.correct & found.stopped)).sum()),
                }


def rivals(n_arms: int, k: int) -> dict[str, dict[str, AnyExplorer]]:
    """Return the explorers that the figures plot, by mode."""
    modes: tuple[Mode, ...] = ("faithful", "heuristic")
    return {
        mode: {
            "LUCB": LUCB1(n_arms, k, delta=DELTA),
            "lil'LUCB": LilLUCB(n_arms, k, delta=DELTA, mode=mode),
            "LUCB++": LUCBPlusPlus(n_arms, k, delta=DELTA, mode=mode),
            "lil'RandLUCB": LilRandLUCB(n_arms, k, delta=DELTA, mode=mode),
            "lil'CLUCB": LilCLUCB(TopK(n_arms, k), delta=DELTA, mode=mode),
        }
        for mode in modes
    }


def claims(rows: list[Row]) -> list[tuple[str, bool | None]]:
    """Return the paper's claims, cell by cell; None where two standard errors leave one open."""
    verdicts: list[tuple[str, bool | None]] = []
    for cell in dict.fromkeys((row["instance"], row["arms"], row["k"], row["mode"]) for row in rows):
        table = {r["explorer"]: r for r in rows if (r["instance"], r["arms"], r["k"], r["mode"]) == cell}
        where = f"{cell[0]}, {cell[1]} arms, k={cell[2]}, {cell[3]}"
        rivals_here = ["LUCB", "lil'CLUCB"]
        if cell[2] <= 2:
            rivals_here += ["lil'LUCB", "LUCB++"]
        for rival in rivals_here:
            verdict = _is_fewer(table["lil'RandLUCB"], table[rival])
            verdicts.append((f"{where}: lil'RandLUCB takes fewer samples than {rival}", verdict))
    failures = sum(row["wrong or capped"] for row in rows)
    verdicts.append((f"no run ever failed ({failures} did)", failures == 0))
    return verdicts


def _is_fewer(first: Row, second: Row) -> bool | None:
    margin = 2 * np.hypot(first["s.e."], second["s.e."])
    if first["samples"] + margin < second["samples"]:
        return True
    return False if first["samples"] > second["samples"] + margin else None


def series(rows: list[Row], explorer: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return numbers of arms, mean samples and standard errors of one explorer."""
    own = [row for row in rows if row["explorer"] == explorer]
    columns = np.array([(row["arms"], row["samples"], row["s.e."]) for row in own], np.float64)
    return columns[:, 0], columns[:, 1], columns[:, 2]
