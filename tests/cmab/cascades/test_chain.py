"""The chain over hidden outcomes: exact against enumeration, against EM, and calibrated."""

from collections import Counter

import numpy as np
import pytest
from cascade_references import FAR, distances, exact_posterior, possible_outcomes

from cmab.cascades.cascade import Cascade, CascadeFeedback, Network
from cmab.cascades.chain import Chain
from cmab.cascades.prior import BetaPrior

KINDS = ("joined", "steps", "some steps", "unseen", "some steps, unseen", "ties", "ties, unseen")


def listed(values):
    return np.array(values, np.int64)


def random_report(rng, tails, heads, n, kind, chance=0.5):
    """A report of one kind about a random cascade."""
    coins, seeds = rng.random(len(tails)) < chance, rng.choice(n, 1 + (n > 4), replace=False).tolist()
    reached = distances(coins, tails, heads, n, seeds)
    people = [v for v in range(n) if 0 < reached[v] < FAR]
    unseen = [v for v in range(n) if v not in seeds and rng.random() < 0.4] if "unseen" in kind else []
    people = [v for v in people if v not in unseen]
    told = {"steps": 1.0, "some steps": 0.5}.get(kind.partition(",")[0], 0.0)
    steps = [reached[v] if rng.random() < told else -1 for v in people]
    known = [
        a for a in range(len(tails)) if reached[tails[a]] < FAR and rng.random() < 0.3 * ("ties" in kind)
    ]
    live, dead = [a for a in known if coins[a]], [a for a in known if not coins[a]]
    return Cascade(listed(seeds), listed(people), listed(steps), listed(unseen), listed(live), listed(dead))


def random_graph(rng, n, m):
    """Arcs without loops, parallel ones and both directions included; a third of them in pairs."""
    tails, heads = [], []
    while len(tails) < m:
        u, v = rng.integers(0, n, 2).tolist()
        if u != v:
            tails.append(u)
            heads.append(v)
            if len(tails) < m and rng.random() < 0.3:
                tails.append(v)
                heads.append(u)
    return tails, heads


def chain_over(tails, heads, n, cascades, prior, won=None, lost=None):
    network = Network(np.array(tails), np.array(heads), n)
    won = np.zeros(len(tails)) if won is None else won
    chain = Chain(prior, won, won + (0.0 if lost is None else lost))
    for cascade in cascades:
        chain.add(CascadeFeedback(cascade, network).problem)
    return chain


def drawn_pattern(chain, m, seeds, tails, heads):
    """The outcomes of the only round, 2 for arcs that were not tried, and -1 for arcs without information."""
    problem, found = chain.problems[0], np.full(m, -1)
    found[problem.sure] = problem.outcomes
    arms, coins, tried = problem.graph.arms, chain.outcomes[0], chain.flags[0]
    found[arms] = np.where(tried == 1, coins, np.where(problem.graph.fixed == 1, 1, 2))
    return tuple(found.tolist())


def total_variation(seed, kind, most_arcs, passes):
    """The distance between the posterior of the outcomes of one round and the frequencies in the chain."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 7)), int(rng.integers(4, most_arcs + 1))
    tails, heads = random_graph(rng, n, m)
    cascade = random_report(rng, tails, heads, n, kind)
    wins, losses = rng.uniform(0.5, 2.0, m), rng.uniform(0.5, 3.0, m)
    chain = chain_over(tails, heads, n, [cascade], BetaPrior(wins, losses))
    outcomes = possible_outcomes(tails, heads, n, cascade)
    exact, _ = exact_posterior([outcomes], np.zeros(m), np.zeros(m), wins, losses)
    draws = np.random.default_rng(seed)
    chain.settle(draws)
    seen = Counter()
    for _ in range(passes):
        chain.run(1, draws)
        seen[drawn_pattern(chain, m, cascade.seeds, tails, heads)] += 1
    # Arcs that carry no information are left out, and their outcomes are summed over.
    hidden = [a for a in range(m) if next(iter(seen))[a] == -1]
    merged = Counter()
    for (key,), chance in exact.items():
        merged[tuple(-1 if a in hidden else x for a, x in enumerate(key))] += chance
    assert seen.keys() <= merged.keys()
    noise = sum(np.sqrt(chance * (1 - chance) / passes) for chance in merged.values()) / 2
    return sum(abs(chance - seen[key] / passes) for key, chance in merged.items()) / 2, noise


@pytest.mark.parametrize("kind", KINDS)
def test_outcomes_have_their_posterior(kind):
    # The expected distance of independent draws is below `noise`, and that of the chain below twice as much.
    # Four times the noise is far in the tail, so a false alarm has a probability below 1e-4 for each graph.
    for seed in range(2):
        distance, noise = total_variation(seed, kind, 7, 400)
        assert distance <= 4.0 * noise + 1e-9
