"""The table of the arena: every problem can be drawn, is permuted and can be played by its entries."""

from collections import Counter

import numpy as np
import pytest

from cmab.run.arena import CannotPlay, play
from instances.arena import ENTRIES, PROBLEMS, ShrunkCoins


@pytest.mark.parametrize("name", PROBLEMS)
def test_instances_differ_and_are_drawn_again(name):
    problem = PROBLEMS[name]
    one, same, other = (problem.draw(seed=7, replication=r) for r in (0, 0, 1))
    assert one.oracle.n_arms == one.environment.n_arms
    assert np.array_equal(one.environment.means, same.environment.means)
    means = [each.environment.means for each in (one, other)]
    # Features are drawn in every round, so their average means are equal.
    assert problem.kind == "features" or not np.array_equal(*means)
    assert problem.source.strip()


def test_the_table_has_all_kinds_and_a_fifth_is_held_out():
    kinds = Counter(problem.kind for problem in PROBLEMS.values())
    held = [problem for problem in PROBLEMS.values() if problem.held_out]
    assert len(PROBLEMS) >= 40
    assert len(held) == 13
    needed = {"top-k", "matching", "path", "tree", "sets", "influence", "list", "assortment"}
    assert {p.kind for p in held} >= needed
    others = {"coverage", "influence", "knapsack", "batch", "delay", "available", "change", "clicks"}
    assert others <= set(kinds)


def test_good_arms_have_no_preferred_place():
    """The better of two sets is equally often the first one.

    With 200 instances, a difference of more than 70 has probability below 1e-6 (binomial).
    """
    problem = PROBLEMS["two sets of 12"]
    first = 0
    for replication in range(200):
        found = problem.draw(seed=1, replication=replication)
        best = found.oracle.solve(found.environment.means, np.random.default_rng(0))
        first += np.array_equal(np.sort(best), np.sort(found.oracle.super_arms[0]))
    assert abs(2 * first - 200) <= 70


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_entries_play_the_problems_of_their_kinds(name):
    problem = PROBLEMS[name]
    for entry in ENTRIES:
        if not entry.plays(problem.kind):
            continue
        if problem.kind == "features" and entry.kinds is None:
            with pytest.raises(CannotPlay):
                play(problem, entry, 0, horizon=10)
        else:
            assert np.isfinite(play(problem, entry, 0, horizon=10)["regret"]).all()


def test_names_of_entries_differ():
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "coupling"), [(1.0, 0.0), (0.2, 0.0), (0.0, 0.0), (0.5, 0.7), (1.0, 1.0)])
def test_moments_of_shrunk_coins(spread, coupling):
    """Means, variances and correlations of outcomes are those of the definition.

    Each of 10 estimates of 40,000 rounds is within 6 standard errors (probability below 1e-6 for all). A
    standard error is at most 0.25 / 200 for variances, means and covariances of outcomes in [0, 0.5].
    """
    chances, scale, n = np.array([0.3, 0.3, 0.8]), 0.5, 40_000
    arms = ShrunkCoins(chances, spread=spread, scale=scale, coupling=coupling)
    rng = np.random.default_rng(11)
    outcomes = np.array([arms.play(np.arange(3), rng).outcomes for _ in range(n)])
    error = 6 * 0.25 / np.sqrt(n)
    assert np.abs(outcomes.mean(axis=0) - scale * chances).max() <= error
    variances = (scale * spread) ** 2 * chances * (1.0 - chances)
    assert np.abs(outcomes.var(axis=0) - variances).max() <= error
    # Both coins use the common number with probability coupling**2. Then the smaller chance decides.
    both = coupling**2 * (np.minimum.outer(chances, chances) - np.outer(chances, chances))
    covariances = np.cov(outcomes.T) - np.diag(variances)
    wanted = (scale * spread) ** 2 * (both - np.diag(np.diag(both)))
    assert np.abs(covariances - wanted).max() <= error
