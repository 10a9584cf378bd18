"""The command ``cmab arena``: policies and problems of users, files, resumed runs, errors in words."""

import csv
import textwrap

import pytest

from cmab.cli import main

MODULE = """
    import numpy as np
    from cmab import CUCB, IndexPolicy
    from cmab.arena import Problem
    from instances import BernoulliArms, SemiBandit
    from oracles import TopK

    class MyPolicy(IndexPolicy):
        def indices(self, stats, rng):
            return np.where(stats.counts > 0, stats.means + 0.2 / np.sqrt(np.maximum(stats.counts, 1)), 1.0)

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


def test_the_list_has_all_problems_and_entries(capsys):
    assert main(["arena", "--list"]) == 0
    shown = capsys.readouterr().out
    assert "top 5 of 20 (top-k, 10,000 rounds)" in shown
    assert "MNLTS (assortment)" in shown
