from cmab.certificates.regret_certificate import RegretCertificate as RegretCertificate
from cmab.results.comparison import Comparison as Comparison
from cmab.results.explorer_comparison import ExplorerComparison as ExplorerComparison
from cmab.results.identification import Identification as Identification
from cmab.results.policy_comparison import PolicyComparison as PolicyComparison
from cmab.results.sample_plan import SamplePlan as SamplePlan
from cmab.results.simulation import Simulation as Simulation
