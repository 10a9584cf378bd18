"""What mutants of the rules showed to be untested; the mutants themselves are in `mutants`."""

import math
import sys

import numpy as np
import pytest
from places import ROOT
from references_exploration import threshold

from cmab import ArmStatistics, BestKGLR, Feedback, OptMAI
from cmab.exploration.halving import SequentialHalving
from cmab.exploration.top_two import EBTCI


def told(explorer, state, values):
    """Tell the arms that are asked for their `values`, as often as wanted; return arms and pulls."""
    arms, pulls = explorer.select(state, np.random.default_rng(0)), explorer.pulls(state)
    sums = np.array([values[arm] for arm in arms]) * pulls
    explorer.update(state, Feedback(arms, sums, pulls=[pulls] * len(arms), squares=sums**2 / pulls))
    return arms.tolist(), pulls


def test_sequential_halving_forgets_means():
    """Karnin et al. (2013): an arm that shone in the first round is judged by the second alone."""
    explorer = SequentialHalving(4, budget=80)
    state = explorer.initial_state()
    assert told(explorer, state, [1.0, 0.6, 0.1, 0.1]) == ([0, 1, 2, 3], 10)
    # 80 samples, 2 rounds: 20 of each of 2 arms. Over both rounds arm 0 would be ahead, .6 to .57.
    assert told(explorer, state, [0.4, 0.55, 0.0, 0.0]) == ([0, 1], 20)
    assert explorer.recommend(state).tolist() == [1]


def test_sequential_halving_has_rounds_until_one_arm_is_left():
    explorer = SequentialHalving(5, budget=300)
    state, sizes = explorer.initial_state(), []
    while not explorer.is_done(state):
        arms, pulls = told(explorer, state, [0.9, 0.7, 0.5, 0.3, 0.1])
        sizes.append((len(arms), pulls))
    # ceil(log2 5) = 3 rounds share 300 samples.
    assert sizes == [(5, 20), (3, 33), (2, 50)]


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


@pytest.mark.parametrize("rule", [BestKGLR(3, 1, delta=0.1), EBTCI(3, delta=0.1)], ids=repr)
def test_likelihood_ratios_of_all_pairs_are_looked_at(rule):
    """The pair with the least evidence plus logarithms has enough; another, of many samples, may not."""
    counts = np.array([10**6, 10, 10**6])
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


def test_every_mutant_is_one_line_of_the_code_that_is():
    sys.path.insert(0, str(ROOT / "tests" / "mutants"))
    try:
        from exploration import EQUIVALENT, FOLDER, GROUPS, MUTANTS
    finally:
        sys.path.pop(0)
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert {mutant.name for mutant in MUTANTS} >= EQUIVALENT
    for mutant in MUTANTS:
        text = (ROOT / "cmab" / mutant.file).read_text(encoding="utf-8")
        assert text.count(mutant.old) == 1, mutant
        assert mutant.new != mutant.old
        assert all((ROOT / FOLDER / file).exists() for file in GROUPS[mutant.group][0])
