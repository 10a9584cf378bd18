"""The command ``cmab demo``: learners on example problems, and the most influential people of a network."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from cmab import CTS, CUCB, KLCUCB, EpsilonGreedy, Learner, RandomPolicy, compare, simulate
from cmab.arrays import IntArray
from cmab.run.results import Simulation
from cmab.run.tables import text, write_csv
from cmab.seeding import Purpose, root, stream
from instances.arms import BernoulliArms, SemiBandit
from instances.graphs import constant_probabilities, trivalency, weighted_cascade
from instances.lists import CascadeModel, MultinomialLogit
from instances.networks.network import read_network
from instances.spreading import IndependentCascade
from oracles import Assortment, DegreeHeuristic, InfluenceMaximization, RankedTopK, ShortestPath
from oracles.influence.graph import as_directed_graph

Options = argparse.Namespace
#: The expected spread and the names of people chosen without learning, by the rule that chose them.
Fixed = Mapping[str, tuple[float, list[str]]]
LEADER, CONNECTED = "Learner", "Best connected"
# Most and fewest rounds, and the number of ties times rounds of a run.
_MOST_ROUNDS, _FEWEST_ROUNDS, _EFFORT = 50, 10, 2_000_000
# Largest numbers of drawn nodes, and of random seed sets for the reported mean.
_DRAWN, _RANDOM = 250, 200
# Rounds that are reported in words.
_EARLY = (1, 2, 5, 15)


def demo(parser: argparse.ArgumentParser) -> Callable[[Options], Iterator[str]]:
    """Compare learners on an example problem."""
    names = parser.add_subparsers(required=True, metavar="NAME")
    social = names.add_parser("influence", help=influence.__doc__, description=influence.__doc__)
    _add_options(social)
    social.set_defaults(demo=influence)
    for name, make in _DEMOS.items():
        each = names.add_parser(name, help=make.__doc__, description=make.__doc__)
        each.set_defaults(demo=partial(_compared, make))
        each.add_argument("--rounds", type=int, default=2000, metavar="N", help="rounds (2000)")
        _add_runs(each, 8)
    return lambda options: options.demo(options)


def _add_runs(parser: argparse.ArgumentParser, runs: int) -> None:
    add = parser.add_argument
    add("--replications", type=int, default=runs, metavar="N", help=f"runs of each learner ({runs})")
    add("--seed", type=int, default=0, metavar="N", help="seed of all randomness (0)")
    add("--jobs", type=int, default=1, metavar="N", help="workers, -1 for all cores (1)")


# Problems with a table


#: An environment, a line on it, and the names of super arms.
Example = tuple[Any, str, Callable[[IntArray], Sequence[object]]]


def ranking(rng: np.random.Generator) -> Example:
    """Learn which items to list: users look from the top and click the first attractive item."""
    # Typical of clicks: a few items attract many users, most items attract almost none.
    place = CascadeModel(rng.beta(0.6, 6.0, 50), RankedTopK(50, 5))
    about = "50 items, of which 5 are listed; a user clicks the first item that attracts him or her"
    return place, about, lambda chosen: [f"number {arm}" for arm in chosen]


def assortment(rng: np.random.Generator) -> Example:
    """Learn which items to offer: a customer buys at most one of the offered items."""
    prices = rng.uniform(1.0, 10.0, 20)
    # Expensive items are less attractive.
    attraction = rng.uniform(0.2, 1.0, 20) * np.exp(-0.25 * (prices - 1.0))
    place = MultinomialLogit(attraction, Assortment(prices, 4))
    about = f"{len(prices)} items, of which at most 4 are offered; the reward is what a customer pays"
    return place, about, lambda chosen: [f"{arm} (at {prices[arm]:.1f})" for arm in chosen]


def routing(rng: np.random.Generator) -> Example:
    """Learn the route with the least congestion through a grid of streets."""
    oracle = ShortestPath(nx.grid_2d_graph(6, 6), (0, 0), (5, 5))
    place = SemiBandit(BernoulliArms(rng.uniform(0.1, 0.9, oracle.n_arms)), oracle)
    about = f"{oracle.n_arms} streets of a grid; each is congested with its own probability"
    return place, about, oracle.labels


_DEMOS = {"ranking": ranking, "assortment": assortment, "routing": routing}


def _compared(make: Callable[[np.random.Generator], Example], options: Options) -> Iterator[str]:
    place, about, names = make(np.random.default_rng(options.seed))
    oracle = place.oracle
    yield about
    learners = {
        LEADER: Learner(oracle),
        "CTS": CTS(oracle),
        "CUCB": CUCB(oracle),
        "KL-CUCB": KLCUCB(oracle),
        "Epsilon-greedy": EpsilonGreedy(oracle),
        "Random probabilities": RandomPolicy(oracle),
    }
    ends = np.unique(np.geomspace(1, options.rounds, 50).astype(int))
    settings: Any = {"replications": options.replications, "rng": options.seed, "n_jobs": options.jobs}
    found = compare(learners, place, horizon=options.rounds, checkpoints=ends, **settings)
    yield found.table()
    chosen = "; ".join(map(str, names(found[LEADER].super_arms[0])))
    yield f"The best choice has {place.optimum:.4g} a round. Last choice of the learner: {chosen}"


# Influence maximization


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--graph", type=Path, metavar="FILE", help="network file (default: Les Misérables)")
    direction = parser.add_mutually_exclusive_group()
    way = "ties go one way, from the first name to the second (default: the file decides)"
    direction.add_argument("--directed", action="store_true", default=None, help=way)
    direction.add_argument("--undirected", action="store_false", dest="directed", help="ties go both ways")
    add("--probability-column", metavar="NAME", help="column of the probabilities of ties")
    add("--weight", dest="weight_column", metavar="NAME", help="column of weights, for weighted cascade")
    add("--from", dest="from_column", metavar="NAME", help="column of the first names of ties")
    add("--to", dest="to_column", metavar="NAME", help="column of the second names of ties")
    add("--header", action=argparse.BooleanOptionalAction, help="whether the first line has titles")
    add(
        "--model",
        choices=("weighted-cascade", "constant", "trivalency"),
        help="true probabilities: one over the number of ties into a person; the same for all ties; or 0.1,"
        " 0.01 or 0.001 at random (default: those of the file, or weighted-cascade)",
    )
    add("--probability", type=float, default=0.1, metavar="X", help="for --model constant (0.1)")
    add("--k", type=int, metavar="N", help="people asked in a round (5)")
    add("--rounds", type=int, metavar="N", help="rounds (default: 50, fewer in large networks)")
    _add_runs(parser, 4)
    add("--out", type=Path, metavar="DIR", help="folder for the table and the pictures")


def influence(options: Options) -> Iterator[str]:
    """Learn the most influential people of a network: online influence maximization."""
    title, place, k, lines = _network(options)
    yield from lines
    graph = place.graph
    oracle = InfluenceMaximization(graph, k=k)
    learners = {
        LEADER: Learner(oracle),
        # Influence is rare. With this prior, the learner does not have to try every tie.
        "Thompson, prior": CTS(oracle, prior_mean=0.05, prior_weight=20.0),
        # With the full radius, almost every tie has an upper bound of 1 for very long.
        "CUCB": CUCB(oracle),
    }
    rounds = options.rounds or int(np.clip(_EFFORT // graph.n_arcs, _FEWEST_ROUNDS, _MOST_ROUNDS))
    yield (
        f"{graph.n_nodes:,} people, {graph.n_arcs:,} directed ties; {k} {'is' if k == 1 else 'are'} asked in"
        f" each of {rounds:,} rounds; {len(learners)} learners play {options.replications} times"
    )
    ends = np.unique([*range(1, min(rounds, _EARLY[-1]) + 1), *_blocks(rounds), max(1, 9 * rounds // 10)])
    settings: Any = {"replications": options.replications, "rng": options.seed, "n_jobs": options.jobs}
    settings["checkpoints"] = ends
    found = {name: simulate(policy, place, rounds, **settings) for name, policy in learners.items()}
    fixed = comparators(place, k, options.seed)
    # The last round may have explored, so the people are those of the learned means.
    best = oracle.solve(found[LEADER].states[0].means, np.random.default_rng(options.seed))
    yield ""
    yield from report(found[LEADER], best, fixed, place)
    yield ""
    rows = table(found, fixed, place)
    yield text(rows)
    yield from (f"  {line}" for line in _COLUMNS)
    out = options.out or Path(f"cmab-influence{'' if options.graph is None else f'-{options.graph.stem}'}")
    out.mkdir(parents=True, exist_ok=True)
    write_csv(out / "table.csv", rows)
    try:
        _draw(found, best, fixed, place, title, out)
    except ImportError as error:
        yield f"written to {out}: table.csv; without pictures: {error}"
    else:
        yield f"written to {out}: table.csv, reward.png, network.png"


def _network(options: Options) -> tuple[str, IndependentCascade, int, list[str]]:
    """Return the title of a network, the environment, the number of people asked, and how it was read."""
    if options.graph is None:
        arcs = as_directed_graph(nx.les_miserables_graph())
        title, lines = "Les Misérables", ["Les Misérables: ties of characters who meet, both ways"]
    else:
        names = ("probability_column", "weight_column", "from_column", "to_column", "directed", "header")
        columns: Any = {name: getattr(options, name) for name in names}
        read = read_network(options.graph, ties_only=options.model is not None, **columns)
        arcs, title, lines = read.graph, options.graph.name, [*read.told]
        if read.preview is not None:
            rows = [dict(zip(read.preview.columns, row, strict=True)) for row in read.preview.rows]
            lines.insert(1, f"the first rows:\n{text(rows)}")
            lines.append("if it was read wrong: --from, --to, --weight, --header, --undirected")
    if not arcs.n_arcs:
        raise ValueError(f"{title} must have a tie between two people, got none; add lines with two names")
    truth = arcs.probabilities
    if options.model == "constant":
        truth = constant_probabilities(arcs, options.probability)
        lines.append(f"probabilities are {options.probability:g} each")
    elif options.model == "trivalency":
        truth = trivalency(arcs, stream(root(options.seed), Purpose.ESTIMATION, 0))
        lines.append("probabilities are 0.1, 0.01 or 0.001, drawn at random (trivalency)")
    elif options.model is not None or truth is None:
        truth = weighted_cascade(arcs)
        lines.append("probabilities are one over the number of ties into a person (weighted cascade)")
    k = max(1, min(5, arcs.n_nodes // 2)) if options.k is None else options.k
    # For small networks the standard error of an expected spread is at most a thousandth of the network.
    sets = 2**18 if arcs.n_nodes <= 1_000 else 2**20
    return title, IndependentCascade(arcs, truth, k=k, n_rr_sets=sets), k, lines


def comparators(place: IndependentCascade, k: int, seed: int) -> Fixed:
    """Return the expected spread and the names of people chosen without learning.

    The best connected people have the most ties, or the most ties after degree discounts: the larger of the
    two spreads. The probabilities of the ties are unknown, so all ties count equally.
    """
    graph, rng = place.graph, stream(root(seed), Purpose.ESTIMATION, 1)
    equal, found = np.full(graph.n_arcs, 0.1), []
    for rule in ("degree", "discount"):
        chosen = DegreeHeuristic(graph, k, rule=rule).solve(equal, rng)
        found.append((float(place.expected_reward(chosen)), [str(graph.label(node)) for node in chosen]))
    sets = [np.sort(rng.choice(graph.n_nodes, k, replace=False)) for _ in range(_RANDOM)]
    random = float(np.mean([place.expected_reward(chosen) for chosen in sets]))
    return {CONNECTED: max(found), "Random people": (random, [])}


def report(found: Simulation, best: IntArray, fixed: Fixed, place: IndependentCascade) -> Iterator[str]:
    """Yield the recommended people, the comparison with the best connected, and the first rounds in words."""
    graph, (mean, error) = place.graph, _late_mean(found)
    optimum, (connected, names) = float(place.optimum), fixed[CONNECTED]
    shown = f"{{:,.{1 if optimum < 1_000 else 0}f}}".format
    # Names may contain commas, so semicolons separate them.
    yield f"Ask these people: {'; '.join(str(graph.label(node)) for node in best)}"
    yield (
        f"They are best by what the default learner saw in {found.rounds[-1]:,} rounds. Its people reach"
        f" {shown(mean)} of {graph.n_nodes:,} people on average, the best known people {shown(optimum)},"
        f" random people {shown(fixed['Random people'][0])}."
    )
    gain, least = mean - connected, max(2.0 * (error or 0.0), 0.005 * connected)
    rivals = f"the best connected people ({'; '.join(names)}) reach {shown(connected)}"
    if gain > least:
        yield f"Learning gains {shown(gain)} people ({100 * gain / connected:.0f} %): {rivals}."
    elif gain < -least:
        yield f"Learning loses {shown(-gain)} people so far: {rivals}. More rounds may help (--rounds)."
    else:
        yield f"Nothing is gained over asking the best connected people here: {rivals}."
    spread, ends = found.reward_per_round.mean(axis=0), found.rounds.tolist()
    early = [f"{shown(spread[ends.index(t)])} in round {t}" for t in _EARLY if t in ends]
    yield f"The people of the learner reach {', '.join(early)}."


_COLUMNS = (
    "people reached  mean expected number in the last 10 % of the rounds, with its standard error",
    "% of best       this mean in percent of what the best known people reach",
)


def _blocks(rounds: int) -> IntArray:
    """Return the ends of the blocks of rounds whose means are drawn."""
    return np.unique(np.linspace(0, rounds, 11)[1:].round()).astype(np.int64)


def _late_mean(found: Simulation) -> tuple[float, float | None]:
    """Return the mean spread in the last tenth of the rounds, and its standard error over the runs."""
    late = found.rounds > 9 * found.rounds[-1] // 10
    lengths = np.diff(found.rounds, prepend=0)[late]
    means = np.average(found.reward_per_round[:, late], axis=1, weights=lengths)
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else None


def table(found: Mapping[str, Simulation], fixed: Fixed, place: IndependentCascade) -> list[dict[str, Any]]:
    """Return a row for each learner, and one for each choice without learning."""
    rows = list[dict[str, Any]]()
    for name, result in found.items():
        mean, error = _late_mean(result)
        row = {
            "learner": name,
            "people reached": mean,
            "s.e.": error,
            "% of best": 100.0 * mean / place.optimum,
        }
        rows.append(row | {"ms a round": 1000.0 * float(np.median(result.seconds)) / result.rounds[-1]})
    for name, (value, _) in fixed.items():
        rows.append({"learner": name, "people reached": value, "% of best": 100.0 * value / place.optimum})
    return rows


def _draw(
    found: Mapping[str, Simulation],
    best: IntArray,
    fixed: Fixed,
    place: IndependentCascade,
    title: str,
    out: Path,
) -> None:
    """Draw the people reached in each round, and one cascade from the recommended people."""
    from cmab.plotting import curves_with_bands, save

    curves = {}
    for name, result in found.items():
        ends = _blocks(int(result.rounds[-1]))
        sums = result.expected_rewards[:, np.isin(result.rounds, ends)]
        curves[name] = ends, np.diff(sums, prepend=0.0, axis=1) / np.diff(ends, prepend=0)
    axes = curves_with_bands(curves, x_label="Round", y_label="People reached (expected)")
    levels = {name: value for name, (value, _) in fixed.items()}
    for name, value in {"Best known people": float(place.optimum), **levels}.items():
        axes.axhline(value, color="0.6", linewidth=0.8, linestyle=":", zorder=1)
        where: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "ha": "right"}
        axes.annotate(name, (0.99, value), (0, 2), fontsize=7, color="0.4", **where)
    axes.set_title(f"{title}: {len(best)} people asked in a round", loc="left", fontsize=9, parse_math=False)
    save(axes, out / "reward", suffixes=[".png"])
    save(draw_cascade(place, best, title), out / "network", suffixes=[".png"])


def draw_cascade(place: IndependentCascade, seeds: IntArray, title: str) -> Any:
    """Draw seeds and one cascade from them, in the whole network or in the part that the cascade reaches."""
    from cmab.plotting import draw_graph

    graph, feedback = place.graph, place.play(seeds, np.random.default_rng(0))
    tails, heads = graph.tails.tolist(), graph.heads.tolist()
    reached, passed = dict.fromkeys(seeds.tolist()), []
    # Arcs are in the order of the activation of their tails.
    for arc in feedback.arms[feedback.outcomes == 1.0].tolist():
        if heads[arc] not in reached:
            reached[heads[arc]] = None
            passed.append((tails[arc], heads[arc]))
    drawn = {*(range(graph.n_nodes) if graph.n_nodes <= _DRAWN else [*reached][:_DRAWN])}

    def named(ties: Iterable[tuple[int, int]]) -> list[tuple[Hashable, Hashable]]:
        return [(graph.label(u), graph.label(v)) for u, v in ties if u in drawn and v in drawn]

    network: nx.Graph[Any] = nx.Graph()
    network.add_nodes_from(graph.label(node) for node in drawn)
    network.add_edges_from(named(zip(tails, heads, strict=True)))
    names = [graph.label(node) for node in seeds]
    active = [graph.label(node) for node in [*reached][len(seeds) :] if node in drawn]
    reaches = f"One cascade from {len(seeds)} seeds reaches {len(reached):,} of {graph.n_nodes:,} nodes"
    return draw_graph(
        network,
        nodes={"Seed": names, "Activated": active},
        edges={"Passed on": named(passed)},
        labels={name: str(name)[:21] for name in names} if len(names) <= 10 else (),
        title=f"{title}\n{reaches}",
    )
