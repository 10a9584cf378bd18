"""The arena: paired seeds, resumed runs, scores against a plain reference, and the command."""

import math
import re
import statistics
import textwrap

import numpy as np
import pytest
from places import ROOT

from cmab import CTS, CUCB, Greedy, IndexPolicy, StudyFailed
from cmab.cli import main
from cmab.run.arena import (
    CannotPlay,
    Entry,
    Instance,
    Problem,
    Standings,
    play,
    read_matches,
    run,
    write_matches,
)
from instances import BernoulliArms, SemiBandit
from instances.arena import ENTRIES, PROBLEMS, RECORDED
from oracles import TopK


def draw(rng):
    oracle = TopK(6, 2)
    return oracle, SemiBandit(BernoulliArms(rng.random(6)), oracle)


def problem(name="ads", **others):
    settings = {"kind": "top-k", "make": draw, "horizon": 60, "source": "a test", "replications": 3}
    return Problem(name, **settings | others)


class Refusing(IndexPolicy):
    """Rejects every problem in its first round."""

    def indices(self, stats, rng):
        raise ValueError("no indices today")


class Failing(IndexPolicy):
    """Fails after some rounds."""

    def indices(self, stats, rng):
        if stats.rounds > 20:
            raise ValueError("the index must be finite")
        return np.zeros(self.oracle.n_arms)


def numbers(standings):
    return {pair: rows.tolist() for pair, rows in standings.regrets.items()}


def test_entries_of_a_replication_meet_the_same_instance():
    """Without learning, two entries with equal choices have equal regrets, replication by replication."""
    standings = run([problem()], [Entry.of(Greedy, "a"), Entry.of(Greedy, "b"), Entry.of(CTS)])
    found = numbers(standings)
    assert found["ads", "a"] == found["ads", "b"] != found["ads", "CTS"]
    assert len({tuple(row) for row in found["ads", "CTS"]}) == 3
    together = numbers(run([problem("others"), problem()], [Entry.of(CUCB), Entry.of(CTS)]))
    assert together["ads", "CTS"] == found["ads", "CTS"]


def test_instances_depend_on_name_seed_and_replication_only():
    keys = (("ads", 0, 1), ("ads", 0, 2), ("ads", 1, 1), ("ad", 0, 1), ("ads", 0, 1))
    drawn = [problem(name).draw(seed=seed, replication=r).environment.means for name, seed, r in keys]
    assert len({tuple(means.tolist()) for means in drawn}) == 4


def test_regret_is_that_of_the_simulation():
    optimum = problem().draw(seed=4, replication=2).environment.optimum
    match = play(problem(), Entry.of(CUCB), 2, seed=4)
    assert match["worth"] == pytest.approx([6 * optimum, 60 * optimum], rel=1e-5)
    assert 0.0 <= match["regret"][0] <= match["regret"][1]


def test_unknown_optima_are_replaced_by_the_value_of_the_oracle():
    class Unknown(SemiBandit):
        optimum = math.nan

    oracle = TopK(3, 1)
    assert Instance(oracle, Unknown(BernoulliArms([0.1, 0.9, 0.2]), oracle)).benchmark == pytest.approx(0.9)


@pytest.mark.slow
def test_workers_do_not_change_numbers():
    problems = [PROBLEMS[name] for name in ("top 5 of 20", "list, 5 of 50", "matching 6 x 6")]
    entries, settings = [Entry.of(CTS), Entry.of(CUCB)], {"horizon": 60, "replications": 3}
    found = [numbers(run(problems, entries, **settings, n_jobs=n_jobs)) for n_jobs in (1, 2)]
    assert found[0] == found[1]


def test_stored_matches_are_not_played_again(tmp_path):
    calls = []

    def make(oracle, facts):
        calls.append(facts.horizon)
        return CUCB(oracle)

    run([problem()], [Entry("mine", make)], folder=tmp_path)
    run([problem()], [Entry("mine", make), Entry.of(CTS)], folder=tmp_path)
    assert len(calls) == 3
    for changed in (Entry("mine", make, version="2"), Entry("other", make)):
        run([problem()], [changed], folder=tmp_path)
    run([problem()], [Entry("mine", make)], folder=tmp_path, rng=1)
    run([problem(batch=2)], [Entry("mine", make)], folder=tmp_path)
    assert len(calls) == 15


