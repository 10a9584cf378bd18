"""Samples divided by the asymptotic lower bound T* ln(1 / delta), for every rule on twenty instances."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np

from cmab import (
    CLUCB,
    LUCB1,
    PFWS,
    BestKGLR,
    LilCLUCB,
    LilRandLUCB,
    LUCBPlusPlus,
    TrackAndStop,
    UGapEc,
)
from cmab.arrays import FloatArray
from cmab.exploration.lucb import LilLUCB
from cmab.explorer import AnyExplorer
from cmab.running.identification import explore
from cmab.theory.best_k_time import best_k_time
from cmab.theory.super_arm_time import super_arm_time
from instances.arms import GaussianArms
from instances.best_k import audibert_bubeck_munos, lil_exponential, power_gap_means, two_groups
from instances.experiments._experiment import Experiment
from instances.experiments._rows import (
    Row,
    Verdicts,
    by_name,
    error_verdicts,
    geometric_bar,
    is_fewer,
    mean_and_error,
)
from instances.experiments.joint_optima import family_of
from oracles import BruteForce, UniformMatroid

DELTA, SIGMA, _CAP = 0.1, 0.5, 5_000_000
# All rules for super arms call their oracle after the same batches of samples.
_GROWTH = 0.1
# P-FWS takes a hundred times as long as the other rules for the k best arms, so it has fewer runs there.
_FEW = 40
#: k and the means of the best-k instances, from lil'RandLUCB's paper, Garivier and Kaufmann, and Audibert et
#: al.
_BEST_K: dict[str, tuple[int, Callable[[], FloatArray]]] = {
    "1-sparse, 10 arms, k = 1": (1, lambda: two_groups(10, 1, high=0.5, low=0.0)),
    "1-sparse, 10 arms, k = 2": (2, lambda: two_groups(10, 2, high=0.5, low=0.0)),
    "1-sparse, 10 arms, k = 5": (5, lambda: two_groups(10, 5, high=0.5, low=0.0)),
    "1-sparse, 30 arms, k = 2": (2, lambda: two_groups(30, 2, high=0.5, low=0.0)),
    "0.3-exponential, 10 arms, k = 2": (2, lambda: power_gap_means(10, 2, exponent=0.3)),
    "0.3-exponential, 30 arms, k = 2": (2, lambda: power_gap_means(30, 2, exponent=0.3)),
    "0.3 lil-exponential, 10 arms": (1, lambda: lil_exponential(10, 0.3)),
    "0.6 lil-exponential, 10 arms": (1, lambda: lil_exponential(10, 0.6)),
    "0.5 to 0.4": (1, lambda: np.array([0.5, 0.45, 0.43, 0.4])),
    "0.3 to 0.18": (1, lambda: np.array([0.3, 0.21, 0.2, 0.19, 0.18])),
    "Audibert et al., problem 1": (1, lambda: audibert_bubeck_munos(1)[0]),
    "Audibert et al., problem 4": (1, lambda: audibert_bubeck_munos(4)[0]),
}
_FAMILIES = ("paths", "matchings", "trees")
_SUPER_ARMS = (
    *(f"{f}, {kind}" for f in _FAMILIES for kind in ("two levels", "ramp")),
    "two sets",
    "four sets",
)
OURS = ("BestKGLR", "Track-and-Stop", "P-FWS")


def cells(quick: bool) -> list[Row]:
    """Return the instances, or every second one if `quick`.

    Examples
    --------
    >>> from instances.experiments.twenty_instances import cells
    >>> len(cells(quick=False)), cells(quick=True)[0]
    (20, {'instance': '1-sparse, 10 arms, k = 1'})
    """
    return [{"instance": name} for name in (*_BEST_K, *_SUPER_ARMS)[:: 2 if quick else 1]]


@cache
def instance(name: str) -> tuple[FloatArray, BruteForce | None, dict[str, AnyExplorer]]:
    """Return the means of an instance, its super arms (None for the k best arms), and the rules."""
    if name in _BEST_K:
        k, make = _BEST_K[name]
        means = make()
        n = len(means)
        return (
            means,
            None,
            {
                "BestKGLR": BestKGLR(n, k, delta=DELTA),
                "Track-and-Stop": TrackAndStop(n, k=k, delta=DELTA),
                "P-FWS": PFWS(UniformMatroid(n, k), delta=DELTA, growth=_GROWTH),
                "lil'RandLUCB": LilRandLUCB(n, k, delta=DELTA),
                "LUCB++": LUCBPlusPlus(n, k, delta=DELTA),
                "lil'LUCB": LilLUCB(n, k, delta=DELTA),
                "UGapEc": UGapEc(n, k, delta=DELTA, epsilon=0.0),
                "LUCB1": LUCB1(n, k, delta=DELTA),
            },
        )
    family, kind = _family(name)
    if kind == "ramp":
        means = np.random.default_rng(family.n_arms).permutation(np.linspace(0.1, 0.9, family.n_arms))
    else:
        means = np.full(family.n_arms, 0.5)
        means[family.super_arms[0]] = 0.7
    return (
        means,
        family,
        {
            "lil'CLUCB": LilCLUCB(family, delta=DELTA, growth=_GROWTH),
            "CLUCB": CLUCB(family, delta=DELTA, growth=_GROWTH),
        },
    )


def _family(name: str) -> tuple[BruteForce, str]:
    if name.endswith("sets"):
        n, size = {"two sets": (12, 6), "four sets": (12, 3)}[name]
        return BruteForce(n, np.arange(n).reshape(-1, size).tolist()), "two levels"
    family, kind = name.split(", ")
    return family_of(family), kind


@cache
def time_of(name: str) -> float:
    """Return T* of an instance."""
    means, family, _ = instance(name)
    if family is not None:
        return super_arm_time(means, family.super_arms, sigma=SIGMA)[1]
    return best_k_time(means, _BEST_K[name][0], divergence=lambda p, q: (p - q) ** 2 / (2.0 * SIGMA**2))[1]


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return for each rule its samples, and whether it erred or was cut off."""
    means, _, rules = instance(cell["instance"])
    arms = GaussianArms(means, SIGMA)
    runs = {
        name: explore(rule, arms, seed, _CAP, replication)
        for name, rule in rules.items()
        if replication < _FEW or not isinstance(rule, PFWS)
    }
    return [
        {"explorer": name, "samples": run.samples, "wrong": not (run.correct and run.stopped)}
        for name, run in runs.items()
    ]


