"""From stored rows of a study to results and summaries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray
from cmab.intervals import without_noise
from cmab.results._columns import IDENTIFIED, SIMULATED, gathered, restored
from cmab.results.identification import Identification
from cmab.results.simulation import Simulation

Row = Mapping[str, Any]
#: Columns with the last values of curves.
FINALS = {
    "final_expected_reward": "expected_rewards",
    "final_regret": "regret",
    "final_exact_regret": "exact_regret",
}
Pair = tuple[str, str]


class Results(dict[Pair, Any]):
    """Results by (instance, learner), which a notebook shows as a table."""

    def __missing__(self, key: object) -> Any:
        # A key of these results says more than a description of keys.
        first = next(iter(self), None)
        example = f", such as {first!r}" if first else ", and there is none yet"
        raise KeyError(f"results must be asked for by (instance, learner){example}; got {key!r}")

    def _repr_html_(self) -> str:
        from cmab.results._html import table
        from cmab.results._rankings import explorer_rows, folded, learner_rows

        rows: list[Row] = []
        for (instance, learner), result in self.items():
            rows_of: Any = learner_rows if isinstance(result, Simulation) else explorer_rows
            rows += [{"instance": instance, **row} for row in rows_of({learner: result})]
        return table(folded(rows))


class Score(NamedTuple):
    """What leaders are told by: mean regret, samples or cost (less is better), or reward (more is)."""

    measure: str
    value: float


def score(result: Simulation | Identification) -> Score:
    """Return the regret; where the optimum is unknown, the reward or cost; of an explorer, the samples."""
    if isinstance(result, Identification):
        # A run that was cut off would have taken more, nobody knows how many: it does not lead.
        return Score("samples", float(result.samples.mean()) if result.stopped.all() else math.inf)
    if not math.isnan(result.optimum):
        return Score("regret", float(result.exact_regret[:, -1].mean()))
    measure = "reward" if result.sense == "max" else "cost"
    return Score(measure, float(result.expected_rewards[:, -1].mean()))


def simulation(learner: str, rows: Sequence[Row]) -> Simulation:
    """Return the replications of a policy on an instance, by what was stored of them alone.

    Raises
    ------
    ValueError
        If they were made for different optima: one mean of their regret would mean nothing.
    """
    first, known = rows[0], [restored(SIMULATED, row) for row in rows]
    alike, common = ["optimum", "alpha", "beta", "sense"], {}
    if first["optima"] is not None:  # each replication met rounds of its own
        alike.remove("optimum")
        common["optimum"] = float(np.mean([row["optimum"] for row in known]))
    for name in alike:
        if len(told := {row[name] for row in rows}) > 1 and not _are_close(told):
            raise ValueError(
                f"the replications of {learner} on {first['instance']} must have one {name}, got"
                f" {sorted(map(str, told))} of different versions; do not accept versions here"
            )
    return Simulation(policy=learner, **gathered(SIMULATED, known, **common))


def _are_close(values: set[Any]) -> bool:
    """Return whether all are numbers that differ by rounding at most, as those of two versions may."""
    numbers = [value for value in values if isinstance(value, float)]
    return len(numbers) == len(values) and math.isclose(min(numbers), max(numbers), rel_tol=1e-9)


def identification(explorer: str, rows: Sequence[Row]) -> Identification:
    """Return the replications of an explorer on an instance."""
    found = gathered(IDENTIFIED, [restored(IDENTIFIED, row) for row in rows])
    return Identification(explorer=explorer, **found)


def result_of(learner: str, rows: Sequence[Row]) -> Simulation | Identification:
    """Return the replications of a policy or an explorer on an instance."""
    return simulation(learner, rows) if "rewards" in rows[0] else identification(learner, rows)


def finals(result: Simulation | Identification) -> dict[str, float]:
    """Return the last values of the only replication's curves, as columns."""
    if isinstance(result, Identification):
        return {}
    return {name: float(getattr(result, curve)[0, -1]) for name, curve in FINALS.items()}


def regret_row(pair: Pair, result: Simulation) -> dict[str, Any]:
    """Return the summary of a policy on an instance."""
    regret = without_noise(result.exact_regret[:, -1], result.optimum, rounds=int(result.rounds[-1]))
    return {
        "instance": pair[0],
        "learner": pair[1],
        "replications": len(regret),
        "regret": float(regret.mean()),
        "s.e.": _standard_error(regret),
        "reward a round": float(result.expected_rewards[:, -1].mean() / result.rounds[-1]),
        "seconds": float(result.seconds.mean()),
    }


def samples_row(pair: Pair, found: Identification) -> dict[str, Any]:
    """Return the summary of an explorer on an instance; the last three counts are of replications.

    A run that was cut off is neither right nor wrong; with one there is a median of the samples, and no mean.
    """
    samples, is_whole = found.samples.astype(np.float64), bool(found.stopped.all())
    return {
        "instance": pair[0],
        "explorer": pair[1],
        "replications": len(found.samples),
        "samples": float(samples.mean()) if is_whole else None,
        "s.e.": _standard_error(samples) if is_whole else None,
        "median": float(np.median(np.where(found.stopped, samples, np.inf))),
        "seconds": float(found.seconds.mean()),
        "stopped": int(found.stopped.sum()),
        "certified": int(found.certified.sum()),
        "wrong": int(found.wrong.sum()),
    }


def trial_row(pair: Pair, rows: Sequence[Row]) -> dict[str, Any]:
    """Return how often a trial was played; what it told is for its experiment to sum up."""
    seconds = float(np.mean([row["seconds"] for row in rows]))
    return {"trial": pair[0], "experiment": pair[1], "replications": len(rows), "seconds": seconds}


def _standard_error(values: FloatArray) -> float | None:
    n = len(values)
    return float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else None