def test_refused_problems_have_a_reason():
    standings = run([problem()], [Entry.of(CTS), Entry.of(Refusing), Entry.of(CUCB, kinds=("matching",))])
    assert "no indices today" in standings.refused["ads", "Refusing"]
    assert set(standings.regrets) == {("ads", "CTS")}
    with pytest.raises(CannotPlay, match="Refusing cannot play ads: no indices today"):
        play(problem(), Entry.of(Refusing), 0)


def test_faults_are_reported_after_all_other_matches(tmp_path):
    calls = []
    counted = Entry("counted", lambda oracle, facts: calls.append(1) or CUCB(oracle))
    for _ in range(2):
        with pytest.raises(StudyFailed, match=r"3 pieces failed.*replication 0 of Failing on ads") as error:
            run([problem()], [Entry.of(Failing), counted], folder=tmp_path)
        assert "the index must be finite" in str(error.value)
    assert len(calls) == 3


def test_facts_reach_makers():
    seen = []
    play(problem(batch=5, facts={"dimension": 3}), Entry("x", lambda o, f: seen.append(f) or CUCB(o)), 0)
    assert (seen[0].support, seen[0].horizon, seen[0].batch) == ((0.0, 1.0), 60, 5)
    assert seen[0].other["dimension"] == 3


def invented(seed=0, n=6):
    """Return standings of four problems; C does not play the last two, and regrets of `flat` are tiny."""
    rng = np.random.default_rng(seed)
    problems = tuple(
        problem(name, held_out=held, horizon=100)
        for name, held in (("one", False), ("two", False), ("flat", False), ("held", True))
    )
    matches = {}
    for each in problems:
        for i, entry in enumerate(("CTS", "A", "B", "C")):
            if entry != "C" or each.name in ("one", "two"):
                size = 0.0001 if each.name == "flat" else 1.0 + i
                regret = np.cumsum(size * rng.gamma(2.0, 1.0, (n, 2)), axis=1).tolist()
                matches[each.name, entry] = [
                    {"regret": row, "worth": [50.0, 500.0], "seconds": 1e-6} for row in regret
                ]
    return Standings(problems, tuple(Entry.of(CUCB, name) for name in ("CTS", "A", "B", "C")), matches)


@pytest.mark.parametrize(("part", "held"), [("open", False), ("held out", True)])
def test_scores_agree_with_loops_over_plain_numbers(part, held):
    given = invented()
    rows = {row["entry"]: row for row in given.scores()}
    ratios, tails = ({entry.name: [] for entry in given.entries} for _ in range(2))
    for each in given.problems:
        if each.held_out != held:
            continue
        own = {entry: rows for (name, entry), rows in given.regrets.items() if name == each.name}
        for place, rounds in ((0, 10), (1, 100)):
            floor = 0.001 * 5.0 * rounds
            means = {entry: max(floor, statistics.fmean(rows[:, place])) for entry, rows in own.items()}
            middle = max(floor, statistics.median(own["CTS"][:, place]))
            for entry, mean in means.items():
                ratios[entry].append(mean / min(means.values()))
                tails[entry].append(max(floor, float(np.percentile(own[entry][:, place], 95))) / middle)
    for entry, values in ratios.items():
        if values:
            row = rows[entry]
            assert row[f"{part} mean"] == pytest.approx(math.prod(values) ** (1.0 / len(values)))
            assert row[f"{part} low"] <= row[f"{part} mean"] <= row[f"{part} high"]
            assert row[f"{part} worst"] == pytest.approx(max(values))
            assert row[f"{part} close"] == pytest.approx(sum(v <= 1.5 for v in values) / len(values))
            assert row[f"{part} largest tail"] == pytest.approx(max(tails[entry]))
        else:
            assert math.isnan(rows[entry][f"{part} mean"])
    assert set(given.ratios("flat").values()) == {(1.0, 1.0)}  # tiny regrets count as equal


