"""Whether the page's range of the best choice contains the truth, and whether its chances are frequencies.

Run as a script: ``python tests/benchmarks/page_sentences.py [CAMPAIGNS]``. People report only who joined.
A tie has a chance of its own, or each person has one (``talk``). The script prints how many ranges contain
the truth, and how often another choice is better by 5 % or more, in groups of the chance that the page tells.
"""

import sys
import tempfile
from pathlib import Path

import networkx as nx
import numpy as np

from cmab.campaign.files import Options
from cmab.campaign.folder import create_folder
from cmab.campaign.page import views
from cmab.campaign.reports import Report

#: Groups, people in a group, chances of ties within and between groups, k, and weeks.
SHAPES = [(6, 20, 0.18, 0.008, 5, 15), (3, 10, 0.35, 0.03, 2, 40), (2, 10, 0.4, 0.08, 1, 60)]
WEEKS = (3, 6, 10, 15, 25, 40, 60)


def played(shape, kind, seed):
    """Yield the values that the page tells in some weeks of a campaign, with the truth."""
    groups, size, inner, outer, k, weeks = shape
    rng = np.random.default_rng(seed)
    ties = nx.planted_partition_graph(groups, size, inner, outer, seed=seed).edges
    text = "name_1,name_2\n" + "".join(f"P{u},P{v}\n" for u, v in ties)
    with tempfile.TemporaryDirectory() as place:
        options = Options(title="x", network="n.csv", directed=False, k=k, seed=seed)
        folder = create_folder(Path(place, "x"), options, {"n.csv": text.encode()})
        graph, oracle = folder.problem.graph, folder.problem.oracle
        truth = rng.beta(0.6, 2.4, graph.n_arcs)
        if kind == "talk":
            truth = np.minimum(
                rng.beta(1.2, 2.8, graph.n_nodes)[graph.tails] * rng.uniform(0.5, 1.5, graph.n_arcs), 0.95
            )
        best = max(oracle.spread(oracle.solve(truth, rng), truth, cascades=20_000)[0] for _ in range(3))
        for week in range(1, weeks + 1):
            of = folder.ask()
            live, joined = rng.random(graph.n_arcs) < truth, {graph.node_numbers[name] for name in of.names}
            reach = nx.DiGraph(zip(graph.tails[live].tolist(), graph.heads[live].tolist(), strict=True))
            for node in list(joined):
                joined |= nx.descendants(reach, node) if node in reach else set()
            folder.tell(of, Report(joined={graph.label(node): None for node in joined}))
            if week in WEEKS:
                told = views.next_round(folder)
                choice = [graph.node_numbers[name] for name in told["names"]]
                value = oracle.spread(np.array(choice), truth, cascades=20_000)[0]
                yield told["low"] <= value <= told["high"], told["better"], best / value - 1.0
        folder.close()


def main(campaigns=10):
    """Print the two tables."""
    found = []
    for shape in SHAPES:
        for kind in ("tie", "talk"):
            rows = [row for seed in range(1_000, 1_000 + campaigns) for row in played(shape, kind, seed)]
            print(shape, kind, f"{np.mean([row[0] for row in rows]):.2f} of {len(rows)} ranges", flush=True)
            found += rows
    covered, better, gap = map(np.array, zip(*found, strict=True))
    print(f"all: {covered.mean():.3f} of {len(found)} ranges contain the truth")
    for low, high in ((0.0, 0.15), (0.15, 0.5), (0.5, 0.8), (0.8, 1.0)):
        some = (better >= low) & (better < high)
        if some.any():
            is_better = gap[some] >= views.MARGIN
            print(f"told {better[some].mean():.2f}, true {is_better.mean():.2f} ({some.sum()})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
