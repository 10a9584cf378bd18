"""Aggregate regret: failure probability against the budget, as in the paper of AdaptiveTopK."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from cmab import CLUCB
from cmab.arrays import FloatArray, IntArray
from cmab.exploration.aggregate import AdaptiveTopK, OptMAI
from cmab.goals import best_k
from cmab.running.compiled_exploration import explore_compiled
from cmab.seeding import Purpose, stream
from instances.arms import BernoulliArms
from instances.best_k import power_gap_means, two_groups
from instances.experiments._experiment import Experiment
from instances.experiments._figures import draw_failures
from instances.experiments._rows import Row, Verdicts, by_name, is_lower, is_positive, play_shuffled, rates
from oracles import TopK

N_ARMS, EPSILON, DELTA = 1000, 0.01, 0.01
_POWERS = {"UNIFORM": 1.0, "SYNTHETIC-.5": 0.5, "SYNTHETIC-6": 6.0}


def cells(quick: bool) -> list[Row]:
    """Return the data sets, each with the number k of arms to find and the budgets.

    Examples
    --------
    >>> from instances.experiments.aggregate import cells
    >>> cells(quick=True)[0]
    {'instance': 'TWOGROUP', 'k': 100, 'budgets': [20000, 30000, 50000]}
    """
    names = ["TWOGROUP", "UNIFORM"] if quick else ["TWOGROUP", *_POWERS]
    budgets = [20_000, 30_000, 50_000] if quick else [*range(10_000, 90_000, 10_000)]
    sizes = (100,) if quick else (100, 250, 500)
    return [{"instance": name, "k": k, "budgets": budgets} for name in names for k in sizes]


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return for each budget and explorer whether it fails, with 1,000 arms and epsilon = 0.01.

    AdaptiveTopK runs twice. With its literal constants it is uniform allocation up to 49,000 samples. With
    the samples of each round scaled by 0.02 it adapts, but has no proof.
    """
    k, budgets = cell["k"], cell["budgets"]
    means, judge = _means(cell["instance"], k), partial(_loses_more, k=k)
    rows = []
    for budget, own in zip(budgets, seed.spawn(len(budgets)), strict=True):
        explorers = {
            "AdaptiveTopK": AdaptiveTopK(N_ARMS, k, delta=0.01, budget=budget),
            # With the literal constant, the first round costs 49 samples of each arm. Smaller budgets give
            # uniform allocation.
            "AdaptiveTopK scaled": AdaptiveTopK(N_ARMS, k, delta=0.01, budget=budget, pulls_factor=0.02),
            "OptMAI": OptMAI(N_ARMS, k, budget=budget),
        }
        told = play_shuffled(explorers, means, is_wrong=judge, seed=own, replication=replication)
        rows += [{"budget": budget, **row} for row in told]
    return rows + clucb_pac(means, k, budgets=budgets, seed=seed, replication=replication)


def clucb_pac(
    means: FloatArray, k: int, *, budgets: Sequence[int], seed: np.random.SeedSequence, replication: int
) -> list[Row]:
    """Return whether CLUCB-PAC's best guess fails at each budget; one run passes through all budgets."""
    coins = stream(seed, Purpose.ENVIRONMENT, replication)
    shuffled = coins.permutation(means)
    # The tolerance of CLUCB-PAC is for the sum of means, that of the experiment for their average.
    explorer, arms = CLUCB(TopK(N_ARMS, k), delta=DELTA, epsilon=k * EPSILON), BernoulliArms(shuffled)
    state, rng = explorer.initial_state(), stream(seed, Purpose.LEARNER, replication)
    rows = []
    for budget in budgets:
        samples = explore_compiled(explorer, arms, state, rng, coins, budget)
        assert samples is not None
        wrong = _loses_more(shuffled, explorer.recommend(state), k)
        rows.append({"budget": budget, "explorer": "CLUCB-PAC", "wrong": wrong, "samples": samples})
    return rows


def sum_up(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
    """Return one row for each budget and explorer."""
    return rates({"instance": cell["instance"], "k": cell["k"]}, told)


def claims(rows: list[Row]) -> Verdicts:
    """Return for each cell whether AdaptiveTopK fails less than its rivals, None if intervals overlap."""
    verdicts: Verdicts = []
    for cell, table in by_name(rows, "instance", "k", "budget", name="explorer").items():
        for name in ("AdaptiveTopK", "AdaptiveTopK scaled"):
            for rival in ("OptMAI", "CLUCB-PAC"):
                text = f"{cell[0]}, k={cell[1]}, {cell[2]} pulls: {name} fails less often than {rival}"
                verdicts.append((text, is_lower(table[name], table[rival])))
    for k in dict.fromkeys(row["k"] for row in rows):
        for name in ("AdaptiveTopK", "AdaptiveTopK scaled"):
            for rival in ("OptMAI", "CLUCB-PAC"):
                plain = _lead(rows, ("UNIFORM", k), name, rival)
                for power in ("SYNTHETIC-.5", "SYNTHETIC-6"):
                    lead = _lead(rows, (power, k), name, rival)
                    if lead and plain:
                        text = f"{power}, k={k}: {name} leads {rival} by more than on UNIFORM"
                        margin = 2.0 * float(np.hypot(lead[1], plain[1]))
                        verdicts.append((text, is_positive(lead[0] - plain[0], margin)))
    return verdicts


def _lead(rows: list[Row], cell: tuple[str, int], name: str, rival: str) -> tuple[float, float] | None:
    """Return the mean difference of failure rates over the budgets, rival minus `name`, and its error."""
    rates = {
        each: {r["budget"]: r for r in rows if (r["instance"], r["k"], r["explorer"]) == (*cell, each)}
        for each in (name, rival)
    }
    gaps = [rates[rival][budget]["rate"] - rates[name][budget]["rate"] for budget in rates[name]]
    own = [row for each in rates.values() for row in each.values()]
    variance = sum(row["rate"] * (1.0 - row["rate"]) / row["replications"] for row in own)
    return (float(np.mean(gaps)), float(np.sqrt(variance)) / len(gaps)) if gaps else None


def _means(name: str, k: int) -> FloatArray:
    if name == "TWOGROUP":
        return two_groups(N_ARMS, k)
    return power_gap_means(N_ARMS, k, exponent=_POWERS[name])


def _loses_more(means: FloatArray, named: IntArray, k: int) -> bool:
    return bool(means[best_k(means, k)].mean() - means[named].mean() > EPSILON)


AGGREGATE_REGRET = Experiment(
    name="aggregate-regret",
    title="Aggregate regret: AdaptiveTopK and its rivals",
    about="Figures 1 to 4 of the paper of AdaptiveTopK: failures against the budget, for 1,000 arms.",
    sizes="Two data sets, one k and 50 runs instead of four, three and 200",
    minutes={True: 1, False: 20},
    replications={True: 50, False: 200},
    cells=cells,
    play=play,
    sum_up=sum_up,
    claims=claims,
    draw=draw_failures,
    # The paper uses the literal constants and makes no claims on the scaled version.
    sources={
        "AdaptiveTopK fails less often": "section 3, Figures 1 to 4",
        ": AdaptiveTopK leads": "section 3, p far below and above 1",
    },
)
