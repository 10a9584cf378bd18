"""Likelihood ratios of super arms: rivals, evidence and stop by definition, batches, and errors."""

import math
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import zeta
from scipy.stats import binom

from cmab import CLUCB, BestKGLR, Feedback, LilCLUCB, LinearOracle, identify
from cmab.exploration.super_arm_glr import SuperArmGLR
from instances import BernoulliArms, GaussianArms
from oracles import (
    GraphicMatroid,
    LaminarMatroid,
    PartitionMatroid,
    ShortestPath,
    TopK,
    TransversalMatroid,
    UniformMatroid,
)

SQUARE = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
MATROIDS = {
    "trees": lambda sense: GraphicMatroid(SQUARE, sense),
    "parts": lambda sense: PartitionMatroid([0, 0, 1, 1, 1], {0: 1, 1: 2}, sense=sense),
    "laminar": lambda sense: LaminarMatroid(5, [([0, 1], 1), ([0, 1, 2], 2)], sense=sense),
    "transversal": lambda sense: TransversalMatroid(5, [[0, 1, 2], [2, 3], [3, 4]], sense=sense),
}


def bases(oracle):
    n, size = oracle.n_arms, len(oracle.solve(np.arange(oracle.n_arms) / 10.0, np.random.default_rng(0)))
    return [arms for arms in combinations(range(n), size) if oracle.is_feasible(np.array(arms))]


def heard(rule, means, counts):
    """The rule's state after `counts` outcomes of these means."""
    state = rule.initial_state()
    rule.update(state, Feedback(np.arange(len(means)), means * counts, pulls=counts))
    return state


def threshold(size, wrong, delta):
    """Kaufmann and Koolen's d C_G(x / d), by a search of its own."""
    x = math.log(wrong / delta) / size

    def value(u):
        return (2 * u - 2 * u * math.log(4 * u) + math.log(zeta(2 * u)) - 0.5 * math.log(1 - u) + x) / u

    return size * minimize_scalar(value, bounds=(0.5 + 1e-9, 1 - 1e-9), method="bounded").fun


def least_cost(means, counts, gain, sigma, epsilon):
    """The least cost of true means under which the rival is better by more than epsilon."""
    found = minimize(
        lambda q: (counts * (means - q) ** 2).sum() / (2 * sigma**2),
        means,
        jac=lambda q: counts * (q - means) / sigma**2,
        constraints={"type": "ineq", "fun": lambda q: gain @ q - epsilon, "jac": lambda q: gain},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 200},
    )
    return found.fun


@pytest.mark.parametrize("name", MATROIDS)
def test_exchanges_are_those_of_the_bases(name):
    oracle = MATROIDS[name]("max")
    family = {frozenset(arms) for arms in bases(oracle)}
    for basis in family:
        inside = sorted(basis)
        expected = [
            [i, j]
            for i in inside
            for j in range(oracle.n_arms)
            if j not in basis and basis - {i} | {j} in family
        ]
        assert oracle.exchange_pairs(inside[::-1]).tolist() == expected
    with pytest.raises(ValueError, match="basis"):
        oracle.exchange_pairs([0])


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("sense", ["max", "min"])
def test_it_stops_when_every_rival_has_enough_evidence_against_it(listed, sense):
    rng, sign, ends = np.random.default_rng(0), 1 if sense == "max" else -1, []
    oracle = MATROIDS["trees"](sense)
    family, n = bases(oracle), oracle.n_arms
    for trial in range(60):
        epsilon = float(rng.choice([0.0, 0.06]))
        rule = SuperArmGLR(
            oracle, super_arms=family if listed else None, delta=0.1, sigma=0.7, epsilon=epsilon
        )
        counts = np.exp(rng.uniform(4, 8, n)).astype(np.int64)
        means = rng.normal(size=n) * rng.choice([0.3, 1.0])
        best = max(family, key=lambda arms: sign * means[list(arms)].sum())
        if listed:
            rivals, wrong, slack = [arms for arms in family if arms != best], len(family) - 1, epsilon
        else:
            rivals = [arms for arms in family if len(set(arms) - set(best)) == 1]
            wrong, slack = 3 * 2, epsilon / 2
        enough = []
        for rival in rivals:
            gain = np.zeros(n)
            gain[list(rival)] += sign
            gain[list(best)] -= sign
            arms = np.flatnonzero(gain)
            own = (gain @ means - slack) ** 2 / (2 * 0.49 * (1 / counts[arms]).sum())
            if trial < 8:
                least = least_cost(means[arms], counts[arms], gain[arms], 0.7, slack)
                assert own == pytest.approx(least, rel=1e-4)
            need = threshold(len(arms), wrong, 0.1) + sum(2 * math.log(4 + math.log(counts[i])) for i in arms)
            enough.append((own, need))
        if all(abs(own / need - 1) > 1e-3 for own, need in enough):
            ends.append(all(own > need for own, need in enough))
            state = heard(rule, means, counts)
            assert rule.can_stop(state) == ends[-1]
            assert rule.recommend(state).tolist() == sorted(best)
    assert 5 < sum(ends) < len(ends) - 5


