"""Aggregate regret: failure probability against the budget, as in the figures of AdaptiveTopK's paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from cmab import CLUCB
from cmab.arrays import FloatArray, IntArray
from cmab.exploration.aggregate import AdaptiveTopKBudget, OptMAI
from cmab.goals import best_k
from cmab.running._compiled_exploration import explore_compiled
from cmab.seeding import Purpose, Seed, root, stream
from instances.arms.arms import BernoulliArms
from instances.best_k import synthetic, two_groups
from instances.experiments._experiment import Experiment, Verdicts
from instances.experiments._explorations import Row, compare, in_parallel, rate_row
from instances.experiments._figures import draw_failures
from instances.experiments.fixed_budget import is_lower
from oracles import TopK

N_ARMS, EPSILON, DELTA = 1000, 0.01, 0.01
_POWERS = {"UNIFORM": 1.0, "SYNTHETIC-.5": 0.5, "SYNTHETIC-6": 6.0}


def cells(quick: bool) -> list[Row]:
    """Return the data sets, each with its numbers of arms to find.

    Examples
    --------
    >>> from instances.experiments.aggregate import cells
    >>> cells(quick=True)
    [{'instance': 'TWOGROUP', 'k': 100}, {'instance': 'UNIFORM', 'k': 100}]
    """
    names = ["TWOGROUP", "UNIFORM"] if quick else ["TWOGROUP", *_POWERS]
    return [{"instance": name, "k": k} for name in names for k in ((100,) if quick else (100, 250, 500))]


def measure(cell: Row, quick: bool, seed: Seed, n_jobs: int) -> list[Row]:
    """Return one row for each budget and explorer, at a thousand arms and epsilon = 0.01.

    AdaptiveTopK runs twice: with its literal constants, by which it is uniform allocation up to 49,000
    pulls, and with the pulls of each round scaled by 0.02, by which it adapts and is not proven.
    """
    k, replications = cell["k"], 50 if quick else 200
    budgets = (20_000, 30_000, 50_000) if quick else tuple(range(10_000, 90_000, 10_000))
    means, judge = _means(cell["instance"], k), partial(_loses_more, k=k)
    rows = []
    for budget, own_seed in zip(budgets, root(seed).spawn(len(budgets)), strict=True):
        explorers = {
            "AdaptiveTopK": AdaptiveTopKBudget(N_ARMS, k, budget=budget),
            "AdaptiveTopK scaled": AdaptiveTopKBudget(N_ARMS, k, budget=budget, pulls_factor=0.02),
            "OptMAI": OptMAI(N_ARMS, k, budget=budget),
        }
        table = compare(explorers, means, judge, replications, own_seed, n_jobs)
        rows += [{"budget": budget, **row} for row in table]
    return rows + _clucb_pac(means, k, budgets, replications, seed, n_jobs)


def _clucb_pac(
    means: FloatArray, k: int, budgets: Sequence[int], replications: int, seed: Seed, n_jobs: int
) -> list[Row]:
    """Return the failures of CLUCB-PAC's best guess at each budget: one run passes through all of them."""
    base = root(seed)

    def one(replication: int) -> list[tuple[bool, int]]:
        coins = stream(base, Purpose.ENVIRONMENT, replication)
        shuffled = coins.permutation(means)
        explorer, arms = CLUCB(TopK(N_ARMS, k), delta=DELTA, epsilon=k * EPSILON), BernoulliArms(shuffled)
        state, rng = explorer.initial_state(), stream(base, Purpose.LEARNER, replication)
        found = []
        for budget in budgets:
            samples = explore_compiled(explorer, arms, state, rng, coins, budget)
            assert samples is not None
            found.append((_loses_more(shuffled, explorer.recommend(state), k), samples))
        return found

    runs = np.array(in_parallel(one, replications, n_jobs), np.float64)
    return [{"budget": budget, **rate_row("CLUCB-PAC", runs[:, i])} for i, budget in enumerate(budgets)]


def claims(rows: list[Row]) -> Verdicts:
    """Return, cell by cell, whether AdaptiveTopK fails less than its rivals; None where intervals overlap."""
    verdicts: Verdicts = []
    for cell in dict.fromkeys((row["instance"], row["k"], row["budget"]) for row in rows):
        table = {r["explorer"]: r for r in rows if (r["instance"], r["k"], r["budget"]) == cell}
        for name in ("AdaptiveTopK", "AdaptiveTopK scaled"):
            for rival in ("OptMAI", "CLUCB-PAC"):
                text = f"{cell[0]}, k={cell[1]}, {cell[2]} pulls: {name} fails less often than {rival}"
                verdicts.append((text, is_lower(table[name], table[rival])))
    return verdicts


def _means(name: str, k: int) -> FloatArray:
    if name == "TWOGROUP":
        return two_groups(N_ARMS, k)
    return synthetic(N_ARMS, k, _POWERS[name])


def _loses_more(means: FloatArray, named: IntArray, k: int) -> bool:
    return bool(means[best_k(means, k)].mean() - means[named].mean() > EPSILON)


AGGREGATE_REGRET = Experiment(
    "aggregate-regret", "Aggregate regret: AdaptiveTopK and its rivals", cells, measure, claims, draw_failures
)
