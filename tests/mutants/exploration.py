"""Wrong lines in the rules of exploration, and the quick tests that are to notice them.

Each row of `exploration.txt` is a mutant: its name, a file below `cmab`, a part of it that stands there once,
what stands there instead (a break is written as in Python), and the group of tests that are run. Of those in
`EQUIVALENT` no test can tell: they differ where two sums of outcomes are equal to the last bit.
"""

from pathlib import Path
from typing import NamedTuple

#: The folder of the tests.
FOLDER = "tests/cmab/exploration"
REFERENCES = "test_exploration_references.py"
#: The tests of a group: files, and the names among them.
GROUPS = {
    "lucb": ([REFERENCES], "two_bounds or lucb1 or lil_lucb or lucb_plus_plus or lil_rand_lucb or leaps"),
    "variance": (
        ["test_variance_lucb.py"],
        "whoever_bets or students_radius or definitions or batches or lost_their_digits or do_not_vary"
        " or change_sides",
    ),
    "kl": ([REFERENCES, "../confidence/test_kl.py"], "kl"),
    "clucb": ([REFERENCES], "clucb and not epsilon or lil_clucb or leaps or (gains_at_most_epsilon and 0.3)"),
    "lil_ucb": ([REFERENCES], "lil_ucb or no_worse_arm"),
    "ugape": (
        [REFERENCES, "test_gap_based.py"],
        "ugape or critical_pair or larger_radius",
    ),
    "budget": (
        [REFERENCES, "test_gap_based.py"],
        "ugapeb or gape or ucbe or estimated",
    ),
    "likelihood": (
        [REFERENCES, "test_mutants.py"],
        "(mixture or ttucb or track_and_stop or ratios) and not coins",
    ),
    "coins": (
        ["test_likelihood_stop.py"],
        "evidence_of_coins or penalty_is or proportions_maximise",
    ),
    "proportions": (
        ["test_top_two.py"],
        "general_solver or half_costs or tracks or renews",
    ),
    "phases": (
        ["test_budget_explorers.py", "test_pac_explorers.py"],
        "schedule or decide or same_number or sar",
    ),
    "aggregate": ([REFERENCES, "test_budget_explorers.py"], "printed"),
    "races": ([REFERENCES, "test_pac_explorers.py"], "race"),
    "kept": (["test_mutants.py"], "halving or opt_mai"),
}
EQUIVALENT = {"lucb1 stops at epsilon", "trees stop below 0", "ugape stops at epsilon"}


class Mutant(NamedTuple):
    """A wrong line."""

    name: str
    file: str
    old: str
    new: str
    group: str


_ROWS = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
MUTANTS = [Mutant(*(part.strip().replace("\\n", "\n") for part in row.split(" | "))) for row in _ROWS]
