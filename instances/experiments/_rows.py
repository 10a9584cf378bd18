"""The common functions of experiments: run learners, summarise replications, and judge claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cmab import simulate
from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.explorer import AnyExplorer
from cmab.intervals import band, proportion_interval
from cmab.policy import AnyPolicy
from cmab.running.identification import explore
from cmab.seeding import Purpose, stream
from instances.arms import BernoulliArms

Row = dict[str, Any]
#: Each claim and whether it holds, None if the data does not decide.
Verdicts = list[tuple[str, bool | None]]


def regrets(
    learners: Mapping[str, AnyPolicy], place: Environment, horizon: int, *, rng: Any, batch: int = 1
) -> list[Row]:
    """Return the regret of each learner at the horizon; all learners use the same random numbers."""
    settings: Any = {"checkpoints": [horizon], "batch": batch, "rng": rng}
    return [
        {"learner": name, "regret": float(simulate(policy, place, horizon, **settings).regret[0, -1])}
        for name, policy in learners.items()
    ]


def world_and_coins(seed: np.random.SeedSequence, replication: int) -> tuple[np.random.Generator, int]:
    """Return a generator for the instance of a replication, and the seed of its rounds."""
    labels, own = seed.spawn(2)
    number = int(stream(own, Purpose.ENVIRONMENT, replication).integers(2**62))
    return stream(labels, Purpose.ENVIRONMENT, replication), number


def replicated(seed: np.random.SeedSequence, replication: int) -> np.random.SeedSequence:
    """Return the seed of the rounds of a replication."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, replication))


def play_shuffled(
    explorers: Mapping[str, AnyExplorer],
    means: FloatArray,
    *,
    is_wrong: Callable[[FloatArray, IntArray], bool],
    seed: np.random.SeedSequence,
    replication: int,
) -> list[Row]:
    """Return for each explorer whether its answer is wrong, and its number of samples.

    The arms are shuffled in each replication, because ties go to lower indices.
    """
    # Without shuffling, ties would favour the best arms, which come first in `means`.
    labels, own = seed.spawn(2)
    shuffled = stream(labels, Purpose.ENVIRONMENT, replication).permutation(means)
    found = {
        name: explore(e, BernoulliArms(shuffled), own, None, replication) for name, e in explorers.items()
    }
    return [
        {"explorer": name, "wrong": is_wrong(shuffled, run.arms), "samples": run.samples}
        for name, run in found.items()
    ]


def columns(told: Sequence[list[Row]], name: str) -> Iterator[tuple[Row, FloatArray, list[Row]]]:
    """Yield for each learner its first row, its values of `name`, and all its rows."""
    for runs in zip(*told, strict=True):
        yield runs[0], np.array([run[name] for run in runs], np.float64), list(runs)


def interval(values: FloatArray, name: str) -> Row:
    """Return the mean under the given name, and a 95 % interval."""
    mean, low, high = band(values[:, None])
    return {name: float(mean[0]), "low": float(low[0]), "high": float(high[0])}


def mean_and_error(values: FloatArray, name: str) -> Row:
    """Return the mean under the given name and its standard error, which is nan for a single value."""
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return {name: float(values.mean()), "s.e.": float(error)}


def failed(runs: Iterable[Row], name: str) -> Row:
    """Return the number of wrong answers under the given name, and a 95 % interval of their rate."""
    wrong = [run["wrong"] for run in runs]
    low, high = proportion_interval(sum(wrong), len(wrong))
    return {name: sum(wrong), "low": low, "high": high}


