"""Model policies with estimators of scikit-learn, behind ten oracles."""

import numpy as np
import pytest
from cases import ENVIRONMENTS, ORACLES

from cmab import ModelPolicy
from cmab.testing import check_policy
from instances import BernoulliArms, SemiBandit

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
#: Rows of the tables.
LINEAR = {"top_k", "bottom_k", "uniform_matroid", "partition_matroid", "graphic_matroid", "assignment"}
LINEAR |= {"shortest_path", "knapsack_of_one_row", "slate"}
PLACES = {case.name: case.make for case in ENVIRONMENTS if case.name in {"cascade_model", "coverage"}}
PLACES |= {case.name: case.make for case in ORACLES if case.name in LINEAR}
#: Each oracle with one estimator, and each estimator with at least one oracle.
PAIRS = list(zip(PLACES, [*ESTIMATORS, *ESTIMATORS], strict=False))


@pytest.mark.slow
@pytest.mark.parametrize(("place", "estimator"), PAIRS)
def test_it_conforms(place, estimator):
    made = PLACES[place]()
    oracle = getattr(made, "oracle", made)
    arms = BernoulliArms(np.resize([0.2, 0.6, 0.9, 0.4, 0.5, 0.3], oracle.n_arms))
    environment = SemiBandit(arms, oracle) if made is oracle else made
    # A Gaussian process needs memory for the square of the number of rows.
    most = 60 if estimator == "process" else 10_000
    policy = ModelPolicy(oracle, ESTIMATORS[estimator](), np.eye(oracle.n_arms), members=2, max_rows=most)
    check_policy(policy, environment)
