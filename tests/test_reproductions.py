"""Reproductions of papers: verdicts from rows, the page and the figure; public classes are known by name."""

import inspect

import numpy as np
import pytest

import cmab
import instances
import oracles
from cmab import Environment, Explorer, Oracle, Policy
from cmab.studies import _registry
from instances.experiments import best_k as experiments_best_k
from instances.experiments._experiment import Experiment, reproduce
from instances.experiments._figures import draw_failure_bars, draw_failures, draw_samples


def rows(samples):
    """A table as measured: these samples for lil'RandLUCB, ten times as many for lil'UCB, else twice."""
    for cell in experiments_best_k.cells(quick=True):
        for mode, explorers in experiments_best_k.rivals(cell["arms"], cell["k"]).items():
            for explorer in explorers:
                factor = {"lil'RandLUCB": 1, "lil'UCB": 10}.get(explorer, 2)
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


def fake(calls, measure):
    """An experiment of three cells that notes which of them are measured."""

    def noting(cell, quick, seed, n_jobs):
        calls.append(cell["x"])
        return measure(cell, seed)

    cells = [{"x": x} for x in range(3)]
    claims = [("claimed", True)]
    return Experiment("fake", "Fake", lambda _: cells, noting, lambda _: claims, lambda *_: None)


def draws(cell, seed):
    return [{"y": float(np.random.default_rng(seed).random())}]


def test_what_is_stored_is_not_measured_again(tmp_path):
    whole, calls = list(reproduce(fake([], draws), True, 5, 1)), []
    stopped = reproduce(fake(calls, draws), True, 5, 1, tmp_path)
    assert [next(stopped), next(stopped)] == whole[:2]
    with (tmp_path / "rows.jsonl").open("a") as file:
        file.write('{"cell": {"x": 2}, "ro')  # as the end of the process tears it
    assert list(reproduce(fake(calls, draws), True, 5, 1, tmp_path)) == whole
    assert list(reproduce(fake(calls, draws), True, 5, 1, tmp_path)) == whole
    assert calls == [0, 1, 2]
    assert "| claimed | holds |" in (tmp_path / "claims.md").read_text()
    for quick, seed in ((False, 5), (True, 6)):
        with pytest.raises(ValueError, match="out must be empty or hold the same run"):
            list(reproduce(fake(calls, draws), quick, seed, 1, tmp_path))


def test_figures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    draw_samples(list(rows(100.0)), tmp_path)
    points = [{"low": 0.1, "rate": 0.2, "high": 0.4, "explorer": name} for name in "AB"]
    cells = [{"instance": "I", "k": k, "problem": k, "budget": 10 * k} for k in (1, 2)]
    table = [cell | point for cell in cells for point in points]
    draw_failures(table, tmp_path)
    assert (tmp_path / "failures.png").stat().st_size > 10_000
    (tmp_path / "failures.png").unlink()
    draw_failure_bars(table, tmp_path)
    for name in ("figure-1", "figure-2", "failures"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_a_cell_of_the_first_figure():
    """The order of the rules in the independent table of 100 arms, in which each gap exceeds five errors."""
    cell = {"figure": 1, "instance": "1-sparse", "arms": 100, "k": 2}
    found = experiments_best_k.measure(cell, True, 0, 1)
    samples = {r["explorer"]: r["samples"] for r in found if r["mode"] == "faithful"}
    order = ["mixture", "lil'RandLUCB", "LUCB++", "lil'LUCB", "lil'CLUCB", "LUCB"]
    assert sorted(samples, key=samples.get) == order
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
