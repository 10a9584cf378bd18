"""Contexts and tickets: what oracles, policies and sessions do with what is known of a round."""

import copy
import pickle

import numpy as np
import pytest
from refusals import refused

from cmab import (
    CTS,
    CUCB,
    ESCB,
    LUCB1,
    Context,
    Greedy,
    Oracle,
    RarelySwitchingCUCB,
    Session,
)
from cmab.policies.ucb import LLR
from cmab.policy import refuse_parts
from instances import BernoulliArms, SemiBandit
from oracles import BruteForce, PartitionMatroid, TopK

MEANS = np.array([0.2, 0.9, 0.1, 0.8, 0.3])
ORACLE = TopK(5, k=2)
PLACE = SemiBandit(BernoulliArms(MEANS), ORACLE)


def within(available):
    return Context(available=available)


# Contexts ----------------------------------------------------------------------------------------------


def test_contexts_are_copied_and_read_only():
    own = np.array([[1.0, 2.0]])
    context = Context(features=own, values=[3])
    own[0, 0] = 7.0
    for one in (context, copy.deepcopy(context), pickle.loads(pickle.dumps(context))):
        assert one.parts == ("features", "values")
        assert one.features.tolist() == [[1.0, 2.0]]
        for part in (one.features, one.values):
            with pytest.raises(ValueError, match="read-only"):
                part[0] = 0.0
    assert Context().parts == ()
    assert repr(context) == "Context(features of shape (1, 2), values of shape (1,))"


test_contexts_refuse_what_is_none = refused(
    ({"available": [1, 0]}, "available must be a 1-D array of booleans"),
    ({"available": [[True]]}, "available must be a 1-D array of booleans"),
    ({"available": np.ma.array([True, False], mask=[0, 1])}, "available must be a 1-D array"),
    ({"features": [1.0]}, "features must be a 2-D array"),
    ({"features": [[np.nan]]}, "features must be finite, got nan|features must be finite"),
    ({"values": [[1.0]]}, "values must be a 1-D array"),
    ({"values": ["1"]}, "values must be an array of real numbers"),
    ({"values": [np.inf]}, "values must be finite"),
    by=lambda parts: Context(**parts),
)


# What oracles do within what is available --------------------------------------------------------------

PARTITION = PartitionMatroid(["a", "a", "b", "b", "b"], 1)


PAIRS = [(i, j) for j in range(5) for i in range(j)]
REWARDED = BruteForce(5, PAIRS, reward=lambda means, arms: means[arms].sum())


@pytest.mark.parametrize(
    "oracle",
    [
        BruteForce(5, PAIRS),
        REWARDED,
        ORACLE,
        TopK(5, 2, sense="min"),
        PARTITION,
    ],
    ids=str,
)
def test_solve_within_is_brute_force_within(oracle):
    """Against all super arms of the family that are available."""
    rng, tried = np.random.default_rng(3), 0
    sets = [np.flatnonzero([number >> arm & 1 for arm in range(5)]) for number in range(32)]
    sign = 1.0 if oracle.sense == "max" else -1.0
    family = [chosen for chosen in sets if oracle.is_feasible(chosen)]
    for _ in range(60):
        means, available = rng.random(5), rng.random(5) < 0.7
        left = [sign * means[chosen].sum() for chosen in family if available[chosen].all()]
        if not left:
            with pytest.raises(ValueError, match="available must contain a super arm of"):
                oracle.solve_within(means, available, rng)
            continue
        chosen = oracle.solve_within(means, available, rng)
        assert available[chosen].all()
        assert sign * means[chosen].sum() == pytest.approx(max(left))
        tried += 1
    assert tried > 30


class AnyHit(Oracle):
    n_arms = 3

    def solve(self, means, rng):
        return np.array([np.argmax(means)])

    def expected_reward(self, super_arm, means):
        return float(means[super_arm].max())


def test_oracles_that_cannot_do_without_say_so():
    means = np.array([0.1, 0.9, 0.5])
    assert AnyHit().solve_within(means, np.ones(3, bool), 0) == [1]
    with pytest.raises(TypeError, match="AnyHit must define solve_within"):
        AnyHit().solve_within(means, np.array([True, False, True]), 0)
    with pytest.raises(TypeError, match="must define solve_constrained"):
        Unconstrained().solve_within(means, np.array([True, False, True]), 0)
    with pytest.raises(ValueError, match="available must be an array of 3 booleans"):
        AnyHit().solve_within(means, np.array([1, 0, 1]), 0)


class Unconstrained(TopK):
    """A linear oracle that defines `solve` alone."""

    solve_within = TopK.__mro__[1].solve_within
    solve_constrained = TopK.__mro__[1].solve_constrained

    def __init__(self):
        super().__init__(3, 1)


# What policies do with a context -----------------------------------------------------------------------


