"""Published experiments on pure exploration: samples until a rule stops, and failures within a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from cmab import (
    CLUCB,
    LUCB1,
    BestKGLR,
    LilCLUCB,
    LilRandLUCB,
    LUCBPlusPlus,
    UGapEc,
    identify,
)
from cmab.arrays import FloatArray, IntArray
from cmab.bounds.samples import best_k_gaps, hardness, ugape_hardness
from cmab.bounds.times import best_k_time
from cmab.exploration.lucb import LilLUCB, LilUCB
from cmab.exploration.phases import AdaptiveTopK, Halving, OptMAI, UniformAllocation
from cmab.exploration.rejects import UCBE, SuccessiveRejects
from cmab.exploration.ugape import UGapEb
from cmab.explorer import AnyExplorer, best_k
from instances.arms import Arms, BernoulliArms, GaussianArms
from instances.reproduce.experiment import Experiment, Found, Row
from oracles import TopK

Rng = np.random.Generator

# Means from the papers; the best arms come first.


def two_groups(n: int, k: int, high: float = 0.7, low: float = 0.3) -> FloatArray:
    """Return `k` means of `high` and the other means of `low` (TWOGROUP; 1-sparse: 0.5 and 0)."""
    return np.where(np.arange(n) < k, high, low)


def power_gap_means(n: int, k: int, exponent: float) -> FloatArray:
    """Return means at polynomial distances from the border below the k best arms (SYNTHETIC-p)."""
    i, border = np.arange(1, n + 1), 1.0 - k / n
    # Jiang et al. (2017), section 5.1; Chen et al. (2017), section 3, whose formula is illegible in our copy.
    above = border + (k / n) * (1.0 - np.minimum(i, k) / k) ** exponent
    below = border - border * (np.maximum(i - k, 0) / (n - k)) ** exponent
    return np.where(i <= k, above, below)


def lil_exponential(n: int, exponent: float) -> FloatArray:
    """Return the means 1 and ``1 - ((i - 1) / n) ** exponent`` (Jiang et al. 2017, section 5.2)."""
    return 1.0 - (np.arange(n) / n) ** exponent


def lucb_lower_bound(n: int, good: IntArray, epsilon: float) -> FloatArray:
    """Return the means in the lower bound for (epsilon, m)-optimal arms (Kalyanakrishnan et al. 2012).

    The `good` arms have mean ``1/2 + 2 epsilon``, arm 0 has 1/2, and there are m or m - 1 good arms. The
    printed assignment is garbled. This one is reconstructed from the proof in section 4.1: in every instance,
    m arms are (epsilon, m)-optimal, as the text of the paper says.
    """
    means = np.full(n, 0.5 - 2 * epsilon)
    means[0] = 0.5
    means[good] = 0.5 + 2 * epsilon
    return means


# Audibert et al. (COLT 2010): means and budgets, taken from public code instead of the text of the paper.
FIXED_BUDGET: dict[int, tuple[list[float], int]] = {
    1: ([0.5] + 19 * [0.4], 2000),
    2: ([0.5] + 5 * [0.42] + 14 * [0.38], 2000),
    3: ([0.5] + [0.5 - 0.37**i for i in (2, 3, 4)], 2000),
    4: ([0.5, 0.42, 0.4, 0.4, 0.35, 0.35], 600),
    5: ([0.5] + [0.5 - 0.025 * i for i in range(2, 16)], 4000),
    6: ([0.5, 0.48] + 18 * [0.37], 6000),
    7: ([0.5] + 5 * [0.45] + 14 * [0.43] + 10 * [0.38], 6000),
}


def race(explorers: Mapping[str, AnyExplorer], arms: Arms, seed: int, cap: int | None = None) -> Found:
    """Return for each explorer its samples, and whether it erred or was stopped by the cap."""
    found: Found = {}
    for name, explorer in explorers.items():
        run = identify(explorer, arms, rng=seed, max_samples=cap)
        wrong = not (run.correct[0] and run.stopped[0])
        found[name] = {"samples": float(run.samples[0]), "wrong": wrong}
    return found


# lil'RandLUCB, section 5: Figure 1 has k = 2 and k = half of the arms, Figure 2 has k = 1. The cap is ours.
_LIL = ("1-sparse", "0.3-exponential", "0.3 lil-exponential", "0.6 lil-exponential")


def lil_cells(quick: bool) -> list[Row]:
    """Return the points of both figures."""
    sizes = (10, 30, 100) if quick else (10, 30, 100, 300, 1000)
    first = [(name, size) for name in _LIL[:2] for size in ("2", "half")]
    settings = [*first, *((name, "1") for name in (_LIL[0], *_LIL[2:]))]
    return [{"instance": name, "k": size, "arms": n} for name, size in settings for n in sizes]


@dataclass(frozen=True, eq=False)
class LessSampled(LilRandLUCB):
    """lil'RandLUCB without randomisation: it samples the critical arm with fewer samples, as UGapE does."""

    one_arm = 2


