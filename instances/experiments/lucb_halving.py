"""LUCB1 against Halving with decreasing tolerance: on the instances of the lower bound, and on easy ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cmab import LUCB1, LUCB1Halving
from cmab.arrays import FloatArray
from cmab.exploration.halving import Halving
from cmab.running.identification import Run, explore
from cmab.theory.hardness import best_k_gaps, hardness
from cmab.theory.lower_bounds import worst_case_samples
from instances.arms import BernoulliArms
from instances.best_k import lucb_lower_bound, two_groups
from instances.experiments._experiment import Experiment
from instances.experiments._figures import draw_tolerances
from instances.experiments._rows import Row, Verdicts, columns, failed, mean_and_error

# Theorem 8 requires m >= 6 and n >= 2m.
K, DELTA = 6, 0.1
_HARD = ("arm 0 good", "arm 0 bad")


def cells(quick: bool) -> list[Row]:
    """Return the instances: both kinds of the lower bound, and two groups with means 0.7 and 0.3.

    Examples
    --------
    >>> from instances.experiments.lucb_halving import cells
    >>> cells(quick=True)[0]
    {'instance': 'arm 0 good', 'arms': 12, 'epsilon': 0.16}
    """
    sizes, tolerances = ((12, 40), (0.16, 0.08, 0.04)) if quick else ((12, 40, 120), (0.16, 0.08, 0.04, 0.02))
    return [
        {"instance": name, "arms": n_arms, "epsilon": epsilon}
        for name in (*_HARD, "two groups")
        for n_arms in sizes
        for epsilon in tolerances
    ]


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return for each rule its samples and whether it erred, with k = 6 and delta = 0.1."""
    n_arms, epsilon = cell["arms"], cell["epsilon"]
    shuffle, *seeds = seed.spawn(4)
    arms = BernoulliArms(np.random.default_rng(shuffle).permutation(_means(**cell)))

    def run(explorer: LUCB1 | Halving, own: int, cap: int | None = None) -> Run:
        return explore(explorer, arms, seeds[own], cap, replication)

    hybrid = LUCB1Halving(n_arms, K, epsilon=epsilon, delta=DELTA)
    # The two parts of the hybrid rule run one after the other, in compiled code.
    both = run(hybrid.first, 0, n_arms + 2 * (hybrid.most_rounds - 1))
    samples, restarts = both.samples, int(not both.stopped)
    if restarts:
        both = run(hybrid.second, 1)
        samples += both.samples
    lucb, halving = (
        run(LUCB1(n_arms, K, delta=DELTA, epsilon=epsilon), 0),
        run(Halving(n_arms, K, epsilon=epsilon, delta=DELTA), 2),
    )
    return [
        _told("LUCB1", lucb.samples, lucb),
        _told("Halving", halving.samples, halving),
        _told("LUCB1, then Halving", samples, both) | {"restarts": restarts},
    ]


def _told(rule: str, samples: int, last: Run) -> Row:
    return {"explorer": rule, "samples": samples, "wrong": not last.correct, "restarts": 0}


def sum_up(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
    """Return one row for each rule: the mean and the largest number of samples, and the failures."""
    rows = []
    for first, samples, runs in columns(told, "samples"):
        measured = {"explorer": first["explorer"]} | mean_and_error(samples, "samples")
        measured |= {"most": int(samples.max())} | failed(runs, "failures")
        rows.append(cell | measured | {"restarts": sum(run["restarts"] for run in runs)})
    return rows


def claims(rows: list[Row]) -> Verdicts:
    """Return the claims about each instance in sections 3 and 4 of the paper of LUCB."""
    verdicts: Verdicts = []
    for name, n_arms in dict.fromkeys((row["instance"], row["arms"]) for row in rows):
        own = [row for row in rows if (row["instance"], row["arms"]) == (name, n_arms)]
        table = {rule: [r for r in own if r["explorer"] == rule] for rule in {r["explorer"] for r in own}}
        lucb, halving, both = (table[rule] for rule in ("LUCB1", "Halving", "LUCB1, then Halving"))
        found = {
            "no rule errs more often than delta": all(row["low"] <= DELTA for row in own),
            "Halving's samples grow like 1 / epsilon^2": _grows(halving, [1.0] * len(halving)),
            "restarting costs at most twice Halving in the worst case": _is_bounded(both),
            "restarting costs on average at most 1.5 times LUCB1": _is_close(both, lucb),
        }
        if name in _HARD:
            found["LUCB1's samples grow like H ln(H / delta)"] = _grows(lucb, _logs(lucb))
            found["no rule takes fewer than Theorem 8 allows"] = _is_enough(own)
        else:
            steady = lucb[-1]["samples"] <= 3 * lucb[0]["samples"]
            found["LUCB1's samples hardly depend on epsilon (factor 3)"] = steady
        verdicts += [(f"{name}, {n_arms} arms: {text}", verdict) for text, verdict in found.items()]
    return verdicts


def _grows(rows: list[Row], logs: list[float]) -> bool:
    """Return whether samples divided by ``logs / epsilon^2`` stay within 25 % of their mean."""
    scaled = np.array([row["samples"] * row["epsilon"] ** 2 for row in rows]) / logs
    return bool(np.abs(scaled / scaled.mean() - 1.0).max() <= 0.25)


def _logs(rows: list[Row]) -> list[float]:
    """Return ``ln(H / delta)`` for each tolerance."""
    means = [_means(row["instance"], row["arms"], row["epsilon"]) for row in rows]
    pairs = zip(means, rows, strict=True)
    return [math.log(hardness(best_k_gaps(m, K), row["epsilon"] / 2.0) / DELTA) for m, row in pairs]


def _is_enough(rows: list[Row]) -> bool:
    """Return whether each mean is at least the lower bound for the worst instance."""
    return all(
        row["samples"] >= worst_case_samples(row["arms"], K, epsilon=row["epsilon"], delta=DELTA)
        for row in rows
    )


def _is_bounded(rows: list[Row]) -> bool:
    rules = [LUCB1Halving(row["arms"], K, epsilon=row["epsilon"], delta=DELTA) for row in rows]
    return all(row["most"] <= rule.most_samples for row, rule in zip(rows, rules, strict=True))


def _is_close(rows: list[Row], lucb: list[Row]) -> bool:
    return all(row["samples"] <= 1.5 * other["samples"] for row, other in zip(rows, lucb, strict=True))


def _means(instance: str, arms: int, epsilon: float) -> FloatArray:
    if instance == "two groups":
        return two_groups(arms, K)
    # I_(m-1) and I_m of section 4.1. With m - 1 good arms, arm 0 is the m-th best; with m good arms it is
    # not.
    return lucb_lower_bound(arms, np.arange(1, K if instance == "arm 0 good" else K + 1), epsilon=epsilon)


LUCB_HALVING = Experiment(
    name="lucb-halving",
    title="LUCB1 against Halving and the lower bound",
    about="LUCB1, Halving, and LUCB1 followed by Halving on the instances of LUCB's lower bound, with"
    " decreasing tolerance.",
    sizes="12 and 40 arms, three tolerances, 20 runs instead of up to 120 arms, four tolerances, 50 runs",
    minutes={True: 1, False: 4},
    replications={True: 20, False: 50},
    cells=cells,
    play=play,
    sum_up=sum_up,
    claims=claims,
    draw=draw_tolerances,
    sources={
        "no rule errs": "Theorem 1",
        "Halving's samples": "Kalyanakrishnan and Stone (2010)",
        "restarting": "section 4",
        "H ln(H / delta)": "Theorem 6",
        "Theorem 8": "Theorem 8",
    },
)
