"""The compiled form of a round of the cascade model."""

from cmab.kernels import keyed_uniform, play_kernel
from oracles.lists._kernels_lists import list_worth


@play_kernel
def play_list(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """Play the list until the user stops; `integers` says if success stops, `reals` has the means."""
    is_disjunctive = integers[0] == 1
    stop = 1.0 if is_disjunctive else 0.0
    seen, outcome = 0, 1.0 - stop
    while seen < size and outcome != stop:
        arms[seen] = super_arm[seen]
        # The outcome depends only on (round, arm), so all policies observe the same outcome in a round.
        outcome = 1.0 if keyed_uniform(key, super_arm[seen]) < reals[super_arm[seen]] else 0.0
        outcomes[seen] = outcome
        seen += 1
    # Disjunctive: one success is enough. Conjunctive: all entries must succeed.
    totals[0] = 1.0 if (outcome == stop) == is_disjunctive else 0.0
    totals[1] = list_worth(super_arm, size, reals, is_disjunctive)
    return seen
