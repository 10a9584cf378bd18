"""Studies of what a user has: classes of a module, objects in Python, a graph that is named once."""

import importlib

import networkx as nx
import numpy as np
import pytest

from cmab import CUCB, Study
from cmab.cli import main
from cmab.studies.store import Store
from instances import BernoulliArms, IndependentCascade, SemiBandit, weighted_cascade
from oracles import InfluenceMaximization, TopK
from oracles.influence.graph import as_directed_graph
from tests.cmab.studies.test_study import MEANS, specification

MINE = """
from cmab import CUCB

class Mine(CUCB):
    pass
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "mine_of_a_user.py").write_text(MINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield "mine_of_a_user"
    import sys

    sys.modules.pop("mine_of_a_user", None)


def regrets(study, folder):
    return {name: each.regret for (_, name), each in _run(study, folder).items()}


def _run(study, folder):
    study.run(folder)
    return study.results(folder)


def given(instance, learners):
    return specification() | {"instances": {"a": instance}, "learners": learners}


def tables():
    (instance, *_) = specification()["instances"].values()
    return instance


@pytest.mark.slow
def test_a_class_of_a_module_plays_once_that_is_imported(mine, tmp_path):
    described = given(tables(), {"mine": {"class": f"{mine}:Mine"}, "CUCB": {"class": "CUCB"}})
    with pytest.raises(ValueError, match=r"a module that was imported, got .*--import mine_of_a_user"):
        Study(described)
    module = importlib.import_module(mine)
    found = regrets(Study(described), tmp_path / "out")
    np.testing.assert_array_equal(found["mine"], found["CUCB"])
    study = Study(given(tables(), {"mine": {"class": module.Mine}, "CUCB": {"class": CUCB}}))
    assert study.specification == {**described, "learners": study.specification["learners"]}
    assert mine in study.origins["a", "mine"].code["sources"]
    assert not [piece for piece in study.missing(tmp_path / "out") if piece.learner == "mine"]


@pytest.mark.parametrize(
    "name", ["os:system", "subprocess:Popen", "cmab:Study", "cmab:nothing", ":", "builtins:eval"]
)
def test_only_classes_of_bandits_are_taken(name):
    with pytest.raises(ValueError, match=r"learners\.x\.class must be"):
        Study(given(tables(), {"x": {"class": name}}))


def test_the_command_imports_what_it_is_told(mine, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(
        f'horizon = 5\ninstances.a.oracle = {{ class = "TopK", n_arms = 2, k = 1 }}\n'
        'instances.a.environment = { class = "SemiBandit", oracle = "$oracle",'
        ' arms = { class = "BernoulliArms", means = [0.1, 0.9] } }\n'
        f'learners.x.class = "{mine}:Mine"\n'
    )
    assert main(["validate", "study.toml"]) == 1
    assert f"--import {mine}" in capsys.readouterr().err
    assert main(["validate", "study.toml", "--import", mine]) == 0


@pytest.mark.slow
def test_a_graph_that_is_made_again_is_the_same():
    """Its text has an address, which is another one in every process."""
    kept = [nx.path_graph(4), nx.path_graph(4), nx.cycle_graph(4)]
    keys = []
    for graph in kept:
        oracle = {"class": "InfluenceMaximization", "graph": graph, "k": 1}
        environment = {"class": "IndependentCascade", "graph": graph, "probability": 0.1}
        study = Study(specification(instances={"friends": {"oracle": oracle, "environment": environment}}))
        keys.append([piece.key for piece in study.pieces])
    assert keys[0] == keys[1] != keys[2]


def test_objects_play_as_their_tables_do(tmp_path):
    oracle = TopK(len(MEANS), 2)
    environment = SemiBandit(BernoulliArms(MEANS), oracle)
    learners = {"CUCB": CUCB(oracle), "narrow": CUCB(oracle, radius_factor=0.1)}
    study = Study(given({"oracle": oracle, "environment": environment}, learners))
    found = regrets(study, tmp_path / "objects")
    by_table = {"CUCB": {"class": "CUCB"}, "narrow": {"class": "CUCB", "radius_factor": 0.1}}
    described = {
        "oracle": {"class": "TopK", "n_arms": len(MEANS), "k": 2},
        "environment": {
            "class": "SemiBandit",
            "oracle": "$oracle",
            "arms": {"class": "BernoulliArms", "means": np.array(MEANS)},
        },
    }
    for name, regret in regrets(Study(given(described, by_table)), tmp_path / "tables").items():
        np.testing.assert_array_equal(regret, found[name])
    # The same objects are found again, others are not.
    again = {
        "oracle": TopK(len(MEANS), 2),
        "environment": SemiBandit(BernoulliArms(MEANS), TopK(len(MEANS), 2)),
    }
    assert not Study(given(again, {"CUCB": CUCB(TopK(len(MEANS), 2))})).missing(tmp_path / "objects")
    assert Study(given(again, {"CUCB": CUCB(TopK(len(MEANS), 2), radius_factor=0.2)})).missing(
        tmp_path / "objects"
    )
    with pytest.raises(ValueError, match="must be given as an object"):
        Study(Study.open(tmp_path / "objects").specification)


def test_code_of_a_notebook_is_refused():
    class Strange(CUCB):
        pass

    Strange.__module__ = "__main__"
    for learner in (Strange(TopK(2, 1)), {"class": Strange}):
        with pytest.raises(ValueError, match="move them to a separate file"):
            Study(given(tables(), {"x": learner}))


@pytest.mark.parametrize("chances", [0.3, "weighted_cascade"])
def test_a_graph_is_named_once_and_its_chances_by_a_word(chances):
    study = Study(
        {
            "horizon": 2,
            "instances": {
                "net": {
                    "graph": {"networkx": "path_graph", "n": 4},
                    "oracle": {"class": "InfluenceMaximization", "graph": "$graph", "k": 1},
                    "environment": {"class": "IndependentCascade", "graph": "$graph", "probability": chances},
                }
            },
            "learners": {"CUCB": {"class": "CUCB"}},
        }
    )
    graph = as_directed_graph(nx.path_graph(4))
    expected = weighted_cascade(graph) if isinstance(chances, str) else np.full(6, 0.3)
    np.testing.assert_array_equal(study.plan.problems["net"].means, expected)
    assert isinstance(study.plan.problems["net"], IndependentCascade)
    assert isinstance(study.plan.policies["net", "CUCB"].oracle, InfluenceMaximization)


@pytest.mark.slow
def test_titles_are_texts_and_in_no_key():
    plain, titled = (Study(specification() | more) for more in ({}, {"title": "T", "description": "D"}))
    assert [piece.key for piece in plain.pieces] == [piece.key for piece in titled.pieces]
    with pytest.raises(ValueError, match="title must be a string, got 3"):
        Study(specification() | {"title": 3})


@pytest.mark.slow
def test_parts_of_a_study_merge_into_the_whole(tmp_path, capsys):
    study = Study(specification(replications=3))
    for number in (1, 2):
        study.run(tmp_path / f"part-{number}", part=(number, 2))
    whole = len(study.pieces)
    lacking = [len(study.missing(tmp_path / f"part-{number}")) for number in (1, 2)]
    assert sum(lacking) == whole
    assert abs(lacking[0] - lacking[1]) <= 1
    parts = [str(tmp_path / f"part-{number}") for number in (1, 2)]
    assert main(["merge", *parts, "--out", str(tmp_path / "all")]) == 0
    assert f"{whole - lacking[0]} pieces" in capsys.readouterr().out
    assert study.missing(tmp_path / "all") == []
    assert Study.open(tmp_path / "all").specification == study.specification
    study.run(tmp_path / "alone")
    alone = study.results(tmp_path / "alone")
    for pair, result in study.results(tmp_path / "all").items():
        np.testing.assert_array_equal(result.rewards, alone[pair].rewards)
    # Of a damaged one nothing is taken.
    with Store(tmp_path / "part-1") as store:
        store._file.execute("UPDATE simulations SET seconds = 7.0")
    assert main(["merge", *parts, "--out", str(tmp_path / "other")]) == 1
    assert "is damaged" in capsys.readouterr().err
    assert len(study.missing(tmp_path / "other")) == whole
    assert main(["merge", str(tmp_path), "--out", str(tmp_path / "other")]) == 1