def lil_play(cell: Row, rng: Rng, seed: int) -> Found:
    """Run the proven and the heuristic rules on Gaussian arms of variance 1/4, with delta = 0.01."""
    n, name = cell["arms"], cell["instance"]
    k = n // 2 if cell["k"] == "half" else int(cell["k"])
    if name == "1-sparse":
        means = two_groups(n, k, high=0.5, low=0.0)
    elif name == "0.3-exponential":
        means = power_gap_means(n, k, exponent=0.3)
    else:
        means = lil_exponential(n, float(name.split()[0]))
    rules: dict[str, AnyExplorer] = {"LUCB": LUCB1(n, k, delta=0.01)}
    for mode, mark in (("faithful", ""), ("heuristic", ", heuristic")):
        settings: Any = {"delta": 0.01, "mode": mode}
        rules[f"lil'LUCB{mark}"] = LilLUCB(n, k, **settings)
        rules[f"LUCB++{mark}"] = LUCBPlusPlus(n, k, **settings)
        rules[f"lil'RandLUCB{mark}"] = LilRandLUCB(n, k, **settings)
        rules[f"lil'CLUCB{mark}"] = LilCLUCB(TopK(n, k), **settings)
        if k == 1:
            rules[f"lil'UCB{mark}"] = LilUCB(n, **settings)
        if k <= 2:
            rules[f"deterministic{mark}"] = LessSampled(n, k, **settings)
    if k <= 2:
        rules["BestKGLR"] = BestKGLR(n, k, delta=0.01)
    return race(rules, GaussianArms(means, 0.5), seed, 50_000_000)


# AdaptiveTopK, section 3: 1,000 arms and epsilon = 0.01.
_ARMS, _EPSILON = 1000, 0.01
_POWERS = {"UNIFORM": 1.0, "SYNTHETIC-.5": 0.5, "SYNTHETIC-6": 6.0}


def aggregate_cells(quick: bool) -> list[Row]:
    """Return the data sets with the number k of arms to find and the budgets."""
    names = ("TWOGROUP", "UNIFORM") if quick else ("TWOGROUP", *_POWERS)
    budgets = (20_000, 30_000, 50_000) if quick else range(10_000, 90_000, 10_000)
    sizes = (100,) if quick else (100, 250, 500)
    return [{"instance": name, "k": k, "budget": b} for name in names for k in sizes for b in budgets]


def aggregate_play(cell: Row, rng: Rng, seed: int) -> Found:
    """Return for each explorer whether its arms are worse than the best by more than epsilon on average."""
    k, budget, name = cell["k"], cell["budget"], cell["instance"]
    means = two_groups(_ARMS, k) if name == "TWOGROUP" else power_gap_means(_ARMS, k, exponent=_POWERS[name])
    means = rng.permutation(means)  # ties go to the lower index
    explorers: dict[str, AnyExplorer] = {
        # With the literal constant, the first round costs 49 samples of each arm, so smaller budgets give
        # uniform allocation. The scaled version has no proof.
        "AdaptiveTopK": AdaptiveTopK(_ARMS, k, delta=0.01, budget=budget),
        "AdaptiveTopK scaled": AdaptiveTopK(_ARMS, k, delta=0.01, budget=budget, pulls_factor=0.02),
        "OptMAI": OptMAI(_ARMS, k, budget=budget),
        # The tolerance of CLUCB-PAC is for the sum of the means.
        "CLUCB-PAC": CLUCB(TopK(_ARMS, k), delta=0.01, epsilon=k * _EPSILON),
    }
    found: Found = {}
    for rule, explorer in explorers.items():
        run = identify(explorer, BernoulliArms(means), rng=seed, max_samples=budget)
        lost = float(means[best_k(means, k)].mean() - means[run.arms[0]].mean())
        found[rule] = {"wrong": lost > _EPSILON, "samples": float(run.samples[0])}
    return found


