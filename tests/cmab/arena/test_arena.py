"""Runs of the arena: paired seeds, resumed runs, equal numbers for all numbers of workers, refusals."""

import math
import subprocess
import sys
import textwrap
from functools import partial

import numpy as np
import pytest
from places import ROOT

from cmab import CTS, CUCB, Greedy, IndexPolicy, StudyFailed
from cmab.arena import Arena, CannotPlay, Entry, Facts, Instance, Problem, Standings, play, run
from cmab.arena.match import checkpoints
from cmab.arena.problem import benchmark_of
from cmab.arena.recorded import joined, read_recorded, write_recorded
from cmab.studies.store import Store
from instances import BernoulliArms, SemiBandit
from instances.arena import PROBLEMS
from oracles import TopK


def draw(rng, n=6, k=2):
    oracle = TopK(n, k)
    return oracle, SemiBandit(BernoulliArms(rng.random(n)), oracle)


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
    return {pair: curves.regret.tolist() for pair, curves in standings.curves.items()}


@pytest.mark.slow
def test_entries_of_a_replication_meet_the_same_instance():
    """Without learning, two entries with equal choices have equal regrets, replication by replication."""
    standings = run([problem()], [Entry.of(Greedy, "a"), Entry.of(Greedy, "b"), Entry.of(CTS)])
    found = numbers(standings)
    assert found["ads", "a"] == found["ads", "b"] != found["ads", "CTS"]
    assert len({tuple(row) for row in found["ads", "CTS"]}) == 3


def test_instances_depend_on_name_seed_and_replication_only():
    def means(name, seed, replication):
        return problem(name).draw(seed=seed, replication=replication).environment.means.tolist()

    assert means("ads", 0, 1) == means("ads", 0, 1)
    assert (
        len({tuple(means(*key)) for key in (("ads", 0, 1), ("ads", 0, 2), ("ads", 1, 1), ("ad", 0, 1))}) == 4
    )


def test_other_entries_and_problems_do_not_change_numbers():
    alone = numbers(run([problem()], [Entry.of(CTS)]))
    together = numbers(run([problem("others"), problem()], [Entry.of(CUCB), Entry.of(CTS)]))
    assert together["ads", "CTS"] == alone["ads", "CTS"]


@pytest.mark.slow
def test_workers_do_not_change_numbers():
    problems = [PROBLEMS[name] for name in ("top 5 of 20", "list, 5 of 50", "matching 6 x 6")]
    entries, settings = [Entry.of(CTS), Entry.of(CUCB)], {"horizon": 60, "replications": 3}
    found = [numbers(run(problems, entries, **settings, n_jobs=n_jobs)) for n_jobs in (1, 2)]
    assert found[0] == found[1]


def test_regret_is_that_of_the_simulation():
    instance = problem().draw(seed=4, replication=2)
    match = play(problem(), Entry.of(CUCB), 2, seed=4)
    assert match.rounds.tolist() == checkpoints(60).tolist()
    assert match.worth.tolist() == pytest.approx((match.rounds * instance.environment.optimum).tolist())
    assert (np.diff(match.regret) >= -1e-9).all()


