"""Demos in small: rows, files, and numbers that must agree."""

import csv
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from places import ROOT

from cmab import CUCB, Study, plotting, simulate
from cmab.cli import main
from cmab.studies import _pieces
from instances import BernoulliArms, IndependentCascade, SemiBandit
from instances.demos import _files, commands
from instances.demos._comparison import late_rewards
from instances.demos.influence import draw_cascade
from oracles import DirectedGraph, TopK
from tests.instances.datasets.test_datasets import wheel

plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("Agg")
PICTURES = {
    f"{name}.{kind}" for name in ("learned", "picture", "regret", "reward") for kind in ("png", "pdf")
}
FAMILIES = ["top-k", "spanning-tree", "coverage", "matching", "routing", "knapsack"]
OTHERS = [*FAMILIES, "ranking", "assortment"]
NAMES_OF_ARMS = {"from", "to", "woman", "event", "one end", "other end", "item", "price"}
NUMBERS = {"arms.csv", "curves.csv", "table.csv", "results.sqlite"}


def table(folder, name="table"):
    with (folder / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_influence_on_the_network_that_ships(tmp_path, capsys):
    arguments = ["--rounds", "30", "--replications", "2", "--k", "2", "--epsilon", "0.3"]
    arguments += ["--animate", str(tmp_path / "learning.gif")]
    assert main(["demo", "influence", *arguments, "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == PICTURES | NUMBERS | {"learning.gif"}
    rows = table(tmp_path)
    assert all(0 < float(row["% of best"]) <= 101 for row in rows)
    arms = table(tmp_path, "arms")
    assert len(arms) == 508
    network = nx.les_miserables_graph()
    assert all(network.has_edge(row["from"], row["to"]) for row in arms)
    assert "people reached" in capsys.readouterr().out


@pytest.mark.slow
def test_influence_on_a_file(tmp_path):
    file = tmp_path / "edges.txt"
    file.write_text("".join(f"{i} {(i + step) % 12}\n" for i in range(12) for step in (1, 3)))
    arguments = [
        "--graph",
        str(file),
        "--model",
        "constant",
        "--k",
        "1",
        "--rounds",
        "20",
        "--replications",
        "1",
    ]
    assert main(["demo", "influence", *arguments, "--out", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "picture.png").stat().st_size > 1000


@pytest.mark.slow
def test_probabilities_of_a_file_are_the_truth(tmp_path):
    """Unless another model is asked for: a third column was dropped without a word."""
    file, edges = tmp_path / "edges.txt", [(i, (i + 1) % 6) for i in range(6)]
    file.write_text("".join(f"{u} {v} {0.1 * (u + 1):.1f}\n" for u, v in edges))
    short = ["demo", "influence", "--graph", str(file), "--k", "1", "--rounds", "5", "--replications", "1"]
    for model, truth in (([], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), (["--model", "weighted-cascade"], [1.0] * 6)):
        assert main([*short, *model, "--jobs", "1", "--out", str(tmp_path / "out")]) == 0
        assert [float(row["true mean"]) for row in table(tmp_path / "out", "arms")] == truth


@pytest.mark.slow
def test_names_and_weights_in_a_csv(tmp_path, capsys, monkeypatch):
    """One command gives seeds by name, pictures in a folder that it names, and a sentence."""
    file = tmp_path / "friends.csv"
    ties = [(i, (i + step) % 9) for i in range(9) for step in (1, 2)]
    lines = [f'"Nº {u}, Ann","Nº {v}, Ann",{u + 1}\n' for u, v in ties]
    file.write_text("person1,person2,weight\n" + "".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    arguments = ["--graph", "friends.csv", "--undirected", "--k", "2", "--rounds", "3", "--replications", "1"]
    assert main(["demo", "influence", *arguments, "--jobs", "1"]) == 0
    printed = capsys.readouterr().out
    for said in (
        "friends.csv is an edge list separated by commas, with the header person1, person2, weight\n"
        "ties go both ways, as requested\n"
        "column weight (1 to 9) has weights",
        "9 people, 36 directed ties; 2 seeds are chosen in a round",
        "After 3 rounds, seeds chosen by the default learner reach ",
        " of 9 people; seeds chosen for probabilities drawn at random reach ",
        "  Random probabilities  learns nothing: in each round it plays the oracle's solution for",
        "  % seen                percentage of the 36 ties observed at least once",
        "written to cmab-influence-friends-csv: arms.csv",
    ):
        assert said in printed
    chosen = printed.split("Chosen in the last round by Learner: ")[1].split("\n")[0].split("; ")
    assert len(chosen) == 2
    assert all(name.startswith("Nº ") and name.endswith(", Ann") for name in chosen)
    assert (tmp_path / "cmab-influence-friends-csv" / "picture.png").stat().st_size > 1000
    assert main(["demo", "influence", *arguments, "--weight-column", "closeness"]) == 1
    assert "must have a column 'closeness', got weight" in capsys.readouterr().err


@pytest.mark.slow
def test_the_picture_of_the_readme_is_that_of_its_command(tmp_path):
    """Up to a version's way to draw letters. A process of its own, because tests change how figures look."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert ".venv/bin/cmab demo influence\n" in text
    assert "](docs/images/influence.png)" in text
    command = [sys.executable, "-m", "cmab", "demo", "influence", "--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=600)
    drawn, kept = (plt.imread(file) for file in (tmp_path / "reward.png", ROOT / "docs/images/influence.png"))
    assert drawn.shape == kept.shape
    assert np.abs(drawn - kept).mean() < 0.01


@pytest.mark.slow
def test_without_matplotlib_there_are_numbers(tmp_path, capsys, monkeypatch):
    def missing():
        raise ImportError("pictures need matplotlib: pip install 'cmab[plot]'")

    monkeypatch.setattr(plotting, "pyplot", missing)
    assert main(["demo", "coverage", "--rounds", "5", "--replications", "1", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == NUMBERS
    assert capsys.readouterr().out.startswith(
        "Davis's Southern women: 18 women, 14 events; 3 women are chosen in a round"
    )


@pytest.mark.parametrize("name", [name for name in commands.__all__ if name != "offline"])
def test_what_is_called_random_is_said_to_be_the_oracles_choice(name):
    """Random super arms earn less than what an oracle, which sees the graph, makes of random numbers."""
    made = getattr(commands, name)
    assert "drawn at random" in made.demo.sentence
    assert made.demo.yardstick == "Random probabilities"
    assert (
        "Random probabilities learns nothing: in each round it plays the oracle's solution for prob"
        in made.__doc__
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_other_families(name, tmp_path):
    assert main(["demo", name, "--rounds", "40", "--replications", "2", "--out", str(tmp_path)]) == 0
    assert len(table(tmp_path)) == 6
    assert {path.name for path in tmp_path.iterdir()} >= PICTURES | NUMBERS
    named = [key for key in table(tmp_path, "arms")[0] if key in NAMES_OF_ARMS]
    assert len(named) == {"top-k": 0, "knapsack": 1, "ranking": 1, "assortment": 1}.get(name, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ranking", "assortment"])
def test_on_the_data_of_a_wheel(name, tmp_path, capsys, monkeypatch):
    """Of the same formats as the real ones, which are small here."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    option, data = {"ranking": ("--films", "movielens"), "assortment": ("--survey", "mode-canada")}[name]
    file, short = wheel(tmp_path, data), ["--rounds", "20", "--replications", "1", "--k", "2"]
    short += ["--items", "3"] if name == "ranking" else []
    assert main(["demo", name, option, str(file), *short, "--out", str(tmp_path / "out")]) == 0
    said = "3 films of MovieLens 100K; 2 are listed" if name == "ranking" else "18 fares, in dollars from"
    assert said in capsys.readouterr().out
    assert main(["demo", name, option, str(tmp_path / "out/table.csv"), *short]) == 1
    assert "must" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["influence", "--k", "500"], "k must be an integer in [1, 77]"),
        (["influence", "--animate", "learning.png"], "must end in .gif or .mp4, got learning.png"),
        (["influence", "--rounds", "0"], "rounds must be an integer"),
        (["influence", "--graph", "nowhere.txt"], "nowhere.txt"),
        (["influence", "--undirected"], "--undirected has no effect without the file of a network"),
        (["top-k", "--k", "0"], "k must be"),
    ],
)
def test_bad_input_is_named(arguments, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())  # no folder of a run that was none


def test_ties_go_one_way_or_both(capsys):
    with pytest.raises(SystemExit):
        main(["demo", "influence", "--graph", "friends.csv", "--undirected", "--directed"])
    assert "--directed: not allowed with argument --undirected" in capsys.readouterr().err


@pytest.mark.slow
def test_a_list_from_a_log(tmp_path, capsys):
    """More of the log promises more, not more than there is, and estimates are near the truth."""
    assert main(["demo", "offline", "--replications", "3", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"picture.png", "picture.pdf", "table.csv"}
    rows = [{name: float(cell) for name, cell in row.items()} for row in table(tmp_path)]
    assert [row["rounds logged"] for row in rows] == [300, 1000, 3000, 10_000]
    assert rows[0]["lower bound"] < rows[-1]["lower bound"] < rows[-1]["CLCB"]
    assert abs(rows[-1]["estimate"] - rows[-1]["CLCB"]) < 2 * rows[-1]["width"]
    assert "promises" in capsys.readouterr().out


def test_late_reward_is_the_mean_of_the_last_tenth():
    oracle = TopK(4, 1)
    result = simulate(
        CUCB(oracle), SemiBandit(BernoulliArms([0.9, 0.5, 0.2, 0.1]), oracle), 100, replications=3, rng=0
    )
    rewards = np.diff(result.expected_rewards, axis=1, prepend=0.0)
    np.testing.assert_allclose(late_rewards(result), rewards[:, 90:].mean(axis=1))


def test_blocks_add_up_to_the_whole():
    oracle = TopK(4, 1)
    result = simulate(
        CUCB(oracle), SemiBandit(BernoulliArms([0.9, 0.5, 0.2, 0.1]), oracle), 100, replications=3, rng=0
    )
    middles, rewards = _files._blocks(result)
    np.testing.assert_allclose(rewards.sum(axis=1) * 4, result.expected_rewards[:, -1])
    np.testing.assert_allclose(middles, np.arange(25) * 4 + 2.5)


@pytest.mark.slow
def test_interruption_keeps_what_was_played_and_the_same_command_goes_on(tmp_path, monkeypatch, capsys):
    """Ctrl-C in replication 1 of the second learner: all that is stored is told, and not played again."""
    replicate, calls = _pieces.replicate, []

    def stops(policy, environment, rounds, seed, replication, **late):
        record = replicate(policy, environment, rounds, seed, replication, **late)
        calls.append((type(policy).__name__, replication))
        record.interrupted = calls[-1] == ("CUCB", 1)
        return record

    monkeypatch.setattr(_pieces, "replicate", stops)
    arguments = ["demo", "coverage", "--rounds", "20", "--replications", "2", "--out", str(tmp_path)]
    assert main(arguments) == 130
    rows = {row["learner"] for row in table(tmp_path)}
    assert rows == {"Learner", "Thompson"} | {
        f"{name} (incomplete)"
        for name in ("CUCB", "CUCB, radius / 4", "Epsilon-greedy", "Random probabilities")
    }
    assert "run the same command to continue" in capsys.readouterr().err
    assert {row["replication"] for row in table(tmp_path, "curves")} == {"0", "1"}
    assert (tmp_path / "regret.png").is_file()
    monkeypatch.setattr(_pieces, "replicate", replicate)
    assert main(arguments) == 0
    assert len(table(tmp_path)) == 6
    whole = (tmp_path / "curves.csv").read_bytes()
    assert main([*arguments[:-1], str(tmp_path / "anew")]) == 0
    assert (tmp_path / "anew" / "curves.csv").read_bytes() == whole
    assert main(["report", str(tmp_path)]) == 0


@pytest.mark.slow
def test_a_demo_in_a_study_file(tmp_path):
    """Its problem is an instance as any other, and its numbers are those of `simulate`."""
    (tmp_path / "edges.txt").write_text("".join(f"{u} {u + 1} 0.{u + 1}\n" for u in range(5)))
    table = {"demo": "influence", "graph": {"file": "edges.txt"}, "k": 1, "rng": 0}
    learners = {"Random": {"class": "RandomPolicy"}}
    tables = {"horizon": 10, "instances": {"chain": table}, "learners": learners}
    study = Study(tables, files=tmp_path)
    environment = study.plan.problems["chain"]
    assert environment.means.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]
    study.run(tmp_path / "out")
    found = simulate(study.plan.policies["chain", "Random"], environment, 10, rng=0)
    (result,) = study.results(tmp_path / "out").values()
    np.testing.assert_array_equal(result.rewards, found.rewards)
    before = study.pieces[0].key
    (tmp_path / "edges.txt").write_text("".join(f"{u} {u + 1} 0.{u + 2}\n" for u in range(5)))
    assert Study(tables, files=tmp_path).pieces[0].key != before


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"demo": "nothing"}, "instances.x: demo must be one of the registered demos"),
        ({"demo": "influence", "graph": "/etc/passwd"}, "x.graph must be a table { file"),
        ({"demo": "influence", "graph": {"file": "/etc/passwd"}}, "x.graph must be a file in"),
        ({"demo": "top-k", "arms": {"file": "edges.txt"}}, "x.arms must be a file in"),
        ({"demo": "top-k", "arms": 10**12}, "instances.x: arms must be an integer"),
        ({"demo": "top-k", "oracle": {}}, "x.oracle must be a table { file"),
        (
            {"demo": "top-k", "colour": 1},
            "x must only have the entries arms, k, rng; got colour",
        ),
    ],
)
def test_demos_that_cannot_be_instances(table, message, tmp_path):
    tables = {"horizon": 1, "instances": {"x": table}, "learners": {"Random": {"class": "RandomPolicy"}}}
    with pytest.raises(ValueError, match=message):
        Study(tables, files=tmp_path)


def test_the_cascade_drawn_is_a_forest_from_the_seeds():
    rng = np.random.default_rng(0)
    tails = np.repeat(np.arange(40), 3)
    heads = (tails + rng.integers(1, 40, 120)) % 40
    environment = IndependentCascade(DirectedGraph.from_edges(tails, heads, n_nodes=40), np.full(120, 0.5))
    axes = draw_cascade(environment, np.array([0, 7]))
    reached = int(axes.get_title().split("reaches ")[1].split()[0])
    passed = axes.collections[1].get_segments()
    assert len(passed) == reached - 2
    plt.close("all")


def test_names_with_dollar_signs_and_long_names_are_drawn(tmp_path):
    """Matplotlib takes what stands between dollar signs for a formula, and refuses this one."""
    names = ["$a_$", "$\\frac$", "x" * 500]
    graph = DirectedGraph.from_edges([0, 1], [1, 2], labels=names)
    environment = IndependentCascade(graph, np.ones(2))
    axes = draw_cascade(environment, np.arange(3), title="$b_$ ")
    plotting.save(axes, tmp_path / "drawn", suffixes=(".png",))
    assert (tmp_path / "drawn.png").stat().st_size > 1000
    assert max(len(text.get_text()) for text in axes.texts) < 40
