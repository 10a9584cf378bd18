"""Combinatorial multi-armed bandits with graph oracles.

This module has the names that most programs need. All other names are in `cmab.policies`, `cmab.exploration`,
`cmab.logs`, `cmab.campaigns`, `cmab.errors`, `cmab.theory`, `cmab.testing` and `cmab.plotting`. Each name is
imported when it is first used.
"""

# This import comes first because it installs the handler of Ctrl-C; the imports below take time.
from cmab import _interrupts  # noqa: F401
from cmab.namespaces import attach
from cmab.studies import _imports  # noqa: F401, which notes the time of all later imports

__version__ = "0.2.0"

_ENVIRONMENTS = ["Oracle", "LinearOracle", "Environment", "Feedback", "Context"]
_LEARNERS = [
    "Policy",
    "IndexPolicy",
    "CUCB",
    "CTS",
    "KLCUCB",
    "C2UCB",
    "ESCB",
    "Greedy",
    "EpsilonGreedy",
    "RandomPolicy",
]
_EXPLORERS = ["Explorer", "LUCB1", "LilRandLUCB", "CLUCB", "SAR"]
_RUNS = [
    "simulate",
    "compare",
    "identify",
    "plan",
    "Session",
    "Campaign",
    "Study",
    "Log",
    "read_log",
    "off_policy_value",
]
_NAMESPACES = [
    *("campaigns", "errors", "exploration", "logs", "plotting", "policies", "testing"),
    "theory",
]

__getattr__, __dir__, __all__ = attach(
    __name__, [*_ENVIRONMENTS, *_LEARNERS, *_EXPLORERS, *_RUNS, *_NAMESPACES]
)