@pytest.mark.parametrize("horizon", [10, 11, 99, 1000, 12345])
def test_checkpoints_contain_a_tenth_and_the_end(horizon):
    rounds = checkpoints(horizon)
    assert {horizon // 10, horizon} <= set(rounds.tolist())
    assert (np.diff(rounds) > 0).all()
    assert rounds[0] >= 1


def test_unknown_optima_are_replaced_by_the_value_of_the_oracle():
    class Unknown(SemiBandit):
        optimum = math.nan

    oracle = TopK(3, 1)
    instance = Instance(oracle, Unknown(BernoulliArms([0.1, 0.9, 0.2]), oracle))
    assert benchmark_of(instance) == pytest.approx(0.9)


def test_a_resumed_run_plays_only_missing_pieces(tmp_path):
    problems = [problem()]
    first = run(problems, [Entry.of(CTS)], folder=tmp_path)
    arena = Arena(problems, [Entry.of(CTS), Entry.of(CUCB)])
    with Store(tmp_path) as store:
        assert {piece.learner for piece in arena.missing(store)} == {"CUCB"}
        arena.play(store)
        assert not arena.missing(store)
        second = arena.standings(store)
    assert numbers(second)["ads", "CTS"] == numbers(first)["ads", "CTS"]


def test_parameters_and_problems_are_in_the_keys(tmp_path):
    def missing(chosen, entry, **settings):
        with Store(tmp_path) as store:
            return len(Arena([chosen], [entry], **settings).missing(store))

    entry = Entry.of(CUCB, radius_factor=0.5)
    run([problem()], [entry], folder=tmp_path)
    assert missing(problem(), Entry.of(CUCB, "another name", radius_factor=0.5)) == 0
    assert missing(problem(), Entry.of(CUCB, radius_factor=0.6)) == 3
    assert missing(problem(make=partial(draw, n=7)), entry) == 3
    assert missing(problem(batch=2), entry) == 3
    assert missing(problem(), entry, rng=1) == 3
    assert missing(problem(), entry, horizon=70) == 3
    assert missing(problem(), entry, replications=5) == 2


@pytest.mark.slow
def test_a_killed_run_continues(tmp_path):
    """A process that is killed leaves its finished pieces, and the next run gives the same numbers."""
    (tmp_path / "play_and_die.py").write_text(
        textwrap.dedent("""
        import os, sys
        from cmab.arena import run, Entry
        from cmab.arena.runs import Arena
        from cmab import CTS, CUCB
        from killed_problem import PROBLEM
        kept = Arena._keep
        def keep_two(self, store, outcome, seen=[]):
            kept(self, store, outcome)
            seen.append(outcome)
            if len(seen) == 2:
                os._exit(9)
        Arena._keep = keep_two
        run([PROBLEM], [Entry.of(CTS), Entry.of(CUCB)], folder=sys.argv[1])
        """),
        encoding="utf-8",
    )
    (tmp_path / "killed_problem.py").write_text(
        textwrap.dedent("""
        from cmab.arena import Problem
        from instances import BernoulliArms, SemiBandit
        from oracles import TopK
        def draw(rng):
            oracle = TopK(6, 2)
            return oracle, SemiBandit(BernoulliArms(rng.random(6)), oracle)
        PROBLEM = Problem("killed", "top-k", draw, horizon=60, source="a test", replications=3)
        """),
        encoding="utf-8",
    )
    store, path = tmp_path / "store", [str(tmp_path), str(ROOT)]
    code = f"import sys; sys.path[:0] = {path!r}; sys.argv = ['x', {str(store)!r}]; import play_and_die"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 9
    sys.path.insert(0, str(tmp_path))
    try:
        from killed_problem import PROBLEM
    finally:
        sys.path.remove(str(tmp_path))
    entries = [Entry.of(CTS), Entry.of(CUCB)]
    with Store(store, reading=True) as found:
        # The killed process changed `Arena` in memory, which is not part of the code of a piece.
        assert len(Arena([PROBLEM], entries).missing(found)) == 4
    continued = run([PROBLEM], entries, folder=store)
    assert numbers(continued) == numbers(run([PROBLEM], entries))


def test_refused_problems_are_recorded_with_their_reason():
    standings = run([problem()], [Entry.of(CTS), Entry.of(Refusing)])
    assert "no indices today" in standings.refused["ads", "Refusing"]
    assert ("ads", "Refusing") not in standings.curves
    with pytest.raises(CannotPlay, match="Refusing cannot play ads: no indices today"):
        play(problem(), Entry.of(Refusing), 0)


def test_faults_are_reported_after_all_other_pieces(tmp_path):
    with pytest.raises(StudyFailed, match="index must be finite"):
        run([problem()], [Entry.of(Failing), Entry.of(CTS)], folder=tmp_path)
    arena = Arena([problem()], [Entry.of(Failing), Entry.of(CTS)])
    with Store(tmp_path, reading=True) as store:
        assert {piece.learner for piece in arena.missing(store)} == {"Failing"}
        assert set(arena.standings(store).curves) == {("ads", "CTS")}


def test_entries_play_their_kinds_only():
    standings = run([problem()], [Entry.of(CTS), Entry.of(CUCB, kinds=("matching",))])
    assert set(standings.curves) == {("ads", "CTS")}
    with pytest.raises(CannotPlay, match="kind top-k"):
        play(problem(), Entry.of(CUCB, kinds=("matching",)), 0)


def test_facts_reach_makers():
    seen = []

    def maker(oracle, support, facts, horizon):
        seen.append((support, facts, horizon))
        return CUCB(oracle, support=support)

    instance = {"batch": 5, "facts": {"dimension": 3}}
    play(problem(**instance), Entry.of(maker), 0)
    support, facts, horizon = seen[0]
    assert (support, horizon, facts.batch, facts.other["dimension"]) == ((0.0, 1.0), 60, 5, 3)
    assert Facts("path", 10, (0.0, 2.0), "min").best_outcome == 0.0


def needs_more(oracle, shares):
    return CUCB(oracle)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Entry.of(3), "maker must be a class of policies or a function of an oracle, got 3"),
        (lambda: Entry.of(needs_more), "needs_more must only require .* got the required arguments shares"),
        (lambda: Entry.of(lambda: 3), "must take the oracle as its first argument"),
        (lambda: Entry("", CUCB), "name of an entry must be a non-empty string, got ''"),
        (lambda: Entry("a", 3), "make of the entry a must be callable, got 3"),
        (lambda: problem(horizon=9), r"horizon of the problem ads must be .* got 9"),
        (lambda: problem(source=" "), "source of a problem must be a non-empty string"),
        (lambda: problem(make=3), "make of the problem ads must be callable, got 3"),
        (lambda: problem(make=lambda rng: 3).draw(), "must return an oracle and an environment, got 3"),
        (lambda: Arena([], [Entry.of(CTS)]), "problems must not be empty"),
        (lambda: Arena([problem()], [Entry.of(CTS), Entry.of(CTS)]), "entries must have different names"),
        (lambda: Arena([problem()], [CTS]), "entries must contain objects of the class Entry"),
        (lambda: run([problem()], [Entry.of(CTS)], level="slow"), "level must be"),
        (lambda: run([problem()], [Entry.of(CTS)], horizon=5), "horizon must be .* got 5"),
    ],
)
def test_errors_in_words(make, text):
    with pytest.raises((ValueError, TypeError), match=text):
        make()


