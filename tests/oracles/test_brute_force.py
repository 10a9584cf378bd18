"""The reference of all oracles, against loops that leave no doubt."""

import numpy as np
import pytest
from refusals import refused

from oracles import BruteForce

RNG = np.random.default_rng(0)


def random_family(rng):
    n_arms = int(rng.integers(1, 7))
    drawn = {tuple(np.flatnonzero(rng.random(n_arms) < 0.5)) for _ in range(rng.integers(1, 9))}
    return n_arms, sorted(drawn)


@pytest.mark.parametrize("sense", ["max", "min"])
def test_linear_is_the_reward_that_sums(sense):
    rng = np.random.default_rng(1)
    for _ in range(200):
        n_arms, family = random_family(rng)
        means = rng.integers(-3, 4, n_arms).astype(float)  # sums are exact, so ties are ties
        plain = BruteForce(n_arms, family, sense=sense)
        by_reward = BruteForce(n_arms, family, reward=lambda means, arms: means[arms].sum(), sense=sense)
        values = [sum(means[list(arms)]) for arms in family]
        best = family[values.index((max if sense == "max" else min)(values))]
        assert tuple(plain.solve(means, RNG)) == tuple(by_reward.solve(means, RNG)) == best


def test_constraints_by_definition():
    rng = np.random.default_rng(2)
    for _ in range(200):
        n_arms, family = random_family(rng)
        means, side = rng.normal(size=n_arms), rng.integers(0, 3, n_arms)
        include, exclude = np.flatnonzero(side == 1), np.flatnonzero(side == 2)
        left = [a for a in family if set(include) <= set(a) and not set(exclude) & set(a)]
        found = BruteForce(n_arms, family).solve_constrained(means, include, exclude, RNG)
        if found is None:
            assert not left
        else:
            assert tuple(found) in left
            assert means[found].sum() == pytest.approx(max(means[list(a)].sum() for a in left))


def test_a_reward_that_is_no_sum_is_no_linear_oracle():
    oracle = BruteForce(3, [(0, 1), (2,)], reward=lambda means, arms: means[arms].min(), sense="min")
    assert not oracle.is_linear and not oracle.can_constrain
    assert oracle.solve(np.array([0.5, 0.1, 0.2]), RNG).tolist() == [0, 1]
    assert oracle.triggered_arms(np.array([2])).tolist() == [2]
    assert oracle.is_feasible(np.array([1, 0]))
    assert not oracle.is_feasible(np.array([1]))


test_bad_input_is_refused = refused(
    ((3, []), "at least one super arm, got none"),
    ((3, [[0], [3]]), r"super_arms\[1\] must lie in range\(3\)"),
    ((3, [[0, 0]]), r"super_arms\[0\] must not repeat"),
    ((3, [[0, 1], [1, 0]]), r"must not repeat a super arm, got \[1, 0\] again at position 1"),
    ((0, [[0]]), "n_arms must be"),
    ((3, [5]), r"super_arms\[0\] must be a 1-D integer array"),
    by=lambda arguments: BruteForce(*arguments),
)


def test_a_reward_is_monotone_only_if_declared_and_tested():
    family = [[0, 1], [1, 2]]
    assert BruteForce(3, family).is_monotone
    assert not BruteForce(3, family, reward=lambda means, arms: means[arms].min()).is_monotone
    assert BruteForce(3, family, reward=lambda means, arms: means[arms].min(), monotone=True).is_monotone
    with pytest.raises(ValueError, match=r"monotone must be False for this reward: it decreases from"):
        BruteForce(3, family, reward=lambda means, arms: means[0] - means[1], monotone=True)
