"""The figures of the page on the learner to begin with: horizons, long runs, campaigns, cost.

``learner.py FOLDER [replications]`` plays the problems of ``unusual_problems.py``, prints the table of
horizons, and then long runs and campaigns. The matches are kept in the folder, so the same command continues
after an interruption. Two replications take about half an hour on one processor. ``--long [runs]`` and
``--campaigns [networks]`` print one part, ``--cost`` the microseconds per round in the compiled loop, in
paired runs, and ``--bound`` the exact Gittins indices beside the bounds of the rule.
"""

import sys
import time
from collections import defaultdict

import networkx as nx
import numpy as np
from unusual_problems import UNUSUAL

from cmab import CTS, AdaptiveCTS, simulate
from cmab.campaign.posterior import HiddenOutcomes
from cmab.policies.adaptive import bounded_draw
from cmab.run.arena import FLOOR, run
from instances import BernoulliArms, IndependentCascade, SemiBandit
from instances.arena import ENTRIES
from oracles import DegreeHeuristic, GraphicMatroid, InfluenceMaximization, TopK

RULES = ("AdaptiveCTS", "CTS", "CUCB x 0.3")
#: People, seeds, the kind of reports, and weeks.
CAMPAIGNS = (
    (120, 5, "names", 15),
    (120, 5, "ties", 15),
    (120, 5, "steps", 15),
    (120, 5, "names", 5),
    (120, 5, "ties", 60),
    (500, 10, "names", 15),
    (2000, 20, "ties", 15),
)


def logarithms(matches, own=slice(None)):
    """Return the logarithms of the regret, relative to the better rule, after a tenth and at the end."""
    regrets = np.array([[match["regret"] for match in matches[name]] for name in RULES])[:, own].mean(axis=1)
    floor = FLOOR * np.mean([match["worth"] for match in matches["CTS"]], axis=0)
    regrets = np.maximum(regrets, floor)
    return np.log(regrets[0] / regrets[1:].min(axis=0))


def horizons(folder, replications):
    """Print the table of horizons, one row for each family, with intervals over replications."""
    entries = [entry for entry in ENTRIES if entry.name in RULES]
    found = run(UNUSUAL.values(), entries, folder=folder, replications=replications, n_jobs=1).matches
    families, rng = defaultdict(list), np.random.default_rng(0)
    for problem in UNUSUAL.values():
        matches = {name: found[problem.name, name] for name in RULES}
        draws = [rng.integers(len(matches["CTS"]), size=len(matches["CTS"])) for _ in range(300)]
        row = problem.name, logarithms(matches), np.array([logarithms(matches, own) for own in draws])
        families[problem.source].append(row)
        families["all"].append(row)
        print(
            f"{problem.name:40}", *np.exp(row[1]).round(2), [m["regret"][1] for m in matches["AdaptiveCTS"]]
        )
    print("| family | problems | after a tenth | after all rounds | worst after all rounds |")
    for family, rows in families.items():
        ratios = np.exp(np.mean([row[1] for row in rows], axis=0))
        low, high = np.exp(np.quantile(np.mean([row[2] for row in rows], axis=0), [0.025, 0.975], axis=0))
        cells = [f"{ratios[i]:.2f} ({low[i]:.2f} to {high[i]:.2f})" for i in (0, 1)]
        name, worst, _ = max(rows, key=lambda row: row[1][1])
        print(
            f"| {family} | {len(rows)} | {' | '.join(cells)} | {np.exp(worst[1]):.2f}: {name} |", flush=True
        )


def long_runs(runs, rounds=30_000):
    """Print the mean, the 95th percentile and the largest regret of CTS and the learner."""
    for m, k in ((10, 1), (20, 5)):
        oracle, regrets = TopK(m, k), []
        for kind in (CTS, AdaptiveCTS):
            found = []
            for seed in range(runs):
                arms = BernoulliArms(np.random.default_rng(seed).random(m))
                result = simulate(
                    kind(oracle), SemiBandit(arms, oracle), rounds, checkpoints=[rounds], rng=seed
                )
                found.append(result.regret[0, -1])
            regrets.append(np.array(found))
            print(f"{k} of {m}, {rounds:,} rounds, {runs} runs: {kind.__name__}", end=" ")
            print(f"{np.mean(found):.0f}, {np.quantile(found, 0.95):.0f}, {max(found):.0f}", flush=True)
        print("runs above three times the 95th percentile of CTS:", end=" ")
        print((regrets[1] > 3 * np.quantile(regrets[0], 0.95)).sum())


