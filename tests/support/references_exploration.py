"""The rules of exploration once more, from their papers and in plain numpy: what the compiled ones must do.

A reference is made from an explorer's parameters. Told ``(counts, means, deviations, rounds, coin)`` it
returns the arms to sample next and whether the rule stops. Ties go to the lower index.
"""

import math
from functools import cache
from itertools import combinations

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln, entr


def top(values, k):
    """The k largest values, in order of the arms."""
    return np.sort(np.argsort(-np.asarray(values), kind="stable")[:k])


def others(n, arms):
    """The arms that are not among these."""
    return np.setdiff1d(np.arange(n), arms)


def c_epsilon(e):
    """Jamieson et al. (2014), Lemma 3."""
    return (2 + e) / e * (1 / math.log(1 + e)) ** (1 + e)


def lil(counts, level, e, sigma):
    """The radius of the law of the iterated logarithm: Jiang, Li and Qiao (2017), section 5."""
    inner = np.log((1 + e) * counts + 2)
    return (1 + math.sqrt(e)) * np.sqrt(2 * sigma**2 * (1 + e) * np.log(inner / level) / counts)


def lil_level(mode, delta, sides, n_sides):
    """Exponent and level for which the union over the sides is delta."""
    if mode == "heuristic":
        return 0.0, delta
    e = 0.01
    union = sum(size * (n_sides * size) ** -(1 + e) for size in sides)
    return e, (delta / (c_epsilon(e) * union)) ** (1 / (1 + e))


def pair_of(lower, upper, high):
    """LUCB's critical pair: Kalyanakrishnan et al. (2012)."""
    low = others(len(lower), high)
    return high[np.argmin(lower[high])], low[np.argmax(upper[low])]


def of_lucb(bounds, k, epsilon=None, one_arm=False):
    """The family: bounds(counts, means, rounds, high) say which rule."""

    def decide(counts, means, deviations, rounds, coin):
        high = top(means, k)
        lower, upper = bounds(counts, means, rounds, high)
        h, l = pair_of(lower, upper, high)  # noqa: E741
        gap = upper[l] - lower[h]
        arms = [h if coin * (counts[h] + counts[l]) < counts[l] else l] if one_arm else sorted((h, l))
        return arms, gap <= 0 if epsilon is None else gap < epsilon

    return decide


def lucb1(x):
    """Radius of Kalyanakrishnan et al. (2012) with k_1 = 5/4."""

    def bounds(counts, means, rounds, high):
        radii = x.sigma * np.sqrt(2 * math.log(1.25 * x.n_arms * rounds**4 / x.delta) / counts)
        return means - radii, means + radii

    return of_lucb(bounds, x.k, x.epsilon)


