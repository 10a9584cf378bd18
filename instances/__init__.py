"""Problem instances: arm distributions, environments, and builders of the papers' experiments."""

from instances.arms import Arms, BernoulliArms, GaussianArms
from instances.semi_bandit import SemiBandit

__all__ = ["Arms", "BernoulliArms", "GaussianArms", "SemiBandit"]
