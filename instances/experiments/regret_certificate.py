"""The error rate of regret certificates in all rounds of many runs, and their width over the true regret."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cmab import CTS, CUCB, ArmStatistics, Certify, Environment, Feedback, Oracle, simulate
from cmab.arrays import FloatArray, IntArray
from cmab.confidence import anytime_kl_bounds
from cmab.intervals import proportion_interval
from instances.arms import BernoulliArms, BetaArms, SemiBandit
from instances.coverage import Coverage
from instances.experiments._experiment import Experiment
from instances.experiments._rows import Row, Verdicts, columns, errs_at_most, world_and_coins
from instances.lists import CascadeModel
from instances.spreading import IndependentCascade
from oracles import GraphicMatroid, InfluenceMaximization, Matching, RankedTopK, ShortestPath, TopK

DELTA = 0.05
#: The number of rounds in which a certificate is computed.
_CHECKS = 16
_LEARNERS = {"CUCB": CUCB, "CTS": CTS}

World = tuple[Oracle, Environment]


class OneCoin(SemiBandit):
    """Coins that fall together: arm i succeeds if one uniform number is below its mean."""

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Play a super arm; one number decides all outcomes."""
        super_arm = self._check_super_arm(super_arm)
        outcomes = (rng.random() < self.means[super_arm]).astype(np.float64)
        return Feedback(super_arm, outcomes, reward=float(outcomes.sum()))

    def kernel(self) -> None:
        """Return None, because outcomes of the compiled form are independent."""


def _top(rng: np.random.Generator) -> World:
    oracle = TopK(20, 5)
    return oracle, SemiBandit(BernoulliArms(rng.random(20)), oracle)


def _near(rng: np.random.Generator) -> World:
    oracle = TopK(20, 5)
    return oracle, SemiBandit(BernoulliArms(rng.permutation(np.where(np.arange(20) < 5, 0.55, 0.45))), oracle)


def _narrow(rng: np.random.Generator) -> World:
    oracle, means = TopK(20, 5), rng.uniform(0.05, 0.95, 20)
    return oracle, SemiBandit(BetaArms(50.0 * means, 50.0 * (1.0 - means)), oracle)


def _rare(rng: np.random.Generator) -> World:
    oracle = TopK(20, 5)
    return oracle, SemiBandit(BernoulliArms(0.02 * rng.random(20)), oracle)


def _certain(rng: np.random.Generator) -> World:
    oracle = TopK(20, 5)
    return oracle, SemiBandit(BernoulliArms((rng.random(20) < 0.5).astype(np.float64)), oracle)


def _together(rng: np.random.Generator) -> World:
    oracle = TopK(20, 5)
    return oracle, OneCoin(BernoulliArms(rng.random(20)), oracle)


def _matching(rng: np.random.Generator) -> World:
    import networkx as nx

    oracle = Matching(nx.complete_bipartite_graph(4, 4))
    return oracle, SemiBandit(BernoulliArms(rng.random(16)), oracle)


def _tree(rng: np.random.Generator) -> World:
    import networkx as nx

    oracle = GraphicMatroid(nx.complete_graph(6))
    return oracle, SemiBandit(BernoulliArms(rng.random(15)), oracle)


def _path(rng: np.random.Generator) -> World:
    import networkx as nx

    streets: Any = nx.DiGraph(nx.grid_2d_graph(4, 4).edges)
    oracle = ShortestPath(streets, (0, 0), (3, 3))
    return oracle, SemiBandit(BernoulliArms(rng.random(oracle.n_arms)), oracle)


def _coverage(rng: np.random.Generator) -> World:
    import networkx as nx

    graph: Any = nx.Graph()
    graph.add_nodes_from((("page", i) for i in range(8)), bipartite=0)
    graph.add_nodes_from((("reader", j) for j in range(10)), bipartite=1)
    for i in range(8):
        graph.add_edges_from((("page", i), ("reader", int(j))) for j in rng.choice(10, 4, replace=False))
    place = Coverage(graph, 3, probability=rng.random(graph.number_of_edges()))
    return place.oracle, place


def _influence(rng: np.random.Generator) -> World:
    import networkx as nx

    graph: Any = nx.DiGraph()
    graph.add_nodes_from(range(7))
    pairs = [(u, v) for u in range(7) for v in range(7) if u != v]
    graph.add_edges_from(pairs[i] for i in rng.choice(len(pairs), 14, replace=False))
    oracle = InfluenceMaximization(graph, 2)
    return oracle, IndependentCascade(graph, rng.random(14), k=2)


def _list(rng: np.random.Generator) -> World:
    oracle = RankedTopK(12, 4)
    return oracle, CascadeModel(rng.uniform(0.0, 0.4, 12), oracle)


PROBLEMS: dict[str, Callable[[np.random.Generator], World]] = {
    "top 5 of 20 coins": _top,
    "top 5 of 20, gap 0.1": _near,
    "narrow Beta arms": _narrow,
    "rare successes": _rare,
    "certain outcomes": _certain,
    "coins that fall together": _together,
    "matching": _matching,
    "spanning tree": _tree,
    "path": _path,
    "coverage": _coverage,
    "influence": _influence,
    "cascading list": _list,
}
_DEPENDENT = "coins that fall together"


