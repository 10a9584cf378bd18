"""Lists and click models: the order of a list, what users see, rules that are known by other names."""

import math
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from refusals import refused
from scipy import stats

from cmab import CUCB, PBMUCB, Feedback, Session
from instances import CascadeModel, position_based_model
from oracles import RankedTopK

RNG = np.random.default_rng
REWARDS = ("disjunctive", "conjunctive")


def user(chosen, coins, reward):
    """A user who goes through a list, in plain Python: what he saw, and what it was worth."""
    seen = []
    for arm in chosen:
        seen.append((arm, float(coins[arm])))
        if coins[arm] == (reward == "disjunctive"):
            break
    outcomes = [outcome for _, outcome in seen]
    return seen, max(outcomes) if reward == "disjunctive" else float(
        all(outcomes) and len(seen) == len(chosen)
    )


@pytest.mark.parametrize("reward", REWARDS)
def test_rounds_are_what_a_user_does(reward):
    """All 2^5 coins of 5 arms: the chance of each report is what the means say (chi-square, 1e-6)."""
    means, chosen = np.array([0.3, 0.9, 0.6, 0.5, 0.2]), np.array([3, 0, 2])
    place = CascadeModel(means, RankedTopK(5, 3, reward=reward))
    wanted: Counter = Counter()
    for number in range(32):
        coins = [(number >> arm) & 1 for arm in range(5)]
        chance = math.prod(p if coin else 1 - p for p, coin in zip(means, coins, strict=True))
        seen, worth = user(chosen.tolist(), coins, reward)
        wanted[tuple(seen), worth] += chance
    rng, met, n = RNG(0), Counter(), 4000
    for _ in range(n):
        told = place.play(chosen, rng)
        met[tuple(zip(told.arms.tolist(), told.outcomes.tolist(), strict=True)), told.reward] += 1
    assert set(met) <= set(wanted)
    assert (
        stats.chisquare([met[case] for case in wanted], [n * wanted[case] for case in wanted]).pvalue > 1e-6
    )
    worth = sum(chance * case[1] for case, chance in wanted.items())
    assert place.expected_reward(chosen) == pytest.approx(worth)
    reached = np.zeros(5)
    for (seen, _), chance in wanted.items():
        reached[[arm for arm, _ in seen]] += chance
    np.testing.assert_allclose(place.triggering_probabilities(chosen), reached)


def cascade_ucb1(means, k, rounds, uniforms):
    """CascadeUCB1 as printed, with the cap and without first pulls: clicks and views in plain lists."""
    m = len(means)
    views, clicks, played = [0] * m, [0.0] * m, []
    for t in range(1, rounds + 1):
        bounds = [
            1.0 if not views[e] else min(clicks[e] / views[e] + math.sqrt(1.5 * math.log(t) / views[e]), 1.0)
            for e in range(m)
        ]
        shown = sorted(range(m), key=lambda e: (-bounds[e], e))[:k]
        played.append(shown)
        for e in shown:
            views[e] += 1
            clicks[e] += uniforms[t - 1][e] < means[e]
            if uniforms[t - 1][e] < means[e]:
                break
    return played


def test_cucb_on_lists_is_cascade_ucb1():
    means, rng = np.array([0.1, 0.5, 0.3, 0.45, 0.2, 0.35]), RNG(3)
    uniforms = rng.random((400, 6))
    session = Session(CUCB(RankedTopK(6, 3)), rng=0)
    for row, wanted in zip(uniforms, cascade_ucb1(means.tolist(), 3, 400, uniforms.tolist()), strict=True):
        ticket = session.ask()
        assert ticket.super_arm.tolist() == wanted
        coins = (row < means)[ticket.super_arm]
        seen = int(np.argmax(coins)) + 1 if coins.any() else 3
        session.tell(Feedback(ticket.super_arm[:seen], coins[:seen].astype(float)), ticket)


