"""The compiled forms of Bernoulli arms: outcomes of a round from its key."""

from cmab.kernels import keyed_uniform, lean_kernel, play_kernel


@lean_kernel
def sum_in_order(values):
    """Return the sum from the first entry to the last, as the compiled loop adds up."""
    total = 0.0
    # numpy adds up in pairs, which may differ in the last bit from what `play_bernoulli` finds.
    for value in values:
        total += value
    return total


@play_kernel
def play_bernoulli(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """Outcomes of 0 and 1; `reals` holds the means."""
    totals[0], totals[1] = 0.0, 0.0
    for j in range(size):
        arm = super_arm[j]
        arms[j] = arm
        # The coin belongs to (round, arm): whoever plays the arm in this round sees the same outcome.
        outcomes[j] = 1.0 if keyed_uniform(key, arm) < reals[arm] else 0.0
        totals[0] += outcomes[j]
        totals[1] += reals[arm]
    return size
