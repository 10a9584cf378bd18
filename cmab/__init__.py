"""Combinatorial multi-armed bandits with graph oracles."""

# First, because the command installs its handler of Ctrl-C there: the imports below take most of a second.
from cmab import _interrupts  # noqa: F401, I001
from importlib import import_module
from typing import Any

from cmab.campaigns.campaign import Campaign
from cmab.campaigns.log import Log, LoggedRound
from cmab.campaigns.reading import read_journal
from cmab.campaigns.request import Request
from cmab.campaigns.summary import Summary
from cmab.confidence.radii import LogRadius
from cmab.context import Context
from cmab.environment import Environment, round_key
from cmab.exploration.aggregate import AdaptiveTopK, OptMAI
from cmab.exploration.clucb import CLUCB, LilCLUCB
from cmab.exploration.gap_based import UCBE, GapE
from cmab.exploration.halving import Halving, SequentialHalving, UniformAllocation
from cmab.exploration.kl_lucb import KLLUCB
from cmab.exploration.lil_ucb import LilUCB
from cmab.exploration.lucb import LUCB1, LilLUCB, LilRandLUCB, LUCBPlusPlus, LUCBRule, RadiusRule
from cmab.exploration.lucb_halving import LUCB1Halving
from cmab.exploration.mixture import BestKGLR
from cmab.exploration.phases import PhasedExplorer
from cmab.exploration.races import BernsteinRace, HoeffdingRace
from cmab.exploration.rejects import CSAR, SAR, SuccessiveRejects
from cmab.exploration.ruled import RuledExplorer
from cmab.exploration.super_arm_glr import SuperArmGLR
from cmab.exploration.top_two import EBTCI, TTUCB
from cmab.exploration.track_and_stop import TrackAndStop
from cmab.exploration.ugape import UGapEb, UGapEc, UGapEcV
from cmab.exploration.variance_lucb import BernsteinLUCB, StudentLUCB
from cmab.explorer import Explorer
from cmab.feedback import Feedback
from cmab.goals import Goal
from cmab.linear.statistics import LinearStatistics
from cmab.logs.off_policy import OffPolicyEstimate, off_policy_value
from cmab.logs.open_bandit import read_open_bandit
from cmab.logs.replay import replay_value
from cmab.logs.tables import read_log
from cmab.offline import OfflineChoice, clcb
from cmab.oracle import LinearOracle, Oracle
from cmab.oracle.memoised import MemoisedOracle
from cmab.policies._compiled import CompiledIndexPolicy
from cmab.policies.baselines import Clairvoyant, EpsilonGreedy, ExploreThenCommit, Greedy, RandomPolicy
from cmab.policies.bayes_ucb import BayesUCB
from cmab.policies.bc_ucb import BCUCB
from cmab.policies.budgets import BudgetState, PrimalDualCUCB
from cmab.policies.contextual_mnl import ContextualMNLTS, ContextualMNLUCB
from cmab.policies.cucb import CUCB
from cmab.policies.discounted import DiscountedCUCB
from cmab.policies.escb import ESCB, OLSUCB
from cmab.policies.etcg import ETCG
from cmab.policies.explored import ForcedExploration
from cmab.policies.fairness import LFG
from cmab.policies.ftpl import FTPL
from cmab.policies.gaussian import GaussianCTS
from cmab.policies.hierarchical import HierarchicalCTS
from cmab.policies.hybrid import HybridFTRL
from cmab.policies.hybrid_cucb import OfflineCUCB
from cmab.policies.kl_cucb import KLCUCB
from cmab.policies.linear_thompson import CombLinTS
from cmab.policies.linear_ucb import C2UCB, CombLinUCB
from cmab.policies.llr import LLR
from cmab.policies.logistic import LogisticTS
from cmab.policies.mnl_ts import MNLTS
from cmab.policies.mnl_ucb import MNLUCB
from cmab.policies.over_windows import BanditOverBandit, BlockState
from cmab.policies.pbm_ucb import PBMUCB
from cmab.policies.rarely_switching import RarelySwitchingCUCB
from cmab.policies.restarting import GLRRestart, RestartState
from cmab.policies.thompson import CTS
from cmab.policies.top_rank import TopRank
from cmab.policies.windowed import SlidingWindow, WindowStatistics
from cmab.policy import IndexPolicy, Policy
from cmab.renamed import CLASSES, REPLACED, former
from cmab.results.comparison import Comparison
from cmab.results.explorer_comparison import ExplorerComparison
from cmab.results.identification import Identification
from cmab.results.policy_comparison import PolicyComparison
from cmab.results.sample_plan import SamplePlan
from cmab.results.simulation import Simulation
from cmab.running.comparison import ComparisonInterrupted, compare
from cmab.running.identification import identify
from cmab.running.plan import plan
from cmab.running.simulation import SimulationInterrupted, simulate
from cmab.session import Session
from cmab.statistics import ArmStatistics
from cmab.studies._pieces import StudyFailed
from cmab.studies.study import Study
from cmab.ticket import Ticket

