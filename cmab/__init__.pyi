from cmab import bounds as bounds
from cmab import campaign as campaign
from cmab import exploration as exploration
from cmab import offline as offline
from cmab import plotting as plotting
from cmab import policies as policies
from cmab import testing as testing
from cmab.bounds.certificate import Certify as Certify
from cmab.bounds.certificate import RegretCertificate as RegretCertificate
from cmab.bounds.certificate import regret_bound as regret_bound
from cmab.campaign import *
from cmab.environment import Environment as Environment
from cmab.environment import round_key as round_key
from cmab.exploration import *
from cmab.exploration.certificate import Certificate as Certificate
from cmab.explorer import Explorer as Explorer
from cmab.feedback import Context as Context
from cmab.feedback import Feedback as Feedback
from cmab.linear import LinearStatistics as LinearStatistics
from cmab.offline import *
from cmab.oracle import LinearOracle as LinearOracle
from cmab.oracle import Oracle as Oracle
from cmab.policies import *
from cmab.policies.budgets import BudgetState as BudgetState
from cmab.policies.changing import RestartState as RestartState
from cmab.policies.changing import WindowStatistics as WindowStatistics
from cmab.policies.wrappers import SafeguardState as SafeguardState
from cmab.policy import IndexPolicy as IndexPolicy
from cmab.policy import Policy as Policy
from cmab.run.compare import Comparison as Comparison
from cmab.run.compare import ComparisonInterrupted as ComparisonInterrupted
from cmab.run.compare import compare as compare
from cmab.run.identify import identify as identify
from cmab.run.plan import SamplePlan as SamplePlan
from cmab.run.plan import plan as plan
from cmab.run.results import Identification as Identification
from cmab.run.results import Simulation as Simulation
from cmab.run.simulate import SimulationInterrupted as SimulationInterrupted
from cmab.run.simulate import simulate as simulate
from cmab.run.study import Study as Study
from cmab.run.study import StudyFailed as StudyFailed
from cmab.session import Session as Session
from cmab.statistics import ArmStatistics as ArmStatistics

__version__: str
