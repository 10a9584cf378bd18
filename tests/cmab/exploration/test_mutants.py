"""What mutants of the rules showed to be untested."""

import math

import numpy as np
from references_exploration import threshold

from cmab import ArmStatistics, BestKGLR, Feedback, OptMAI


def told(explorer, state, values):
    """Tell the arms that are asked for their `values`, as often as wanted; return arms and pulls."""
    arms, pulls = explorer.select(state, np.random.default_rng(0)), explorer.pulls(state)
    sums = np.array([values[arm] for arm in arms]) * pulls
    explorer.update(state, Feedback(arms, sums, pulls=[pulls] * len(arms), squares=sums**2 / pulls))
    return arms.tolist(), pulls


def test_opt_mai_drops_a_quarter_while_there_are_four_times_as_many():
    """Zhou et al. (2014): with 3 k arms the border decides; the best arm is farthest and is taken at once."""
    explorer = OptMAI(12, 4, budget=4000)
    state = explorer.initial_state()
    arms, pulls = told(explorer, state, [1.0] + [0.5] * 4 + [0.4] * 7)
    # Q_r = beta^r (1 - beta) Q, beta = 3/4 e^.2, in equal parts.
    beta = 0.75 * math.exp(0.2)
    assert (len(arms), pulls) == (12, int((1 - beta) * 4000 // 12))
    assert state.accepted[0]
    many = OptMAI(16, 4, budget=4000)
    state = many.initial_state()
    told(many, state, [1.0] + [0.5] * 4 + [0.4] * 11)
    assert not state.accepted.any()
    assert state.undecided.tolist() == [True] * 12 + [False] * 4


def test_likelihood_ratios_of_all_pairs_are_looked_at():
    """The pair with the least evidence plus logarithms has enough; another, of many samples, may not."""
    rule, counts = BestKGLR(3, 1, delta=0.1), np.array([10**6, 10, 10**6])
    needs = threshold(2, 0.1) + 2 * np.log(4 + np.log(counts[0])) + 2 * np.log(4 + np.log(counts[1:]))
    for extra, stops in ((-0.1, False), (0.1, True)):
        evidence = needs + np.array([0.1, extra])
        gaps = np.sqrt(evidence * 0.5 * (1 / counts[0] + 1 / counts[1:]))
        state = ArmStatistics.empty(3)
        means = np.array([0.0, *-gaps])
        state.update(Feedback([0, 1, 2], means * counts, pulls=counts, squares=means**2 * counts + 1.0))
        # The first pair is the critical one in both cases.
        assert evidence[0] + np.log(counts[1]) < evidence[1] + np.log(counts[2])
        assert rule.is_done(state) is stops