__all__ = [
    "BCUCB",
    "C2UCB",
    "CLUCB",
    "CSAR",
    "CTS",
    "CUCB",
    "EBTCI",
    "ESCB",
    "ETCG",
    "FTPL",
    "KLCUCB",
    "KLLUCB",
    "LFG",
    "LLR",
    "LUCB1",
    "MNLTS",
    "MNLUCB",
    "OLSUCB",
    "PBMUCB",
    "SAR",
    "TTUCB",
    "UCBE",
    "AdaptiveTopK",
    "ArmStatistics",
    "BanditOverBandit",
    "BayesUCB",
    "BernsteinLUCB",
    "BernsteinRace",
    "BestKGLR",
    "BlockState",
    "BudgetState",
    "Campaign",
    "Clairvoyant",
    "CombLinTS",
    "CombLinUCB",
    "Comparison",
    "ComparisonInterrupted",
    "CompiledIndexPolicy",
    "Context",
    "ContextualMNLTS",
    "ContextualMNLUCB",
    "DiscountedCUCB",
    "Environment",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "Explorer",
    "ExplorerComparison",
    "Feedback",
    "ForcedExploration",
    "GLRRestart",
    "GapE",
    "GaussianCTS",
    "Goal",
    "Greedy",
    "Halving",
    "HierarchicalCTS",
    "HoeffdingRace",
    "HybridFTRL",
    "Identification",
    "IndexPolicy",
    "LUCB1Halving",
    "LUCBPlusPlus",
    "LUCBRule",
    "LilCLUCB",
    "LilLUCB",
    "LilRandLUCB",
    "LilUCB",
    "LinearOracle",
    "LinearStatistics",
    "Log",
    "LogRadius",
    "LoggedRound",
    "LogisticTS",
    "MemoisedOracle",
    "OffPolicyEstimate",
    "OfflineCUCB",
    "OfflineChoice",
    "OptMAI",
    "Oracle",
    "PhasedExplorer",
    "Policy",
    "PolicyComparison",
    "PrimalDualCUCB",
    "RadiusRule",
    "RandomPolicy",
    "RarelySwitchingCUCB",
    "Request",
    "RestartState",
    "RuledExplorer",
    "SamplePlan",
    "SequentialHalving",
    "Session",
    "Simulation",
    "SimulationInterrupted",
    "SlidingWindow",
    "StudentLUCB",
    "Study",
    "StudyFailed",
    "SuccessiveRejects",
    "Summary",
    "SuperArmGLR",
    "Ticket",
    "TopRank",
    "TrackAndStop",
    "UGapEb",
    "UGapEc",
    "UGapEcV",
    "UniformAllocation",
    "WindowStatistics",
    "clcb",
    "compare",
    "identify",
    "off_policy_value",
    "plan",
    "read_journal",
    "read_log",
    "read_open_bandit",
    "replay_value",
    "round_key",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Look up what most programs do not need when it is asked for."""
    # Reading the version, or matplotlib, takes longer than all the rest of the import.
    if name == "__version__":
        from cmab.studies._registry import version

        return version()
    if name == "plotting":
        return import_module("cmab.plotting")
    # Other names of the packages that stand beside this one, for `from cmab import oracles`.
    if name in ("oracles", "instances"):
        return import_module(name)
    if name in CLASSES or name in REPLACED:
        return former(name)
    raise AttributeError(f"module 'cmab' has no attribute {name!r}")
