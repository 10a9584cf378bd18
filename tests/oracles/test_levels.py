"""Allocations by enumeration, on random instances with constraints; refusals of new families."""

from itertools import pairwise, product

import numpy as np
import pytest

from oracles import AtLeastOne, CostAwareCascade, LevelAllocation, TopK


@pytest.mark.parametrize("seed", range(40))
def test_allocations_by_enumeration(seed):
    """With required and banned levels, whole and other costs, and means of any sign and size."""
    rng = np.random.default_rng(seed)
    rows = [
        rng.choice(9, size=rng.integers(1, 5), replace=False) * (0.1 if seed % 2 else 1) for _ in range(4)
    ]
    oracle = LevelAllocation(rows, budget=float(rng.integers(15)) * (0.1 if seed % 2 else 1))
    means = rng.normal(0.3, 1.0, oracle.n_arms) * 10.0 ** rng.integers(-300, 300)
    kinds = rng.choice(3, size=oracle.n_arms, p=[0.1, 0.2, 0.7])
    include, exclude = np.flatnonzero(kinds == 0), np.flatnonzero(kinds == 1)
    ends = np.cumsum([0, *map(len, rows)])
    choices = product(*([None, *range(*span)] for span in pairwise(ends)))
    costs, optimum = np.concatenate(rows), -np.inf
    for levels in choices:
        arms = np.array([arm for arm in levels if arm is not None], np.int64)
        fits = costs[arms].sum() <= oracle.budget + 1e-9
        assert oracle.is_feasible(arms) == fits
        if fits and np.isin(include, arms).all() and not np.isin(exclude, arms).any():
            optimum = max(optimum, means[arms].sum())
    chosen = oracle.solve_constrained(means, include, exclude, rng)
    if chosen is None:
        assert optimum == -np.inf
    else:
        assert oracle.is_feasible(chosen) and np.isin(include, chosen).all()
        assert means[chosen].sum() == pytest.approx(optimum, rel=1e-12)
        assert not np.isin(exclude, chosen).any()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LevelAllocation([], 1), "costs must have at least one line"),
        (lambda: LevelAllocation({"a": []}, 1), "costs['a'] must be different costs, at least one"),
        (lambda: LevelAllocation({"a": [1, 1]}, 1), "costs['a'] must be different costs"),
        (lambda: LevelAllocation({"a": [-1]}, 1), "costs['a']"),
        (lambda: LevelAllocation([[1]], -1), "budget must be a finite number"),
        (lambda: CostAwareCascade([0.1, -0.1]), "costs must be finite in [0, inf), got -0.1"),
        (lambda: CostAwareCascade([0.1], value=0), "value must be"),
        (lambda: AtLeastOne(TopK(3, k=1, sense="min")), "family must be a linear oracle"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(ValueError) as error:
        make()
    assert words in str(error.value)
