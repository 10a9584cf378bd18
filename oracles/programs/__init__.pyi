from cmab.solver_certificate import SolverCertificate as SolverCertificate
from oracles.anytime import SolverError as SolverError