@pytest.mark.parametrize("reward", REWARDS)
def test_a_word_says_what_was_seen(reward):
    """What `play` shows is what the word for its end says."""
    oracle = RankedTopK(5, 3, reward=reward)
    place, rng = CascadeModel([0.3, 0.9, 0.6, 0.5, 0.2], oracle), RNG(1)
    word, settles = ("clicked", 1.0) if reward == "disjunctive" else ("failed", 0.0)
    for _ in range(50):
        shown = rng.permutation(5)[:3]
        seen = place.play(shown, rng)
        end = int(seen.arms[-1]) if seen.outcomes[-1] == settles else None
        told = oracle.feedback_of(shown, **{word: end})
        assert told.arms.tolist() == seen.arms.tolist() and told.reward == seen.reward
        assert told.outcomes.tolist() == seen.outcomes.tolist()
    with pytest.raises(ValueError, match=f"{word} must be one of"):
        oracle.feedback_of([0, 1, 2], **{word: 4})
    for answer in (True, False, np.True_, np.array([1, 2]), [0]):  # a truth value would pass for arm 0 or 1
        with pytest.raises(ValueError, match=f"{word} must be one of"):
            oracle.feedback_of([0, 1, 2], **{word: answer})
    with pytest.raises(ValueError, match=f"must have only the keyword {word}, got nothing"):
        oracle.feedback_of([0, 1, 2])


def pbm_ucb(clicks, shown, examination, t):
    """The bound of PBM-UCB for each item, as printed: `clicks` and `shown` by item and position."""
    bounds = []
    for s, n in zip(clicks, shown, strict=True):
        views = sum(n)
        looks = sum(kappa * times for kappa, times in zip(examination, n, strict=True))
        if not views:
            bounds.append(1.0)
            continue
        width = math.sqrt(views / looks) * math.sqrt(math.log(t) / (2 * looks))
        bounds.append(min(sum(s) / looks + width, 1.0))
    return bounds


def test_pbm_ucb_shows_items_by_its_bounds():
    attraction, examination = [0.5, 0.2, 0.7, 0.4], [0.9, 0.6, 0.2]
    page = position_based_model(attraction, examination)
    policy = PBMUCB(page.oracle, examination * 4, np.repeat(range(4), 3))
    session, rng = Session(policy, rng=0), RNG(5)
    clicks, shown = np.zeros((4, 3)), np.zeros((4, 3))
    for t in range(1, 300):
        ticket = session.ask()
        bounds = pbm_ucb(clicks.tolist(), shown.tolist(), examination, t)
        items, places = np.divmod(ticket.super_arm, 3)
        worth = sum(examination[j] * bounds[i] for i, j in zip(items, places, strict=True))
        best = sorted(bounds, reverse=True)[:3]
        assert worth == pytest.approx(sum(k * b for k, b in zip(examination, best, strict=True)))
        told = (rng.random(3) < page.means[ticket.super_arm]).astype(float)
        session.tell(Feedback(ticket.super_arm, told), ticket)
        shown[items, places] += 1
        clicks[items, places] += told


test_what_is_no_list_is_refused = refused(
    (lambda: RankedTopK(3, 4), r"k must be an integer in \[1, 3\], got 4"),
    (lambda: CascadeModel([0.1, 0.2], nx.Graph()), "oracle must be a RankedTopK"),
    (lambda: CascadeModel([0.1, 0.2, 0.3], RankedTopK(3, 2)).play([0], RNG(0)), "must be feasible"),
    (lambda: position_based_model([0.1], [0.2, 0.3]), "examination must have from 1 to 1 positions"),
    (lambda: PBMUCB(RankedTopK(3, 2), 0.0), "examination must"),
    (lambda: PBMUCB(RankedTopK(3, 2), 0.5, [0, 1]), "items must have one number"),
    (lambda: PBMUCB(RankedTopK(3, 2), 0.5, [0, 1, 7]), "items must lie in range"),
    (lambda: PBMUCB(RankedTopK(3, 2), 0.5, radius_factor=-1.0), "radius_factor must"),
)
