"""Contexts and tickets: what oracles, policies and sessions do with what is known of a round."""

import copy
import pickle

import numpy as np
import pytest
from refusals import refused

from cmab import CTS, CUCB, ESCB, LUCB1, Context, Greedy, RarelySwitchingCUCB, Session
from cmab.policies.ucb import LLR
from cmab.policy import refuse_parts
from instances import BernoulliArms, SemiBandit
from oracles import BruteForce, TopK

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
    ({"available": np.ma.array([True, False], mask=[0, 1])}, "available must be a 1-D array"),
    ({"features": [1.0]}, "features must be a 2-D array"),
    ({"features": [[np.nan]]}, "features must be finite, got nan|features must be finite"),
    ({"values": [[1.0]]}, "values must be a 1-D array"),
    by=lambda parts: Context(**parts),
)


PAIRS = [(i, j) for j in range(5) for i in range(j)]
REWARDED = BruteForce(5, PAIRS, reward=lambda means, arms: means[arms].sum())


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
