"""The table of the linear problems of the arena."""

from __future__ import annotations

from functools import partial

from cmab.arena import Problem
from instances.arena._draws import leading, levels, skewed, uniform
from instances.arena._linear import (
    Means,
    beta_top_k,
    grid_path,
    grid_tree,
    half_deterministic,
    knapsack,
    layered_path,
    matching,
    one_of_each,
    pairs,
    random_tree,
    road_path,
    sets,
    top_k,
    two_paths,
)

_CHEN = "Chen, Wang, Yuan (ICML 2013): CUCB for best arms"
_COMBES = "Combes et al. (NIPS 2015), section 6: matchings and spanning trees"
_KVETON = "Kveton et al. (AISTATS 2015): paths in grids and the gap-dependent lower bound"
_PERRAULT = "Perrault et al. (NeurIPS 2020): many independent arms in one super arm are expensive for CTS"
_NARROW = "outcomes with little noise: confidence bounds for coins explore too much"
_low: Means = partial(uniform, low=0.3, high=0.7)
_rare: Means = partial(skewed, a=1.0, b=19.0)
_cheap: Means = partial(skewed, a=1.0, b=4.0)
_two: Means = partial(leading, k=10, high=0.6, low=0.4)
_three: Means = partial(levels, values=(0.2, 0.5, 0.8))

LINEAR = [
    Problem("top 5 of 20", "top-k", partial(top_k, n=20, k=5), 10_000, _CHEN),
    Problem("top 10 of 100", "top-k", partial(top_k, n=100, k=10, means=_low), 10_000, _CHEN),
    Problem(
        "top 10 of 50, two levels",
        "top-k",
        partial(top_k, n=50, k=10, means=_two),
        10_000,
        _KVETON,
    ),
    Problem(
        "top 50 of 1000", "top-k", partial(top_k, n=1000, k=50, means=skewed), 5_000, "many arms, few rounds"
    ),
    Problem(
        "top 10 of 100, rare",
        "top-k",
        partial(top_k, n=100, k=10, means=_rare),
        10_000,
        "clicks are rare",
    ),
    Problem(
        "top 10 of 100, narrow",
        "top-k",
        partial(top_k, n=100, k=10, spread=0.1),
        10_000,
        _NARROW,
    ),
    Problem(
        "top 20 of 200, scaled",
        "top-k",
        partial(top_k, n=200, k=20, scale=0.1),
        10_000,
        _NARROW,
    ),
    Problem(
        "top 10 of 100, exact",
        "top-k",
        partial(top_k, n=100, k=10, spread=0.0),
        10_000,
        _NARROW,
    ),
    Problem(
        "top 8 of 40, half exact",
        "top-k",
        partial(half_deterministic, n=40, k=8),
        10_000,
        _NARROW,
    ),
    Problem(
        "top 5 of 30, Beta",
        "top-k",
        partial(beta_top_k, n=30, k=5, concentration=5.0),
        2_000,
        "continuous outcomes",
    ),
    Problem(
        "top 10 of 60, coupled",
        "top-k",
        partial(top_k, n=60, k=10, means=_three, coupling=0.8),
        10_000,
        "Degenne and Perchet (NIPS 2016): outcomes of a round are correlated",
    ),
    Problem(
        "one of each of 10 classes",
        "top-k",
        partial(one_of_each, classes=10, size=8),
        10_000,
        _KVETON,
    ),
    Problem("matching 6 x 6", "matching", partial(matching, left=6, right=6), 5_000, _COMBES),
    Problem(
        "matching 12 x 15, narrow",
        "matching",
        partial(matching, left=12, right=15, chance=0.5, spread=0.3),
        3_000,
        _NARROW,
    ),
    Problem(
        "pairs of 14", "matching", partial(pairs, n=14, degree=4), 2_000, "matchings of a graph of people"
    ),
    Problem("path in a 5 x 5 grid", "path", partial(grid_path, size=5), 5_000, _KVETON),
    Problem(
        "path in a 7 x 7 grid, small costs",
        "path",
        partial(grid_path, size=7, means=_cheap, spread=0.5),
        5_000,
        "congestion is rare and costs are skewed",
    ),
    Problem(
        "path through layers",
        "path",
        partial(layered_path, layers=4, width=4),
        10_000,
        _COMBES,
    ),
    Problem(
        "road, Beta delays",
        "path",
        partial(road_path, n=40, concentration=10.0),
        2_000,
        "routing in a network",
    ),
    Problem(
        "two paths in a grid", "path", partial(two_paths, size=5), 2_000, "Suurballe (1974): a spare path"
    ),
    Problem("tree of a 5 x 5 grid", "tree", partial(grid_tree, size=5), 10_000, _COMBES),
    Problem(
        "tree of 30 nodes, small costs",
        "tree",
        partial(random_tree, n=30, edges=90, means=_cheap),
        10_000,
        _COMBES,
    ),
    Problem(
        "tree of a 6 x 6 grid, scaled",
        "tree",
        partial(grid_tree, size=6, scale=0.2),
        10_000,
        _NARROW,
    ),
    Problem(
        "knapsack of 30",
        "knapsack",
        partial(knapsack, n=30, capacity=40),
        10_000,
        "Chen et al. (2016)",
    ),
    Problem(
        "knapsack of 80, coupled",
        "knapsack",
        partial(knapsack, n=80, capacity=60, coupling=0.5),
        10_000,
        "Degenne and Perchet (NIPS 2016): outcomes of a round are correlated",
    ),
    Problem(
        "two sets of 12",
        "sets",
        partial(sets, count=2, size=12, good=0.9, bad=0.8),
        10_000,
        _PERRAULT,
    ),
    Problem(
        "two sets of 50",
        "sets",
        partial(sets, count=2, size=50, good=0.55, bad=0.5),
        10_000,
        _PERRAULT,
    ),
    Problem(
        "eight sets of 6",
        "sets",
        partial(sets, count=8, size=6, good=0.6, bad=0.5),
        10_000,
        _PERRAULT,
    ),
    Problem(
        "three sets of 20, coupled",
        "sets",
        partial(sets, count=3, size=20, good=0.6, bad=0.5, coupling=0.5),
        10_000,
        "Degenne and Perchet (NIPS 2016): outcomes of a round are correlated",
    ),
    Problem(
        "two sets of 20, narrow",
        "sets",
        partial(sets, count=2, size=20, good=0.55, bad=0.5, spread=0.3),
        10_000,
        _NARROW,
    ),
]
