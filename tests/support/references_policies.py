"""Rules of policies in plain NumPy and SciPy, written from their papers and not from the compiled code."""

import numpy as np
from scipy.optimize import brentq


def barrier_marginals(total, rates, k, gamma):
    """Return the x with sum k that minimise ``total . x + sum of rates phi(x)``, by nested root finding."""

    def share(level):
        # In log-odds z, x is 1 / (1 + exp(-z)) and ln(1 - x) is -ln(1 + exp(z)).
        def excess(z):
            return -np.exp(-z) + gamma * np.logaddexp(0.0, z) - level

        if excess(-30.0) > 0.0 or excess(30.0) < 0.0:
            return float(excess(30.0) < 0.0)
        return 1.0 / (1.0 + np.exp(-brentq(excess, -30.0, 30.0, xtol=1e-14)))

    def shares(multiplier):
        return np.array([share((multiplier - a) / b) for a, b in zip(total, rates, strict=True)])

    return shares(brentq(lambda multiplier: shares(multiplier).sum() - k, -1e5, 1e5, xtol=1e-12))


def lbinfv(n_arms, k, horizon, rounds, step=None):
    """Return the marginals of LBINFV before each round and after the last, for given losses in [0, 1].

    `rounds` is a list of pairs: the played arms and their losses (Tsuchiya, Ito, Honda 2023,
    Algorithm 1, with epsilon = 1/5).
    """
    gamma, estimates = np.log(horizon), np.zeros(n_arms)
    alphas, seen = np.zeros(n_arms), [[] for _ in range(n_arms)]
    predicted = np.full(n_arms, 0.5)
    found = []
    for played, losses in [*rounds, ([], [])]:
        beta = np.sqrt((1 + 1 / 5) ** 2 + alphas / gamma)
        x = barrier_marginals(estimates + predicted, beta, k, gamma)
        found.append(x)
        estimates = estimates + predicted
        errors = {i: loss - predicted[i] for i, loss in zip(played, losses, strict=True)}
        for i, loss in zip(played, losses, strict=True):
            estimates[i] += errors[i] / x[i]
            alphas[i] += errors[i] ** 2 * min(1.0, 2 * (1 - x[i]) / (x[i] ** 2 * gamma))
            seen[i].append(loss)
        if step is None:
            predicted = np.array([(0.5 + sum(some)) / (1 + len(some)) for some in seen])
        else:
            for i, error in errors.items():
                predicted[i] += step * error
    return found


def minimax_index(counts, means, size, horizon, sign=1.0):
    """Return the indices of CMOSS for outcomes in [0, 1]."""
    share, seen = size * horizon / len(counts), np.maximum(counts, 1)
    radii = np.sqrt(np.maximum(np.log(share / seen), 0.0) / seen)
    return np.clip(means + sign * radii, 0.0, 1.0)


def d3rb(rewards, delta, least, confidence):
    """Return the policy that D3RB selects in each round, where i would earn ``rewards[i][t]`` in round t."""
    k, horizon = len(rewards), len(rewards[0])
    d, phi, earned, chosen = [least] * k, [least] * k, [[] for _ in range(k)], []

    def radius(n):
        return confidence * np.sqrt(np.log(k * (1 + np.log(n)) / delta) / n)

    for t in range(horizon):
        i = phi.index(min(phi))
        chosen.append(i)
        earned[i].append(rewards[i][t])
        n = len(earned[i])
        lower = [np.mean(some) - radius(len(some)) for some in earned if some]
        if np.mean(earned[i]) + d[i] / np.sqrt(n) + radius(n) < max(lower):
            d[i] = 2 * d[i]
        phi[i] = float(np.clip(d[i] * np.sqrt(n), phi[i], 2 * phi[i]))
    return chosen
