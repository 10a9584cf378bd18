"""The demo of online influence maximization: learners against random and against well-connected people."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from cmab import CTS, CUCB, Learner, Study, simulate
from cmab.arrays import IntArray
from cmab.policy import AnyPolicy
from cmab.seeding import Purpose, root, stream
from instances.graphs import constant_probabilities, trivalency, weighted_cascade
from instances.networks.network import read_network
from instances.spreading import IndependentCascade
from oracles import DegreeHeuristic, InfluenceMaximization
from oracles.influence.graph import as_directed_graph

Row = dict[str, Any]
#: The expected spread and the names of people chosen without learning, by the rule that chose them.
Fixed = Mapping[str, tuple[float, list[str]]]
LEADER, CONNECTED = "Learner", "Best connected"
# Sets for expected spreads. For small networks the standard error is at most a thousandth of the network.
_FEW_SETS, _MANY_SETS, _SMALL = 2**18, 2**20, 1_000
# Most and fewest rounds, and the number of ties times rounds that takes about five seconds per learner.
_MOST_ROUNDS, _FEWEST_ROUNDS, _EFFORT = 300, 10, 2_000_000
# Largest numbers of drawn nodes, and of random seed sets for the reported mean.
_DRAWN, _RANDOM = 250, 200
# Rounds that are reported in words.
_EARLY = (1, 2, 5, 15)


@dataclass(frozen=True)
class Problem:
    """A network with true probabilities, and the lines on how it was read."""

    place: IndependentCascade
    oracle: InfluenceMaximization
    title: str
    lines: Sequence[str]


def influence(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], Iterator[str]]:
    """Learn the most influential people of a network: online influence maximization."""
    parser.add_argument("--graph", type=Path, metavar="FILE", help="network file (default: Les Misérables)")
    direction = parser.add_mutually_exclusive_group()
    way = "ties go one way, from the first name to the second (default: the file decides)"
    direction.add_argument("--directed", action="store_true", default=None, help=way)
    direction.add_argument("--undirected", action="store_false", dest="directed", help="ties go both ways")
    parser.add_argument("--probability-column", metavar="NAME", help="column of the probabilities of ties")
    parser.add_argument(
        "--weight",
        "--weight-column",
        dest="weight_column",
        metavar="NAME",
        help="column of weights, for weighted cascade",
    )
    parser.add_argument(
        "--from", dest="from_column", metavar="NAME", help="column of the first names of ties"
    )
    parser.add_argument("--to", dest="to_column", metavar="NAME", help="column of the second names of ties")
    header = argparse.BooleanOptionalAction
    parser.add_argument("--header", action=header, help="whether the first line has the names of the columns")
    parser.add_argument(
        "--model",
        choices=("weighted-cascade", "constant", "trivalency"),
        help="true probabilities: one over the number of ties into a person; the same for all ties; or 0.1,"
        " 0.01 or 0.001 at random (default: those of the file, or weighted-cascade)",
    )
    parser.add_argument(
        "--probability", type=float, default=0.1, metavar="X", help="for --model constant (0.1)"
    )
    parser.add_argument("--k", type=int, metavar="N", help="people asked in a round (5)")
    parser.add_argument(
        "--epsilon", type=float, default=0.1, metavar="X", help="accuracy of the oracle (0.1)"
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds (default: fewer in large networks)")
    parser.add_argument("--replications", type=int, default=4, metavar="N", help="runs of each learner (4)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of all randomness (0)")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="workers, -1 for all cores (-1)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for runs, pictures and the table")
    return _run


def _run(options: argparse.Namespace) -> Iterator[str]:
    from cmab.run.tables import text, write_csv

    names = (
        "directed",
        "probability_column",
        "weight_column",
        "from_column",
        "to_column",
        "header",
        "model",
        "probability",
        "k",
        "epsilon",
    )
    given: Row = {name: getattr(options, name) for name in names} | {"seed_of_problem": options.seed}
    if options.graph is not None:
        given |= {"graph": str(options.graph.resolve()), "changed": options.graph.stat().st_mtime_ns}
    problem = problem_of(**given)
    yield from problem.lines
    place, graph, k = problem.place, problem.place.graph, problem.oracle.k
    rounds = options.rounds or int(np.clip(_EFFORT // graph.n_arcs, _FEWEST_ROUNDS, _MOST_ROUNDS))
    yield (
        f"{graph.n_nodes:,} people, {graph.n_arcs:,} directed ties; {k} {'is' if k == 1 else 'are'} asked in"
        f" each of {rounds:,} rounds; {len(_LEARNERS)} learners play {options.replications} times"
    )
    out = options.out or Path(f"cmab-influence{'' if options.graph is None else f'-{options.graph.stem}'}")
    study = Study(
        out / "runs.sqlite",
        trials={name: {"class": play, "learner": name, "rounds": rounds, **given} for name in _LEARNERS},
        replications=options.replications,
        seed=options.seed,
    )
    study.run(n_jobs=options.jobs)
    played = {name: [dict(run) for (run,) in runs] for name, runs in study.trial_rows().items()}
    fixed = comparators(place, k, options.seed)
    yield ""
    yield from report(played[LEADER], fixed, place, rounds)
    yield ""
    rows = table(played, fixed, place)
    yield text(rows)
    yield from (f"  {line}" for line in _COLUMNS)
    write_csv(out / "table.csv", rows)
    try:
        _draw(problem, played, fixed, out)
    except ImportError as error:
        yield f"written to {out}: table.csv; without pictures: {error}"
    else:
        yield f"written to {out}: table.csv, reward.png, network.png"


#: The learners. The first one needs no tuning.
_LEARNERS: dict[str, Callable[[InfluenceMaximization], AnyPolicy]] = {
    LEADER: Learner,
    # Influence is rare. With this prior, the learner does not have to try every tie.
    "Thompson, prior": lambda oracle: CTS(oracle, prior_mean=0.05, prior_weight=20.0),
    # With the full radius, almost every tie has an upper bound of 1 for very long.
    "CUCB": CUCB,
}


def comparators(place: IndependentCascade, k: int, seed: int) -> Fixed:
    """Return the expected spread and the names of people chosen without learning.

    The best connected people have the most ties, or the most ties after degree discounts: the larger of the
    two spreads. Nobody knows the probabilities of the ties, so all ties count equally.
    """
    graph, rng = place.graph, stream(root(seed), Purpose.ESTIMATION, 1)
    equal, found = np.full(graph.n_arcs, 0.1), {}
    for rule in ("degree", "discount"):
        chosen = DegreeHeuristic(graph, k, rule=rule).solve(equal, rng)
        found[rule] = (float(place.expected_reward(chosen)), [str(graph.label(node)) for node in chosen])
    sets = [np.sort(rng.choice(graph.n_nodes, k, replace=False)) for _ in range(_RANDOM)]
    random = float(np.mean([place.expected_reward(chosen) for chosen in sets]))
    return {CONNECTED: max(found.values()), "Random people": (random, [])}


def play(
    learner: str, rounds: int, seed: np.random.SeedSequence, replication: int, **given: Any
) -> list[Row]:
    """Return the expected spread of one run in blocks of rounds, and the last seeds."""
    problem = problem_of(**given)
    policy, place = _LEARNERS[learner](problem.oracle), problem.place
    own = np.random.SeedSequence(seed.entropy, spawn_key=(replication,))
    early, blocks = range(1, min(rounds, _EARLY[-1]) + 1), np.linspace(0, rounds, min(rounds, 25) + 1)[1:]
    ends = np.unique([*early, *blocks.round(), max(1, 9 * rounds // 10)]).astype(int)
    result = simulate(policy, place, rounds, checkpoints=ends, rng=own)
    lengths = np.diff(result.rounds, prepend=0)
    earned = np.diff(result.expected_rewards[0], prepend=0.0) / lengths
    late = result.rounds > 9 * rounds // 10
    # The last round may have explored, so the people are those of the learned means.
    best = problem.oracle.solve(result.states[0].means, np.random.default_rng(own))
    return [
        {
            "rounds": result.rounds.tolist(),
            "spread": earned.tolist(),
            "late": float(np.average(earned[late], weights=lengths[late])),
            "seconds": float(result.seconds[0] / rounds),
            "choice": [int(node) for node in best],
        }
    ]


def report(runs: Sequence[Row], fixed: Fixed, place: IndependentCascade, rounds: int) -> Iterator[str]:
    """Yield the recommended people, the comparison with the best connected, and the first rounds in words."""
    graph, (mean, error) = place.graph, late_mean(runs)
    best, (connected, names) = float(place.optimum), fixed[CONNECTED]
    digits = 1 if best < 1_000 else 0

    def shown(value: float) -> str:
        return f"{value:,.{digits}f}"

    # Names may contain commas, so semicolons separate them.
    yield f"Ask these people: {'; '.join(str(graph.label(node)) for node in runs[0]['choice'])}"
    yield (
        f"They are best by what the default learner saw in {rounds:,} rounds. Its people reach {shown(mean)}"
        f" of {graph.n_nodes:,} people on average, the best known people {shown(best)}, random people"
        f" {shown(fixed['Random people'][0])}."
    )
    gain = mean - connected
    rivals = f"the best connected people ({'; '.join(names)}) reach {shown(connected)}"
    if gain > max(2.0 * (error or 0.0), 0.005 * connected):
        yield f"Learning gains {shown(gain)} people ({100 * gain / connected:.0f} %): {rivals}."
    elif gain < -max(2.0 * (error or 0.0), 0.005 * connected):
        yield f"Learning loses {shown(-gain)} people so far: {rivals}. More rounds may help (--rounds)."
    else:
        yield f"Nothing is gained over asking the best connected people here: {rivals}."
    spread, ends = np.mean([run["spread"] for run in runs], axis=0), runs[0]["rounds"]
    early = [f"{shown(spread[ends.index(t)])} in round {t}" for t in _EARLY if t in ends]
    yield f"The people of the learner reach {', '.join(early)}."


_COLUMNS = (
    "people reached  mean expected number in the last 10 % of the rounds, with its standard error",
    "% of best       this mean in percent of what the best known people reach",
    "Best connected  the people with the most ties, with or without degree discounts",
)


def late_mean(runs: Sequence[Row]) -> tuple[float, float | None]:
    """Return the mean spread in the last tenth of the rounds, and its standard error over the runs."""
    late = np.array([run["late"] for run in runs])
    return float(late.mean()), float(late.std(ddof=1) / np.sqrt(len(late))) if len(late) > 1 else None


def table(played: Mapping[str, Sequence[Row]], fixed: Fixed, place: IndependentCascade) -> list[Row]:
    """Return a row for each learner, and one for each choice without learning."""
    rows: list[Row] = []
    for name, runs in played.items():
        (mean, error), time = late_mean(runs), [run["seconds"] for run in runs]
        found = {"people reached": mean, "s.e.": error, "% of best": 100.0 * mean / place.optimum}
        rows.append({"learner": name, **found, "ms a round": 1000.0 * float(np.median(time))})
    for name, (value, _) in fixed.items():
        rows.append({"learner": name, "people reached": value, "% of best": 100.0 * value / place.optimum})
    return rows


@lru_cache(maxsize=1)
def problem_of(
    *,
    directed: bool | None,
    probability_column: str | None,
    weight_column: str | None,
    from_column: str | None,
    to_column: str | None,
    header: bool | None,
    model: str | None,
    probability: float,
    k: int | None,
    epsilon: float,
    seed_of_problem: int,
    graph: str | None = None,
    changed: int = 0,
) -> Problem:
    """Return the problem of a file, or that of Les Misérables. Each worker builds it once."""
    if graph is None:
        import networkx as nx

        arcs = as_directed_graph(nx.les_miserables_graph())
        title, lines = "Les Misérables", ["Les Misérables: ties of characters who meet, both ways"]
    else:
        columns: Any = {"probability_column": probability_column, "weight_column": weight_column}
        columns |= {"from_column": from_column, "to_column": to_column, "ties_only": model is not None}
        read = read_network(graph, directed=directed, header=header, **columns)
        arcs, title, lines = read.graph, Path(graph).name, list(read.told)
    if not arcs.n_arcs:
        raise ValueError(f"{title} must have a tie between two people, got none; add lines with two names")
    truth = arcs.probabilities
    if model == "constant":
        truth = constant_probabilities(arcs, probability)
        lines.append(f"probabilities are {probability:g} each")
    elif model == "trivalency":
        truth = trivalency(arcs, stream(root(seed_of_problem), Purpose.ESTIMATION, 0))
        lines.append("probabilities are 0.1, 0.01 or 0.001, drawn at random (trivalency)")
    elif model is not None or truth is None:
        truth = weighted_cascade(arcs)
        lines.append("probabilities are one over the number of ties into a person (weighted cascade)")
    size = max(1, min(5, arcs.n_nodes // 2)) if k is None else k
    sets = _FEW_SETS if arcs.n_nodes <= _SMALL else _MANY_SETS
    place = IndependentCascade(arcs, truth, k=size, n_rr_sets=sets)
    return Problem(place, InfluenceMaximization(arcs, k=size, epsilon=epsilon), title, lines)


def _draw(problem: Problem, played: Mapping[str, Sequence[Row]], fixed: Fixed, out: Path) -> None:
    """Draw the people reached in each round, and one cascade from the recommended people."""
    from cmab.plotting import curves_with_bands, save

    curves = {
        name: (np.array(runs[0]["rounds"]), np.array([run["spread"] for run in runs]))
        for name, runs in played.items()
    }
    axes = curves_with_bands(curves, x_label="Round", y_label="People reached (expected)")
    levels = {name: value for name, (value, _) in fixed.items()}
    for name, value in {"Best known people": float(problem.place.optimum), **levels}.items():
        axes.axhline(value, color="0.6", linewidth=0.8, linestyle=":", zorder=1)
        where: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "ha": "right"}
        axes.annotate(name, (0.99, value), (0, 2), fontsize=7, color="0.4", **where)
    title, seeds = problem.title, np.array(played[LEADER][0]["choice"])
    axes.set_title(f"{title}: {len(seeds)} people asked in a round", loc="left", fontsize=9, parse_math=False)
    save(axes, out / "reward")
    save(draw_cascade(problem.place, seeds, title=title), out / "network")


def draw_cascade(place: IndependentCascade, seeds: IntArray, *, title: str = "", key: int = 0) -> Any:
    """Draw seeds and one cascade from them, in the whole network or in the part that the cascade reaches.

    Parameters
    ----------
    place : IndependentCascade
        The environment that runs the cascade.
    seeds : IntArray
        Node numbers of the seeds.
    title : str
        The beginning of the title.
    key : int
        Seed of the cascade.

    Returns
    -------
    matplotlib Axes
        The axes with the picture.
    """
    import networkx as nx

    from cmab.plotting import draw_graph

    graph, feedback = place.graph, place.play(seeds, np.random.default_rng(key))
    active, passed = set(seeds.tolist()), []
    # Arcs are in the order of the activation of their tails.
    for arc in feedback.arms[feedback.outcomes == 1.0].tolist():
        if (head := int(graph.heads[arc])) not in active:
            active.add(head)
            passed.append(arc)
    reached = [*seeds.tolist(), *(int(graph.heads[arc]) for arc in passed)]
    drawn = range(graph.n_nodes) if graph.n_nodes <= _DRAWN else reached[:_DRAWN]
    inside = np.isin(np.arange(graph.n_nodes), drawn)
    network: nx.Graph[Any] = nx.Graph()
    network.add_nodes_from(graph.label(node) for node in drawn)
    arcs = np.flatnonzero(inside[graph.tails] & inside[graph.heads])
    network.add_edges_from((graph.label(graph.tails[a]), graph.label(graph.heads[a])) for a in arcs)
    names = [graph.label(node) for node in seeds]
    ties = [
        (graph.label(graph.tails[a]), graph.label(graph.heads[a])) for a in passed if inside[graph.heads[a]]
    ]
    reaches = f"One cascade from {len(seeds)} seeds reaches {len(reached):,} of {graph.n_nodes:,} nodes"
    return draw_graph(
        network,
        nodes={"Seed": names, "Activated": [graph.label(n) for n in reached[len(seeds) :] if inside[n]]},
        edges={"Passed on": ties},
        labels={name: str(name)[:21] for name in names} if len(names) <= 10 else (),
        title=f"{title}\n{reaches}",
    )
