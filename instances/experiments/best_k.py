"""Best-K identification with fixed confidence: samples in Figures 1 and 2 of the paper of lil'RandLUCB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from cmab import LUCB1, BestKGLR, LilCLUCB, LilRandLUCB, LUCBPlusPlus
from cmab.arrays import FloatArray
from cmab.exploration.lil_ucb import LilUCB
from cmab.exploration.lucb import LilLUCB
from cmab.explorer import AnyExplorer
from cmab.running.identification import explore
from instances.arms import GaussianArms
from instances.best_k import lil_exponential, power_gap_means, two_groups
from instances.experiments._experiment import Experiment
from instances.experiments._figures import draw_samples
from instances.experiments._rows import Row, Verdicts, by_name, columns, is_fewer, mean_and_error
from oracles import TopK

# Section 5: nu = 0.01, variance 1/4. The cap is ours.
DELTA, SIGMA, _CAP = 0.01, 0.5, 50_000_000
_FIGURE_1 = ("1-sparse", "0.3-exponential")
_FIGURE_2 = ("1-sparse", "0.3 lil-exponential", "0.6 lil-exponential")
Mode = Literal["faithful", "heuristic"]


def cells(quick: bool) -> list[Row]:
    """Return the points of both figures: k = 2 and k = half of the arms in Figure 1, k = 1 in Figure 2.

    Examples
    --------
    >>> from instances.experiments.best_k import cells
    >>> cells(quick=True)[0]
    {'figure': 1, 'instance': '1-sparse', 'arms': 10, 'k': 2}
    """
    sizes = (10, 30, 100) if quick else (10, 30, 100, 300, 1000)
    return [
        {"figure": figure, "instance": name, "arms": n_arms, "k": k}
        for figure, names in ((1, _FIGURE_1), (2, _FIGURE_2))
        for name in names
        for n_arms in sizes
        for k in ((2, n_arms // 2) if figure == 1 else (1,))
    ]


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return for each mode and explorer its samples until stopping, and whether it failed.

    Rewards are Gaussian with variance 1/4, and delta is 0.01. LUCB1 has only one mode and appears in both.
    """
    n_arms, k = cell["arms"], cell["k"]
    arms = GaussianArms(_means(cell["instance"], n_arms, k), SIGMA)
    known: dict[str, Row] = {}
    rows = []
    for mode, explorers in rivals(n_arms, k).items():
        for rule, explorer in explorers.items():
            # LUCB has no heuristic version, so both modes have the same run.
            if rule != "LUCB" or rule not in known:
                run = explore(explorer, arms, seed, _CAP, replication)
                known[rule] = {"samples": run.samples, "failed": not (run.correct and run.stopped)}
            rows.append({"mode": mode, "explorer": rule, **known[rule]})
    return rows


def sum_up(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
    """Return one row for each mode and explorer, with the mean samples until stopping."""
    return [
        cell
        | {name: first[name] for name in ("mode", "explorer")}
        | mean_and_error(samples, "samples")
        | {"wrong or capped": sum(run["failed"] for run in runs)}
        for first, samples, runs in columns(told, "samples")
    ]


@dataclass(frozen=True, eq=False)
class _LessSampled(LilRandLUCB):
    """lil'RandLUCB without randomisation: it samples the critical arm with fewer samples, as UGapE does."""

    one_arm = 2


@cache
def rivals(n_arms: int, k: int) -> dict[str, dict[str, AnyExplorer]]:
    """Return the explorers of the figures by mode, with our mixture stopping rule among the proven ones."""
    modes: tuple[Mode, ...] = ("faithful", "heuristic")
    table: dict[str, dict[str, AnyExplorer]] = {
        mode: {
            "LUCB": LUCB1(n_arms, k, delta=DELTA),
            "lil'LUCB": LilLUCB(n_arms, k, delta=DELTA, mode=mode),
            "LUCB++": LUCBPlusPlus(n_arms, k, delta=DELTA, mode=mode),
            "lil'RandLUCB": LilRandLUCB(n_arms, k, delta=DELTA, mode=mode),
            "lil'CLUCB": LilCLUCB(TopK(n_arms, k), delta=DELTA, mode=mode),
        }
        for mode in modes
    }
    if k == 1:
        for mode in modes:
            table[mode]["lil'UCB"] = LilUCB(n_arms, delta=DELTA, mode=mode)
    if k <= 2:
        for mode in modes:
            table[mode]["deterministic"] = _LessSampled(n_arms, k, delta=DELTA, mode=mode)
        table["faithful"]["mixture"] = BestKGLR(n_arms, k, delta=DELTA)
    return table


def claims(rows: list[Row]) -> Verdicts:
    """Return the claims of the paper for each cell, None if two standard errors do not decide."""
    verdicts: Verdicts = []
    for cell, table in by_name(rows, "instance", "arms", "k", "mode", name="explorer").items():
        name, n_arms, k, mode = cell
        where = f"{name}, {n_arms} arms, k={k}, {mode}"
        rivals_here = ["LUCB", "lil'CLUCB"]
        if k <= 2:
            rivals_here += ["lil'LUCB"] + (["LUCB++"] if name != "0.6 lil-exponential" else [])
        for rival in rivals_here:
            verdict = is_fewer(table["lil'RandLUCB"], table[rival])
            verdicts.append((f"{where}: lil'RandLUCB takes fewer samples than {rival}", verdict))
        if k <= 2:
            fewer = is_fewer(table["deterministic"], table["LUCB++"])
            verdict = None if fewer is None else not fewer
            verdicts.append((f"{where}: sampling the arm of fewer samples is no better than both", verdict))
        if k == n_arms // 2 and k > 1:
            same = table["LUCB++"]["samples"] == table["lil'LUCB"]["samples"]
            verdicts.append((f"{where}: LUCB++ is lil'LUCB, sample for sample", same))
        if k == 1 and mode == "faithful":
            # The paper says an order of magnitude, without a plot.
            worse = table["lil'UCB"]["samples"] > 5 * table["lil'RandLUCB"]["samples"]
            verdicts.append((f"{where}: lil'UCB is worse by about an order of magnitude (5 times)", worse))
    failures = sum(row["wrong or capped"] for row in rows)
    verdicts.append((f"no run ever failed ({failures} did)", failures == 0))
    return verdicts


def _means(instance: str, n_arms: int, k: int) -> FloatArray:
    if instance == "1-sparse":
        return two_groups(n_arms, k, high=0.5, low=0.0)
    if instance == "0.3-exponential":
        return power_gap_means(n_arms, k, exponent=0.3)
    return lil_exponential(n_arms, float(instance.split()[0]))


LIL_RAND_LUCB = Experiment(
    name="lil-rand-lucb",
    title="Samples of lil'RandLUCB and its rivals",
    about="Figures 1 and 2 of the paper of lil'RandLUCB: samples until stopping against the number of arms.",
    sizes="At most 100 arms and 50 runs instead of up to 1,000 arms and 100 runs",
    minutes={True: 0.5, False: 20},
    replications={True: 50, False: 100},
    cells=cells,
    play=play,
    sum_up=sum_up,
    claims=claims,
    draw=draw_samples,
    sources={
        "k=1, faithful: lil'UCB": "section 5.2",
        "k=1, ": "section 5.2, Figure 2",
        "k=2, ": "section 5.1, Figure 1",
        "fewer samples than": "section 5.1, Figure 1",
        "sample for sample": "section 5.1",
        "no run ever failed": "footnote 7",
    },
)
