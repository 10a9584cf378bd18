"""Reproductions of papers: verdicts from rows, the page and the figure; entry points name every class."""

import inspect

import pytest

import cmab
import instances
import oracles
from cmab import Environment, Explorer, Oracle, Policy, _registry
from instances import experiments_best_k, reproductions


def rows(samples):
    """A table as `run` yields it, with these samples for lil'RandLUCB and twice as many for all others."""
    for n_arms, mode in ((10, "faithful"), (30, "faithful"), (10, "heuristic"), (30, "heuristic")):
        for name in ("1-sparse", "0.3-exponential"):
            for explorer in experiments_best_k.rivals(10, 2)["faithful"]:
                mean = samples if explorer == "lil'RandLUCB" else 2 * samples
                cell = {"instance": name, "arms": n_arms, "k": 2, "mode": mode, "explorer": explorer}
                yield {**cell, "samples": mean * n_arms, "s.e.": 1.0, "wrong or capped": 0}


def test_claims_follow_the_rows():
    table = list(rows(100.0))
    assert all(verdict is True for _, verdict in experiments_best_k.claims(table))
    for row in table:
        if row["explorer"] == "lil'RandLUCB":
            row["samples"] *= 4
    verdicts = [verdict for _, verdict in experiments_best_k.claims(table)]
    assert verdicts == [False] * (len(verdicts) - 1) + [True]
    for row in table:
        row["s.e."], row["wrong or capped"] = 1e6, 1
    verdicts = [verdict for _, verdict in experiments_best_k.claims(table)]
    assert verdicts == [None] * (len(verdicts) - 1) + [False]


def test_the_page_and_the_figure_are_written(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(experiments_best_k, "run", lambda *_: rows(100.0))
    assert len(list(reproductions.lil_rand_lucb(out=tmp_path))) == 40
    assert "| holds |" in (tmp_path / "claims.md").read_text()
    assert (tmp_path / "samples.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("group", "module", "base"),
    [
        ("oracles", oracles, Oracle),
        ("instances", instances, Environment),
        ("policies", cmab, Policy),
        ("explorers", cmab, Explorer),
    ],
)
def test_entry_points_name_every_class(group, module, base):
    registered = {entry.value for entry in _registry.entries(group).values()}
    for name in module.__all__:
        thing = getattr(module, name)
        if not (inspect.isclass(thing) and issubclass(thing, base)) or inspect.isabstract(thing):
            continue
        if group == "policies" and issubclass(thing, Explorer):
            continue
        assert f"{module.__name__}:{name}" in registered, name
