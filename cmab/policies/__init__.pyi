from cmab.confidence.radii import LogRadius as LogRadius
from cmab.models.policy import ModelPolicy as ModelPolicy
from cmab.policies._compiled import CompiledIndexPolicy as CompiledIndexPolicy
from cmab.policies.adaptive import AdaptiveCTS as AdaptiveCTS
from cmab.policies.adaptive import Learner as Learner
from cmab.policies.balancing import RegretBalancing as RegretBalancing
from cmab.policies.barrier import BarrierFTRL as BarrierFTRL
from cmab.policies.baselines import Clairvoyant as Clairvoyant
from cmab.policies.baselines import EpsilonGreedy as EpsilonGreedy
from cmab.policies.baselines import ExploreThenCommit as _ExploreThenCommit
from cmab.policies.baselines import Greedy as Greedy
from cmab.policies.baselines import RandomPolicy as RandomPolicy
from cmab.policies.bayes_ucb import BayesUCB as BayesUCB
from cmab.policies.bc_ucb import BCUCB as _BCUCB
from cmab.policies.budgets import PrimalDualCUCB as PrimalDualCUCB
from cmab.policies.cetc import CETC as CETC
from cmab.policies.cmoss import CMOSS as CMOSS
from cmab.policies.contextual_mnl import ContextualMNLTS as ContextualMNLTS
from cmab.policies.contextual_mnl import ContextualMNLUCB as ContextualMNLUCB
from cmab.policies.cucb import CUCB as CUCB
from cmab.policies.discounted import DiscountedCUCB as DiscountedCUCB
from cmab.policies.escb import ESCB as ESCB
from cmab.policies.escb import OLSUCB as _OLSUCB
from cmab.policies.etcg import ETCG as ETCG
from cmab.policies.explored import ForcedExploration as ForcedExploration
from cmab.policies.fairness import LFG as LFG
from cmab.policies.ftpl import FTPL as FTPL
from cmab.policies.gaussian import GaussianCTS as GaussianCTS
from cmab.policies.hierarchical import HierarchicalCTS as HierarchicalCTS
from cmab.policies.hybrid import HybridFTRL as _HybridFTRL
from cmab.policies.hybrid_cucb import OfflineCUCB as OfflineCUCB
from cmab.policies.kl_cucb import KLCUCB as KLCUCB
from cmab.policies.linear_thompson import CombLinTS as CombLinTS
from cmab.policies.linear_ucb import C2UCB as C2UCB
from cmab.policies.linear_ucb import CombLinUCB as _CombLinUCB
from cmab.policies.llr import LLR as _LLR
from cmab.policies.logistic import LogisticTS as LogisticTS
from cmab.policies.mnl_ts import MNLTS as _MNLTS
from cmab.policies.mnl_ucb import MNLUCB as MNLUCB
from cmab.policies.over_windows import BanditOverBandit as _BanditOverBandit
from cmab.policies.pbm_ucb import PBMUCB as PBMUCB
from cmab.policies.rarely_switching import RarelySwitchingCUCB as RarelySwitchingCUCB
from cmab.policies.restarting import GLRRestart as GLRRestart
from cmab.policies.safeguarded import Safeguarded as Safeguarded
from cmab.policies.thompson import CTS as CTS
from cmab.policies.top_rank import TopRank as TopRank
from cmab.policies.windowed import SlidingWindow as SlidingWindow

# Classes that have left the namespace.
BCUCB = _BCUCB
BanditOverBandit = _BanditOverBandit
CombLinUCB = _CombLinUCB
ExploreThenCommit = _ExploreThenCommit
HybridFTRL = _HybridFTRL
LLR = _LLR
MNLTS = _MNLTS
OLSUCB = _OLSUCB
