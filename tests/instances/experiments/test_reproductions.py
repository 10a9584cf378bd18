"""Reproductions of papers: verdicts from rows, the page and the figure; public classes are known by name."""

import inspect
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest

import cmab
import instances
import oracles
from cmab import Environment, Explorer, Oracle, Policy, Study, StudyFailed
from cmab.reports.report import write_report
from cmab.seeding import Purpose, stream
from cmab.studies import _registry
from instances.experiments import best_k as experiments_best_k
from instances.experiments._experiment import Experiment, reproduce
from instances.experiments._figures import draw_failure_bars, draw_failures, draw_samples
from instances.experiments.fixed_budget import FIXED_BUDGET


def rows(samples):
    """A table as measured: these samples for lil'RandLUCB, and so many times as many for the others."""
    for cell in experiments_best_k.cells(quick=True):
        for mode, explorers in experiments_best_k.rivals(cell["arms"], cell["k"]).items():
            for explorer in explorers:
                factor = {"lil'RandLUCB": 1, "lil'UCB": 10, "deterministic": 3}.get(explorer, 2)
                row = {**cell, "mode": mode, "explorer": explorer, "samples": factor * samples * cell["arms"]}
                yield row | {"s.e.": 1.0, "wrong or capped": 0}


def test_claims_follow_the_rows():
    table = list(rows(100.0))
    assert all(verdict is True for _, verdict in experiments_best_k.claims(table))
    for row in table:
        if row["explorer"] == "lil'RandLUCB":
            row["samples"] *= 4
    verdicts = dict(experiments_best_k.claims(table))
    fewer = [verdict for text, verdict in verdicts.items() if "takes fewer" in text]
    assert fewer == [False] * len(fewer)
    assert not any(verdict for text, verdict in verdicts.items() if "order of magnitude" in text)
    for row in table:
        row["s.e."], row["wrong or capped"] = 1e6, 1
        if row["explorer"] == "LUCB++":
            row["samples"] += 1
    verdicts = dict(experiments_best_k.claims(table))
    assert [verdicts[text] for text in verdicts if "takes fewer" in text] == [None] * len(fewer)
    assert not any(verdicts[text] for text in verdicts if "sample for sample" in text)
    assert not verdicts[f"no run ever failed ({len(table)} did)"]


def fake(calls, play):
    """An experiment of three cells that notes what is played."""

    def noting(cell, seed, replication):
        calls.append((cell["x"], replication))
        return play(cell, seed, replication)

    return Experiment(
        name="fake",
        title="Fake",
        replications={True: 4, False: 5},
        cells=lambda _: [{"x": x} for x in range(3)],
        play=noting,
        sum_up=lambda cell, told: [cell | {"y": sum(row["y"] for (row,) in told)}],
        claims=lambda _: [("claimed", True)],
        draw=lambda *_: None,
    )


def draws(cell, seed, replication):
    return [{"y": stream(seed, Purpose.LEARNER, replication).random()}]


@pytest.fixture
def registered(monkeypatch):
    """Have an experiment be the registered one."""
    command = SimpleNamespace(__module__=__name__)
    monkeypatch.setattr(_registry, "load", lambda *_: command)
    return lambda experiment: command.__dict__.update(experiment=experiment) or experiment


@pytest.mark.slow
def test_what_is_stored_is_not_played_again(tmp_path, registered):
    settings = {"quick": True, "rng": 5, "n_jobs": 1}
    whole, calls = list(reproduce(registered(fake([], draws)), **settings)), []
    assert [row["x"] for row in whole] == [0, 1, 2]
    stopped = reproduce(registered(fake(calls, draws)), **settings, out=tmp_path)
    assert [next(stopped), next(stopped)] == whole[:2]
    stopped.close()
    assert calls == [(x, replication) for x in (0, 1) for replication in range(4)]
    for _ in range(2):
        assert list(reproduce(registered(fake(calls, draws)), **settings, out=tmp_path)) == whole
    assert calls == [(x, replication) for x in (0, 1, 2) for replication in range(4)]
    assert "| claimed | ours | holds |" in (tmp_path / "claims.md").read_text()
    # Other seeds and sizes are other pieces of the same store.
    assert list(reproduce(registered(fake(calls, draws)), quick=True, rng=6, n_jobs=1, out=tmp_path)) != whole
    assert list(reproduce(registered(fake(calls, draws)), **settings, out=tmp_path)) == whole
    assert len(calls) == 24


