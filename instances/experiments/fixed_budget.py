"""Best arm with a fixed budget: UGapEb and others on the seven problems of Audibert et al. (2010)."""

from __future__ import annotations

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.exploration.continuous_rejects import ContinuousRejects
from cmab.exploration.gap_based import UCBE
from cmab.exploration.halving import UniformAllocation
from cmab.exploration.rejects import SuccessiveRejects
from cmab.exploration.ugape import UGapEb
from cmab.explorer import AnyExplorer
from cmab.theory.hardness import best_k_gaps, hardness, ugape_hardness
from instances.best_k import audibert_bubeck_munos
from instances.experiments._experiment import Experiment
from instances.experiments._figures import draw_failure_bars
from instances.experiments._rows import Row, Verdicts, is_lower, play_shuffled, rates


def rivals(means: FloatArray, budget: int) -> dict[str, AnyExplorer]:
    """Return the explorers for one problem; some of them receive the true complexity.

    The proof of UGapEb sets ``a = (n - N) / 16 H`` with ``H = sum of gap^-2``, which explores very little.
    The variants with ``c`` of UGapEb and UCB-E use ``a = c n / H``.
    """
    n_arms, gaps = len(means), best_k_gaps(means, 1)
    # Gabillon et al. (2012), Theorem 1: the a with the least bound, which depends on the true gaps.
    a = (budget - n_arms) / (4 * ugape_hardness(gaps))
    return {
        "UGapEb": UGapEb(n_arms, 1, budget=budget, a=a),
        "UGapEb c=1": UGapEb(n_arms, 1, budget=budget, a=budget / hardness(gaps)),
        "UGapEb adaptive": UGapEb(n_arms, 1, budget=budget),
        "UCB-E c=1": UCBE(n_arms, budget=budget, a=budget / hardness(gaps)),
        "UCB-E c=2": UCBE(n_arms, budget=budget, a=2 * budget / hardness(gaps)),
        "UCB-E adaptive": UCBE(n_arms, budget=budget),
        "CR-A": ContinuousRejects(n_arms, budget=budget),
        "CR-C": ContinuousRejects(n_arms, budget=budget, variant="C"),
        "SuccessiveRejects": SuccessiveRejects(n_arms, budget=budget),
        "uniform": UniformAllocation(n_arms, 1, budget=budget),
    }


def cells(quick: bool) -> list[Row]:
    """Return the problems, or one of them if `quick`.

    Examples
    --------
    >>> from instances.experiments.fixed_budget import cells
    >>> cells(quick=True)
    [{'problem': 5}]
    """
    return [{"problem": problem} for problem in ((5,) if quick else range(1, 8))]


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return for each explorer whether it missed the best arm."""
    means, budget = audibert_bubeck_munos(cell["problem"])
    explorers = rivals(means, budget)
    told = play_shuffled(explorers, means, is_wrong=_misses_best, seed=seed, replication=replication)
    return [{"budget": budget, **row} for row in told]


def claims(rows: list[Row]) -> Verdicts:
    """Return the claims and whether the table supports them, None if its intervals overlap."""
    verdicts: Verdicts = []
    for problem in sorted({row["problem"] for row in rows}):
        table = {row["explorer"]: row for row in rows if row["problem"] == problem}
        for name in ("UGapEb", "UGapEb c=1", "UCB-E c=1", "CR-A", "SuccessiveRejects"):
            verdict = is_lower(table[name], table["uniform"])
            verdicts.append((f"problem {problem}: {name} errs less than uniform allocation", verdict))
        verdict = is_lower(table["CR-A"], table["SuccessiveRejects"])
        verdicts.append((f"problem {problem}: CR-A errs less than SuccessiveRejects", verdict))
    return verdicts


def _misses_best(means: FloatArray, named: IntArray) -> bool:
    return bool(means[named[0]] < means.max())


FIXED_BUDGET = Experiment(
    name="fixed-budget",
    title="Best arm with a fixed budget",
    about="UGapEb, UCB-E, Continuous and Successive Rejects and uniform allocation on seven problems.",
    sizes="One problem and 400 runs instead of seven and 1,000",
    minutes={True: 0.3, False: 2},
    replications={True: 400, False: 1000},
    cells=cells,
    play=play,
    sum_up=rates,
    claims=claims,
    draw=draw_failure_bars,
    sources={
        "CR-A": "Wang et al. (2023), section 5",
        "SuccessiveRejects": "Audibert et al. (2010), section 5",
        "UCB-E c=1": "Audibert et al. (2010), section 5",
    },
)