def network(rng, n):
    """Return communities with preferential attachment and some more ties, in both directions."""
    graph, first = nx.Graph(), 0
    while first < n:
        size = min(n - first, int(rng.integers(12, 30)))
        size = n - first if n - first - size < 4 else size
        ties = nx.barabasi_albert_graph(size, 3, seed=int(rng.integers(2**31))).edges
        graph.add_edges_from((first + a, first + b) for a, b in ties)
        first += size
    graph.add_edges_from((a, b) for a, b in rng.integers(n, size=(n // 2, 2)).tolist() if a != b)
    return nx.DiGraph(nx.relabel_nodes(graph, dict(enumerate(rng.permutation(n).tolist()))))


def told(oracle, kind, seeds, feedback, graph, rng):
    """Return the report about a cascade: its ties, the steps of the people, or their names."""
    if kind == "ties":
        return feedback
    nodes, ends = list(graph), list(graph.edges)
    live = nx.DiGraph([ends[a] for a, x in zip(feedback.arms, feedback.outcomes, strict=True) if x])
    live.add_nodes_from(nodes[s] for s in seeds)
    steps = nx.multi_source_dijkstra_path_length(live, {nodes[s] for s in seeds}, weight=None)
    joined = {node: step for node, step in steps.items() if step}
    return oracle.feedback_of(np.asarray(seeds), joined=joined if kind == "steps" else list(joined))


def expected_means(policy, state, hidden, rng):
    """Return the posterior means of the model, or the prior before the first report."""
    prior = policy.beta_prior()
    if not state.counts.any() and not hidden.told:
        point = 15 * len(prior.wins) // 32
        return np.full(state.n_arms, prior.wins[point] / (prior.wins[point] + prior.losses[point]))
    chain, means = hidden.chain().copy(), np.zeros(state.n_arms)
    for _ in range(12):
        chain.run(2, rng)
        means += (chain.alpha + chain.won) / (chain.alpha + chain.beta + chain.won + chain.lost) / 12
    return means


def shares(rule, oracle, environment, graph, kind, weeks, seed):
    """Return the expected reach of the seeds of each week."""
    rng, outcomes = np.random.default_rng(seed), np.random.default_rng([seed, 7])
    if rule in ("degree", "discount"):
        means = np.full(oracle.n_arms, 1e-4 if rule == "degree" else 0.1)
        return [
            environment.expected_reward(DegreeHeuristic(graph, oracle.k, rule=rule).solve(means, rng))
        ] * weeks
    policy, reach = AdaptiveCTS(oracle), []
    state = policy.initial_state()
    hidden = HiddenOutcomes(policy.beta_prior(), state)
    for _ in range(weeks):
        if rule == "best guess":
            seeds = oracle.solve(expected_means(policy, state, hidden, rng), rng)
        elif hidden.told:
            seeds = policy.select(hidden.completed(policy, state, hidden.chain(), rng), rng)
        else:
            seeds = policy.select(state, rng)
        reach.append(environment.expected_reward(seeds))
        feedback = told(oracle, kind, seeds, environment.play(seeds, outcomes), graph, rng)
        policy.update(state, getattr(feedback, "plain", feedback))
        hidden.tell(feedback)
    return reach


def campaigns(networks):
    """Print the reach of each rule as a share of that of the best known seeds, for parts of the campaign."""
    for n, k, kind, weeks in CAMPAIGNS:
        found, count = defaultdict(list), networks if n < 500 else max(1, networks // (n // 150))
        for seed in range(count):
            for truth in ("weighted", "independent"):
                rng = np.random.default_rng([seed, n])
                graph = network(rng, n)
                means = np.array([1 / graph.in_degree(v) for _, v in graph.edges])
                means = means if truth == "weighted" else rng.beta(0.6, 4.4, len(means))
                oracle = InfluenceMaximization(graph, k)
                environment = IndependentCascade(graph, means, k=k, n_rr_sets=2**15)
                best = environment.expected_reward(oracle.solve(means, np.random.default_rng(0)))
                for rule in ("learner", "best guess", "discount", "degree"):
                    reach = shares(rule, oracle, environment, graph, kind, weeks, seed)
                    found[truth, rule].append(np.array(reach) / best)
        print(f"{n} people, {k} seeds, {kind}, {weeks} weeks, {count} networks")
        for (truth, rule), rows in found.items():
            parts = np.split(np.array(rows), [one for one in (1, 5, 10, 15) if one < weeks], axis=1)
            error = np.std(np.mean(rows, axis=1)) / max(count - 1, 1) ** 0.5
            print(
                f"  {truth:12}{rule:11}",
                *(f"{part.mean():.3f}" for part in parts),
                f"± {error:.3f}",
                flush=True,
            )


def cost():
    """Print the medians of nine paired runs in microseconds per round, and of their ratio."""
    graph = nx.gnm_random_graph(30, 100, seed=3)
    for oracle in (
        TopK(10, 1),
        TopK(20, 5),
        TopK(100, 10),
        TopK(100, 50),
        TopK(1000, 20),
        GraphicMatroid(graph),
    ):
        means = np.random.default_rng(0).random(oracle.n_arms)
        environment, rounds = SemiBandit(BernoulliArms(means), oracle), max(2000, 300_000 // oracle.n_arms)
        spent = np.empty((9, 2))
        for turn in range(10):  # the first run compiles
            for place, kind in enumerate((CTS, AdaptiveCTS)):
                started = time.process_time()
                simulate(kind(oracle), environment, rounds, checkpoints=[rounds], rng=turn)
                spent[turn - 1, place] = 1e6 * (time.process_time() - started) / rounds
        plain, own = np.median(spent, axis=0)
        print(f"{oracle!r:40}{plain:8.2f}{own:8.2f}   ratio {np.median(spent[:, 1] / spent[:, 0]):.2f}")


def gittins(a, b, t):
    """Return the Gittins index of Beta(a, b) for the discount 1 - 1 / t, by dynamic programming."""
    n, low, high = min(4000, max(8 * t, 300)), a / (a + b), 1.0
    means = [(a + np.arange(k + 1)) / (a + b + k) for k in range(n + 1)]
    while high - low > 1e-5:
        known = (low + high) / 2.0  # the value of a known arm
        worth = np.maximum(means[n], known)
        for mean in means[n - 1 :: -1]:
            ahead = mean * worth[1:] + (1.0 - mean) * worth[:-1]
            worth = np.maximum(mean / t + (1.0 - 1.0 / t) * ahead, known)
        low, high = (known, high) if worth[0] > known else (low, known)
    return low


def bounds():
    """Print the index and the bound of some posteriors, and their distance in deviations of the posterior."""
    for a, b in ((1, 1), (2, 4), (4, 2), (10, 40), (20, 20), (54, 28), (100, 100)):
        for t in (100, 1_000, 10_000, 30_000):
            exact, bound = gittins(a, b, t), bounded_draw(a, b, t / (a + b + 1), 1.0 - 1e-9)
            deviation = (a * b / (a + b + 1)) ** 0.5 / (a + b)
            print(f"Beta({a}, {b}), t = {t}: {exact:.4f} {bound:.4f} {(bound - exact) / deviation:.2f}")


if __name__ == "__main__":
    number = int(sys.argv[2]) if len(sys.argv) > 2 else None
    if sys.argv[1] == "--cost":
        cost()
    elif sys.argv[1] == "--bound":
        bounds()
    elif sys.argv[1] == "--long":
        long_runs(number or 200)
    elif sys.argv[1] == "--campaigns":
        campaigns(number or 8)
    else:
        horizons(sys.argv[1], number or 2)
        long_runs(200)
        campaigns(4)
