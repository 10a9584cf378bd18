"""Conformance checks of oracles, policies, explorers and environments.

`check_oracle`, `check_policy`, `check_explorer` and `check_environment` run about thirty named checks of one
object. If checks fail, they raise one `ConformanceError` (an ``AssertionError``) that lists all faults.
Otherwise they return a `Report` that says which checks passed and which were not tried, with the reason.
`checks` returns the list of the checks, and `parametrize_with_checks` makes one pytest item of each.
"""

from cmab.testing.common import Check, CheckResult, ConformanceError, Report, parametrize_with_checks
from cmab.testing.environment import check_environment
from cmab.testing.explorer import check_explorer
from cmab.testing.kinds import checks
from cmab.testing.oracle import check_oracle
from cmab.testing.policy import check_policy

__all__ = [
    "Check",
    "CheckResult",
    "ConformanceError",
    "Report",
    "check_environment",
    "check_explorer",
    "check_oracle",
    "check_policy",
    "checks",
    "parametrize_with_checks",
]
