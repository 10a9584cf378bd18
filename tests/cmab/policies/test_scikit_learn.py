"""Model policies with estimators of scikit-learn, behind ten oracles."""

import networkx as nx
import numpy as np
import pytest

from cmab import ModelPolicy
from cmab.testing import check_policy
from instances import BernoulliArms, CascadeModel, Coverage, SemiBandit
from oracles import GraphicMatroid, Knapsack, Matching, ShortestPath, TopK
from oracles.lists import RankedTopK, Slate
from oracles.matroids import PartitionMatroid, UniformMatroid

pytest.importorskip("sklearn")
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import BayesianRidge, LogisticRegression, SGDRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pytestmark = pytest.mark.filterwarnings("ignore")

ESTIMATORS = {
    "linear": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "bayesian": BayesianRidge,
    "forest": lambda: RandomForestClassifier(3),
    "boosting": lambda: HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=3),
    "process": lambda: GaussianProcessRegressor(alpha=0.3, optimizer=None),
    "network": lambda: MLPRegressor(hidden_layer_sizes=(8,), max_iter=100, learning_rate_init=0.03),
    "gradient": lambda: SGDRegressor(),
    "neighbours": lambda: KNeighborsRegressor(3),
}
_FEW = np.array([0.2, 0.6, 0.9, 0.4, 0.5, 0.3])


def on_arms(oracle):
    """Return Bernoulli arms for a linear oracle."""
    return SemiBandit(BernoulliArms(np.resize(_FEW, oracle.n_arms)), oracle)


def coverage():
    graph = nx.Graph([("a", 1), ("a", 2), ("b", 2), ("b", 3), ("c", 1), ("c", 3), ("c", 4)])
    nx.set_node_attributes(graph, {node: 0 if isinstance(node, str) else 1 for node in graph}, "bipartite")
    return Coverage(graph, 1, probability=np.resize(_FEW, graph.number_of_edges()))


PLACES = {
    "best": lambda: on_arms(TopK(4, 2)),
    "worst": lambda: on_arms(TopK(4, 2, sense="min")),
    "uniform": lambda: on_arms(UniformMatroid(4, 2)),
    "classes": lambda: on_arms(PartitionMatroid(["a", "a", "b", "b"])),
    "trees": lambda: on_arms(GraphicMatroid(nx.cycle_graph(4))),
    "matching": lambda: on_arms(Matching(nx.complete_bipartite_graph(2, 2))),
    "paths": lambda: on_arms(ShortestPath(nx.DiGraph([(0, 1), (1, 3), (0, 2), (2, 3), (0, 3)]), 0, 3)),
    "knapsack": lambda: on_arms(Knapsack([1, 2, 2, 1], 3)),
    "slate": lambda: on_arms(Slate(3, 2)),
    "cascade": lambda: CascadeModel(_FEW[:4], RankedTopK(4, 2)),
    "coverage": coverage,
}
#: Each oracle with one estimator, and each estimator with at least one oracle.
PAIRS = list(zip(PLACES, [*ESTIMATORS, *ESTIMATORS], strict=False))


@pytest.mark.slow
@pytest.mark.parametrize(("place", "estimator"), PAIRS)
def test_it_conforms(place, estimator):
    environment = PLACES[place]()
    oracle = environment.oracle
    # A Gaussian process needs memory for the square of the number of rows.
    most = 60 if estimator == "process" else 10_000
    policy = ModelPolicy(oracle, ESTIMATORS[estimator](), np.eye(oracle.n_arms), members=2, max_rows=most)
    check_policy(policy, environment)