@pytest.mark.parametrize("make", [CUCB, CTS, LLR, Greedy])
def test_index_policies_play_the_best_of_what_is_available(make):
    policy, available = make(ORACLE), np.array([True, False, True, True, False])
    state = policy.initial_state()
    for _ in range(20):
        policy.update(state, PLACE.play(np.array([1, 3]), np.random.default_rng(1)))
    chosen = policy.select(state, np.random.default_rng(5), within(available))
    indices = policy.indices(state, np.random.default_rng(5))
    assert sorted(chosen) == sorted(
        np.flatnonzero(available)[np.argsort(-indices[available], kind="stable")[:2]]
    )
    for nothing in (None, Context(), within(np.ones(5, bool))):
        one, other = (np.random.default_rng(6) for _ in range(2))
        assert policy.select(state, one, nothing).tolist() == policy.select(state, other).tolist()


@pytest.mark.parametrize("sense", ["max", "min"])
def test_index_policies_play_what_is_worth_most(sense):
    """Against all pairs, by their indices times values minus costs (for costs, plus)."""
    oracle, rng = TopK(5, k=2, sense=sense), np.random.default_rng(0)
    policy, sign = CUCB(oracle), 1.0 if sense == "max" else -1.0
    state = policy.initial_state()
    for _ in range(30):
        policy.update(state, PLACE.play(rng.choice(5, 2, replace=False), rng))
        values, costs, available = rng.random(5) * 3, rng.random(5), rng.random(5) < 0.9
        available[:2] = True
        worth = sign * policy.indices(state, rng) * values - costs
        best = max(
            (pair for pair in PAIRS if available[list(pair)].all()), key=lambda p: worth[list(p)].sum()
        )
        chosen = policy.select(state, rng, Context(available, values=values, costs=costs))
        assert tuple(sorted(chosen)) == best
    with pytest.raises(ValueError, match=r"context\.values must not be negative, got -1"):
        policy.select(state, rng, Context(values=[1, 1, -1, 1, 1]))


def test_a_semi_bandit_is_worth_what_the_context_says():
    place = SemiBandit(BernoulliArms(MEANS), ORACLE)
    place.context = Context(values=[10, 0, 10, 1, 1], costs=[1, 0, 0, 0.5, 0])
    assert place.expected_reward([0, 1]) == pytest.approx(10 * 0.2 - 1)
    assert place.optimum == pytest.approx(2 - 1 + 1)
    rewards = [place.play([0, 3], np.random.default_rng(seed)) for seed in range(20)]
    for shown in rewards:
        assert shown.reward == pytest.approx(10 * shown.outcomes[0] - 1 + shown.outcomes[1] - 0.5)
    assert {float(outcome) for shown in rewards for outcome in shown.outcomes} == {0.0, 1.0}


class OwnSelect(CUCB):
    def select(self, state, rng, context=None):
        refuse_parts(self, context)
        return np.array([0, 1])


@pytest.mark.parametrize(
    ("policy", "context", "besides"),
    [
        (CUCB(ORACLE), Context(features=np.zeros((5, 2))), "features"),
        (CUCB(REWARDED), Context(available=np.ones(5, bool), values=np.ones(5)), "values"),
        (CUCB(REWARDED), Context(costs=np.ones(5)), "costs"),
        (RarelySwitchingCUCB(ORACLE), Context(values=np.ones(5)), "values"),
        (ESCB(ORACLE), Context(values=np.ones(5)), "values"),
        (OwnSelect(ORACLE), within(np.ones(5, bool)), "available"),
        (LUCB1(n_arms=5, k=2, delta=0.1), within(np.ones(5, bool)), "available"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_policy_does_not_understand_is_refused(policy, context, besides):
    session = Session(policy, rng=0)
    before = session.rng.bit_generator.state
    with pytest.raises(ValueError, match=f"^context must .*{type(policy).__name__}.*got {besides},"):
        session.ask(context)
    assert session.pending == ()
    assert session.rng.bit_generator.state == before


# Sessions ----------------------------------------------------------------------------------------------


def test_contexts_must_be_those_of_the_arms():
    session = Session(CUCB(ORACLE), rng=0)
    with pytest.raises(TypeError, match="context must be a Context"):
        session.ask([True] * 5)
    with pytest.raises(ValueError, match=r"context.available must have 5 rows, got shape \(4,\)"):
        session.ask(within(np.ones(4, bool)))
    with pytest.raises(ValueError, match=r"context\.features must have 5 rows"):
        session.ask(Context(features=np.ones((2, 5))))


class Insomniac(CUCB):
    """Ignores what is available."""

    def select(self, state, rng, context=None):
        return super().select(state, rng)


def test_super_arms_that_are_not_available_are_refused():
    with pytest.raises(ValueError, match=r"must have available entries only, got also \[0\]"):
        Session(Insomniac(ORACLE), rng=0).ask(within(np.arange(5) > 0))
