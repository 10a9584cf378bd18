"""Aggregate regret: failure probability against the budget, as in the figures of AdaptiveTopK's paper."""

from __future__ import annotations

from functools import partial

from cmab.arrays import FloatArray, IntArray
from cmab.exploration.aggregate import AdaptiveTopKBudget, OptMAI
from cmab.hardness import best_k
from cmab.seeding import Seed, root
from instances._explorations import Row, compare
from instances.best_k import synthetic, two_groups
from instances.experiments_fixed_budget import is_lower

EPSILON = 0.01


def run(quick: bool = True, rng: Seed = 0, n_jobs: int = 1) -> list[Row]:
    """Return one row for each data set, k, budget and explorer, at a thousand arms and epsilon = 0.01.

    AdaptiveTopK runs twice: with its literal constants, by which it is uniform allocation up to 49,000
    pulls, and with the pulls of each round scaled by 0.02, by which it adapts and is not proven.

    Examples
    --------
    >>> from instances.experiments_aggregate import run
    >>> rows = run(quick=True, rng=0)  # doctest: +SKIP
    """
    names = ["TWOGROUP", "UNIFORM"] if quick else ["TWOGROUP", "UNIFORM", "SYNTHETIC-.5", "SYNTHETIC-6"]
    sizes = (100,) if quick else (100, 250, 500)
    budgets = (20_000, 30_000, 50_000) if quick else tuple(range(10_000, 90_000, 10_000))
    cells = [(name, k, budget) for name in names for k in sizes for budget in budgets]
    rows = []
    for (name, k, budget), seed in zip(cells, root(rng).spawn(len(cells)), strict=True):
        explorers = {
            "AdaptiveTopK": AdaptiveTopKBudget(1000, k, budget),
            "AdaptiveTopK scaled": AdaptiveTopKBudget(1000, k, budget, scale=0.02),
            "OptMAI": OptMAI(1000, k, budget),
        }
        judge = partial(_loses_more, k=k)
        table = compare(explorers, _means(name, k), judge, 50 if quick else 200, seed, n_jobs)
        rows += [{"instance": name, "k": k, "budget": budget, **row} for row in table]
    return rows


def claims(rows: list[Row]) -> list[tuple[str, bool | None]]:
    """Return, cell by cell, whether AdaptiveTopK fails less than OptMAI; None where intervals overlap."""
    verdicts = []
    for cell in sorted({(row["instance"], row["k"], row["budget"]) for row in rows}):
        table = {r["explorer"]: r for r in rows if (r["instance"], r["k"], r["budget"]) == cell}
        for name in ("AdaptiveTopK", "AdaptiveTopK scaled"):
            text = f"{cell[0]}, k={cell[1]}, {cell[2]} pulls: {name} fails less often than OptMAI"
            verdicts.append((text, is_lower(table[name], table["OptMAI"])))
    return verdicts


def _means(name: str, k: int) -> FloatArray:
    if name == "TWOGROUP":
        return two_groups(1000, k)
    return synthetic(1000, k, {"UNIFORM": 1.0, "SYNTHETIC-.5": 0.5, "SYNTHETIC-6": 6.0}[name])


def _loses_more(means: FloatArray, named: IntArray, k: int) -> bool:
    return bool(means[best_k(means, k)].mean() - means[named].mean() > EPSILON)
