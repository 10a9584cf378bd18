from oracles.programs._mixed_integer import SolverError as SolverError
from oracles.programs.linear_program import SolverCertificate as SolverCertificate
