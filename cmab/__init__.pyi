import instances as instances
import oracles as oracles
from cmab import campaign as campaign
from cmab import errors as errors
from cmab import exploration as exploration
from cmab import logs as logs
from cmab import plotting as plotting
from cmab import policies as policies
from cmab import results as results
from cmab import states as states
from cmab import testing as testing
from cmab import theory as theory
from cmab.campaign import *
from cmab.certificates.bound import regret_bound as regret_bound
from cmab.certificates.certify import Certify as Certify
from cmab.context import Context as Context
from cmab.environment import Environment as Environment
from cmab.environment import round_key as round_key
from cmab.errors import *
from cmab.exploration import *
from cmab.explorer import Explorer as Explorer
from cmab.feedback import Feedback as Feedback
from cmab.logs import *
from cmab.oracle import LinearOracle as LinearOracle
from cmab.oracle import Oracle as Oracle
from cmab.oracle.memoised import MemoisedOracle as MemoisedOracle
from cmab.policies import *
from cmab.policy import IndexPolicy as IndexPolicy
from cmab.policy import Policy as Policy
from cmab.results import *
from cmab.running.comparison import compare as compare
from cmab.running.identification import identify as identify
from cmab.running.plan import plan as plan
from cmab.running.simulation import simulate as simulate
from cmab.session import Session as Session
from cmab.states import *
from cmab.studies.study import Study as Study

__version__: str
