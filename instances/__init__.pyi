from instances import arms as arms
from instances import benchmarks as benchmarks
from instances import best_k as best_k
from instances import networks as networks
from instances import worlds as worlds
from instances.arms import *
from instances.arms.arms import BernoulliArms as BernoulliArms
from instances.arms.arms import GaussianArms as GaussianArms
from instances.arms.semi_bandit import SemiBandit as SemiBandit
from instances.benchmarks import *
from instances.best_k import audibert_bubeck_munos as audibert_bubeck_munos
from instances.best_k import lil_exponential as lil_exponential
from instances.best_k import lucb_lower_bound as lucb_lower_bound
from instances.best_k import power_gap_means as power_gap_means
from instances.best_k import two_groups as two_groups
from instances.choices.multinomial_logit import MultinomialLogit as MultinomialLogit
from instances.contexts.linear import LinearSemiBandit as LinearSemiBandit
from instances.coverage import Coverage as Coverage
from instances.lists.cascade_model import CascadeModel as CascadeModel
from instances.networks import *
from instances.networks.network import read_network as read_network
from instances.spreading.independent_cascade import IndependentCascade as IndependentCascade
from instances.spreading.linear_threshold import LinearThreshold as LinearThreshold
from instances.worlds import *
