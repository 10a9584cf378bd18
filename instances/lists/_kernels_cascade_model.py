"""A round of the cascade model."""

from cmab.kernels import keyed_uniform, play_kernel
from oracles.lists._kernels_lists import list_worth


@play_kernel
def play_list(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """Outcomes from the top to where the user stops; `integers` says if at a success, `reals` the means."""
    is_disjunctive = integers[0] == 1
    stop = 1.0 if is_disjunctive else 0.0
    seen, outcome = 0, 1.0 - stop
    while seen < size and outcome != stop:
        arms[seen] = super_arm[seen]
        # The coin belongs to (round, arm): whoever shows the arm in this round meets the same one.
        outcome = 1.0 if keyed_uniform(key, super_arm[seen]) < reals[super_arm[seen]] else 0.0
        outcomes[seen] = outcome
        seen += 1
    # One success was enough, or no entry failed.
    totals[0] = 1.0 if (outcome == stop) == is_disjunctive else 0.0
    totals[1] = list_worth(super_arm, size, reals, is_disjunctive)
    return seen
