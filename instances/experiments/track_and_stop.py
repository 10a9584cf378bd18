"""Best Bernoulli arm: Table 1 of Garivier and Kaufmann (COLT 2016), and the cost of a proof."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from cmab import TrackAndStop
from cmab.exploration.kl_lucb import KLLUCB
from cmab.explorer import AnyExplorer
from cmab.running.identification import explore
from cmab.theory.characteristic_time import least_samples
from instances.arms import BernoulliArms
from instances.experiments._experiment import Experiment
from instances.experiments._figures import draw_draws
from instances.experiments._races import chernoff_race, kl_race
from instances.experiments._rows import (
    Row,
    Verdicts,
    by_name,
    columns,
    errs_at_most,
    failed,
    is_fewer,
    mean_and_error,
)

# Section 6: Bernoulli arms, delta = 0.1. The mean samples of 3,000 runs are from memory.
DELTA, _PUBLISHED_RUNS = 0.1, 3000
_MEANS = {"0.5 to 0.4": (0.5, 0.45, 0.43, 0.4), "0.3 to 0.18": (0.3, 0.21, 0.2, 0.19, 0.18)}
_RULES = ("Track-and-Stop", "Chernoff-Racing", "KL-LUCB", "KL-Racing")
_PUBLISHED = {"0.5 to 0.4": (4052, 4516, 8437, 9590), "0.3 to 0.18": (1406, 3078, 2716, 3334)}


def cells(quick: bool) -> list[Row]:
    """Return the two instances; if `quick`, plans are updated when samples have grown by 5 % instead of 1 %.

    Examples
    --------
    >>> from instances.experiments.track_and_stop import cells
    >>> cells(quick=True)[0]
    {'means': '0.5 to 0.4', 'growth': 0.05}
    """
    return [{"means": name, "growth": 0.05 if quick else 0.01} for name in _MEANS]


@cache
def rivals(n_arms: int, growth: float) -> dict[str, AnyExplorer]:
    """Return the explorers of the library by name; the races of the table are not among them."""
    track = partial(TrackAndStop, n_arms, delta=DELTA, family="bernoulli")
    return {
        "Track-and-Stop": track(mode="heuristic", growth=growth),
        "KL-LUCB": KLLUCB(n_arms, 1, delta=DELTA, mode="heuristic"),
        "Track-and-Stop, lazy": track(mode="heuristic"),
        "Track-and-Stop, lazy, proven": track(),
    }


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return for each rule its samples and whether it erred."""
    labels, races, own = seed.spawn(3)
    # Shuffled, because ties go to lower indices, which would favour the best arm if it were first.
    means = np.random.default_rng([*labels.generate_state(2), replication]).permutation(_MEANS[cell["means"]])
    rng = np.random.default_rng([*races.generate_state(2), replication])
    found = [
        (name, run.samples, not run.correct)
        for name, explorer in rivals(len(means), cell["growth"]).items()
        for run in [explore(explorer, BernoulliArms(means), own, None, replication)]
    ]
    for name, race in (("Chernoff-Racing", chernoff_race), ("KL-Racing", kl_race)):
        arm, samples = race(means, DELTA, rng)
        found.append((name, samples, arm != int(np.argmax(means))))
    return [{"explorer": name, "samples": samples, "wrong": wrong} for name, samples, wrong in found]


def sum_up(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
    """Return a row for each rule: mean samples, their standard deviation, and errors with a 95 % interval."""
    rows = []
    for first, samples, runs in columns(told, "samples"):
        name = first["explorer"]
        measured = {
            "s.d.": float(samples.std(ddof=1)),
            "published": dict(zip(_RULES, _PUBLISHED[cell["means"]], strict=True)).get(name),
            "least possible": least_samples(_MEANS[cell["means"]], delta=DELTA),
        }
        found = mean_and_error(samples, "samples") | measured | failed(runs, "errors")
        rows.append(cell | {"explorer": name} | found)
    return rows


def claims(rows: list[Row]) -> Verdicts:
    """Return whether means match the published ones, whether Track-and-Stop is best, and error rates."""
    verdicts: Verdicts = []
    for (name,), table in by_name(rows, "means", name="explorer").items():
        for rule in _RULES:
            row = table[rule]
            text = (
                f"{name}: {rule} takes {row['published']:,} samples, within a tenth ({row['samples']:,.0f})"
            )
            verdicts.append((text, _is_near(row)))
        for rule in _RULES[1:]:
            verdict = is_fewer(table["Track-and-Stop"], table[rule])
            verdicts.append((f"{name}: Track-and-Stop takes fewer samples than {rule}", verdict))
        worst = max(table.values(), key=lambda row: float(row["high"]))
        text = f"{name}: every rule errs with probability at most {DELTA}"
        verdicts.append((text, errs_at_most(worst, DELTA)))
    return verdicts


def _is_near(row: Row) -> bool | None:
    """Return whether the ratio is within 10 % of 1, None if two standard errors do not decide."""
    margin = 2.0 * np.hypot(row["s.e."], row["s.d."] / np.sqrt(_PUBLISHED_RUNS)) / row["published"]
    away = abs(row["samples"] / row["published"] - 1.0)
    return True if away + margin <= 0.1 else (False if away - margin > 0.1 else None)


TRACK_AND_STOP = Experiment(
    name="track-and-stop",
    title="Samples of Track-and-Stop and its rivals on Bernoulli arms",
    about="Table 1 of Garivier and Kaufmann: Track-and-Stop, KL-LUCB and two races on Bernoulli arms.",
    sizes="200 runs and fewer updates of plans instead of 1,000 runs",
    minutes={True: 0.7, False: 4},
    replications={True: 200, False: 1000},
    cells=cells,
    play=play,
    sum_up=sum_up,
    claims=claims,
    draw=draw_draws,
    sources={"takes": "section 6, Table 1", "errs": "section 6"},
)
