"""Conformance checks for oracles, policies, explorers and environments.

``check(oracle)`` runs all checks of an oracle, for example in a notebook. ``checks(oracle)`` lists the
checks, and `parametrize_with_checks` makes one pytest item of each. The same functions accept policies,
explorers and environments. If checks fail, ``check`` raises an ``AssertionError`` that lists all faults. Each
fault has the name of its check, the expected and the actual result. If all checks pass, ``check`` returns a
report on the number of trials and on the faults that these would detect.
"""

from cmab.testing._checks import Check, Finding, parametrize_with_checks
from cmab.testing._results import CheckResult, ConformanceError, Report
from cmab.testing.environments import check_environment
from cmab.testing.explorers import check_explorer
from cmab.testing.kinds import check, checks
from cmab.testing.oracles import OracleReport, check_oracle
from cmab.testing.policies import check_policy

# Former names of `checks` for each kind of object.
oracle_checks = policy_checks = explorer_checks = environment_checks = checks

__all__ = [
    "Check",
    "CheckResult",
    "ConformanceError",
    "Finding",
    "OracleReport",
    "Report",
    "check",
    "check_environment",
    "check_explorer",
    "check_oracle",
    "check_policy",
    "checks",
    "environment_checks",
    "explorer_checks",
    "oracle_checks",
    "parametrize_with_checks",
    "policy_checks",
]