# LUCB, Theorem 8 requires k >= 6 and at least 2 k arms.
_K, _DELTA = 6, 0.1


def lucb_cells(quick: bool) -> list[Row]:
    """Return the two kinds of instances of the lower bound, and two groups with means 0.7 and 0.3."""
    sizes, tolerances = ((12, 40), (0.16, 0.08, 0.04)) if quick else ((12, 40, 120), (0.16, 0.08, 0.04, 0.02))
    names = ("arm 0 good", "arm 0 bad", "two groups")
    return [{"instance": name, "arms": n, "epsilon": e} for name in names for n in sizes for e in tolerances]


def lucb_play(cell: Row, rng: Rng, seed: int) -> Found:
    """Return the samples and errors of LUCB1 and of Halving."""
    name, n, epsilon = cell["instance"], cell["arms"], cell["epsilon"]
    # With k - 1 other good arms, arm 0 is the k-th best; with k other good arms it is not.
    good = np.arange(1, _K if name == "arm 0 good" else _K + 1)
    means = two_groups(n, _K) if name == "two groups" else lucb_lower_bound(n, good, epsilon=epsilon)
    arms, settings = BernoulliArms(rng.permutation(means)), {"delta": _DELTA, "epsilon": epsilon}
    return race({"LUCB1": LUCB1(n, _K, **settings), "Halving": Halving(n, _K, **settings)}, arms, seed)


def budget_play(cell: Row, rng: Rng, seed: int) -> Found:
    """Return for each rule whether it misses the best arm of a problem of Audibert et al. (2010).

    The proof of UGapEb sets ``a = (n - N) / 4 H``, with a complexity that depends on the true gaps. The
    variants with ``c`` of UGapEb and UCB-E use ``a = c n / H`` with ``H = sum of gap^-2``.
    """
    given, budget = FIXED_BUDGET[cell["problem"]]
    means = np.array(given)
    n, gaps = len(means), best_k_gaps(means, 1)
    share = budget / hardness(gaps)
    rules: dict[str, AnyExplorer] = {
        "UGapEb": UGapEb(n, 1, budget=budget, a=(budget - n) / (4 * ugape_hardness(gaps))),
        "UGapEb c=1": UGapEb(n, 1, budget=budget, a=share),
        "UCB-E c=1": UCBE(n, budget=budget, a=share),
        "UCB-E c=2": UCBE(n, budget=budget, a=2 * share),
        "SuccessiveRejects": SuccessiveRejects(n, budget=budget),
        "uniform": UniformAllocation(n, 1, budget=budget),
    }
    return race(rules, BernoulliArms(rng.permutation(means)), seed)


# Twelve instances of the k best arms. Gaussian arms with standard deviation 1/2, delta = 0.1.
_SIGMA, _CAP = 0.5, 5_000_000
_BEST_K: dict[str, tuple[int, Callable[[], FloatArray]]] = {
    "1-sparse, 10 arms, k = 1": (1, lambda: two_groups(10, 1, high=0.5, low=0.0)),
    "1-sparse, 10 arms, k = 2": (2, lambda: two_groups(10, 2, high=0.5, low=0.0)),
    "1-sparse, 10 arms, k = 5": (5, lambda: two_groups(10, 5, high=0.5, low=0.0)),
    "1-sparse, 30 arms, k = 2": (2, lambda: two_groups(30, 2, high=0.5, low=0.0)),
    "0.3-exponential, 10 arms, k = 2": (2, lambda: power_gap_means(10, 2, exponent=0.3)),
    "0.3-exponential, 30 arms, k = 2": (2, lambda: power_gap_means(30, 2, exponent=0.3)),
    "0.3 lil-exponential, 10 arms": (1, lambda: lil_exponential(10, 0.3)),
    "0.6 lil-exponential, 10 arms": (1, lambda: lil_exponential(10, 0.6)),
    # Garivier and Kaufmann (2016), Table 1.
    "0.5 to 0.4": (1, lambda: np.array([0.5, 0.45, 0.43, 0.4])),
    "0.3 to 0.18": (1, lambda: np.array([0.3, 0.21, 0.2, 0.19, 0.18])),
    "Audibert et al., problem 1": (1, lambda: np.array(FIXED_BUDGET[1][0])),
    "Audibert et al., problem 4": (1, lambda: np.array(FIXED_BUDGET[4][0])),
}