def entropy(p, q):
    """Relative entropy of Bernoulli distributions."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [np.where(a > 0, a * np.log(a / b), 0.0) for a, b in ((p, q), (1 - p, 1 - q))]
    return terms[0] + terms[1]


def kl_lucb(x):
    """Kaufmann and Kalyanakrishnan (2013), Theorem 1, with bounds by bisection."""

    def end(counts, means, rate, side):
        inside, outside = means.copy(), np.full(len(means), side)
        for _ in range(60):
            middle = (inside + outside) / 2
            fits = counts * entropy(means, middle) <= rate
            inside, outside = np.where(fits, middle, inside), np.where(fits, outside, middle)
        return inside

    def bounds(counts, means, rounds, high):
        log = math.log(405.5 * x.n_arms * rounds**1.1 / x.delta)
        rate = log + math.log(log)
        return [end(counts, means, rate, side) for side in (0.0, 1.0)]

    return of_lucb(bounds, x.k, x.epsilon)


def of_lil(x, e, high_level, low_level, one_arm=False):
    """LUCB with lil radii at the level of each side."""

    def bounds(counts, means, rounds, high):
        radii = lil(counts, np.where(np.isin(np.arange(x.n_arms), high), high_level, low_level), e, x.sigma)
        return means - radii, means + radii

    return of_lucb(bounds, x.k, one_arm=one_arm)


def lil_lucb(x):
    """A union over all arms."""
    e, level = lil_level(x.mode, x.delta, [x.n_arms], 1)
    return of_lil(x, e, level / x.n_arms, level / x.n_arms)


def lucb_plus_plus(x, one_arm=False):
    """A union over the other side: Simchowitz et al. (2017)."""
    e, level = lil_level(x.mode, x.delta, [x.k, x.n_arms - x.k], 2)
    return of_lil(x, e, level / (2 * (x.n_arms - x.k)), level / (2 * x.k), one_arm)


def of_variances(x, radius, low=-math.inf, high=math.inf):
    """LUCB with the levels of LUCB++ and a radius(count, mean, deviation, level), within [low, high]."""

    def decide(counts, means, deviations, rounds, coin):
        best, levels = top(means, x.k), np.full(x.n_arms, x.delta / (2 * x.k))
        levels[best] = x.delta / (2 * (x.n_arms - x.k))
        radii = np.array([radius(*arm) for arm in zip(counts, means, deviations, levels, strict=True)])
        lower, upper = np.maximum(means - radii, low), np.minimum(means + radii, high)
        h, l = pair_of(lower, upper, best)  # noqa: E741
        return sorted((h, l)), upper[l] - lower[h] <= x.epsilon

    return decide


def bernstein_lucb(x):
    """Where the luckiest of the bets has won its share of the level, searched for."""
    length = x.support[1] - x.support[0]
    shares = [(0.58 / 1.5**j, 1 / ((j + 1) * (j + 2))) for j in range(54)]
    bets = [(f, sum(f**i / i for i in range(2, 100)), share) for f, share in shares]

    def radius(count, mean, deviation, level):
        def won(r):
            evidence = [f * count * r - pay * (deviation / length**2 + count * r**2) for f, pay, _ in bets]
            return max(e + math.log(bet[2]) for e, bet in zip(evidence, bets, strict=True)) + math.log(level)

        return length * brentq(won, 0.0, 1.0, xtol=1e-15) if won(1.0) > 0 else math.inf

    return of_variances(x, radius, *x.support)


def lil_ucb(x):
    """Jamieson et al. (2014), Figure 1, and the parameters of their section 4."""
    e, level, factor, ratio = 0.0, x.delta, 1.5, 1 + 10 / x.n_arms
    if x.mode == "faithful":
        e, factor, ratio = 0.01, 2.0, 9.0
        level = (math.sqrt(1 + x.delta) - 1) ** 2 / (4 * c_epsilon(e))

    def decide(counts, means, deviations, rounds, coin):
        most = counts.max()
        return [np.argmax(means + factor * lil(counts, level, e, x.sigma))], most >= 1 + ratio * (
            counts.sum() - most
        )

    return decide


def of_clucb(x, radii, epsilon):
    """Chen et al. (2014), Algorithm 1, by listing all super arms."""
    n, sign = x.n_arms, 1 if x.oracle.sense == "max" else -1
    size = len(x.oracle.solve(np.linspace(1, 0, n), np.random.default_rng(0)))
    family = [s for s in combinations(range(n), size) if x.oracle.is_feasible(np.array(s))]

    def best(values):
        return set(max(family, key=lambda arms: sign * values[list(arms)].sum()))

    def decide(counts, means, deviations, rounds, coin):
        own, r = best(means), sign * radii(counts)
        revised = np.where(np.isin(np.arange(n), list(own)), means - r, means + r)
        rival = best(revised)
        disputed = sorted(own ^ rival)
        gap = sign * (revised[list(rival)].sum() - revised[list(own)].sum())
        return [
            max(disputed, key=lambda arm: abs(r[arm]))
        ] if disputed else [], not disputed or gap <= epsilon

    return decide


def lil_clucb(x):
    """Jiang, Li and Qiao (2017), Algorithms 2 and 3: it stops when the rival is the same."""
    e, level = lil_level(x.mode, x.delta, [x.n_arms], 1)
    return of_clucb(x, lambda counts: lil(counts, level / x.n_arms, e, x.sigma), -math.inf)


def anytime(x, counts):
    """The radius of UGapEc and CLUCB."""
    return x.sigma * np.sqrt(2 * math.log(4 * x.n_arms * int(counts.sum()) ** 3 / x.delta) / counts)


def clucb(x):
    """Chen et al. (2014), Algorithm 1."""
    return of_clucb(x, lambda counts: anytime(x, counts), x.epsilon)


def ugape_answer(means, radii, k):
    """Gabillon et al. (2012), Figure 1: the answer J(t), its index and the arm to pull."""
    n, lower, upper = len(means), means - radii, means + radii
    gaps = np.array([np.sort(np.delete(upper, i))[-k] - lower[i] for i in range(n)])
    chosen = top(-gaps, k)
    inside = min(chosen, key=lambda i: (lower[i], -radii[i]))
    outside = max(others(n, chosen), key=lambda i: (upper[i], radii[i]))
    return chosen, gaps[chosen].max(), outside if radii[outside] >= radii[inside] else inside


def bandits(x, means, radii):
    """The answers, the indices, the first arms and the pulls of several bandits."""
    found, first = [], 0
    for size in x.arms_per_bandit:
        own = slice(first, first + size)
        found.append((*ugape_answer(means[own], radii[own], x.k), first))
        first += size
    return found


def ugapec(x):
    """Gabillon et al. (2012), Figures 1 and 2; by variances, Maurer and Pontil (2009), Theorem 4."""

    def decide(counts, means, deviations, rounds, coin):
        if x.support is None:
            radii = anytime(x, counts)
        else:
            log, b = math.log(7 * x.n_arms * int(counts.sum()) ** 3 / x.delta), x.support[1] - x.support[0]
            variances = deviations / (counts - 1)
            radii = np.sqrt(2 * variances * log / counts) + 7 * b * log / (3 * (counts - 1))
        found = bandits(x, means, radii)
        _, gap, pull, first = max(found, key=lambda bandit: bandit[1])
        return [first + pull], gap < x.epsilon

    return decide


def ugapeb(x):
    """Gabillon et al. (2012), Figures 1 and 2."""

    def decide(counts, means, deviations, rounds, coin):
        radii = (x.support[1] - x.support[0]) * np.sqrt(x.a / counts)
        _, _, pull, first = max(bandits(x, means, radii), key=lambda bandit: bandit[1])
        return [first + pull], counts.sum() >= x.budget

    return decide


def gape(x):
    """Gabillon et al. (2011), Figure 1."""

    def decide(counts, means, deviations, rounds, coin):
        index, first = np.empty(x.n_arms), 0
        for size in x.arms_per_bandit:
            own = means[first : first + size]
            best = np.argmax(own)
            gaps = own[best] - own
            gaps[best] = own[best] - np.delete(own, best).max()
            index[first : first + size] = -gaps
            first += size
        index += (x.support[1] - x.support[0]) * np.sqrt(x.a / counts)
        return [np.argmax(index)], counts.sum() >= x.budget

    return decide


def ucbe(x):
    """Audibert et al. (2010), Figure 2."""

    def decide(counts, means, deviations, rounds, coin):
        return [np.argmax(means + np.sqrt(x.a / counts))], counts.sum() >= x.budget

    return decide


@cache
def threshold(n_pairs, delta):
    """Kaufmann and Koolen's 2 C_G(ln(pairs / delta) / 2), by a search of its own."""
    from scipy.optimize import minimize_scalar
    from scipy.special import zeta

    x = math.log(n_pairs / delta) / 2

    def value(u):
        return (2 * u - 2 * u * math.log(4 * u) + math.log(zeta(2 * u)) - 0.5 * math.log(1 - u) + x) / u

    return 2 * minimize_scalar(value, bounds=(0.5 + 1e-9, 1 - 1e-9), method="bounded").fun


