"""The command ``cmab arena``: policies and problems of users, files, resumed runs, errors in words."""

import csv
import textwrap
from importlib.metadata import EntryPoint

import pytest

from cmab.arena import Arena
from cmab.arena.recorded import read_recorded
from cmab.arena.registered import entries_of_plugins, problems_of_plugins
from cmab.cli import main
from cmab.studies import _registry
from instances.arena import PROBLEMS, RECORDED

MODULE = """
    import numpy as np
    from cmab import CUCB, IndexPolicy
    from cmab.arena import Problem
    from instances import BernoulliArms, SemiBandit
    from oracles import TopK

    class MyPolicy(IndexPolicy):
        def indices(self, stats, rng):
            return np.where(stats.counts > 0, stats.means + 0.2 / np.sqrt(np.maximum(stats.counts, 1)), 1.0)

    class Everything(MyPolicy):
        def select(self, state, rng, context=None):
            return np.arange(self.oracle.n_arms)  # more arms than a super arm may have

    def short(oracle):
        return CUCB(oracle, radius_factor=0.2)

    def make(rng):
        oracle = TopK(6, k=2)
        return oracle, SemiBandit(BernoulliArms(rng.random(6)), oracle)

    problem = Problem("my ads", "top-k", make, horizon=50, source="our shop", replications=2)
    number = 3
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "mypackage.py").write_text(textwrap.dedent(MODULE), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def arguments(*more):
    # Two entries of the library, and only the problem of the user.
    only = ["--only", "my ads", "--only", "CTS", "--only", "CUCB"]
    return ["arena", "--problem", "mypackage:problem", "--fresh", "--jobs", "1", *only, *more]


def test_a_policy_of_a_user_is_in_the_table(package, capsys):
    status = main(
        arguments("--policy", "mypackage:MyPolicy", "--policy", "mypackage:short", "--out", "found")
    )
    shown = capsys.readouterr().out
    assert status == 0
    assert "8 of 8 pieces to do" in shown
    assert all(name in shown for name in ("MyPolicy", "short", "CTS", "CUCB"))
    with (package / "found" / "scores.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["entry"] for row in rows} == {"MyPolicy", "short", "CTS", "CUCB"}
    assert {path.name for path in (package / "found").iterdir()} >= {
        "arena.html",
        "scores.csv",
        "matches.csv",
    }
    assert main(arguments("--policy", "mypackage:MyPolicy", "--out", "found")) == 0
    assert "0 of 6 pieces to do" in capsys.readouterr().out


def test_a_policy_with_infeasible_super_arms_is_named_with_the_reason(package, capsys):
    given = ("--policy", "mypackage:Everything", "--policy", "mypackage:short")
    assert main(arguments(*given, "--out", "found")) == 0
    shown = capsys.readouterr().out
    assert "Everything does not play 1 problem; the first is my ads: " in shown
    assert "[0, 1, 2, 3, 4, 5]" in shown.split("does not play")[1]
    assert "short does not play" not in shown


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            ["--policy", "mypackage"],
            "--policy must be MODULE:NAME, such as mypackage:MyPolicy, got 'mypackage'",
        ),
        (["--policy", "mypackage:Nothing"], "but mypackage has no Nothing"),
        (["--policy", "nowhere:Nothing"], "--policy nowhere:Nothing: ModuleNotFoundError"),
        (["--policy", "mypackage:number"], "--policy mypackage:number: maker must be a class of policies"),
        (["--problem", "mypackage:number"], "must name a Problem, or a function that returns one, got 3"),
        (["--only", "my adds"], "--only must name a problem, a kind of problems or an entry"),
        (["--problem", "mypackage:problem", "--problem", "mypackage:problem"], "different names, got my ads"),
    ],
)
def test_errors_in_words(package, capsys, given, text):
    assert main(["arena", *given]) == 1
    shown = capsys.readouterr().err
    assert text in shown
    assert "Traceback" not in shown


def test_a_policy_is_compared_with_recorded_results(package, capsys):
    """Only matches of the user's policy are played; the others have the numbers of the recorded file."""
    only = ["--only", "top 5 of 20", "--only", "CTS", "--only", "CUCB"]
    out = ["--replications", "2", "--jobs", "1", "--out", "found"]
    assert main(["arena", "--policy", "mypackage:short", *only, *out]) == 0
    assert "2 of 2 pieces to do" in capsys.readouterr().out
    with (package / "found" / "matches.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    recorded = read_recorded(RECORDED).curves["top 5 of 20", "CTS"]
    assert {row["entry"] for row in rows} == {"short", "CTS", "CUCB"}
    found = [float(row["regret"]) for row in rows if row["entry"] == "CTS"]
    assert found == pytest.approx(recorded.regret[:2, recorded.ends].mean(axis=0).tolist())


def test_an_interrupted_run_shows_its_results_and_continues(package, capsys, monkeypatch):
    kept = Arena._keep

    def keep_and_stop(self, store, outcome):
        kept(self, store, outcome)
        if (outcome.piece.replication, outcome.piece.learner) == (0, "CTS"):
            raise KeyboardInterrupt

    monkeypatch.setattr(Arena, "_keep", keep_and_stop)
    assert main(arguments("--out", "found")) == 130
    shown = capsys.readouterr()
    assert "interrupted; run the same command to continue" in shown.err
    assert "CTS" in shown.out
    assert "2 pieces are missing, so the scores are preliminary" in shown.out
    monkeypatch.undo()
    monkeypatch.chdir(package)
    assert main(arguments("--out", "found")) == 0
    assert "2 of 4 pieces to do" in capsys.readouterr().out


def test_the_list_has_all_problems_and_entries(capsys):
    assert main(["arena", "--list"]) == 0
    shown = capsys.readouterr().out
    assert "top 5 of 20 (top-k, 10,000 rounds)" in shown
    assert "MNLUCB (assortment)" in shown


def test_installed_packages_take_part(package, monkeypatch):
    """A plug-in adds the problems and entries of its module ``arena``."""
    (package / "shop").mkdir()
    (package / "shop" / "__init__.py").write_text("", encoding="utf-8")
    code = "from cmab import CUCB\nfrom cmab.arena import Entry\nfrom mypackage import problem\n"
    code += "PROBLEMS = {'ads': problem}\nENTRIES = [Entry.of(CUCB, 'CUCB of the shop', radius_factor=0.5)]\n"
    (package / "shop" / "arena.py").write_text(code, encoding="utf-8")
    installed = [*_registry.plugins(), EntryPoint("shop", "shop", "cmab.plugins")]
    monkeypatch.setattr(_registry, "plugins", lambda: installed)
    assert [problem.name for problem in problems_of_plugins()] == [*PROBLEMS, "my ads"]
    assert [entry.name for entry in entries_of_plugins()][-1] == "CUCB of the shop"