@cache
def twelve_problem(name: str) -> tuple[FloatArray, float, dict[str, AnyExplorer]]:
    """Return the means of an instance, its characteristic time and the rules."""
    k, make = _BEST_K[name]
    means = make()
    n = len(means)
    time = best_k_time(means, k, divergence=lambda p, q: (p - q) ** 2 / (2.0 * _SIGMA**2))[1]
    rules: dict[str, AnyExplorer] = {
        "BestKGLR": BestKGLR(n, k, delta=0.1),
        "lil'RandLUCB": LilRandLUCB(n, k, delta=0.1),
        "LUCB++": LUCBPlusPlus(n, k, delta=0.1),
        "lil'LUCB": LilLUCB(n, k, delta=0.1),
        "UGapEc": UGapEc(n, k, delta=0.1, epsilon=0.0),
        "LUCB1": LUCB1(n, k, delta=0.1),
    }
    return means, time, rules


def twelve_play(cell: Row, rng: Rng, seed: int) -> Found:
    """Return the samples over ``T* ln(1 / delta)`` of each rule, and its errors."""
    means, time, rules = twelve_problem(cell["instance"])
    found = race(rules, GaussianArms(means, _SIGMA), seed, _CAP)
    return {
        name: {"ratio": own["samples"] / (time * math.log(10.0)), "wrong": own["wrong"]}
        for name, own in found.items()
    }


IDENTIFICATION = {
    "lil-rand-lucb": Experiment(
        "lil'RandLUCB (Jun et al.), Figures 1 and 2: samples against the number of arms",
        "samples",
        lil_cells,
        lil_play,
        (50, 100),
        (1, 20),
        [
            ("lil'RandLUCB", "LUCB"),
            ("lil'RandLUCB", "lil'LUCB"),
            ("lil'RandLUCB", "LUCB++"),
            ("lil'RandLUCB", "lil'CLUCB"),
            ("lil'RandLUCB, heuristic", "LUCB++, heuristic"),
            ("lil'RandLUCB", "lil'UCB"),
        ],
        x="arms",
    ),
    "aggregate-regret": Experiment(
        "AdaptiveTopK (Zhou et al.), Figures 1 to 4: failures with 1,000 arms within a budget",
        "wrong",
        aggregate_cells,
        aggregate_play,
        (50, 200),
        (2, 40),
        [("AdaptiveTopK", "OptMAI"), ("AdaptiveTopK", "CLUCB-PAC")],
        x="budget",
    ),
    "lucb-halving": Experiment(
        "LUCB1 and Halving on the instances of LUCB's lower bound (Kalyanakrishnan et al., 2012)",
        "samples",
        lucb_cells,
        lucb_play,
        (20, 50),
        (1, 4),
        [("LUCB1", "Halving")],
        x="epsilon",
    ),
    "fixed-budget": Experiment(
        "UGapEb and others within a budget, on the seven problems of Audibert et al. (2010)",
        "wrong",
        lambda quick: [{"problem": problem} for problem in ((5,) if quick else range(1, 8))],
        budget_play,
        (400, 1000),
        (0.3, 3),
        [
            ("UGapEb", "uniform"),
            ("UGapEb c=1", "uniform"),
            ("UCB-E c=1", "uniform"),
            ("SuccessiveRejects", "uniform"),
        ],
    ),
    "twelve-instances": Experiment(
        "samples of each rule over the asymptotic least T* ln(1 / delta): the k best arms",
        "ratio",
        lambda quick: [{"instance": name} for name in [*_BEST_K][:: 2 if quick else 1]],
        twelve_play,
        (10, 100),
        (0.5, 3),
        [
            ("BestKGLR", "lil'RandLUCB"),
            ("lil'RandLUCB", "lil'LUCB"),
            ("lil'LUCB", "LUCB1"),
        ],
    ),
}