def test_bootstrap_is_paired():
    """If every replication of an entry has twice the regret of another, each resample has the same ratio."""
    given = invented()
    doubled = {
        (p, "A"): [row | {"regret": [2.0 * x for x in row["regret"]]} for row in given.matches[p, "CTS"]]
        for p in ("one", "two")
    }
    best = {(p, "CTS"): given.matches[p, "CTS"] for p in ("one", "two")}
    paired = Standings(given.problems[:2], given.entries[:2], best | doubled)
    row = next(row for row in paired.scores() if row["entry"] == "A")
    assert (row["open low"], row["open mean"], row["open high"]) == pytest.approx((2.0, 2.0, 2.0))
    assert paired.place("A") == "A has place 2 of 2 on the open problems (mean ratio 2.00)."


def test_recorded_matches_return(tmp_path):
    given = invented()
    write_matches(tmp_path / "a.json.gz", given.matches)
    assert read_matches(tmp_path / "a.json.gz") == given.matches


def test_all_problems_and_entries_are_recorded():
    recorded = read_matches(RECORDED)
    assert {name for name, _ in recorded} == {*PROBLEMS}
    assert {name for _, name in recorded} == {entry.name for entry in ENTRIES}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("top 5 of 20", "CTS"),
        ("tree of a 5 x 5 grid", "CUCB x 0.1"),
        ("events of 18 women", "Greedy, 5 hopeful outcomes"),
        ("assortment 4 of 20", "MNLUCB, short"),
        ("delays, top 5 of 40", "CTS shared"),
        ("influence on 60 people, arcs", "BayesUCB"),
    ],
)
def test_recorded_regrets_are_those_of_the_code(name, entry):
    """If the numbers differ, a policy or problem has changed: record the matches again."""
    own = next(each for each in ENTRIES if each.name == entry)
    match, recorded = play(PROBLEMS[name], own, 0), read_matches(RECORDED)[name, entry][0]
    assert match["regret"] == pytest.approx(recorded["regret"], rel=1e-4)


def test_the_page_shows_the_recorded_scores():
    page = (ROOT / "docs" / "explanation" / "arena.md").read_text(encoding="utf-8")
    shown = re.search(r"<!-- scores -->\n(.*?)\n<!-- end -->", page, re.DOTALL)
    standings = Standings(tuple(PROBLEMS.values()), ENTRIES, read_matches(RECORDED))
    assert shown is not None
    assert shown[1].strip() == standings.table(form="github").strip()


def test_the_command_prints_the_place_of_a_policy(tmp_path, monkeypatch, capsys):
    code = """
        import numpy as np
        from cmab import IndexPolicy
        class Mine(IndexPolicy):
            def indices(self, stats, rng):
                return np.where(stats.counts > 0, stats.means + 0.1, 1.0)
    """
    (tmp_path / "shop.py").write_text(textwrap.dedent(code), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    only = ["--only", "late arms, 5 of 30", "--jobs", "1"]
    assert main(["arena", "--policy", "shop:Mine", *only, "--out", "found"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"Mine has place \d+ of \d+ on the open problems", told)
    assert {path.name for path in (tmp_path / "found").iterdir()} == {"arena.sqlite", "scores.csv"}
    few = ["--only", "Greedy", "--replications", "2", "--record", "few.json.gz"]
    assert main(["arena", *only, *few]) == 0
    assert {pair: len(rows) for pair, rows in read_matches("few.json.gz").items()} == {
        ("late arms, 5 of 30", "Greedy"): 2
    }
    assert main(["arena", "--policy", "shop:Yours", *only]) == 1
    assert "has no Yours" in capsys.readouterr().err
    assert main(["arena", "--only", "CTSS"]) == 1
    assert "did you mean 'CTS'?" in capsys.readouterr().err
