"""What can be imported from where: thirty names at the top, the namespaces, and all former imports."""

import os
import subprocess
import sys
from importlib import import_module
from types import ModuleType
from zipfile import ZipFile

import pytest
from places import ROOT

from cmab.namespaces import FORMER, REPLACED
from oracles.packing._kernels_core import LEFT

#: What version 0.2 had at the top.
FORMERLY = {
    "cmab": """
        AESCB AdaptiveTopK ArmStatistics BCUCB BanditOverWindows BayesUCB
        BernsteinLUCB BernsteinRace BlockState BudgetState C2UCB CLUCB CSAR CTS CUCB Campaign
        Clairvoyant CombLinTS CombLinUCB Comparison ComparisonInterrupted CompiledIndexPolicy
        Context ContextualMNLTS ContextualMNLUCB DiscountedCUCB ESCB ETCG Environment
        EpsilonGreedy ExploreThenCommit Explored Explorer ExplorerComparison FTPL Feedback GapE
        GaussianCTS Goal Greedy HYBRID Halving HierarchicalCTS HoeffdingRace HybridCUCB
        Identification IndexPolicy KLCUCB KLLUCB LFG LLR LUCB1 LUCB1Halving LUCBPlusPlus LUCBRule
        LilCLUCB LilLUCB LilRandLUCB LilUCB LinearOracle LinearStatistics Log LogRadius LoggedRound
        LogisticTS MNLTS MNLUCB MemoisedOracle OLSUCB
        OffPolicyValue OfflineChoice OptMAI Oracle PBMUCB PhasedExplorer Policy PolicyComparison
        PrimalDualCUCB RadiusRule RarelySwitchingCUCB Request RestartState Restarting RuledExplorer
        SAR SamplePlan Session Simulation SimulationInterrupted StudentLUCB Study
        StudyFailed SuccessiveRejects Summary TTUCB Ticket TopRank TrackAndStop UCBE
        UGapEb UGapEc UGapEcV UniformAllocation UniformlyRandom WindowStatistics Windowed clcb
        compare identify off_policy_value plan read_journal read_log read_open_bandit replay_value
        round_key simulate
    """,
    "oracles": """
        AdaptiveInfluence Arborescence Assortment BruteForce BruteForceReward BudgetedInfluence
        Certificate DeadlineInfluence DegreeHeuristic DependentClickLists DirectedGraph
        DisjointPaths GeneralizedAssignment GraphicMatroid IndependentTriggering
        InfluenceMaximization InfluenceOracle Knapsack LaminarMatroid LinearMatroid Matching Matroid
        MaxCoverage MemoisedOracle MinCostFlow MinimumCut MonteCarloGreedy MostReliablePath
        MultidimensionalKnapsack PartitionMatroid PuLPOracle RankedTopK RepairedInfluence
        RobustCertificate SetCover ShortestPath SolverCertificate SolverError SteinerTree
        SubmodularOracle TopK TransversalMatroid TriggeringInfluence TriggeringModel UniformMatroid
        VertexCover clcb_cascades edge_features in_degree_groups robust_seeds
    """,
    "instances": """
        Arms BernoulliArms BetaArms CascadeModel Corrupted Coverage DeadlineCascade
        DependentClickModel EmpiricalArms GaussianArms IndependentCascade LinearMultinomialLogit
        LinearSemiBandit LinearThreshold MovingMeans MultinomialLogit Network PiecewiseStationary
        ResourceSemiBandit SemiBandit SleepingSemiBandit SpreadingInfluence audibert_bubeck_munos
        constant_probabilities lil_exponential lucb_lower_bound position_based_model power_gap_means
        read_edge_list read_network trivalency two_groups uniform_probabilities weighted_cascade
    """,
}
NAMESPACES = [
    file.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for package in FORMERLY
    for file in sorted((ROOT / package).rglob("*.pyi"))
]


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package, text in FORMERLY.items() for name in text.split()]
)
@pytest.mark.filterwarnings("ignore:.*is now called:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*has left the namespace:DeprecationWarning")
def test_every_former_import_works(package, name):
    module = import_module(package)
    assert name in {*FORMER, *REPLACED, *LEFT, *module.__all__}
    assert callable(getattr(module, name))


@pytest.mark.parametrize(("package", "count"), [("cmab", 30), ("oracles", 20), ("instances", 10)])
def test_the_top_shows_few_names_and_the_namespaces(package, count):
    module = import_module(package)
    named = [name for name in dir(module) if name in module.__all__]
    assert len(named) == count
    assert all(isinstance(getattr(module, name), ModuleType) for name in {*dir(module)} - {*named})


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_a_namespace_is_documented_and_has_the_names_of_its_stub(namespace):
    module = import_module(namespace)
    assert module.__doc__
    for name in module.__all__:
        assert getattr(module, name).__doc__
    assert all(isinstance(getattr(module, name), ModuleType) for name in {*dir(module)} - {*module.__all__})
    with pytest.raises(AttributeError, match=f"module '{namespace}' has no attribute 'TopJ'"):
        module.TopJ  # noqa: B018


def test_a_name_has_one_namespace():
    homes = [name for space in NAMESPACES if space not in FORMERLY for name in import_module(space).__all__]
    assert len(homes) == len(set(homes)) > 100


def test_a_star_import_gives_all_names():
    code = "from cmab import *; print(CUCB.__name__, BernsteinRace.__name__, clcb.__name__)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert shown.stdout.split() == ["CUCB", "BernsteinRace", "clcb"]


def test_the_packages_work_from_an_archive(tmp_path):
    archive = tmp_path / "all.zip"
    with ZipFile(archive, "w") as packed:
        for file in (file for package in FORMERLY for file in (ROOT / package).rglob("*.py*")):
            if file.suffix in (".py", ".pyi"):
                packed.write(file, file.relative_to(ROOT))
    code = "import cmab, oracles; print(cmab.__file__, cmab.CUCB(oracles.TopK(3, 1)))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(archive)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.startswith(str(archive))
