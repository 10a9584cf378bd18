"""Second implementations for reports of who joined: enumeration of all outcomes, and EM. Plain Python."""

import itertools
from math import lgamma

import numpy as np

FAR = 10**9


def distances(coins, tails, heads, n, seeds):
    """The number of live arcs on the shortest path from the seeds to each node."""
    found = [0 if v in seeds else FAR for v in range(n)]
    for step in range(n):
        for live, u, v in zip(coins, tails, heads, strict=True):
            if live and found[u] == step and found[v] > step + 1:
                found[v] = step + 1
    return found


def possible_outcomes(tails, heads, n, cascade):
    """All outcomes of the tried arcs that agree with a report; 2 stands for an arc that was not tried."""
    steps = dict(zip(cascade.joined.tolist(), cascade.steps.tolist(), strict=True))
    seeds, unseen = set(cascade.seeds.tolist()), set(cascade.unseen.tolist())
    out = set(range(n)) - seeds - unseen - steps.keys()
    known = dict.fromkeys(cascade.live.tolist(), 1) | dict.fromkeys(cascade.dead.tolist(), 0)
    out -= {heads[a] for a in cascade.live.tolist()} | {tails[a] for a in known}
    found = set()
    for coins in itertools.product((0, 1), repeat=len(tails)):
        reached = distances(coins, tails, heads, n, seeds)
        good = all(reached[v] < FAR and step in (-1, reached[v]) for v, step in steps.items())
        good = good and all(reached[v] == FAR for v in out)
        if good and all(coins[a] == x and reached[tails[a]] < FAR for a, x in known.items()):
            found.add(tuple(x if reached[tails[a]] < FAR else 2 for a, x in enumerate(coins)))
    return sorted(found)


def log_beta(a, b):
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def exact_posterior(outcomes, won, lost, wins, losses, groups=None):
    """The probability of each combination of outcomes of the rounds, and the posterior mean of each arm.

    Without `groups`, `wins` and `losses` are the parameters of each arm. Otherwise they are the points of a
    grid, which are equally probable for each group.
    """
    weights, means, keys = [], [], []
    for rounds in itertools.product(*outcomes):
        told = np.array(rounds)
        w, f = won + (told == 1).sum(axis=0), lost + (told == 0).sum(axis=0)
        if groups is None:
            weights.append(
                sum(
                    log_beta(a + x, b + y) - log_beta(a, b)
                    for a, b, x, y in zip(wins, losses, w, f, strict=True)
                )
            )
            means.append((wins + w) / (wins + losses + w + f))
        else:
            total, mean = 0.0, np.zeros(len(w))
            for group in set(groups.tolist()):
                own = groups == group
                logs = np.array(
                    [
                        sum(
                            log_beta(a + x, b + y) - log_beta(a, b)
                            for x, y in zip(w[own], f[own], strict=True)
                        )
                        for a, b in zip(wins, losses, strict=True)
                    ]
                )
                shares = np.exp(logs - logs.max())
                total += logs.max() + np.log(shares.sum())
                shares /= shares.sum()
                mean[own] = sum(
                    s * (a + w[own]) / (a + b + w[own] + f[own])
                    for s, a, b in zip(shares, wins, losses, strict=True)
                )
            weights.append(total)
            means.append(mean)
        keys.append(rounds)
    chances = np.exp(np.array(weights) - max(weights))
    chances /= chances.sum()
    return dict(zip(keys, chances, strict=True)), chances @ np.array(means)


def em_of_steps(tails, heads, rounds, passes=300):
    """Maximum likelihood from complete steps: Saito, Nakano, Kimura (2008), equations 6 to 8.

    `rounds` has the step of each node in each round, FAR if it did not join.
    """
    p = np.full(len(tails), 0.5)
    for _ in range(passes):
        won, tried = np.zeros(len(tails)), np.zeros(len(tails))
        for step in rounds:
            u, v = step[tails], step[heads]
            alone = (u < FAR) & (v > u)
            hit = alone & (v == u + 1)
            stay = np.ones(len(step))
            np.multiply.at(stay, heads[hit], 1.0 - p[hit])
            won[hit] += p[hit] / (1.0 - stay[heads[hit]])
            tried += alone
        p = np.where(tried > 0, won / np.maximum(tried, 1), 0.0)
    return p
