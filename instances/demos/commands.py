"""The demos that ``cmab demo NAME`` runs."""

from instances.demos.choices import assortment, ranking
from instances.demos.graphs import coverage, matching, routing
from instances.demos.influence import influence
from instances.demos.knapsack import knapsack
from instances.demos.linear import spanning_tree, top_k
from instances.demos.offline import offline

__all__ = [
    "assortment",
    "coverage",
    "influence",
    "knapsack",
    "matching",
    "offline",
    "ranking",
    "routing",
    "spanning_tree",
    "top_k",
]
