"""Policies whose faults show in special environments only, and correct ones that checks rejected there."""

import math
from dataclasses import dataclass, field

import networkx as nx
import numpy as np
import pytest

from cmab import ArmStatistics, Context, Policy
from cmab.policy import refuse_parts
from cmab.testing import checks
from instances import BernoulliArms, SemiBandit
from oracles import ShortestPath, TopK

GRAPH = nx.DiGraph([(0, 1), (1, 3), (0, 2), (2, 3), (0, 3)])
MEANS = np.array([0.2, 0.6, 0.9, 0.4, 0.5])


def check_of(title, policy, environment):
    return next(each for each in checks(policy, environment) if each.title == title)


class Own(Policy):
    """The base of the policies of this file."""

    def __init__(self, oracle):
        self.oracle = oracle


class AverageOfAll(Own):
    """Expects of the arms that it has not observed the average of all others."""

    def initial_state(self, rng):
        n = self.oracle.n_arms
        return {"counts": np.zeros(n), "sums": np.zeros(n)}

    def select(self, state, rng, context):
        average = state["sums"].sum() / max(state["counts"].sum(), 1.0)
        means = np.full(self.oracle.n_arms, average)
        np.divide(state["sums"], state["counts"], out=means, where=state["counts"] > 0)
        available = np.ones(len(means), bool) if context is None else context.available
        return self.oracle.solve_within(means, available, rng)

    def update(self, state, feedback, ticket, rng):
        np.add.at(state["counts"], feedback.arms, 1.0)
        np.add.at(state["sums"], feedback.arms, feedback.outcomes)


def test_a_policy_may_prefer_arms_that_it_has_not_observed():
    """No best super arm contains the middle path, about which the policy then knows nothing."""
    oracle = ShortestPath(GRAPH, 0, 3)
    check = check_of("worth", AverageOfAll(oracle), SemiBandit(BernoulliArms(MEANS), oracle))
    assert "worlds" in check.find().text


class Tolls(Own):
    """Lower bounds of times, and the costs of a round, with a sign."""

    def __init__(self, oracle, sign):
        self.oracle, self.sign_of_costs = oracle, sign

    def initial_state(self, rng=None):
        return ArmStatistics.empty(self.oracle.n_arms)

    def select(self, state, rng, context=None):
        refuse_parts(self, context, ("costs",))
        radius = np.sqrt(math.log(state.rounds + 1) / np.maximum(state.counts, 1))
        low = np.where(state.counts == 0, 0.0, np.maximum(state.means - radius, 0.0))
        if context is not None:
            low = low + self.sign_of_costs * context.costs
        return self.oracle.solve(low, rng)

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)


class TollRoads(SemiBandit):
    def in_round(self, t, rng):
        today = SemiBandit(self.arms, self.oracle)
        today.context = Context(costs=0.6 * rng.random(self.n_arms))
        return today


@pytest.mark.parametrize(("sign", "is_found"), [(-1, True), (1, False)])
def test_costs_are_added_if_the_oracle_minimises(sign, is_found):
    """The paths have two or three edges, so that a single good edge makes no path the best."""
    graph = nx.DiGraph([(0, 1), (0, 2), (1, 3), (2, 3), (1, 2), (3, 4), (2, 4)])
    oracle = ShortestPath(graph, 0, 4)
    place = TollRoads(BernoulliArms([0.2, 0.6, 0.3, 0.7, 0.5, 0.2, 0.9]), oracle)
    check = check_of("worth", Tolls(oracle, sign), place)
    if is_found:
        with pytest.raises(AssertionError, match=r"context\.costs"):
            check.run()
    else:
        check.run()


@dataclass
class Ridge:
    precision: np.ndarray
    moment: np.ndarray
    waiting: list = field(default_factory=list)
    rounds: int = 0