@pytest.mark.slow
def test_a_replication_that_raises_is_named_and_tried_again(tmp_path, registered):
    def fails(cell, seed, replication):
        if (cell["x"], replication) == (1, 2):
            raise ArithmeticError("no luck")
        return draws(cell, seed, replication)

    rows = []
    with pytest.raises(StudyFailed, match="no luck"):
        rows.extend(reproduce(registered(fake([], fails)), quick=True, rng=0, n_jobs=1, out=tmp_path))
    assert [row["x"] for row in rows] == [0]  # later ones wait for the one that is missing
    calls = []
    list(reproduce(registered(fake(calls, draws)), quick=True, rng=0, n_jobs=1, out=tmp_path))
    assert calls == [(1, 2)]


@pytest.mark.slow
def test_an_experiment_is_a_study_with_a_report(tmp_path):
    """By its table alone, as from a file; two workers and one tell the same."""
    table = {"experiment": "fixed-budget", "quick": True, "cell": 0}
    study = Study({"replications": 3, "trials": {"five": table}})
    told = []
    for n_jobs in (1, 2):
        with study.at(tmp_path / str(n_jobs)) as folder:
            folder.run(n_jobs=n_jobs)
            told.append(folder.trials()["five"])
            assert folder.trial_table()[0]["replications"] == 3
    assert told[0] == told[1]
    assert FIXED_BUDGET.sum_up({"problem": 5}, told[0])[0]["replications"] == 3
    page = write_report(tmp_path / "1").read_text(encoding="utf-8")
    assert "SuccessiveRejects" in page
    assert "{'problem': 5}" in unescape(page)
    assert Study.open(tmp_path / "1").missing(tmp_path / "1") == []


@pytest.mark.parametrize(
    ("trials", "message"),
    [
        (
            {"x": {"experiment": "nothing", "cell": 0}},
            "trials.x: experiment must be one of the registered experiments",
        ),
        ({"x": {"experiment": "fixed-budget", "cell": 7}}, r"trials.x.cell must be an integer in \[0, 6\]"),
        (
            {"x": {"experiment": "fixed-budget", "cell": 0, "quick": 1}},
            "trials.x.quick must be true or false",
        ),
        (
            {"x": {"experiment": "fixed-budget", "cell": 0, "seed": 1}},
            "trials.x must have experiment and cell",
        ),
        ({}, "trials must be a non-empty table"),
    ],
)
def test_trials_that_cannot_be(trials, message):
    with pytest.raises(ValueError, match=message):
        Study({"trials": trials})
    with pytest.raises(ValueError, match="a study with trials must not have instances"):
        Study({"trials": trials, "instances": {}})


@pytest.mark.slow
def test_figures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    draw_samples(list(rows(100.0)), tmp_path)
    points = [{"low": 0.1, "rate": 0.2, "high": 0.4, "explorer": name} for name in "AB"]
    cells = [{"instance": "I", "k": k, "problem": k, "budget": 10 * k, "samples": 9 * k} for k in (1, 2)]
    table = [cell | point for cell in cells for point in points]
    draw_failures(table, tmp_path)
    assert (tmp_path / "failures.png").stat().st_size > 10_000
    (tmp_path / "failures.png").unlink()
    draw_failure_bars(table, tmp_path)
    for name in ("figure-1", "figure-2", "failures"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


@pytest.mark.slow
def test_a_cell_of_the_first_figure():
    """The order of the rules in the independent table of 100 arms, in which each gap exceeds five errors."""
    cell = {"figure": 1, "instance": "1-sparse", "arms": 100, "k": 2}
    told = [experiments_best_k.play(cell, np.random.SeedSequence(0), number) for number in range(50)]
    found = experiments_best_k.sum_up(cell, told)
    samples = {r["explorer"]: r["samples"] for r in found if r["mode"] == "faithful"}
    order = ["mixture", "lil'RandLUCB", "LUCB++", "lil'LUCB", "lil'CLUCB", "LUCB"]
    # The rule that tosses no coin is ours, and not in that table.
    assert sorted(samples.keys() - {"deterministic"}, key=samples.get) == order
    assert sum(row["wrong or capped"] for row in found) == 0


@pytest.mark.parametrize(
    ("group", "module", "base"),
    [
        ("oracles", oracles, Oracle),
        ("instances", instances, Environment),
        ("policies", cmab, Policy),
        ("explorers", cmab, Explorer),
    ],
)
def test_every_public_class_is_known_by_its_name(group, module, base):
    known = _registry.entries(group)
    for name in module.__all__:
        thing = getattr(module, name)
        if not (inspect.isclass(thing) and issubclass(thing, base)) or inspect.isabstract(thing):
            continue
        if group == "policies" and issubclass(thing, Explorer):
            continue
        assert known[name].load() is thing, name
