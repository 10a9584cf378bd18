"""Error rates at 10 % over 1,000 runs.

A sound explorer reaches 149 errors of 1,000 with probability below 1e-6. An error test alone is nearly
blind: with half the radius most rules still err less than they may. `test_lucb_family` compares their samples
with those of an independent implementation.
"""

import networkx as nx
import numpy as np
import pytest

from cmab import (
    CLUCB,
    LUCB1,
    AdaptiveTopK,
    BernsteinLUCB,
    BestKGLR,
    LilCLUCB,
    LilRandLUCB,
    LUCBPlusPlus,
    UGapEc,
    identify,
)
from cmab.exploration.lucb import KLLUCB, LilLUCB, LilUCB
from cmab.exploration.phases import Halving
from cmab.exploration.ugape import UGapEcV
from instances import BernoulliArms, GaussianArms
from oracles import GraphicMatroid, PartitionMatroid, TopK

RUNS, TOO_MANY = 1000, 149
RULES = {
    "lucb1": lambda n, k: LUCB1(n, k, delta=0.1),
    "lucb1_pac": lambda n, k: LUCB1(n, k, delta=0.1, epsilon=0.05),
    "lil_lucb": lambda n, k: LilLUCB(n, k, delta=0.1),
    "lil_lucb_heuristic": lambda n, k: LilLUCB(n, k, delta=0.1, mode="heuristic"),
    "lucb_plus_plus": lambda n, k: LUCBPlusPlus(n, k, delta=0.1),
    "lil_rand_lucb": lambda n, k: LilRandLUCB(n, k, delta=0.1),
    "lil_rand_lucb_heuristic": lambda n, k: LilRandLUCB(n, k, delta=0.1, mode="heuristic"),
    "lil_clucb": lambda n, k: LilCLUCB(TopK(n, k), delta=0.1),
    "clucb": lambda n, k: CLUCB(TopK(n, k), delta=0.1),
    "clucb_pac": lambda n, k: CLUCB(TopK(n, k), delta=0.1, epsilon=0.05),
    "ugape": lambda n, k: UGapEc(n, k, delta=0.1),
    "mixture": lambda n, k: BestKGLR(n, k, delta=0.1),
    "lil_ucb": lambda n, k: LilUCB(n, delta=0.1),
    "kl_lucb": lambda n, k: KLLUCB(n, k, delta=0.1),
    "ugape_v": lambda n, k: UGapEcV(n, k, delta=0.1),
    "bernstein_lucb": lambda n, k: BernsteinLUCB(n, k, delta=0.1),
    "halving": lambda n, k: Halving(n, k, epsilon=0.2, delta=0.1),
    "adaptive_top_k": lambda n, k: AdaptiveTopK(n, k, epsilon=0.2, delta=0.1),
}
BOUNDED = ("kl_lucb", "ugape_v", "bernstein_lucb", "halving", "adaptive_top_k")
EASY, HARD = np.array([0.9, 0.8, 0.3, 0.2, 0.1]), np.array([0.55, 0.45])


@pytest.mark.slow
@pytest.mark.parametrize("difficulty", ["easy", "hard"])
@pytest.mark.parametrize("name", RULES)
def test_errors_over_many_runs(name, difficulty):
    means = EASY if difficulty == "easy" else HARD
    k = 1 if difficulty == "hard" or name == "lil_ucb" else 2
    explorer = RULES[name](len(means), k)
    arms = BernoulliArms(means) if name in BOUNDED else GaussianArms(means, sigma=0.5)
    found = identify(explorer, arms, replications=RUNS, rng=1, max_samples=1_000_000)
    assert found.stopped.all()
    assert (found.certified == explorer.is_proven).all()
    assert (~found.correct).sum() < TOO_MANY


@pytest.mark.slow
@pytest.mark.parametrize("means", [[0.9, 0.3, 0.2, 0.8, 0.1], [0.6, 0.4, 0.7, 0.5, 0.5]])
def test_errors_of_several_bandits(means):
    explorer = UGapEc((2, 3), 1, delta=0.1)
    found = identify(explorer, BernoulliArms(means), replications=RUNS, rng=1, max_samples=1_000_000)
    assert found.certified.all()
    assert (~found.correct).sum() < TOO_MANY


@pytest.mark.slow
@pytest.mark.parametrize("rule", [LilCLUCB, CLUCB])
@pytest.mark.parametrize(
    "oracle",
    [
        PartitionMatroid([0, 0, 1, 1, 1], 1),
        GraphicMatroid(nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 1)])),
    ],
    ids=["partition", "tree"],
)
def test_errors_of_combinatorial_exploration(rule, oracle):
    arms = GaussianArms([1.6, 0.8, 1.2, 0.4, 0.0], sigma=0.5)
    found = identify(rule(oracle, delta=0.1), arms, replications=RUNS, rng=1, max_samples=1_000_000)
    assert found.certified.all()
    assert (~found.correct).sum() < TOO_MANY