@pytest.mark.slow
def test_an_arm_of_the_critical_rival_is_sampled_by_its_share():
    """Chi squared of one degree of freedom an arm: false alarms below 1e-6."""
    family = [(0, 1, 2), (0, 3, 4), (1, 3, 5)]
    rule = SuperArmGLR(Listed(family), super_arms=family, delta=0.1)
    means, counts = np.array([1.0, 1.0, 0.9, 0.9, 0.8, 0.1]), np.array([40, 10, 20, 30, 5, 50])
    state, rng = heard(rule, means, counts), np.random.default_rng(0)
    drawn = np.bincount([rule.critical(state, rng)[0] for _ in range(4000)], minlength=6)
    shares = np.array([0.0, 1 / 10, 1 / 20, 1 / 30, 1 / 5, 0.0])
    expected = 4000 * shares / shares.sum()
    assert drawn[[0, 5]].tolist() == [0, 0]
    assert ((drawn - expected)[1:5] ** 2 / expected[1:5]).sum() < 32.0


class Listed(LinearOracle):
    """The best of a list."""

    def __init__(self, family):
        self.family, self.n_arms = family, 1 + max(max(arms) for arms in family)

    def solve(self, means, rng):
        return np.array(max(self.family, key=lambda arms: means[list(arms)].sum()))


@pytest.mark.slow
def test_on_uniform_matroids_it_is_the_rule_for_pairs():
    arms = GaussianArms([0.9, 0.7, 0.5, 0.3, 0.1], 0.5)
    own, other = (
        identify(rule, arms, rng=1)
        for rule in (SuperArmGLR(UniformMatroid(5, 2), delta=0.2), BestKGLR(5, 2, delta=0.2))
    )
    assert own.samples.tolist() == other.samples.tolist()
    assert own.correct.all()


class Counting(TopK):
    """Counts its calls."""

    calls = 0

    def kernel(self):
        return None

    def solve(self, means, rng):
        Counting.calls += 1
        return super().solve(means, rng)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [CLUCB, LilCLUCB])
def test_batches_ask_the_oracle_seldom_and_cost_few_samples(rule):
    calls, samples = [], []
    for growth in (0.0, 0.1):
        Counting.calls = 0
        arms = GaussianArms([0.9, 0.8, 0.6, 0.5, 0.4], 0.5)
        found = identify(rule(Counting(5, 2), delta=0.1, growth=growth), arms, rng=2)
        assert found.correct.all()
        calls.append(Counting.calls)
        samples.append(int(found.samples[0]))
    assert calls[1] < 0.2 * calls[0]
    assert samples[1] < 1.5 * samples[0]


@pytest.mark.slow
@pytest.mark.parametrize("listed", [False, True])
def test_errors_are_at_most_delta(listed):
    """A sound rule fails this with probability below 1e-6."""
    oracle = MATROIDS["trees"]("max")
    rule = SuperArmGLR(oracle, super_arms=bases(oracle) if listed else None, delta=0.2, growth=0.2)
    arms = GaussianArms([1.5, 1.4, 0.2, 1.3, 0.3], 0.5)
    found = identify(rule, arms, replications=1000, rng=3, max_samples=20_000)
    assert (~(found.correct & found.stopped)).sum() <= binom.isf(1e-6, 1000, 0.2)


@pytest.mark.slow
def test_ties_end_with_a_tolerance():
    rule = SuperArmGLR(MATROIDS["parts"]("min"), delta=0.1, epsilon=0.4)
    found = identify(
        rule, BernoulliArms([0.5, 0.5, 0.9, 0.2, 0.2]), replications=2, rng=0, max_samples=20_000
    )
    assert found.certified.all()


def test_bad_parameters():
    path = ShortestPath(nx.path_graph(3), 0, 2)
    for make, said in (
        (lambda: SuperArmGLR(path, delta=0.1), "matroid with exchange_pairs"),
        (lambda: SuperArmGLR(TopK(3, 1), super_arms=((1,), (2,)), delta=0.1), "super_arms must hold all"),
        (lambda: SuperArmGLR(TopK(3, 1), super_arms=((3,),), delta=0.1), "super_arms"),
        (lambda: SuperArmGLR(TopK(3, 1), super_arms=3, delta=0.1), "super_arms must be a list"),
    ):
        with pytest.raises(ValueError, match=said):
            make()


def test_a_list_that_is_changed_later_changes_nothing():
    family = [[0], [1], [2]]
    rule = SuperArmGLR(TopK(3, 1), super_arms=family, delta=0.1)
    family.pop()
    family[0][0] = 1
    found = identify(rule, GaussianArms([5.0, 0.0, 0.0], 0.5), rng=0)
    assert found.certified.all()
    assert repr(rule) == repr(SuperArmGLR(TopK(3, 1), super_arms=iter([[0], [1], [2]]), delta=0.1))


def test_a_single_super_arm_is_the_answer_at_once():
    found = identify(SuperArmGLR(UniformMatroid(3, 3), delta=0.1), BernoulliArms([0.5, 0.5, 0.5]), rng=0)
    assert found.samples.tolist() == [3]


def test_what_is_no_super_arm_of_the_oracle_is_not_listed():
    with pytest.raises(ValueError, match="super_arms must be feasible for TopK"):
        SuperArmGLR(TopK(3, 2), super_arms=[(0, 1), (0, 2), (1, 2), (0,)], delta=0.1)
