"""Samples until the best super arm is certain, on listed families and on families too large to list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cmab import CLUCB, PFWS, ArmStatistics, Feedback, LilCLUCB, LinearOracle
from cmab.arrays import FloatArray, IntArray
from cmab.explorer import AnyExplorer
from cmab.running.identification import explore
from cmab.ticket import Ticket
from instances.arms import GaussianArms
from instances.experiments._experiment import Experiment
from instances.experiments._rows import (
    Row,
    Verdicts,
    by_name,
    columns,
    error_verdicts,
    geometric_bar,
    is_fewer,
    mean_and_error,
)
from instances.experiments.twenty_instances import DELTA, SIGMA, instance, time_of
from instances.experiments.twenty_instances import cells as twenty
from oracles import GraphicMatroid, Matching, ShortestPath

_CAP, _GROWTH, _LARGE_GROWTH = 5_000_000, 0.1, 0.5
GOOD, BAD = 0.8, 0.2
LARGE = ("2,704,156 paths", "3,628,800 matchings", "4,782,969 trees")


@dataclass(frozen=True, eq=False)
class CombGame(PFWS):
    """CombGame (Jourdan et al. 2021) with the base arms as actions, AdaHedge, and the stop of `PFWS`.

    The learner keeps weights of the arms. The adversary answers with the hardest rival for these weights. The
    learner then gains the optimistic evidence of each arm. The samples track the cumulative weights. `PFWS`
    needs fewer samples, so this class is not in the namespace.

    Examples
    --------
    >>> from cmab import identify
    >>> from instances import GaussianArms
    >>> from instances.experiments.best_super_arm import CombGame
    >>> from oracles import TopK
    >>> identify(CombGame(TopK(3, k=1), delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    M. Jourdan, M. Mutny, J. Kirschner, A. Krause: Efficient Pure Exploration for Combinatorial Bandits with
    Semi-Bandit Feedback, ALT 2021 (from memory, and from the code of Tzeng et al.).
    """

    def initial_state(self, rng: np.random.Generator | None = None) -> ArmStatistics:
        """Return the statistics, with the mixability gap, the gains and the cumulative weights as memory."""
        return ArmStatistics.empty(self.n_arms, memory=np.zeros(1 + 2 * self.n_arms))

    def update(
        self,
        state: ArmStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update the statistics, and let the learner and the adversary play one round."""
        before = int(state.counts.sum())
        super().update(state, feedback)
        if len(self.unseen(state)):
            return
        n, counts = self.n_arms, state.counts.astype(np.float64)
        gap, gains, weights = state.memory[:1], state.memory[1 : n + 1], state.memory[n + 1 :]
        if not weights.any():
            weights += counts
            before = int(counts.sum())
        plan, eta = self._plan(float(gap[0]), gains)
        own = np.maximum(plan, 1e-9)
        best = self.recommend(state)
        contest = self._contest(state, best, 1.0 / own, np.zeros(n), 1.0)
        near = self._rivals(best).near(contest)
        if not len(near):
            return
        signs = near[int(np.argmin(contest.ratios(near)))]
        lost = max(0.0, float(signs @ contest.values) + contest.margin)
        moves = lost / float(np.abs(signs) @ contest.spreads) * np.abs(signs) / own
        rate = math.log(counts.sum())
        radii = np.sqrt(2.0 * self.sigma**2 * rate / counts)
        gained = np.maximum((moves + radii) ** 2 / (2.0 * self.sigma**2), rate / counts)
        gap += max(0.0, _mix(plan, gained, eta) - float(plan @ gained))
        gains += gained
        weights += (counts.sum() - before) * plan

    def _plan(self, gap: float, gains: FloatArray) -> tuple[FloatArray, float]:
        """Return the weights of AdaHedge and its rate; without a gap, all weight is on the largest gains."""
        if gap <= 0.0:
            first = (gains == gains.max()).astype(np.float64)
            return first / first.sum(), math.inf
        eta = math.log(self.n_arms) / gap
        weights = np.exp(eta * (gains - gains.max()))
        return weights / weights.sum(), eta

    def _next(self, state: ArmStatistics, *_: object) -> IntArray:
        return np.array([np.argmin(state.counts - state.memory[self.n_arms + 1 :])], np.int64)


def _mix(weights: FloatArray, gains: FloatArray, eta: float) -> float:
    """Return the mix gain ``ln(sum w exp(eta g)) / eta``."""
    used = weights > 0.0
    most = float(gains[used].max())
    if eta == math.inf:
        return most
    return most + math.log(float(weights[used] @ np.exp(eta * (gains[used] - most)))) / eta


def cells(quick: bool) -> list[Row]:
    """Return the families: the listed ones of `twenty_instances`, and three that cannot be listed.

    Examples
    --------
    >>> from instances.experiments.best_super_arm import cells
    >>> [cell["instance"] for cell in cells(quick=True)][-2:]
    ['four sets', '4,782,969 trees']
    """
    names = [cell["instance"] for cell in twenty(quick=False)][12:]
    return [{"instance": name} for name in ([*names[1::2], LARGE[2]] if quick else [*names, *LARGE])]


def _large(name: str) -> tuple[LinearOracle, int]:
    """Return the oracle of a large family and its number of super arms."""
    import networkx as nx

    if name == LARGE[0]:
        streets: Any = nx.DiGraph()
        for i, j in nx.grid_2d_graph(13, 13):
            streets.add_edges_from(((i, j), end) for end in ((i + 1, j), (i, j + 1)) if max(end) < 13)
        return ShortestPath(streets, (0, 0), (12, 12), sense="max"), math.comb(24, 12)
    if name == LARGE[1]:
        return Matching(nx.complete_bipartite_graph(10, 10), perfect=True), math.factorial(10)
    return GraphicMatroid(nx.complete_graph(9), sense="max"), 9**7


@cache
def problem(name: str) -> tuple[FloatArray, dict[str, AnyExplorer]]:
    """Return the means of an instance and the rules."""
    if name not in LARGE:
        means, family, _ = instance(name)
        assert family is not None
        listed = tuple(tuple(int(arm) for arm in arms) for arms in family.super_arms)
        own: dict[str, Any] = {"super_arms": listed, "delta": DELTA, "growth": _GROWTH}
        return means, {
            "P-FWS": PFWS(family, **own),
            "P-FWS, super arms": PFWS(family, plays="super arms", **own),
            "CombGame": CombGame(family, **own),
            "lil'CLUCB": LilCLUCB(family, delta=DELTA, growth=_GROWTH),
            "CLUCB": CLUCB(family, delta=DELTA, growth=_GROWTH),
        }
    oracle, size = _large(name)
    rng = np.random.default_rng(0)
    means = np.full(oracle.n_arms, BAD)
    means[oracle.solve(rng.random(oracle.n_arms), rng)] = GOOD
    own = {"n_super_arms": size, "delta": DELTA, "growth": _LARGE_GROWTH}
    rules: dict[str, AnyExplorer] = {
        "P-FWS": PFWS(oracle, **own),
        "P-FWS, super arms": PFWS(oracle, plays="super arms", **own),
        "CombGame": CombGame(oracle, **own),
        "lil'CLUCB": LilCLUCB(oracle, delta=DELTA, growth=_LARGE_GROWTH),
        "CLUCB": CLUCB(oracle, delta=DELTA, growth=_LARGE_GROWTH),
    }
    return means, rules


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return for each rule its samples, and whether it erred or was cut off."""
    means, rules = problem(cell["instance"])
    arms = GaussianArms(means, SIGMA)
    runs = {name: explore(rule, arms, seed, _CAP, replication) for name, rule in rules.items()}
    return [
        {"explorer": name, "samples": run.samples, "wrong": not (run.correct and run.stopped)}
        for name, run in runs.items()
    ]


def sum_up(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
    """Return for each rule its mean samples, their ratio to ``T* ln(1 / delta)`` if known, and its errors."""
    name = cell["instance"]
    unit = None if name in LARGE else time_of(name) * math.log(1.0 / DELTA)
    rows = []
    for first, samples, runs in columns(told, "samples"):
        measured = mean_and_error(samples, "samples")
        ratio = None if unit is None else measured["samples"] / unit
        counted = {"errors": sum(run["wrong"] for run in runs), "runs": len(runs)}
        rows.append(cell | {"explorer": first["explorer"]} | measured | {"ratio": ratio} | counted)
    return rows


def claims(rows: list[Row]) -> Verdicts:
    """Return whether P-FWS takes the fewest samples on every instance, and error rates."""
    verdicts: Verdicts = []
    for (name,), table in by_name(rows, "instance", name="explorer").items():
        for other in table:
            if not other.startswith("P-FWS"):
                text = f"{name}: P-FWS takes fewer samples than {other}"
                verdicts.append((text, is_fewer(table["P-FWS"], table[other], "samples")))
    return verdicts + error_verdicts(rows, DELTA)


def draw(rows: list[Row], out: Path) -> None:
    """Draw the samples of each rule relative to P-FWS: the geometric mean, the least and the largest."""
    from cmab.plotting import panels_of_bars, save

    table = by_name(rows, "instance", name="explorer")
    # Two figures, because all panels of a figure have the same bars.
    for title, is_large in (("Listed super arms", False), ("Millions of super arms", True)):
        ratios: dict[str, list[float]] = {}
        for (name,), own in table.items():
            if (name in LARGE) == is_large:
                for rule, row in own.items():
                    ratios.setdefault(rule, []).append(row["samples"] / own["P-FWS"]["samples"])
        if ratios:
            bars = {rule: geometric_bar(found) for rule, found in ratios.items()}
            axes = panels_of_bars({title: bars}, x_label="Samples / samples of P-FWS")
            save(axes, out / title.lower().replace(" ", "-"))


BEST_SUPER_ARM = Experiment(
    name="best-super-arm",
    title="Samples until the best super arm is certain",
    about="P-FWS, CombGame and the rules with confidence bounds on listed super arms and on millions of"
    " paths, matchings and trees.",
    sizes="Five families and 3 runs instead of eleven and 10",
    minutes={True: 1, False: 12},
    replications={True: 3, False: 10},
    cells=cells,
    play=play,
    sum_up=sum_up,
    claims=claims,
    draw=draw,
)
