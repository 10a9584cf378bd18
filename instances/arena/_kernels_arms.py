"""The compiled form of the arms of the arena: shrunk and coupled coins."""

from cmab.compiled import keyed_uniform, play_kernel


@play_kernel
def play_coins(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """Play a round; `reals` contains the chances, the spreads, the scale and the coupling."""
    n = integers[0]
    scale, coupling = reals[2 * n], reals[2 * n + 1]
    totals[0], totals[1] = 0.0, 0.0
    common = keyed_uniform(key, 2 * n)
    for j in range(size):
        arm = super_arm[j]
        arms[j] = arm
        chance = reals[arm]
        # The second uniform number of an arm decides whether the arm uses the common number of the round.
        is_own = coupling == 0.0 or keyed_uniform(key, n + arm) >= coupling
        coin = 1.0 if (keyed_uniform(key, arm) if is_own else common) < chance else 0.0
        outcomes[j] = scale * (chance + reals[n + arm] * (coin - chance))
        totals[0] += outcomes[j]
        totals[1] += scale * chance
    return size