def cells(quick: bool) -> list[Row]:
    """Return the problems with the number of rounds.

    Examples
    --------
    >>> from instances.experiments.regret_certificate import cells
    >>> cells(quick=True)[0]
    {'problem': 'top 5 of 20 coins', 'horizon': 100}
    """
    # The oracle of influence takes a millisecond a round.
    longest = {name: 300 if name == "influence" else 1_000 for name in PROBLEMS}
    return [{"problem": name, "horizon": 100 if quick else longest[name]} for name in PROBLEMS]


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return for each learner whether a bound was ever wrong, and the bounds in the last round."""
    rng, number = world_and_coins(seed, replication)
    oracle, place = PROBLEMS[cell["problem"]](rng)
    horizon = cell["horizon"]
    rounds = np.unique(np.geomspace(1, horizon, _CHECKS).astype(np.int64))
    rows = []
    for name, learner in _LEARNERS.items():
        policy = learner(oracle)
        for independent in (False, True):
            if independent and (cell["problem"] == _DEPENDENT or not oracle.is_linear):
                continue
            certify = Certify(delta=DELTA, independent=independent, reward_range=_range(cell["problem"]))
            run = simulate(policy, place, horizon, checkpoints=rounds, rng=number, certify=certify)
            last = run.certificates[0][-1]
            regret, bounds = run.exact_regret[0], np.asarray(run.exact_regret_bounds)[0]
            lost = [
                oracle.sign * (place.optimum - place.expected_reward(c.choice)) for c in run.certificates[0]
            ]
            gaps = np.array([c.exact_gap for c in run.certificates[0]])
            late = rounds >= horizon / 10
            rows.append(
                {
                    "learner": name,
                    "outcomes": "independent" if independent else "any",
                    "wrong": bool((regret > bounds + 1e-6).any() or (np.array(lost) > gaps + 1e-6).any()),
                    "regret": float(regret[-1]),
                    "bound": float(bounds[-1]),
                    "trivial": float(trivial(place, horizon)),
                    "apart": float(apart(oracle, run.states[0])) if oracle.is_linear else float("nan"),
                    "largest share": float((regret[late] / bounds[late]).max()),
                    "gap": float(last.exact_gap),
                }
            )
    return rows


def _range(problem: str) -> tuple[float, float] | None:
    return (0.0, 1.0) if problem == "cascading list" else None


def trivial(place: Environment, horizon: int) -> float:
    """Return the number of rounds times the optimum; for rewards, no regret is larger."""
    return horizon * abs(place.optimum)


def apart(oracle: Oracle, state: ArmStatistics) -> float:
    """Return the bound that treats the optimum and the played rounds apart, arm by arm.

    It is the number of rounds times the best sum of upper bounds, minus the sum of the lower bounds of all
    plays (for costs, the opposite).
    """
    level = DELTA / (2 * oracle.n_arms)
    lower, upper = anytime_kl_bounds(state, level=level)
    best, played = (upper, lower) if oracle.sense == "max" else (lower, upper)
    value: FloatArray = best[oracle.solve(best, np.random.default_rng(0))]
    return float(oracle.sign * (state.rounds * value.sum() - (state.counts * played).sum()))


def sum_up(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
    """Return the error rate with a 95 % interval, and medians of the bounds over the regret."""
    rows = []
    for first, regrets, runs in columns(told, "regret"):
        n_runs, wrong = len(runs), sum(run["wrong"] for run in runs)
        low, high = proportion_interval(wrong, n_runs)
        mean = float(regrets.mean())
        values = {
            name: np.array([run[name] for run in runs]) for name in ("bound", "apart", "trivial", "gap")
        }
        rows.append(
            cell
            | {name: first[name] for name in ("learner", "outcomes")}
            | {"replications": n_runs, "wrong": wrong, "rate": wrong / n_runs, "low": low, "high": high}
            | {"regret": mean, "bound": float(values["bound"].mean())}
            | {"ratio": float(values["bound"].mean()) / mean if mean > 0.0 else float("inf")}
            | {
                "apart": float(values["apart"].mean()),
                "rounds times optimum": float(values["trivial"].mean()),
            }
            | {"gap": float(np.median(values["gap"]))}
            | {"largest share": max(run["largest share"] for run in runs)}
        )
    return rows


def claims(rows: list[Row]) -> Verdicts:
    """Return whether the error rate is at most delta in each problem and in all runs together."""
    verdicts: Verdicts = [
        (
            f"{row['problem']}, {row['learner']}, {row['outcomes']} outcomes: errors at most {DELTA}",
            errs_at_most(row, DELTA),
        )
        for row in rows
    ]
    runs, wrong = sum(row["replications"] for row in rows), sum(row["wrong"] for row in rows)
    low, high = proportion_interval(wrong, runs)
    found = errs_at_most({"low": low, "high": high}, DELTA)
    return [*verdicts, (f"All {runs:,} runs: errors at most {DELTA}, {wrong} found", found)]


def draw(rows: list[Row], out: Path) -> None:
    """Draw the bound for any outcomes over the regret, in a panel for each problem."""
    from cmab.plotting import panels_of_bars, save

    panels: dict[str, dict[str, tuple[float, float, float]]] = {}
    for row in rows:
        if row["outcomes"] == "any":
            panels.setdefault(row["problem"], {})[row["learner"]] = (row["ratio"],) * 3
    save(panels_of_bars(panels, x_label="Bound over the regret"), out / "widths")


REGRET_CERTIFICATE = Experiment(
    name="regret-certificate",
    title="Error rate and width of regret certificates",
    about="The error rate of regret certificates in all rounds of many runs, and their width.",
    sizes="100 rounds and 3 runs instead of 1,000 (influence: 300) and 250",
    minutes={True: 1, False: 15},
    replications={True: 3, False: 250},
    cells=cells,
    play=play,
    sum_up=sum_up,
    claims=claims,
    draw=draw,
)
