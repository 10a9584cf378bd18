"""Conformance checks for oracles, policies, explorers and environments; our own tests run them too.

``check(oracle)`` runs all checks of an oracle in a notebook; ``checks(oracle)`` lists them, and
`parametrize_with_checks` makes one pytest item of each; so for policies, explorers and environments. What
fails raises an ``AssertionError`` that lists all faults, each with its name, what was expected and what came;
what passes returns a report of what was tried and which faults would have been noticed.
"""

from cmab.testing._checks import Check, Finding, parametrize_with_checks
from cmab.testing._results import CheckResult, ConformanceError, Report
from cmab.testing.environments import check_environment
from cmab.testing.explorers import check_explorer
from cmab.testing.kinds import check, checks
from cmab.testing.oracles import OracleReport, check_oracle
from cmab.testing.policies import check_policy

# What `checks` was, by kind.
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
