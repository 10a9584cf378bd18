"""Conformance checks for oracles, policies, explorers and environments, including those of this library.

`check` runs all checks of an object. If checks fail, it raises one `ConformanceError` (an ``AssertionError``)
that lists all faults. Each fault has a name, and states the expected and the actual result. Otherwise `check`
returns a report of how much each check tried and which errors it would have detected. `checks` returns a list
of the checks, and `parametrize_with_checks` makes one pytest item of each.
"""

from cmab.testing._checks import Check, Finding, parametrize_with_checks
from cmab.testing._properties import Property, properties
from cmab.testing._results import CheckResult, ConformanceError, Report
from cmab.testing.environments import check_environment
from cmab.testing.explorers import check_explorer
from cmab.testing.kinds import check, checks
from cmab.testing.oracles import OracleReport, check_oracle
from cmab.testing.policies import check_policy

# The former names of `checks`, one for each kind of object.
oracle_checks = policy_checks = explorer_checks = environment_checks = checks

__all__ = [
    "Check",
    "CheckResult",
    "ConformanceError",
    "Finding",
    "OracleReport",
    "Property",
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
    "properties",
]