def divergence(p, q):
    """kl(p, q) of coins, infinite where q excludes what p does not."""
    return sum(a * math.log(a / b) if b > 0 else math.inf for a, b in [(p, q), (1 - p, 1 - q)] if a > 0)


def ratio(x, counts, means, i, j):
    """The evidence that i is better than j less epsilon, and the share of it that is i's."""
    if x.family == "gaussian":
        gap, share = max(0.0, means[i] - means[j] + x.epsilon), counts[j] / (counts[i] + counts[j])
        return gap**2 / (2 * x.sigma**2 * (1 / counts[i] + 1 / counts[j])), share

    def cost(q):
        return counts[i] * divergence(means[i], q), counts[j] * divergence(means[j], q + x.epsilon)

    def slope(q):
        own = counts[i] * (q - means[i]) / (q * (1 - q))
        return own + counts[j] * (q + x.epsilon - means[j]) / ((q + x.epsilon) * (1 - q - x.epsilon))

    ends = max(means[j] - x.epsilon, 1e-12), min(means[i], 1 - x.epsilon - 1e-12)
    q = brentq(slope, *ends, xtol=1e-16) if ends[0] < ends[1] else ends[0]
    own, other = cost(q)
    return own + other, own / (own + other) if own + other else counts[j] / (counts[i] + counts[j])


