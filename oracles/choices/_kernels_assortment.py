"""The assortment of largest expected revenue under multinomial logit choice."""

from cmab.kernels import lean_kernel, solve_kernel, top_k


@lean_kernel
def attraction(mean, largest):
    """Return the attraction v of an item with mean v / (1 + v), at most `largest`."""
    # A mean of at least largest / (1 + largest), including 1, gives `largest`.
    return largest if mean * (1.0 + largest) >= largest else max(mean, 0.0) / (1.0 - mean)


@lean_kernel
def revenue_of(super_arm, size, means, revenues, largest):
    """Return ``sum r v / (1 + sum v)``, the expected revenue per customer."""
    paid, total = 0.0, 1.0
    for j in range(size):
        v = attraction(means[super_arm[j]], largest)
        # Agrawal, Avadhanula, Goyal and Zeevi (2019), equation 2, with v_0 = 1.
        paid += revenues[super_arm[j]] * v
        total += v
    return paid / total


@lean_kernel
def best_assortment(means, k, revenues, largest, worth, chosen):
    """Write the best set of at most k items in increasing order; return its size. `worth` is scratch space.

    R(S) >= x is equivalent to ``sum_S v (r - x) >= x``. So if x = R of any set, the k largest positive
    ``v (r - x)`` give a set of revenue at least x, and above x unless x is the optimum: Dinkelbach's method.
    """
    revenue, size = 0.0, 0
    while True:
        for i in range(means.shape[0]):
            worth[i] = attraction(means[i], largest) * (revenues[i] - revenue)
        top_k(worth, k, chosen)
        found = 0
        for j in range(k):
            if worth[chosen[j]] > 0.0:
                chosen[found] = chosen[j]
                found += 1
        if found == 0:  # no item has positive value: offer the one of largest revenue
            break
        after = revenue_of(chosen, found, means, revenues, largest)
        size = found
        if after <= revenue:
            break
        revenue = after
    if size == 0:
        top_k(revenues, 1, chosen)
        size = 1
    return size


@solve_kernel
def solve_assortment(means, integers, reals, out):
    """Solve `Assortment`; `reals`: the largest attraction, the revenues and scratch space."""
    m = means.shape[0]
    return best_assortment(means, integers[0], reals[1 : m + 1], reals[0], reals[m + 1 :], out)
