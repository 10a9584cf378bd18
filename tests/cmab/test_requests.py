"""Faulty requests and logs of real catalogues are refused in a sentence, or have a meaning."""

import numpy as np
import pytest
from models import LeastSquares

from cmab import (
    CombLinTS,
    Context,
    Feedback,
    ModelPolicy,
    PrimalDualCUCB,
    Session,
)
from oracles import CostAwareCascade, Knapsack, LevelAllocation, TopK

FEATURES = np.ones((4, 2))


def session():
    return Session(CombLinTS(TopK(4, k=2), dimension=2, norm=3.0), rng=0)


def ask(available=None, features=FEATURES):
    return session().ask(Context(available, features))


def tell_after_a_change():
    asked = session()
    asked.tell(Feedback([4, 5], [1.0, 0.0]), asked.ask(Context(features=FEATURES)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ask(features=[[1.0, np.nan]] * 4), "got nan in row 0; write 0 for an unknown"),
        (lambda: ask(features=np.ones((3, 2))), "context.features must have 4 rows"),
        (lambda: ask(np.zeros(4, bool)), "do not ask in such a round, or take a family with smaller"),
        (lambda: ask(np.array([True, False, False, False])), "got only the entries [0]"),
        (tell_after_a_change, "got also [4, 5]; the numbers are those of the time of `ask`"),
        (lambda: Knapsack([1.0, np.nan], 3), "weights must be finite in [0, inf), got nan at position 1"),
        (lambda: CostAwareCascade([0.1, None]), "costs must be an array of real numbers"),
        (lambda: LevelAllocation({"a": [1, np.nan]}, 3), "costs['a'] must be finite"),
    ],
)
def test_a_sentence_says_what_is_wrong(call, words):
    with pytest.raises(ValueError) as error:
        call()
    assert words in str(error.value)


def test_a_cost_of_zero_is_free_and_a_missing_one_counts_in_full():
    assert Knapsack([0.0, 2.0], 1).solve(np.array([0.1, 0.9]), np.random.default_rng(0)).tolist() == [0]
    asked = Session(PrimalDualCUCB(TopK(4, k=2), [20.0], horizon=100), rng=0)
    asked.tell(Feedback(asked.ask(), [1.0, 1.0]))
    asked.tell(Feedback(asked.ask(), [1.0, 1.0], costs=[[0.0], [0.25]]))
    assert asked.state.spent.tolist() == [2.25]


@pytest.mark.parametrize(
    "policy",
    [
        CombLinTS(TopK(20, k=3), dimension=4, norm=2.0, sigma=0.3),
        ModelPolicy(TopK(20, k=3), LeastSquares(), members=2),
    ],
)
def test_slots_carry_a_catalogue_of_which_most_items_are_absent(policy):
    """Arms are slots; the learner finds good ones among 2,000 items, nearly all of them never seen before."""
    rng = np.random.default_rng(0)
    items = np.column_stack([np.ones(2000), rng.uniform(-0.5, 0.5, (2000, 3))])
    truth, asked, gains = items @ [0.5, 0.4, -0.4, 0.1], Session(policy, rng=0), []
    for _ in range(250):
        present = rng.choice(2000, size=rng.integers(5, 21), replace=False)
        features, available = np.zeros((20, 4)), np.arange(20) < len(present)
        features[: len(present)] = items[present]
        ticket = asked.ask(Context(available, features))
        means = truth[present[ticket.super_arm]]
        asked.tell(Feedback(ticket, (rng.random(3) < means).astype(float)))
        best, mean = np.sort(truth[present])[-3:].mean(), truth[present].mean()
        gains.append((means.mean() - mean) / (best - mean))
    assert np.mean(gains[150:]) > 0.8