class Queued(Own):
    """Ridge regression; the features of reserved tickets wait in a queue, by number or in their order."""

    def __init__(self, oracle, has_numbers):
        self.oracle, self.has_numbers = oracle, has_numbers

    def initial_state(self, rng=None):
        return Ridge(np.eye(2), np.zeros(2))

    def select(self, state, rng, context=None):
        refuse_parts(self, context, ("features",))
        x = context.features
        inverse = np.linalg.inv(state.precision)
        width = 0.3 * np.sqrt(np.einsum("ij,jk,ik->i", x, inverse, x))
        return self.oracle.solve(x @ inverse @ state.moment + width, rng)

    def reserve(self, state, ticket):
        state.waiting.append((ticket.number, np.array(ticket.context.features)))

    def update(self, state, feedback, ticket=None, rng=None):
        x = np.array(ticket.context.features)
        if state.waiting:
            place = [number for number, _ in state.waiting].index(ticket.number) if self.has_numbers else 0
            x = state.waiting.pop(place)[1]
        x = x[feedback.arms]
        state.precision += x.T @ x
        state.moment += x.T @ feedback.outcomes
        state.rounds += 1


class Features(SemiBandit):
    def in_round(self, t, rng):
        today = SemiBandit(self.arms, self.oracle)
        today.context = Context(features=rng.random((self.n_arms, 2)))
        return today


@pytest.mark.parametrize("has_numbers", [False, True])
def test_late_reports_are_learned_with_the_features_of_their_own_tickets(has_numbers):
    oracle = TopK(5, 2)
    check = check_of("reservations", Queued(oracle, has_numbers), Features(BernoulliArms(MEANS), oracle))
    if has_numbers:
        assert "pairs of late reports" in check.find().text
    else:
        with pytest.raises(AssertionError, match="depends on which of the tickets was reserved first"):
            check.run()


@dataclass
class Streak:
    stats: ArmStatistics


class Doubtful(Own):
    """Explores more after several poor rounds in a row, of which it keeps a count that is not saved."""

    def initial_state(self, rng=None):
        return Streak(ArmStatistics.empty(self.oracle.n_arms))

    def select(self, state, rng, context=None):
        stats = state.stats
        bonus = np.sqrt(
            (1 + getattr(state, "_poor", 0)) * math.log(stats.rounds + 1) / np.maximum(stats.counts, 1)
        )
        return self.oracle.solve(np.where(stats.counts == 0, 2.0, stats.means + 0.3 * bonus), rng)

    def update(self, state, feedback, ticket=None, rng=None):
        state.stats.update(feedback)
        state._poor = getattr(state, "_poor", 0) + 1 if feedback.outcomes.mean() < 0.5 else 0


def test_a_count_that_is_not_saved_is_found_in_poor_rounds():
    oracle = TopK(5, 2)
    check = check_of("resuming", Doubtful(oracle), SemiBandit(BernoulliArms(MEANS), oracle))
    with pytest.raises(AssertionError, match="was saved without"):
        check.run()


class AnyOrder(Own):
    """A random set, or the greedy one, with its entries in any order and the propensity of the set."""

    def initial_state(self, rng=None):
        return ArmStatistics.empty(self.oracle.n_arms)

    def greedy(self, state):
        return np.sort(np.argsort(-state.means, kind="stable")[: self.oracle.k])

    def select(self, state, rng, context=None):
        if rng.random() < 0.25:
            return rng.choice(self.oracle.n_arms, self.oracle.k, replace=False)
        return self.greedy(state)

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)

    def propensity(self, state, super_arm, context):
        n, k = self.oracle.n_arms, self.oracle.k
        return 0.25 / math.comb(n, k) + 0.75 * np.array_equal(np.sort(super_arm), self.greedy(state))


def test_a_set_in_any_order_has_the_propensity_of_the_set():
    oracle = TopK(5, 2)
    check = check_of("propensity", AnyOrder(oracle), SemiBandit(BernoulliArms(MEANS), oracle))
    assert "comparisons" in check.find().text
