"""What the experiments on exploration share: runs of explorers on Bernoulli arms, and their table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.explorer import AnyExplorer
from cmab.intervals import proportion_interval
from cmab.running.identification import explore
from cmab.seeding import Purpose, stream
from instances.arms.arms import BernoulliArms

Row = dict[str, Any]
Judge = Callable[[FloatArray, IntArray], bool]


def play_shuffled(
    explorers: Mapping[str, AnyExplorer],
    means: FloatArray,
    *,
    is_wrong: Judge,
    seed: np.random.SeedSequence,
    replication: int,
) -> list[Row]:
    """Return for each explorer whether its answer is wrong, and its samples.

    The labels of the arms are shuffled in each replication, so that ties favour nobody.
    """
    # Arms shuffled anew in each replication: ties go to lower indices, which would favour the best ones.
    labels, own = seed.spawn(2)
    shuffled = stream(labels, Purpose.ENVIRONMENT, replication).permutation(means)
    found = {
        name: explore(e, BernoulliArms(shuffled), own, None, replication) for name, e in explorers.items()
    }
    return [
        {"explorer": name, "wrong": is_wrong(shuffled, run.arms), "samples": run.samples}
        for name, run in found.items()
    ]


def rates(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
    """Return for each explorer its failures, their rate with a 95 % interval, and its mean samples."""
    rows = []
    for runs in zip(*told, strict=True):
        failures, n_runs = sum(run["wrong"] for run in runs), len(runs)
        low, high = proportion_interval(failures, n_runs)
        labels = {name: value for name, value in runs[0].items() if name not in ("wrong", "samples")}
        counted = {"failures": failures, "replications": n_runs, "rate": failures / n_runs}
        samples = float(np.mean([run["samples"] for run in runs]))
        rows.append(cell | labels | counted | {"low": low, "high": high, "samples": samples})
    return rows
