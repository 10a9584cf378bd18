"""What the experiments on exploration share: many runs of explorers on Bernoulli arms, and their table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.explorer import AnyExplorer
from cmab.running.identification import explore
from cmab.seeding import Purpose, Seed, root, stream
from instances.arms.arms import BernoulliArms

Row = dict[str, Any]
Result = TypeVar("Result")
Judge = Callable[[FloatArray, IntArray], bool]


def compare(
    explorers: Mapping[str, AnyExplorer],
    means: FloatArray,
    is_wrong: Judge,
    replications: int,
    rng: Seed,
    n_jobs: int = 1,
) -> list[Row]:
    """Return a row for each explorer: its failures, their rate with a 95 % interval, its mean samples.

    The labels of the arms are shuffled in each replication, so that ties favour nobody.
    """
    labels, seed = root(rng).spawn(2)

    def one(replication: int) -> list[tuple[bool, int]]:
        shuffled = stream(labels, Purpose.ENVIRONMENT, replication).permutation(means)
        found = [explore(e, BernoulliArms(shuffled), seed, None, replication) for e in explorers.values()]
        return [(is_wrong(shuffled, run.arms), run.samples) for run in found]

    runs = np.array(in_parallel(one, replications, n_jobs), np.float64)
    return [rate_row(name, runs[:, i]) for i, name in enumerate(explorers)]


def in_parallel(one: Callable[[int], Result], replications: int, n_jobs: int) -> list[Result]:
    """Return ``one(0)``, ``one(1)``, ... from worker processes."""
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=n_jobs)(delayed(one)(r) for r in range(replications)))


def rate_row(name: str, runs: FloatArray) -> Row:
    """Return the failures (first column of `runs`), their rate with a 95 % interval, and the mean samples."""
    failures = int(runs[:, 0].sum())
    low, high = wilson_interval(failures, len(runs))
    rate = failures / len(runs)
    return {"explorer": name, "failures": failures, "replications": len(runs), "rate": rate} | {
        "low": low,
        "high": high,
        "samples": float(runs[:, 1].mean()),
    }


def wilson_interval(failures: int, runs: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval for a rate."""
    z = 1.959964
    rate, shrink = failures / runs, 1.0 + z * z / runs
    centre = rate + z * z / (2 * runs)
    half = z * np.sqrt(rate * (1 - rate) / runs + z * z / (4 * runs * runs))
    return max(0.0, float((centre - half) / shrink)), min(1.0, float((centre + half) / shrink))
