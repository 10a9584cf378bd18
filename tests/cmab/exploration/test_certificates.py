"""What the end of an exploration says, held against formulas written anew."""

import cases
import numpy as np
import pytest

from cmab import LUCB1, BestKGLR, LilRandLUCB, UGapEc, identify
from cmab.exploration.lucb import KLLUCB, LilLUCB
from instances import BernoulliArms, GaussianArms

ARMS = BernoulliArms([0.9, 0.8, 0.2, 0.1])


@pytest.mark.slow
@pytest.mark.parametrize("case", cases.EXPLORERS, ids=lambda case: case.name)
def test_a_certificate_is_of_its_run(case):
    explorer = case.make()
    found = identify(explorer, ARMS, replications=2, rng=0, max_samples=20_000)
    assert found.counts.shape == (2, 4)
    assert np.array_equal(found.counts.sum(axis=1), found.samples)
    for i, one in enumerate(found.certificates):
        assert np.array_equal(one.arms, found.arms[i])
        assert np.array_equal(one.counts, found.counts[i])
        assert one.is_certified == found.certified[i]
        if one.lower is not None:
            # Where the rule is proven, all intervals hold at once with probability 1 - delta; here they do.
            assert (one.lower <= ARMS.means).all()
            assert (ARMS.means <= one.upper).all()
        if one.witness is not None:
            assert one.witness[0] in one.arms
            assert one.witness[1] not in one.arms


RULES = [
    LUCB1(4, 2, delta=0.1),
    LUCB1(4, 1, delta=0.1, epsilon=0.2),
    KLLUCB(4, 2, delta=0.1),
    LilLUCB(4, 1, delta=0.1),
    LilRandLUCB(4, 2, delta=0.1),
    UGapEc(4, 1, delta=0.1, epsilon=0.2),
]


@pytest.mark.parametrize("explorer", RULES, ids=repr)
def test_the_witness_is_what_the_rule_waited_for(explorer):
    """Of a run that is cut off before its end the pair is not told apart, and of the whole run it is."""
    whole = identify(explorer, ARMS, replications=5, rng=1)
    assert all(one.margin >= -one.epsilon for one in whole.certificates)
    for i, samples in enumerate(whole.samples):
        short = identify(explorer, ARMS, replications=i + 1, rng=1, max_samples=int(samples) - 1)
        assert not short.stopped[i]
        assert short.certificates[i].margin < -short.certificates[i].epsilon


def test_intervals_are_those_of_the_paper():
    found = identify(LUCB1(4, 1, delta=0.1, epsilon=0.2), ARMS, rng=2)
    (one,) = found.certificates
    # Kalyanakrishnan et al. (ICML 2012), section 3.3; the first round samples all arms, the others two.
    t = 1 + (found.samples[0] - 4) // 2
    assert np.allclose(one.radii, np.sqrt(np.log(1.25 * 4 * t**4 / 0.1) / (2 * one.counts)), rtol=1e-12)
    assert np.allclose(0.5 * (one.lower + one.upper), one.means)


@pytest.mark.parametrize("explorer", [BestKGLR(4, 2, delta=0.1), BestKGLR(4, 1, delta=0.1)], ids=repr)
def test_the_witness_of_likelihoods_has_the_least_evidence(explorer):
    found = identify(explorer, GaussianArms(ARMS.means, sigma=0.5), replications=5, rng=3)
    for one in found.certificates:

        def slack(i, j, one=one):
            evidence = (one.means[i] - one.means[j]) ** 2 / (0.5 * (1 / one.counts[i] + 1 / one.counts[j]))
            return evidence - 2 * np.log(4 + np.log(one.counts[[i, j]])).sum()

        pairs = {(i, j): slack(i, j) for i in one.arms for j in set(range(4)) - set(one.arms)}
        assert one.witness == min(pairs, key=pairs.get)
