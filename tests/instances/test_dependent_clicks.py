"""Dependent clicks: the best list, what a user does, and what may be learned from clicks without bias."""

import math
from itertools import product

import numpy as np
import pytest
from refusals import refused
from scipy import stats

from instances import DependentClickModel
from oracles import DependentClickLists, RankedTopK

RNG = np.random.default_rng


def readers(chosen, means, termination):
    """Yield (chance, clicks, places looked at, satisfied) of all that a reader may do, by enumeration."""
    k = len(chosen)
    for coins in product((0, 1), repeat=2 * k):
        attracts, ends = coins[:k], coins[k:]
        chance = math.prod(
            means[arm] if a else 1 - means[arm] for arm, a in zip(chosen, attracts, strict=True)
        )
        chance *= math.prod(v if e else 1 - v for v, e in zip(termination, ends, strict=True))
        looked, satisfied = 0, False
        while looked < k and not satisfied:
            satisfied = bool(attracts[looked] and ends[looked])
            looked += 1
        yield chance, attracts[:looked], looked, satisfied


MEANS, TERMINATION = (0.3, 0.9, 0.6, 0.5, 0.2), (0.4, 0.7, 0.2)


def test_rounds_are_what_a_reader_does():
    """All coins of three entries: the chance of each report is what the means say (chi-square, 1e-6)."""
    chosen, oracle = np.array([3, 0, 2]), DependentClickLists(5, TERMINATION)
    page, wanted = DependentClickModel(MEANS, oracle), {}
    for chance, clicks, _, satisfied in readers(chosen, MEANS, TERMINATION):
        wanted[clicks, satisfied] = wanted.get((clicks, satisfied), 0.0) + chance
    rng, met = RNG(1), dict.fromkeys(wanted, 0)
    for _ in range(4000):
        told = page.play(chosen, rng)
        assert told.arms.tolist() == chosen[: len(told.arms)].tolist()
        met[tuple(told.outcomes.astype(int).tolist()), bool(told.reward)] += 1
    chances = np.array(list(wanted.values()))
    assert stats.chisquare(list(met.values()), 4000 * chances).pvalue > 1e-6
    worth = sum(chance for (_, satisfied), chance in wanted.items() if satisfied)
    assert page.expected_reward(chosen) == pytest.approx(worth)
    reached = np.zeros(5)
    for (clicks, _), chance in wanted.items():
        reached[chosen[: len(clicks)]] += chance
    np.testing.assert_allclose(page.triggering_probabilities(chosen), reached)


def clicked_share(chosen, means, termination, seen):
    """Return each entry's share of clicks among the rounds in which a rule says that it was seen: exact."""
    counted, clicked = np.zeros(len(chosen)), np.zeros(len(chosen))
    for chance, clicks, looked, satisfied in readers(chosen, means, termination):
        end = seen(clicks, looked, satisfied)
        counted[:end] += chance
        clicked[:end] += chance * np.array(clicks[:end])
    return clicked / counted


def test_what_is_told_is_unbiased_and_the_last_click_is_not():
    """By enumeration: exact means of what feedback has; where it ends at the last click, too many clicks."""
    chosen, oracle = [3, 0, 2], DependentClickLists(5, TERMINATION)
    means = np.array(MEANS)[chosen]

    def told(known):
        def seen(clicks, looked, satisfied):
            names = [chosen[place] for place, click in enumerate(clicks) if click]
            report = {"satisfied": satisfied} if known else {}
            feedback = oracle.feedback_of(chosen, clicked=names, **report)
            assert len(feedback.arms) <= looked  # nothing that nobody has looked at
            return len(feedback.arms)

        return seen

    def last_click(clicks, looked, satisfied):
        return max((place + 1 for place, click in enumerate(clicks) if click), default=len(chosen))

    for seen in (told(True), told(False)):
        np.testing.assert_allclose(clicked_share(chosen, MEANS, TERMINATION, seen), means, rtol=1e-12)
    biased = clicked_share(chosen, MEANS, TERMINATION, last_click)
    assert biased[0] == pytest.approx(means[0]) and (biased[1:] > means[1:] + 0.03).all()


ONE = DependentClickLists(3, [0.5])
test_what_are_no_clicks_is_refused = refused(
    (lambda: DependentClickLists(0, [0.5]), "n_arms must"),
    (lambda: DependentClickLists(1, [0.5, 0.5]), "number of positions in termination must"),
    (lambda: DependentClickLists(3, []), "number of positions in termination must"),
    (lambda: DependentClickLists(3, [0.5]).solve_within([0.1] * 3, [False] * 3, RNG(0)), "must contain"),
    (lambda: ONE.feedback_of([1]), "must have the keyword clicked"),
    (lambda: ONE.feedback_of([1], clicked=[], bought=1), "must have the keyword clicked"),
    (lambda: ONE.feedback_of([1], clicked=1), "clicked must be a list"),
    (lambda: ONE.feedback_of([1], clicked=[0]), "clicked must be one of"),
    (lambda: ONE.feedback_of([1], clicked=[None]), "clicked must have distinct"),
    (lambda: ONE.feedback_of([1], clicked=[1, 1]), "clicked must have distinct"),
    (lambda: ONE.feedback_of([1], clicked=[], satisfied=True), "satisfied must be"),
    (lambda: ONE.feedback_of([1], clicked=[1], satisfied=1), "satisfied must be"),
    (lambda: DependentClickModel([0.1], RankedTopK(1, 1)), "oracle must be a DependentClickLists"),
    (
        lambda: DependentClickModel([0.1, 0.2], DependentClickLists(2, [0.5])).play([0, 1], RNG(0)),
        "feasible",
    ),
)