def rates(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
    """Return for each explorer its failures, the failure rate with a 95 % interval, and its mean samples."""
    rows = []
    for first, samples, runs in columns(told, "samples"):
        labels = {name: value for name, value in first.items() if name not in ("wrong", "samples")}
        found, n_runs = failed(runs, "failures"), len(runs)
        counted = {"failures": found["failures"], "replications": n_runs, "rate": found["failures"] / n_runs}
        rows.append(cell | labels | counted | found | {"samples": float(samples.mean())})
    return rows


def mean_regrets(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
    """Return one row for each learner: its mean regret with a 95 % interval."""
    return [
        cell | {"learner": first["learner"], "replications": len(runs)} | interval(values, "regret")
        for first, values, runs in columns(told, "regret")
    ]


def mean_regrets_beside(reference: str) -> Callable[[Row, Sequence[list[Row]]], list[Row]]:
    """Return a function like `mean_regrets` that also returns regrets minus the regret of `reference`.

    The column ``more`` is the mean difference with a 95 % interval. Differences are taken within
    replications, in which all learners have the same instance and the same random numbers.
    """

    def told_beside(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
        values = np.array([[run["regret"] for run in runs] for runs in told])
        names = [run["learner"] for run in told[0]]
        ends = band(values - values[:, [names.index(reference)]])
        return [
            row | {"more": float(mean), "more low": float(low), "more high": float(high)}
            for row, mean, low, high in zip(mean_regrets(cell, told), *ends, strict=True)
        ]

    return told_beside


def by_name(rows: Iterable[Row], *cell: str, name: str) -> dict[tuple[Any, ...], dict[str, Row]]:
    """Return the rows of each cell, by the name of the learner or explorer."""
    tables: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        tables.setdefault(tuple(row[part] for part in cell), {})[row[name]] = row
    return tables


def is_positive(value: float, margin: float) -> bool | None:
    """Return whether a number is positive, None if its margin does not decide."""
    return True if value > margin else (False if value < -margin else None)


def is_lower(first: Row, second: Row) -> bool | None:
    """Return whether the first rate is lower, None if the 95 % intervals overlap."""
    if first["high"] < second["low"]:
        return True
    return False if first["low"] > second["high"] else None


def is_fewer(first: Row, second: Row, what: str = "samples") -> bool | None:
    """Return whether the first mean is lower, None if the difference is within two standard errors."""
    return is_positive(second[what] - first[what], 2.0 * math.hypot(first["s.e."], second["s.e."]))


def has_more(row: Row) -> bool | None:
    """Return whether a learner has more regret than the reference, None if the interval contains 0."""
    if row["more low"] > 0.0:
        return True
    return False if row["more high"] < 0.0 else None


def errs_at_most(row: Row, delta: float) -> bool | None:
    """Return whether the error rate is at most `delta`, None if its interval does not decide."""
    return True if row["high"] <= delta else (False if row["low"] > delta else None)


def error_verdicts(rows: Sequence[Row], delta: float) -> Verdicts:
    """Return for each explorer whether its error rate over all rows is at most `delta`."""
    verdicts: Verdicts = []
    for rule in dict.fromkeys(row["explorer"] for row in rows):
        own = [row for row in rows if row["explorer"] == rule]
        errors, runs = (sum(int(row[key]) for row in own) for key in ("errors", "runs"))
        low, high = proportion_interval(errors, runs)
        verdict = errs_at_most({"low": low, "high": high}, delta)
        verdicts.append((f"{rule} errs with probability at most {delta} ({errors} of {runs} runs)", verdict))
    return verdicts


def geometric_bar(ratios: Sequence[float]) -> tuple[float, float, float]:
    """Return the geometric mean of ratios, the least and the largest."""
    return math.exp(float(np.log(ratios).mean())), min(ratios), max(ratios)


def less_regret(
    table: Mapping[str, Row], pairs: Iterable[tuple[str, str]], where: str, paired: str | None = None
) -> Verdicts:
    """Return for each pair whether the first has less regret; pairs with `paired` by differences per run."""
    return [
        (
            f"{where}: {first} has less regret than {second}",
            has_more(table[second]) if first == paired else is_lower(table[first], table[second]),
        )
        for first, second in pairs
    ]
