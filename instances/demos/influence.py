"""The demo of online influence maximization: learners against random and against well-connected people."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cmab import CTS, CUCB, AdaptiveCTS, simulate
from cmab.arrays import FloatArray, IntArray
from cmab.policy import AnyPolicy
from cmab.run.pieces import stored_results
from cmab.seeding import Purpose, root, stream
from instances.graphs import constant_probabilities, trivalency, weighted_cascade
from instances.networks.network import read_network
from instances.spreading.independent_cascade import IndependentCascade
from oracles import DegreeHeuristic, DirectedGraph, InfluenceMaximization
from oracles.diffusion.directed_graph import as_directed_graph

Row = dict[str, Any]
#: The expected spread and the names of people who are chosen without learning, by the rule that chose them.
Fixed = Mapping[str, tuple[float, list[str]]]
LEADER, CONNECTED = "Learner", "Best connected"
# Sets for expected spreads. For small networks the standard error is at most a thousandth of the network.
_FEW_SETS, _MANY_SETS, _SMALL = 2**18, 2**20, 1_000
# Most and fewest rounds, and the number of ties times rounds that takes about five seconds per learner.
_MOST_ROUNDS, _FEWEST_ROUNDS, _EFFORT = 300, 10, 2_000_000
# Largest numbers of drawn nodes, and of random seed sets whose mean is reported.
_DRAWN, _RANDOM = 250, 200
# Rounds that are reported in words.
_EARLY = (1, 2, 5, 15)


@dataclass(frozen=True)
class Network:
    """A network with true probabilities, and the lines on how it was read."""

    graph: DirectedGraph
    truth: FloatArray
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
    parser.add_argument("--weight-column", metavar="NAME", help="column of weights, for weighted cascade")
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
    parser.add_argument("--k", type=int, metavar="N", help="people who are asked in a round (5)")
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
    network = _network(options)
    yield from network.lines
    graph = network.graph
    k = max(1, min(5, graph.n_nodes // 2)) if options.k is None else options.k
    n_rr_sets = _FEW_SETS if graph.n_nodes <= _SMALL else _MANY_SETS
    place = IndependentCascade(graph, network.truth, k=k, n_rr_sets=n_rr_sets)
    rounds = options.rounds or int(np.clip(_EFFORT // graph.n_arcs, _FEWEST_ROUNDS, _MOST_ROUNDS))
    learners = learners_of(InfluenceMaximization(graph, k=k, epsilon=options.epsilon))
    yield (
        f"{graph.n_nodes:,} people, {graph.n_arcs:,} directed ties; {k} {'is' if k == 1 else 'are'} asked in"
        f" each of {rounds:,} rounds; {len(learners)} learners play {options.replications} times"
    )
    told = {key: str(value) for key, value in vars(options).items() if key not in ("out", "jobs", "command")}
    settings = json.dumps([told, None if options.graph is None else options.graph.stat().st_mtime_ns])
    tasks = [
        (name, settings, policy, place, rounds, options.replications, options.seed)
        for name, policy in learners.items()
    ]
    out = options.out or _folder(options.graph)
    stored = stored_results(_pieces, tasks, folder=out, n_jobs=options.jobs)
    played = {name: stored[_key(name, settings)] for name in learners}
    fixed = comparators(place, k, options.seed)
    yield ""
    yield from report(played, fixed, place, rounds)
    yield ""
    rows = table(played, fixed, place)
    from cmab.results.tables import text, write_csv

    yield text(rows, grouped=True)
    yield from (f"  {line}" for line in _COLUMNS)
    write_csv(out / "table.csv", rows)
    try:
        _draw(network, place, played, fixed, out)
        yield f"written to {out}: table.csv, reward.png, network.png"
    except ImportError as error:
        yield f"written to {out}: table.csv; without pictures: {error}"


def learners_of(oracle: InfluenceMaximization) -> dict[str, AnyPolicy]:
    """Return the learners. The first one needs no tuning."""
    return {
        LEADER: AdaptiveCTS(oracle),
        # Influence is rare. With this prior, the learner does not have to try every tie.
        "Thompson, prior": CTS(oracle, prior_mean=0.05, prior_weight=20.0),
        # With the full radius, almost every tie has an upper bound of 1 for very long.
        "CUCB": CUCB(oracle),
    }


def comparators(place: IndependentCascade, k: int, seed: int) -> Fixed:
    """Return the expected spread and the names of people who are chosen without learning.

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


def _key(name: str, settings: str) -> str:
    from cmab import __version__

    return f"{name} {settings} cmab {__version__}"


def _pieces(
    name: str,
    policy: AnyPolicy,
    place: IndependentCascade,
    rounds: int,
    replications: int,
    seed: int,
    told: str,
) -> Iterator[tuple[str, Callable[[], Row]]]:
    yield _key(name, told), partial(_play, policy, place, rounds, replications, seed)


