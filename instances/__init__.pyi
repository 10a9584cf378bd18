from instances import arms as arms
from instances import benchmarks as benchmarks
from instances import best_k as best_k
from instances import networks as networks
from instances import worlds as worlds
from instances.arms import Arms as Arms
from instances.arms import BernoulliArms as BernoulliArms
from instances.arms import BetaArms as BetaArms
from instances.arms import EmpiricalArms as EmpiricalArms
from instances.arms import GaussianArms as GaussianArms
from instances.arms import SemiBandit as SemiBandit
from instances.benchmarks import *
from instances.best_k import audibert_bubeck_munos as audibert_bubeck_munos
from instances.best_k import lil_exponential as lil_exponential
from instances.best_k import lucb_lower_bound as lucb_lower_bound
from instances.best_k import power_gap_means as power_gap_means
from instances.best_k import two_groups as two_groups
from instances.choices import MultinomialLogit as MultinomialLogit
from instances.contexts import LinearSemiBandit as LinearSemiBandit
from instances.coverage import Coverage as Coverage
from instances.lists import CascadeModel as CascadeModel
from instances.networks import *
from instances.networks.network import read_network as read_network
from instances.spreading import IndependentCascade as IndependentCascade
from instances.spreading import LinearThreshold as LinearThreshold
from instances.worlds import *
