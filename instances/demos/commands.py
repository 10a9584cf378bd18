"""The demos that ``cmab demo NAME`` runs."""

from instances.demos.choices import assortment, ranking
from instances.demos.graphs import coverage, matching, routing
from instances.demos.influence import influence
from instances.demos.knapsack import knapsack
from instances.demos.linear import spanning_tree, top_k

__all__ = [
    "assortment",
    "coverage",
    "influence",
    "knapsack",
    "matching",
    "ranking",
    "routing",
    "spanning_tree",
    "top_k",
]
