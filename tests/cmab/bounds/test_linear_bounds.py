"""The bounds for sums of means: against enumeration, exact coverage on a tree of outcomes, hard instances."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import minimize

from cmab import CTS, CUCB, ArmStatistics, Campaign, Feedback, Session, regret_bound, simulate
from cmab.bounds.confidence_set import EARNED, JOINT, Family, LinearBound, confidence_set
from cmab.bounds.mixtures import bet_table
from instances import BernoulliArms, BetaArms, SemiBandit
from oracles import GraphicMatroid, Matching, SetCover, ShortestPath, TopK

DIAMOND = nx.DiGraph([(0, 1), (0, 2), (1, 3), (2, 3), (1, 2), (0, 3)])


def paths():
    """Return the oracle of the diamond and its paths as arms."""
    edges = list(DIAMOND.edges)
    oracle = ShortestPath(DIAMOND, 0, 3)
    routes = [[(0, 1), (1, 3)], [(0, 2), (2, 3)], [(0, 1), (1, 2), (2, 3)], [(0, 3)]]
    return oracle, [np.array([edges.index(edge) for edge in route]) for route in routes]


def top_two():
    return TopK(4, 2), [np.array(pair) for pair in combinations(range(4), 2)]


def learned(n_arms, rng, rounds=60, low=0.0, high=1.0):
    """Return statistics of random outcomes, of which one arm has none."""
    state = ArmStatistics.empty(n_arms)
    for _ in range(rounds):
        arms = np.flatnonzero(rng.random(n_arms - 1) < 0.5)
        state.update(Feedback(arms, low + (high - low) * (rng.random(len(arms)) < 0.4)))
    return state


def entropy(p, q):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, p * np.log(p / q), 0.0) + np.where(
            p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0
        )


def linear(oracle, state, support, independent, delta=0.1):
    arms = confidence_set(oracle, state, support, delta)
    family = Family(oracle, np.random.default_rng(0))
    size = min(oracle.max_size, oracle.n_arms)
    plays = state.counts.astype(float)
    return LinearBound(family, arms, float(state.rounds), plays, delta, size, independent)


def worth(bound, y, chosen):
    """Return the regret if the expectations are `y` in the units of the bound and `chosen` is the optimum."""
    arms = bound.arms
    factors = -bound.plays.copy()
    factors[chosen] += bound.horizon
    return float((factors * (arms.base + arms.length * y)).sum())


@pytest.mark.parametrize("make", [paths, top_two])
@pytest.mark.parametrize("support", [(0.0, 1.0), (0.5, 3.0)])
def test_arm_by_arm_is_the_largest_regret_over_the_box(make, support):
    oracle, family = make()
    for seed in range(5):
        bound = linear(
            oracle, learned(oracle.n_arms, np.random.default_rng(seed), 60, *support), support, False
        )
        arms = bound.arms
        largest = -np.inf
        for chosen in family:
            y = arms.lower.copy()
            inside = bound.horizon - bound.plays[chosen]
            y[chosen] = np.where(inside > 0, arms.upper[chosen], arms.lower[chosen])
            largest = max(largest, worth(bound, y, chosen))
        assert bound.arm_by_arm() == pytest.approx(largest, rel=1e-9, abs=1e-9)


def joint_maximum(bound, chosen, independent):
    """Return a value that the joint set of one super arm allows, by a general solver."""
    arms, k = bound.arms, len(chosen)
    budget = -np.log(JOINT * bound.delta) * (1 if independent else k)
    p, n = arms.shares[chosen], arms.counts[chosen]

    def left(y):
        # The logarithm of (1 + e) / 2, where e is the mixture of likelihood ratios.
        return budget - float(
            (np.logaddexp(0.0, n * entropy(p, y) - arms.prices[chosen]) - np.log(2.0)).sum()
        )

    inside = bound.horizon - bound.plays[chosen]
    start = np.clip(p, 1e-6, 1 - 1e-6)
    limits = [
        (max(a, 1e-9), max(b, 2e-9))
        for a, b in zip(start, np.minimum(arms.upper[chosen], 1 - 1e-9), strict=True)
    ]
    found = minimize(
        lambda y: -(inside * y).sum(),
        start,
        bounds=limits,
        constraints={"type": "ineq", "fun": left},
        method="SLSQP",
        options={"maxiter": 300},
    )
    return found.x if left(found.x) > -1e-6 else start


@pytest.mark.parametrize("make", [paths, top_two])
@pytest.mark.parametrize("independent", [False, True])
def test_joint_bound_is_above_the_joint_set_and_below_the_box(make, independent):
    """Weak duality for every multiplier; at the best one, the bound is near the maximum."""
    oracle, family = make()
    for seed in range(5):
        bound = linear(oracle, learned(oracle.n_arms, np.random.default_rng(seed)), (0.0, 1.0), independent)
        largest = -np.inf
        for chosen in family:
            y = bound.arms.lower.copy()
            y[chosen] = joint_maximum(bound, chosen, independent)
            largest = max(largest, worth(bound, y, chosen))
        box = bound.arm_by_arm()
        joint = bound._line_search(box, bound._apart(), 0.0)
        assert largest <= joint * (1 + 1e-6)
        assert joint <= box
        # The bound replaces the logarithm by a maximum of two lines, and the family is discrete.
        assert joint <= 1.3 * largest


@pytest.mark.parametrize("independent", [False, True])
def test_outcomes_outside_the_optimum_are_bounded_by_the_best_bet_of_the_table(independent):
    oracle, _ = top_two()
    bound = linear(oracle, learned(4, np.random.default_rng(1)), (0.0, 1.0), independent)
    values, cost = bound._outside(np.array([0, 1]))
    arms, table = bound.arms, bet_table().reshape(-1, 3)
    factor = 1 if independent else 2
    level = EARNED * bound.delta
    spread = arms.spreads[2:].sum()
    costs = [p / b * spread + factor * (s + np.log(1 / level)) / b for b, p, s in table]
    sums = (bound.plays * arms.shares)[2:].sum()
    assert values[2:].sum() + cost == pytest.approx(min(costs) - sums)


def coin_tree(policy, means, horizon, delta):
    """Return the exact probability that a certificate is ever wrong, for two coins and one play a round.

    The probability of each state is propagated. A state in which a bound is wrong is left with its mass.
    """
    best = max(means)
    mass = {(0, 0, 0, 0): 1.0}
    wrong = 0.0
    for t in range(1, horizon + 1):
        after = {}
        for (a, x, b, y), chance in mass.items():
            arm = int(policy.select(coin_state(a, x, b, y), np.random.default_rng(0))[0])
            for outcome, p in ((1, means[arm]), (0, 1 - means[arm])):
                new = (a + 1, x + outcome, b, y) if arm == 0 else (a, x, b + 1, y + outcome)
                after[new] = after.get(new, 0.0) + chance * p
        mass = {}
        for state, chance in after.items():
            regret = t * best - state[0] * means[0] - state[2] * means[1]
            found = regret_bound(policy, coin_state(*state), delta=delta, independent=True)
            gap = best - means[int(found.choice[0])]
            if found.regret < regret - 1e-9 or found.gap < gap - 1e-9:
                wrong += chance
            else:
                mass[state] = chance
    assert sum(mass.values()) + wrong == pytest.approx(1.0)
    return wrong


def coin_state(a, x, b, y):
    state = ArmStatistics.empty(2)
    state.counters[:] = a, b
    state.means[:] = x / max(a, 1), y / max(b, 1)
    state.deviations[:] = state.counters * state.means * (1 - state.means)
    state.rounds = a + b
    return state


@pytest.mark.slow
@pytest.mark.parametrize("means", [(0.5, 0.5), (0.9, 0.8), (0.02, 0.1)])
def test_exact_probability_of_error_by_enumeration(means):
    """No sampling: the probability of an error in any of 24 rounds, over all outcomes."""
    assert coin_tree(CUCB(TopK(2, 1)), means, 24, 0.9) <= 0.9


CASES = {
    "top": lambda rng: (TopK(8, 3), BernoulliArms(rng.uniform(0, 1, 8))),
    "narrow": lambda rng: (TopK(8, 3), BetaArms(*(100 * rng.uniform(0.1, 0.9, (2, 8))))),
    "path": lambda rng: (paths()[0], BernoulliArms(rng.uniform(0, 1, 6))),
    "tree": lambda rng: (GraphicMatroid(nx.complete_graph(5)), BernoulliArms(rng.uniform(0, 1, 10))),
    "matching": lambda rng: (
        Matching(nx.complete_bipartite_graph(3, 3)),
        BernoulliArms(rng.uniform(0, 1, 9)),
    ),
    "cover": lambda rng: (SetCover([[0, 1], [1, 2], [2, 0], [0, 1, 2]]), BernoulliArms(rng.uniform(0, 1, 4))),
    "certain": lambda rng: (TopK(5, 2), BernoulliArms([0.0, 1.0, 1.0, 0.0, 1.0])),
    "rare": lambda rng: (TopK(5, 2), BernoulliArms([0.001, 0.002, 0.003, 0.0, 0.01])),
    "equal": lambda rng: (TopK(5, 2), BernoulliArms(np.full(5, 0.5))),
    "single": lambda rng: (TopK(1, 1), BernoulliArms([0.3])),
    "all": lambda rng: (TopK(3, 3), BernoulliArms([0.3, 0.5, 0.1])),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "cover" else name for name in CASES]
)
@pytest.mark.parametrize("policy", [CTS, CUCB])
def test_bounds_hold_in_a_run(name, policy):
    """False-alarm probability at most 0.001 for each run; fixed seed."""
    oracle, arms = CASES[name](np.random.default_rng(5))
    for horizon in (1, 30, 600):
        played = simulate(policy(oracle), SemiBandit(arms, oracle), horizon, rng=2)
        for independent in (False, True):
            found = regret_bound(policy(oracle), played.states[0], delta=0.001, independent=independent)
            assert found.regret >= played.regret[0, -1] - 1e-9
            own = oracle._sign * (played.optimum - oracle.expected_reward(found.choice, arms.means))
            assert found.gap >= own - 1e-9
            assert found.alpha == 1.0
            assert found.rounds == horizon


def test_the_regret_of_scaled_arms_is_scaled():
    oracle = TopK(5, 2)
    unit = learned(5, np.random.default_rng(3))
    ten = learned(5, np.random.default_rng(3), low=0.0, high=10.0)
    small, large = (regret_bound(CTS(oracle), unit), regret_bound(CUCB(oracle), ten, support=(0.0, 10.0)))
    assert large.regret == pytest.approx(10 * small.regret)
    assert large.gap == pytest.approx(10 * small.gap)


def test_unreported_outcomes_keep_the_bound_valid(tmp_path):
    """The policy plays two arms and reports one: unreported plays count as plays without a reward."""
    oracle = TopK(2, 2)
    session = Session(CTS(oracle), rng=0)
    for _ in range(100):
        ticket = session.ask()
        session.tell(Feedback([0], [1.0]), ticket)
    found = regret_bound(session.policy, session.state)
    assert found.regret == pytest.approx(100.0)  # the second arm may be worth 1 and earned nothing
    edges = nx.DiGraph([(0, 1), (1, 2)])
    costs = Campaign(CTS(ShortestPath(edges, 0, 2)), tmp_path / "costs.db", rng=0)
    for _ in range(50):
        request = costs.ask()
        costs.tell({request.names[0]: 0.0}, request)
    # The unreported edge may have cost 1 in each round.
    assert costs.regret_bound().regret == pytest.approx(50.0)
