"""Exploration in compiled code: the same arms as the Python form and as plain scans, sample for sample."""

import networkx as nx
import numpy as np
import pytest

from cmab import (
    CLUCB,
    LUCB1,
    UCBE,
    BernsteinLUCB,
    BestKGLR,
    LilCLUCB,
    LilRandLUCB,
    LUCBPlusPlus,
    UGapEb,
    UGapEc,
    identify,
)
from cmab.exploration.base import RuledExplorer
from cmab.exploration.lucb import KLLUCB, LilLUCB, LilUCB
from cmab.exploration.ugape import GapE, UGapEcV
from cmab.run import identify as _exploring
from instances import BernoulliArms, GaussianArms, SemiBandit
from instances.reproduce.identification import LessSampled
from oracles import GraphicMatroid, PartitionMatroid, ShortestPath, TopK, UniformMatroid

ROADS = nx.DiGraph([(0, 1), (0, 2), (1, 3), (2, 3), (1, 2), (3, 4), (2, 4)])
RULES = {
    "lucb1": lambda n, k: LUCB1(n, k, delta=0.1, epsilon=0.05),
    "kl_lucb": lambda n, k: KLLUCB(n, k, delta=0.1, epsilon=0.05),
    "bernstein_lucb": lambda n, k: BernsteinLUCB(n, k, delta=0.1, epsilon=0.05),
    "lil_lucb": lambda n, k: LilLUCB(n, k, delta=0.1, mode="heuristic"),
    "lucb_plus_plus": lambda n, k: LUCBPlusPlus(n, k, delta=0.1, mode="heuristic"),
    "lil_rand_lucb": lambda n, k: LilRandLUCB(n, k, delta=0.1, mode="heuristic"),
    "less_sampled": lambda n, k: LessSampled(n, k, delta=0.1, mode="heuristic"),
    "lil_ucb": lambda n, k: LilUCB(n, delta=0.1, mode="heuristic"),
    "lil_ucb_faithful": lambda n, k: LilUCB(n, delta=0.1),
    "lil_clucb": lambda n, k: LilCLUCB(TopK(n, k), delta=0.1, mode="heuristic"),
    "lil_clucb_min": lambda n, k: LilCLUCB(UniformMatroid(n, k, sense="min"), delta=0.1, mode="heuristic"),
    "clucb": lambda n, k: CLUCB(UniformMatroid(n, k), delta=0.1, epsilon=0.05),
    "clucb_min": lambda n, k: CLUCB(TopK(n, k, sense="min"), delta=0.1),
    "ugape": lambda n, k: UGapEc(n, k, delta=0.1, epsilon=0.05),
    "ugape_v": lambda n, k: UGapEcV(n, k, delta=0.1, epsilon=0.05),
    "ugape_bandits": lambda n, k: UGapEc((3, n - 3), min(k, 2), delta=0.1, epsilon=0.05),
    "ugapeb": lambda n, k: UGapEb(n, k, budget=400, a=2.0),
    "ugapeb_bandits": lambda n, k: UGapEb((3, n - 3), min(k, 2), budget=400, a=2.0),
    "ucbe": lambda n, k: UCBE(n, budget=400, a=2.0 * k),
    "gape": lambda n, k: GapE((3, n - 3), budget=400, a=2.0 * k),
    "mixture": lambda n, k: BestKGLR(n, k, delta=0.1),
}
GRAPHS = {
    "partition": PartitionMatroid([0, 0, 1, 1, 1, 2, 2], 1),
    "tree": GraphicMatroid(nx.Graph(ROADS)),
    "path": ShortestPath(ROADS, 0, 4),
}


def everything(found):
    return found.samples.tolist(), [arms.tolist() for arms in found.arms], found.stopped.tolist()


def run(explorer, environment, replications=4, max_samples=3000, **options):
    return identify(
        explorer, environment, replications=replications, rng=7, max_samples=max_samples, **options
    )


@pytest.fixture
def in_python(monkeypatch):
    """Return `run` without compiled forms."""

    def closed(*args, **options):
        with monkeypatch.context() as patch:
            patch.setattr(_exploring, "compiled_exploration", lambda *_: None)
            found = run(*args, **options)
        assert found.path == "python"
        return found

    return closed


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("kind", ["gaussian", "bernoulli"])
def test_compiled_is_python(name, kind, in_python):
    # Bernoulli arms give many equal means, so the order of ties counts.
    means = np.array([0.9, 0.3, 0.35, 0.8, 0.3, 0.3, 0.2])
    arms = BernoulliArms(means) if kind == "bernoulli" else GaussianArms(means, sigma=0.5)
    if RULES[name](7, 1).support is not None and kind == "gaussian":
        pytest.skip("needs outcomes in [0, 1]")
    for k in (1, 2, 6):
        found = run(RULES[name](7, k), arms)
        assert found.path == "compiled"
        assert everything(found) == everything(in_python(RULES[name](7, k), arms))


@pytest.mark.slow
@pytest.mark.parametrize("rule", [LilCLUCB, CLUCB])
@pytest.mark.parametrize("family", GRAPHS)
def test_compiled_oracles_are_python_oracles(rule, family, in_python):
    oracle = GRAPHS[family]
    means = np.linspace(0.9, 0.1, oracle.n_arms)
    environment = SemiBandit(BernoulliArms(means), oracle)
    found = run(rule(oracle, delta=0.1), environment)
    assert found.path == "compiled"
    assert everything(found) == everything(in_python(rule(oracle, delta=0.1), environment))


def trees_and_scan(explorer, arms, monkeypatch, max_samples):
    """Return the runs of the loop over trees, and of the loop that looks at every arm."""
    by_trees = run(explorer, arms, 1, max_samples)
    forms = _exploring.compiled_exploration
    with monkeypatch.context() as patch:
        if isinstance(explorer, LilCLUCB):  # the general rule, with an oracle that is not known to be uniform
            patch.setattr(type(explorer.oracle), "_uniform_size", None)
        else:
            scan = lambda e, a: forms(e, a)._replace(rule=RuledExplorer.kernel(e))  # noqa: E731
            patch.setattr(_exploring, "compiled_exploration", scan)
        return by_trees, run(explorer, arms, 1, max_samples)


@pytest.mark.slow
def test_trees_sample_the_arms_that_a_scan_samples(monkeypatch):
    rng = np.random.default_rng(11)
    for _ in range(300):
        n = int(rng.integers(2, 41))
        k = int(rng.integers(1, n))
        # Few distinct means, so that arms keep changing sides and Bernoulli means tie.
        means = rng.choice([0.2, 0.5, 0.55, 0.8], n)
        arms = BernoulliArms(means) if rng.random() < 0.5 else GaussianArms(means, sigma=0.5)
        name = str(rng.choice(["lil_lucb", "lucb_plus_plus", "lil_rand_lucb", "lil_clucb", "lil_clucb_min"]))
        first, second = trees_and_scan(RULES[name](n, k), arms, monkeypatch, 2000)
        assert everything(first) == everything(second), (name, n, k)
