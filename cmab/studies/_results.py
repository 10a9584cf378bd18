"""Results and summaries from the stored rows of a study."""

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
#: Columns for the last values of curves, with the attribute of the curve.
FINALS = {
    "final_expected_reward": "expected_rewards",
    "final_regret": "regret",
    "final_exact_regret": "exact_regret",
}
Pair = tuple[str, str]


class Results(dict[Pair, Any]):
    """A dict of results by (instance, learner), which a notebook shows as a table."""

    def __missing__(self, key: object) -> Any:
        # Show an existing key as an example.
        first = next(iter(self), None)
        example = f", such as {first!r}" if first else "; there are no results yet"
        raise KeyError(f"the key must be a pair (instance, learner){example}; got {key!r}")

    def _repr_html_(self) -> str:
        from cmab.results._html import table
        from cmab.results._rankings import explorer_rows, folded, learner_rows

        rows: list[Row] = []
        for (instance, learner), result in self.items():
            rows_of: Any = learner_rows if isinstance(result, Simulation) else explorer_rows
            rows += [{"instance": instance, **row} for row in rows_of({learner: result})]
        return table(folded(rows))


class Score(NamedTuple):
    """The mean regret, samples or cost (less is better) or reward (more is better) of a learner."""

    measure: str
    value: float


def score(result: Simulation | Identification) -> Score:
    """Return the regret of a policy (reward or cost if the optimum is unknown), or samples of an explorer."""
    if isinstance(result, Identification):
        # A run that was cut off would need an unknown number of further samples, so it ranks last.
        return Score("samples", float(result.samples.mean()) if result.stopped.all() else math.inf)
    if not math.isnan(result.optimum):
        return Score("regret", float(result.exact_regret[:, -1].mean()))
    measure = "reward" if result.sense == "max" else "cost"
    return Score(measure, float(result.expected_rewards[:, -1].mean()))


def simulation(learner: str, rows: Sequence[Row]) -> Simulation:
    """Return the replications of a policy on an instance from their stored rows.

    Raises
    ------
    ValueError
        If optimum, alpha, beta or sense differ, because then the mean regret has no meaning.
    """
    first, known = rows[0], [restored(SIMULATED, row) for row in rows]
    alike, common = ["optimum", "alpha", "beta", "sense"], {}
    if first["optima"] is not None:  # each replication has its own rounds
        alike.remove("optimum")
        common["optimum"] = float(np.mean([row["optimum"] for row in known]))
    for name in alike:
        if len(told := {row[name] for row in rows}) > 1 and not _are_close(told):
            raise ValueError(
                f"all replications of {learner} on {first['instance']} must have the same {name}, got"
                f" {sorted(map(str, told))} from different versions; do not accept other versions"
            )
    return Simulation(policy=learner, **gathered(SIMULATED, known, **common))


def _are_close(values: set[Any]) -> bool:
    """Return whether all values are floats that differ at most by rounding, as two versions may."""
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
    """Return the last values of the curves of a single replication, as columns."""
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
    """Return the summary of an explorer on an instance; the last three entries count replications.

    A run that was cut off counts neither as correct nor as wrong. If a run was cut off, the summary has the
    median of the samples, and None as their mean.
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
    """Return the number of replications of a trial. The experiment summarises their results itself."""
    seconds = float(np.mean([row["seconds"] for row in rows]))
    return {"trial": pair[0], "experiment": pair[1], "replications": len(rows), "seconds": seconds}


def _standard_error(values: FloatArray) -> float | None:
    n = len(values)
    return float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else None