def _play(policy: AnyPolicy, place: IndependentCascade, rounds: int, replications: int, seed: int) -> Row:
    """Return the expected spread in blocks of rounds, by replication, and the last seeds of the first one."""
    blocks = np.linspace(0, rounds, min(rounds, 25) + 1).round()[1:]
    ends = np.unique([*range(1, min(rounds, _EARLY[-1]) + 1), *blocks, 0.9 * rounds // 1 or 1]).astype(int)
    simulate(policy, place, min(rounds, 3), rng=seed)  # compiles the rules before time is measured
    result = simulate(policy, place, rounds, replications=replications, checkpoints=ends, rng=seed)
    earned = np.diff(result.expected_rewards, axis=1, prepend=0.0) / np.diff(result.rounds, prepend=0)
    late = result.rounds > 0.9 * rounds
    weights = np.diff(result.rounds, prepend=0)[late]
    return {
        "rounds": result.rounds.tolist(),
        "spread": earned.tolist(),
        "late": np.average(earned[:, late], axis=1, weights=weights).tolist(),
        "seconds": float(np.median(result.seconds) / rounds),
        "choice": [int(node) for node in result.super_arms[0]],
    }


def report(
    played: Mapping[str, Row],
    fixed: Fixed,
    place: IndependentCascade,
    rounds: int,
) -> Iterator[str]:
    """Yield the recommended people, the comparison with the best connected, and the first rounds in words."""
    leader, graph = played[LEADER], place.graph
    late = np.array(leader["late"])
    mean, error = float(late.mean()), float(late.std(ddof=1) / np.sqrt(len(late))) if len(late) > 1 else 0.0
    best, (connected, names) = float(place.optimum), fixed[CONNECTED]
    digits = 1 if best < 1_000 else 0

    def shown(value: float) -> str:
        return f"{value:,.{digits}f}"

    # Names may contain commas, so semicolons separate them.
    yield f"Ask these people: {'; '.join(str(graph.label(node)) for node in leader['choice'])}"
    yield (
        f"They are the choice of the default learner after {rounds:,} rounds. Its people reach {shown(mean)}"
        f" of {graph.n_nodes:,} people on average, the best known people {shown(best)}, random people"
        f" {shown(fixed['Random people'][0])}."
    )
    gain = mean - connected
    rivals = f"the best connected people ({'; '.join(names)}) reach {shown(connected)}"
    if gain > max(2.0 * error, 0.005 * connected):
        yield f"Learning gains {shown(gain)} people ({100 * gain / connected:.0f} %): {rivals}."
    elif gain < -max(2.0 * error, 0.005 * connected):
        yield f"Learning loses {shown(-gain)} people so far: {rivals}. More rounds may help (--rounds)."
    else:
        yield f"Nothing is gained over asking the best connected people here: {rivals}."
    spread, ends = np.mean(leader["spread"], axis=0), leader["rounds"]
    early = [f"{shown(spread[ends.index(t)])} in round {t}" for t in _EARLY if t in ends]
    yield f"The people of the learner reach {', '.join(early)}."


_COLUMNS = (
    "people reached  mean expected number in the last 10 % of the rounds, with its standard error",
    "% of best       this mean in percent of what the best known people reach",
    "Best connected  the people with the most ties, with or without degree discounts",
)


def table(played: Mapping[str, Row], fixed: Fixed, place: IndependentCascade) -> list[Row]:
    """Return a row for each learner, and one for each choice without learning."""
    rows: list[Row] = []
    for name, run in played.items():
        late = np.array(run["late"])
        error = float(late.std(ddof=1) / np.sqrt(len(late))) if len(late) > 1 else None
        found = {"people reached": float(late.mean()), "s.e.": error}
        rows.append({"learner": name, **found, "ms a round": 1000.0 * run["seconds"]})
    rows += [{"learner": name, "people reached": value} for name, (value, _) in fixed.items()]
    for row in rows:
        row["% of best"] = 100.0 * row["people reached"] / place.optimum
    return rows


def _network(options: argparse.Namespace) -> Network:
    """Return the network of the file, or that of Les Misérables."""
    if options.graph is None:
        import networkx as nx

        graph = as_directed_graph(nx.les_miserables_graph())
        title, lines = "Les Misérables", ["Les Misérables: ties of characters who meet, both ways"]
    else:
        read = read_network(
            options.graph,
            directed=options.directed,
            probability_column=options.probability_column,
            weight_column=options.weight_column,
            header=options.header,
        )
        graph, title, lines = read.graph, options.graph.name, list(read.told)
    if not graph.n_arcs:
        raise ValueError(f"{title} must have a tie between two people, got none; add lines with two names")
    truth, how = graph.probabilities, []
    if options.model == "constant":
        truth = constant_probabilities(graph, options.probability)
        how = [f"probabilities are {options.probability:g} each"]
    elif options.model == "trivalency":
        truth = trivalency(graph, stream(root(options.seed), Purpose.ESTIMATION, 0))
        how = ["probabilities are 0.1, 0.01 or 0.001, drawn at random (trivalency)"]
    elif options.model is not None or truth is None:
        truth = weighted_cascade(graph)
        how = ["probabilities are one over the number of ties into a person (weighted cascade)"]
    return Network(graph, truth, title, [*lines, *how])


def _folder(graph: Path | None) -> Path:
    """Return the usual folder; each file has its own, so that its pictures do not replace others."""
    return Path("cmab-influence" if graph is None else f"cmab-influence-{graph.stem}")


def _draw(
    network: Network,
    place: IndependentCascade,
    played: Mapping[str, Row],
    fixed: Fixed,
    out: Path,
) -> None:
    """Draw the people reached in each round, and one cascade from the recommended people."""
    from cmab.plotting import curves_with_bands, save

    curves = {name: (np.array(run["rounds"]), np.array(run["spread"])) for name, run in played.items()}
    axes = curves_with_bands(curves, x_label="Round", y_label="People reached (expected)", log=False)
    levels = {"Best known people": float(place.optimum)} | {name: value for name, (value, _) in fixed.items()}
    for name, value in levels.items():
        axes.axhline(value, color="0.6", linewidth=0.8, linestyle=":", zorder=1)
        where: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "ha": "right"}
        axes.annotate(name, (0.99, value), (0, 2), fontsize=7, color="0.4", **where)
    title = f"{network.title}: {len(played[LEADER]['choice'])} people asked in a round"
    axes.set_title(title, loc="left", fontsize=9, parse_math=False)
    save(axes, out / "reward")
    save(draw_cascade(place, np.array(played[LEADER]["choice"]), title=network.title), out / "network")


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
