"""Problem instances: arm distributions, environments, and builders of the papers' experiments."""

from instances.arms.arms import Arms, BernoulliArms, GaussianArms
from instances.arms.bounded import BetaArms, EmpiricalArms
from instances.arms.semi_bandit import SemiBandit
from instances.best_k import (
    audibert_bubeck_munos,
    lil_exponential,
    lucb_lower_bound,
    power_gap_means,
    two_groups,
)
from instances.changing import PiecewiseStationary
from instances.choices.linear_logit import LinearMultinomialLogit
from instances.choices.multinomial_logit import MultinomialLogit
from instances.contexts.linear import LinearSemiBandit
from instances.contexts.sleeping import SleepingSemiBandit
from instances.corrupted import Corrupted
from instances.coverage import Coverage
from instances.graphs import (
    constant_probabilities,
    read_edge_list,
    trivalency,
    uniform_probabilities,
    weighted_cascade,
)
from instances.lists.cascade_model import CascadeModel
from instances.lists.dependent_clicks import DependentClickModel
from instances.lists.position_based import position_based_model
from instances.moving import MovingMeans
from instances.networks.network import Network, read_network
from instances.resources import ResourceSemiBandit
from instances.spreading.base import SpreadingInfluence
from instances.spreading.deadline import DeadlineCascade
from instances.spreading.independent_cascade import IndependentCascade
from instances.spreading.linear_threshold import LinearThreshold

__all__ = [
    "Arms",
    "BernoulliArms",
    "BetaArms",
    "CascadeModel",
    "Corrupted",
    "Coverage",
    "DeadlineCascade",
    "DependentClickModel",
    "EmpiricalArms",
    "GaussianArms",
    "IndependentCascade",
    "LinearMultinomialLogit",
    "LinearSemiBandit",
    "LinearThreshold",
    "MovingMeans",
    "MultinomialLogit",
    "Network",
    "PiecewiseStationary",
    "ResourceSemiBandit",
    "SemiBandit",
    "SleepingSemiBandit",
    "SpreadingInfluence",
    "audibert_bubeck_munos",
    "constant_probabilities",
    "lil_exponential",
    "lucb_lower_bound",
    "position_based_model",
    "power_gap_means",
    "read_edge_list",
    "read_network",
    "trivalency",
    "two_groups",
    "uniform_probabilities",
    "weighted_cascade",
]
