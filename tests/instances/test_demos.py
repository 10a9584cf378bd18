"""The demos: recommended people, comparators, pictures."""

import re

import networkx as nx
import numpy as np
import pytest

from cmab.cli import main
from instances import IndependentCascade
from instances.demos import CONNECTED, comparators, draw_cascade
from oracles import DirectedGraph

FRIENDS = "from,to,probability\n" + "".join(f"Ann,P{i},0.5\nBob,Q{i},0.05\n" for i in range(6))


def test_the_demo_recommends_people_and_compares_them_with_the_best_connected(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "friends.csv").write_text(FRIENDS, encoding="utf-8")
    assert main(["demo", "influence", "--graph", "friends.csv", "--k", "1"]) == 0
    told = capsys.readouterr().out
    before, after = told.split("\n\n", 1)
    assert "column probability has the probabilities" in before
    assert "the first rows:\nfrom    to    probability\nAnn     P0    0.5\n" in before
    assert after.startswith("Ask these people: Ann\n")
    assert "Nothing is gained over asking the best connected people here" in after
    assert "4.0 in round 15" in after  # Ann and half of six
    assert re.search(r"^Random people +1\.\d+", after, re.MULTILINE)
    out = tmp_path / "cmab-influence-friends"
    assert {path.name for path in out.iterdir()} == {"table.csv", "reward.png", "network.png"}


def test_comparators_are_means_of_true_spreads():
    graph = DirectedGraph.from_edges([0, 0, 1], [2, 3, 2], n_nodes=4)
    place = IndependentCascade(graph, [0.5, 0.5, 0.9], k=1)
    fixed = comparators(place, 1, seed=0)
    assert fixed[CONNECTED][0] == pytest.approx(2.0, rel=0.02)
    assert fixed[CONNECTED][1] == ["0"]
    assert fixed["Random people"][0] == pytest.approx((2.0 + 1.9 + 1.0 + 1.0) / 4, rel=0.1)


def test_the_picture_has_the_seeds_and_the_reached_people():
    place = IndependentCascade(nx.path_graph(5, create_using=nx.DiGraph), 1.0, k=1)
    axes = draw_cascade(place, np.array([0]), "A path")
    assert axes.get_title().endswith("One cascade from 1 seeds reaches 5 of 5 nodes")


@pytest.mark.parametrize("name", [pytest.param("assortment", marks=pytest.mark.slow), "ranking", "routing"])
def test_the_other_demos_print_a_table(name, capsys):
    assert main(["demo", name, "--rounds", "50", "--replications", "2"]) == 0
    told = capsys.readouterr().out
    assert "Random probabilities" in told
    assert "Last choice of the learner" in told