def test_recorded_standings_return_with_their_scores(tmp_path):
    standings = run([problem(), problem("others")], [Entry.of(CTS), Entry.of(CUCB), Entry.of(Refusing)])
    write_recorded(standings, tmp_path / "a.json.gz")
    again = read_recorded(tmp_path / "a.json.gz")
    for one, other in zip(standings.scores(), again.scores(), strict=True):
        assert one.pop("entry") == other.pop("entry")
        assert one == pytest.approx(other, rel=1e-3, nan_ok=True)
    assert again.refused == standings.refused
    write_recorded(again, tmp_path / "b.json.gz")
    assert read_recorded(tmp_path / "b.json.gz").entries == standings.entries
    (tmp_path / "c.json.gz").write_bytes(b"other")
    with pytest.raises(ValueError, match="must be recorded standings"):
        read_recorded(tmp_path / "c.json.gz")


@pytest.mark.slow
def test_joined_standings_are_those_of_one_run(tmp_path):
    """Results of different runs are paired, because instances depend on their names only."""
    parts = [run([problem()], [entry]) for entry in (Entry.of(CTS), Entry.of(CUCB))]
    together, apart = run([problem()], [Entry.of(CTS), Entry.of(CUCB)]), joined(*parts)
    assert numbers(apart) == numbers(together)
    assert apart.entries == together.entries
    write_recorded(parts[0], tmp_path / "a.json.gz")
    mixed = joined(read_recorded(tmp_path / "a.json.gz"), parts[1])
    # Recorded curves have fewer checkpoints than new ones, and are recorded again with them.
    write_recorded(mixed, tmp_path / "b.json.gz")
    for found in (mixed, read_recorded(tmp_path / "b.json.gz"), apart):
        for entry, ratios in found.ratios("ads").items():
            assert ratios == pytest.approx(together.ratios("ads")[entry], rel=1e-3)
    fewer = joined(parts[0], run([problem()], [Entry.of(CUCB)], replications=2))
    assert {len(curves.regret) for curves in fewer.curves.values()} == {2}
    with pytest.raises(ValueError, match="same seed"):
        joined(parts[0], run([problem()], [Entry.of(CUCB)], rng=1))
    with pytest.raises(ValueError, match="same number of rounds"):
        joined(parts[0], run([problem()], [Entry.of(CUCB)], horizon=100))


def test_the_page_needs_no_other_file(tmp_path):
    hostile = problem("<script>alert(1)</script>")
    standings = run([hostile, problem("held", held_out=True)], [Entry.of(CTS), Entry.of(CUCB, "A & <b>")])
    text = standings.page(tmp_path / "arena.html").read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "A &amp; &lt;b&gt;" in text
    assert text.count("<svg") == 2
    assert "http" not in text
    assert Standings((), (), {}).scores() == []
