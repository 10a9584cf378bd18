"""The compiled forms of Bernoulli arms: the outcomes of a round from its key."""

from cmab.kernels import keyed_uniform, lean_kernel, play_kernel


@lean_kernel
def sum_in_order(values):
    """Return the sum of the entries, added in order as in the compiled loop."""
    total = 0.0
    # numpy sums in pairs, which may differ from `play_bernoulli` in the last bit.
    for value in values:
        total += value
    return total


@play_kernel
def play_bernoulli(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """Play a round with outcomes 0 and 1; `reals` contains the means."""
    totals[0], totals[1] = 0.0, 0.0
    for j in range(size):
        arm = super_arm[j]
        arms[j] = arm
        # The outcome depends only on (round, arm), so all policies observe the same outcome in a round.
        outcomes[j] = 1.0 if keyed_uniform(key, arm) < reals[arm] else 0.0
        totals[0] += outcomes[j]
        totals[1] += reals[arm]
    return size