def sum_up(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
    """Return a row for each rule: its mean samples divided by ``T* ln(1 / delta)``, and its errors."""
    rows, unit = [], time_of(cell["instance"]) * math.log(1.0 / DELTA)
    played: dict[str, list[Row]] = {}
    for run in chain.from_iterable(told):
        played.setdefault(run["explorer"], []).append(run)
    for name, runs in played.items():
        samples = np.array([run["samples"] for run in runs], np.float64)
        mean, error = mean_and_error(samples, "samples").values()
        measured = {"needed": unit, "samples": mean, "ratio": mean / unit, "s.e.": error / unit}
        counted = {"errors": sum(run["wrong"] for run in runs), "runs": len(runs)}
        rows.append(cell | {"explorer": name} | measured | counted)
    return rows


def claims(rows: list[Row]) -> Verdicts:
    """Return whether likelihood rules take the fewest samples, the order of the rules, and error rates."""
    verdicts: Verdicts = []
    for (name,), table in by_name(rows, "instance", name="explorer").items():
        own = [table[rule] for rule in OURS if rule in table]
        others = [row for rule, row in table.items() if rule not in OURS]
        best = min(others, key=lambda row: float(row["ratio"]))
        for row in own:
            text = f"{name}: {row['explorer']} takes fewer samples than all others ({best['explorer']})"
            verdicts.append((text, is_fewer(row, best, "ratio")))
        if "P-FWS" in table:
            text = f"{name}: P-FWS takes fewer samples than BestKGLR"
            verdicts.append((text, is_fewer(table["P-FWS"], table["BestKGLR"], "ratio")))
        for first, second in (("lil'RandLUCB", "lil'LUCB"), ("lil'LUCB", "LUCB1"), ("lil'CLUCB", "CLUCB")):
            if first in table:
                text = f"{name}: {first} takes no more samples than {second}"
                verdict = is_fewer(table[second], table[first], "ratio")
                verdicts.append((text, None if verdict is None else not verdict))
    return verdicts + error_verdicts(rows, DELTA)


def draw(rows: list[Row], out: Path) -> None:
    """Draw the geometric mean ratio of each rule over its instances, with the least and the largest ratio."""
    from cmab.plotting import panels_of_bars, save

    # Two figures, because all panels of a figure have the same bars.
    for title, names in (("The k best arms", _BEST_K), ("Super arms", _SUPER_ARMS)):
        own = [row for row in rows if row["instance"] in names]
        bars: dict[str, tuple[float, float, float]] = {}
        for rule in dict.fromkeys(row["explorer"] for row in own):
            bars[rule] = geometric_bar([row["ratio"] for row in own if row["explorer"] == rule])
        axes = panels_of_bars({title: bars}, x_label="Samples / (T* ln(1/δ))")
        save(axes, out / title.lower().replace(" ", "-"))


TWENTY_INSTANCES = Experiment(
    name="twenty-instances",
    title="Samples relative to the asymptotic lower bound on twenty instances",
    about="Samples of every rule with confidence, divided by T* ln(1/delta): k best arms, paths, matchings,"
    " trees, sets.",
    sizes="Ten instances and 10 runs instead of twenty and 100",
    minutes={True: 2, False: 20},
    replications={True: 10, False: 100},
    cells=cells,
    play=play,
    sum_up=sum_up,
    claims=claims,
    draw=draw,
)
