"""What explorers promise, over the table: fit, certificates, families, goals, ends of runs."""

from dataclasses import fields, replace

import numpy as np
import pytest
from cases import EXPLORERS, ORACLES

from cmab import (
    CLUCB,
    CSAR,
    LUCB1,
    BestKGLR,
    Feedback,
    LilCLUCB,
    LilRandLUCB,
    Session,
    UGapEc,
    identify,
)
from cmab.exploration.lucb import KLLUCB, LilLUCB, LilUCB
from cmab.run import identify as identification
from cmab.run.compare import explorer_rows
from instances import BernoulliArms, GaussianArms

ROWS = {case.name: case for case in EXPLORERS}
CLEAR = np.array([0.9, 0.1, 0.85, 0.1])


def unproven(explorer):
    """Return the explorer in all the modes that its parameters have, with what each may certify."""
    names = {field.name for field in fields(explorer)}
    if "mode" in names:
        yield replace(explorer, mode="heuristic")
    if "pulls_factor" in names:
        yield replace(explorer, pulls_factor=0.01)
    if getattr(explorer, "budget", None):
        yield explorer
    if isinstance(explorer, LilUCB):
        yield replace(explorer, mode="faithful")  # the ratio of the stop is not the theorem's


@pytest.mark.parametrize("name", ROWS)
def test_what_proves_nothing_certifies_nothing(name):
    for explorer in unproven(ROWS[name].make()):
        found = identify(explorer, BernoulliArms(CLEAR), rng=0, replications=3, max_samples=100_000)
        assert found.stopped.all()
        assert not found.certified.any()


@pytest.mark.parametrize("name", ROWS)
def test_what_is_proven_certifies_at_its_stop_only(name):
    explorer = ROWS[name].make()
    if not explorer.is_proven:
        return
    assert explorer.sigma is not None or explorer.support is not None
    arms = BernoulliArms(CLEAR)
    assert identify(explorer, arms, rng=0).certified.all()
    assert not identify(explorer, arms, rng=0, max_samples=4).certified.any()


@pytest.mark.parametrize("name", ROWS)
def test_a_session_refuses_outcomes_outside_the_support(name):
    explorer = ROWS[name].make()
    if explorer.support is None:
        return
    session = Session(explorer, rng=0)
    ticket, (low, high) = session.ask(), explorer.support
    times = np.full(len(ticket), ticket.pulls)

    def batch(mean):
        return Feedback(ticket.super_arm, times * mean, pulls=times, squares=times * mean**2)

    for mean in (high + 1.0, low - 0.01):
        with pytest.raises(ValueError, match="outcomes must lie in"):
            session.tell(batch(mean))
    session.tell(batch(high))
    with pytest.raises(ValueError, match="support must lie in"):
        Session(explorer, rng=0, support=(low - 1.0, high))


LINEAR = [case for case in ORACLES if case.make().is_linear and case.make().is_exact]


def clear_means(case, oracle):
    """Return means with one best super arm by enumeration, well ahead of the second, and that arm."""
    family = sorted({tuple(sorted(int(a) for a in arms)) for arms in case.super_arms()})
    sign, found = 1.0 if oracle.sense == "max" else -1.0, []
    low = 0.0 if case.low >= 0.0 else -0.4
    for seed in range(300):
        means = np.random.default_rng(seed).permutation(np.linspace(low, 0.6, oracle.n_arms))
        values = sorted((sign * means[list(arms)].sum(), arms) for arms in family)
        if len(family) == 1 or values[-1][0] - values[-2][0] > 0.05:
            found.append((means, list(values[-1][1])))
    # Where the least mean lies outside the best, its lower bound leaves what a family of costs accepts.
    return next((pair for pair in found if np.argmin(pair[0]) not in pair[1]), found[0])


@pytest.mark.parametrize("rule", [CLUCB, LilCLUCB, CSAR])
@pytest.mark.parametrize("case", LINEAR, ids=lambda case: case.name)
def test_every_family_is_explored_or_refused_at_once(case, rule):
    """No crash in the middle: false alarm below 1e-6, for the rules err with probability 1e-8 at most."""
    oracle = case.make()
    means, best = clear_means(case, oracle)
    try:
        if rule is CSAR:
            explorer = rule(oracle, budget=40 * oracle.n_arms)
        else:
            explorer = rule(oracle, delta=1e-8, sigma=0.01)
    except TypeError as error:
        assert case.name in {"shortest_path", "disjoint_paths", "min_cost_flow"}
        assert rule is CSAR
        assert "oracle must" in str(error)
        return
    found = identify(explorer, GaussianArms(means, 0.01), rng=0, max_samples=20_000)
    assert found.stopped.all()
    assert found.arms[0].tolist() == best


def test_means_that_the_family_does_not_accept_are_refused_at_once():
    oracle = next(case for case in ORACLES if case.name == "shortest_path").make()
    arms = GaussianArms(np.linspace(-0.5, 1.0, oracle.n_arms), sigma=0.1)
    with pytest.raises(ValueError, match="means of at least 0"):
        identify(LilCLUCB(oracle, delta=0.1), arms, rng=0)


@pytest.mark.parametrize("name", ROWS)
def test_runs_between_equal_means_end_and_say_how(name, monkeypatch):
    """Rules with a bound of their own end by themselves, all others at the default cap, with a warning."""
    monkeypatch.setattr(identification, "DEFAULT_CAP", 3000)
    explorer = ROWS[name].make()
    arms = BernoulliArms([0.5] * 4)
    if explorer.is_bounded:
        found = identify(explorer, arms, rng=0)
        assert found.stopped.all()
    elif getattr(explorer, "epsilon", 0.0) > 0.0:
        found = identify(explorer, arms, rng=0, max_samples=3000)
    else:
        with pytest.warns(RuntimeWarning, match="cut off after"):
            found = identify(explorer, arms, rng=0)
        assert not found.certified.any()
    assert found.samples.max() <= 3000 or explorer.is_bounded


@pytest.mark.parametrize("name", ROWS)
def test_a_cap_below_the_first_samples_names_nothing(name):
    found = identify(ROWS[name].make(), BernoulliArms(CLEAR), rng=0, max_samples=3)
    assert found.samples[0] == 0
    assert len(found.arms[0]) == 0
    assert not (found.correct | found.stopped | found.certified).any()


def test_cut_off_runs_are_neither_right_nor_wrong():
    found = identify(
        LUCB1(2, 1, delta=0.1), BernoulliArms([0.55, 0.45]), rng=0, replications=200, max_samples=30
    )
    assert (~found.stopped & ~found.correct).any()
    assert found.wrong.sum() == (found.stopped & ~found.correct).sum() == 0
    (row,) = explorer_rows({"x": found})
    assert row["wrong"] == 0
    # They are in no mean; in a median they stand above all others.
    assert np.isnan(row["samples"])
    median = np.median(np.where(found.stopped, found.samples, np.inf))
    assert row["median"] == median
    assert f"0 of them wrong, median samples {'unknown' if np.isinf(median) else ''}" in repr(found)


# Certificates, held against formulas written anew ---------------------------------------------------------


ARMS = BernoulliArms([0.9, 0.8, 0.2, 0.1])


@pytest.mark.slow
@pytest.mark.parametrize("case", EXPLORERS, ids=lambda case: case.name)
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
