"""Identification with fixed confidence: sample counts, coincidences, errors, symmetries, bad input."""

import numpy as np
import pytest
from refusals import refused

from cmab import (
    CLUCB,
    LUCB1,
    BestKGLR,
    Feedback,
    LilCLUCB,
    LilRandLUCB,
    LUCBPlusPlus,
    UGapEc,
    identify,
)
from cmab.exploration.lucb import LilLUCB, LilUCB
from cmab.explorer import BestSuperArm
from instances import GaussianArms
from oracles import BruteForce, TopK, UniformMatroid

SPARSE = np.repeat([0.5, 0.0], [2, 8])  # 1-sparse, N = 10, K = 2, of the paper's section 5
MAKERS = {
    "lucb1": lambda n, k: LUCB1(n, k, delta=0.1),
    "lil_lucb": lambda n, k: LilLUCB(n, k, delta=0.1, mode="heuristic"),
    "lucb_plus_plus": lambda n, k: LUCBPlusPlus(n, k, delta=0.1, mode="heuristic"),
    "lil_rand_lucb": lambda n, k: LilRandLUCB(n, k, delta=0.1, mode="heuristic"),
    "lil_clucb": lambda n, k: LilCLUCB(TopK(n, k), delta=0.1, mode="heuristic"),
    "clucb": lambda n, k: CLUCB(TopK(n, k), delta=0.1),
    "ugape": lambda n, k: UGapEc(n, k, delta=0.1),
    "mixture": lambda n, k: BestKGLR(n, k, delta=0.1),
}
RELABELLED = ("lucb1", "lil_lucb", "lucb_plus_plus")  # the others break ties by index, or draw


@pytest.mark.parametrize(
    ("make", "low", "high"),
    [
        # An independent implementation's mean, +- 5 standard errors of 60 runs (sd about 100; 200 for LUCB1).
        (lambda: LilLUCB(10, 2, delta=0.01, mode="heuristic"), 521, 651),
        (lambda: LUCBPlusPlus(10, 2, delta=0.01, mode="heuristic"), 485, 615),
        (lambda: LilRandLUCB(10, 2, delta=0.01, mode="heuristic"), 477, 607),
        (lambda: LilCLUCB(TopK(10, 2), delta=0.01, mode="heuristic"), 563, 693),
        (lambda: BestKGLR(10, 2, delta=0.01), 634, 804),
        (lambda: LilRandLUCB(10, 2, delta=0.01, mode="paper"), 1433, 1633),
        (lambda: LUCB1(10, 2, delta=0.01), 2436, 2728),
    ],
)
def test_samples_match_an_independent_implementation(make, low, high):
    found = identify(make(), GaussianArms(SPARSE, sigma=0.5), replications=60, rng=0)
    assert found.stopped.all()
    assert found.correct.all()
    assert low <= found.samples.mean() <= high


def test_lil_ucb_matches_an_independent_implementation():
    arms = GaussianArms(np.repeat([0.5, 0.0], [1, 9]), sigma=0.5)
    found = identify(LilUCB(10, delta=0.01, mode="heuristic"), arms, replications=60, rng=0)
    assert found.correct.all()
    assert 335 <= found.samples.mean() <= 465
    assert LilUCB(10, delta=0.01, mode="faithful")._parameters[1] == pytest.approx(2.93993e-10, rel=1e-4)


def run(explorer, means, seed=0):
    found = identify(explorer, GaussianArms(means, sigma=0.5), replications=3, rng=seed)
    assert found.stopped.all()
    return found.samples.tolist(), [arms.tolist() for arms in found.arms]


def test_lucb_plus_plus_is_lil_lucb_when_half_the_arms_are_wanted():
    means = np.linspace(0.0, 2.0, 6)
    for mode in ("faithful", "paper", "heuristic"):
        pair = [rule(6, 3, delta=0.1, mode=mode) for rule in (LilLUCB, LUCBPlusPlus)]
        assert run(pair[0], means) == run(pair[1], means)


@pytest.mark.slow
def test_oracles_of_one_family_give_one_run():
    means = np.linspace(0.0, 2.0, 5)
    pairs = [(i, j) for i in range(5) for j in range(i)]
    oracles = (TopK(5, 2), UniformMatroid(5, 2), BruteForce(5, pairs))
    for rule in (LilCLUCB, CLUCB):
        first, *others = [run(rule(oracle, delta=0.1), means) for oracle in oracles]
        assert others == [first, first]


def pulls(explorer, outcomes):
    """Return the arms sampled, with ``outcomes[i, j]`` as the j-th outcome of arm i."""
    state, rng, played = explorer.initial_state(), np.random.default_rng(0), []
    while not explorer.is_done(state):
        arms = explorer.select(state, rng)
        explorer.update(state, Feedback(arms, outcomes[arms, state.counts[arms]]))
        played.append(sorted(arms.tolist()))
    return played, explorer.recommend(state).tolist()


@pytest.fixture(scope="module")
def outcomes():
    return np.array([0.8, 0.7, 0.1, 0.0])[:, None] + 0.5 * np.random.default_rng(3).standard_normal((4, 5000))


@pytest.mark.parametrize("name", MAKERS)
def test_symmetries(name, outcomes):
    played, answer = pulls(MAKERS[name](4, 2), outcomes)
    assert answer == [0, 1]
    assert pulls(MAKERS[name](4, 2), outcomes + 4.0) == (played, answer)
    if name in RELABELLED:
        turned = pulls(MAKERS[name](4, 2), outcomes[::-1])
        assert turned == ([sorted(3 - arm for arm in arms) for arms in played], [2, 3])
    if name in ("lil_lucb", "lucb_plus_plus", "lucb1", "lil_clucb"):
        assert pulls(MAKERS[name](4, 2), -outcomes) == (played, [2, 3])


def test_minimising_oracle_and_pac():
    oracle = TopK(4, 2, sense="min")
    arms = GaussianArms([0.0, 1.0, 1.1, 2.0], sigma=0.5)
    exact = identify(CLUCB(TopK(4, 2, sense="min"), delta=0.1, epsilon=0.5), arms, rng=0)
    assert exact.correct[0]
    assert BestSuperArm(oracle, 0.5).is_correct(exact.arms[0], arms.means)
    lil = identify(LilCLUCB(oracle, delta=0.1), GaussianArms([0.0, 0.0, 1.0, 2.0], sigma=0.5), rng=0)
    assert lil.arms[0].tolist() == [0, 1]
    assert identify(LUCB1(4, 2, delta=0.1, epsilon=0.5), arms, rng=0).correct[0]
    assert identify(UGapEc(4, 2, delta=0.1, epsilon=0.5), arms, rng=0).correct[0]


test_bad_parameters_are_refused = refused(
    (lambda: LilCLUCB(3, delta=0.1), "oracle must"),
)