def needs(x, counts, means, n_pairs):
    """What the evidence of a pair must exceed: a number, and one more for each arm."""
    if x.family == "gaussian":
        return threshold(n_pairs, x.delta), 2 * np.log(4 + np.log(counts))
    wins = counts * means
    averaged = betaln(wins + 0.5, counts - wins + 0.5) - math.log(math.pi)
    return math.log(n_pairs / x.delta), -counts * (entr(means) + entr(1 - means)) - averaged


def closest(x, counts, means, k):
    """The pair of least evidence with its penalty, and whether all pairs have enough."""
    high = top(means, k)
    pairs = [(i, j) for i in high for j in others(len(means), high)]
    own = {p: ratio(x, counts, means, *p)[0] for p in pairs}
    pair = min(pairs, key=lambda p: own[p] + math.log(counts[p[0]]) + math.log(counts[p[1]]))
    base, each = needs(x, counts, means, k * (len(means) - k))
    return pair, all(own[i, j] > base + each[i] + each[j] for i, j in pairs)


def mixture(x):
    """Likelihood ratios of all pairs; one arm of the closest pair, by its share of the evidence."""

    def decide(counts, means, deviations, rounds, coin):
        (h, l), enough = closest(x, counts, means, x.k)  # noqa: E741
        return [h if coin < ratio(x, counts, means, h, l)[1] else l], enough

    return decide


#: By the names of the rows of `cases.EXPLORERS`.
REFERENCES = {
    "lucb1": lucb1,
    "kl_lucb": kl_lucb,
    "bernstein_lucb": bernstein_lucb,
    "lil_lucb": lil_lucb,
    "lucb_plus_plus": lucb_plus_plus,
    "lil_rand_lucb": lambda x: lucb_plus_plus(x, one_arm=True),
    "lil_ucb": lil_ucb,
    "lil_ucb_heuristic": lil_ucb,
    "lil_clucb": lil_clucb,
    "clucb": clucb,
    "clucb_top_k": clucb,
    "ugapec": ugapec,
    "ugapec_v": ugapec,
    "ugapec_bandits": ugapec,
    "mixture": mixture,
    "mixture_coins": mixture,
    "ugapeb": ugapeb,
    "ugapeb_bandits": ugapeb,
    "gape": gape,
    "ucbe": ucbe,
}
