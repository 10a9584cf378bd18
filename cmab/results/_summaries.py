"""Rows with intervals that sum up results, for reports and notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cmab.arrays import FloatArray
from cmab.intervals import Band, band, proportion_interval
from cmab.plotting._needs import Explored, Played
from cmab.results.regret import without_noise
from cmab.results.tables import Row, shown


def mean_and_interval(values: FloatArray, kind: Band = "t", level: float = 0.95) -> tuple[float, str]:
    """Return the mean and its interval as text."""
    mean, low, high = (float(end[0]) for end in band(values[:, None], kind, level=level))
    return mean, f"{shown(low)} to {shown(high)}" if np.isfinite(low) else "-"


def final_rows(results: Mapping[str, Played], kind: Band = "t", level: float = 0.95) -> list[Row]:
    """Return a row for each learner, the best one first."""
    rows: list[Row] = []
    for name, result in results.items():
        last = without_noise(result.exact_regret[:, -1], result.optimum, rounds=int(result.rounds[-1]))
        regret, band_of_regret = mean_and_interval(last, kind, level)
        reward, band_of_reward = mean_and_interval(
            result.expected_rewards[:, -1] / result.rounds[-1], kind, level
        )
        inside = 100 * float(result.oracle_seconds.sum() / result.seconds.sum())
        # No clock runs inside the compiled loop.
        share = {"in the oracle": f"{inside:.0f} %"} if np.isfinite(inside) else {}
        rows.append(
            {
                "learner": name,
                "replications": len(result.seconds),
                "regret": regret,
                "interval of regret": band_of_regret,
                "reward a round": reward,
                "interval of reward": band_of_reward,
                "median seconds": float(np.median(result.seconds)),
                **share,
            }
        )
    # By reward, for the regret is unknown where the optimum is.
    sense = {result.sense for result in results.values()}
    return sorted(rows, key=lambda row: row["reward a round"], reverse=sense == {"max"})


def sample_rows(results: Mapping[str, Explored], kind: Band = "t", level: float = 0.95) -> list[Row]:
    """Return a row for each explorer."""
    rows: list[Row] = []
    for name, found in results.items():
        runs, wrong, capped = len(found.samples), int(found.wrong.sum()), int((~found.stopped).sum())
        samples, band_of_samples = mean_and_interval(found.samples.astype(np.float64), kind, level)
        low, high = proportion_interval(wrong, runs, level=level)
        rows.append(
            {
                "explorer": name,
                "replications": runs,
                "samples": samples,
                # The cut-off runs would have taken more: no interval holds the mean.
                "interval of samples": "at least the mean"
                if capped
                else band_of_samples
                if np.ptp(found.samples)
                else "all equal",
                "cut off": capped,
                "wrong": wrong if found.judged else None,
                "share wrong": wrong / runs if found.judged else None,
                "interval of share": f"{shown(low)} to {shown(high)}" if found.judged else None,
                "median seconds": float(np.median(found.seconds)),
            }
        )
    return rows


def told_rows(told: Sequence[Sequence[Row]], kind: Band = "t", level: float = 0.95) -> list[Row]:
    """Return, of rows that come in the same order in every replication, what differs as a mean."""
    rows: list[Row] = []
    # Texts are labels, the same in all replications; numbers are what was measured.
    for each in zip(*told, strict=True):
        labels = {name: value for name, value in each[0].items() if isinstance(value, str)}
        summed: dict[str, object] = {"replications": len(each)}
        for name in [name for name in each[0] if name not in labels]:
            summed[name], summed[f"interval of {name}"] = mean_and_interval(
                np.array([row[name] for row in each], np.float64), kind, level
            )
        rows.append(labels | summed)
    return rows
