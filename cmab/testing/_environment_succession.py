"""Checks of long runs of an environment: repeated rounds, successive rounds, and batches of pulls."""

from __future__ import annotations

import numpy as np

from cmab.arrays import FloatArray
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._environment_subject import Subject
from cmab.testing._statistics import MEAN_LEVEL, require_mean

# Number of rounds that are repeated at least, if they are fast or slow, and their share of the seconds.
_REPLAYED, _FEWEST, _SHARE = 1500, 300, 0.15
_LEVEL = 1e-10
# Number of batches of pulls that are compared, and the least distance of the outcomes for which they are.
_BATCHES = 150
#: Numbers of rounds between outcomes that must be uncorrelated.
_LAGS = (1, 2, 3, 4, 5)
_SHORTEST = 0.02


def check_replay(subject: Subject) -> Finding:
    """Check that a long run with the same seed shows the same rounds again, whatever was played before."""
    place, first = subject.environment, subject.rounds
    for _ in range(7):  # so that an event in every n-th round falls on other rounds
        place.play(subject.super_arms[0].copy(), np.random.default_rng(1))
    rng, played = np.random.default_rng((11, subject.rng)), 0
    # Other rounds between the repeated ones show what a round takes over from the one before it.
    others = np.random.default_rng((17, subject.rng))
    each = ((arm, round_) for arm, rounds in zip(subject.super_arms, first, strict=True) for round_ in rounds)
    # Slow environments repeat fewer rounds.
    affordable = int(_SHARE * subject.seconds / max(2 * subject.cost_of_play, 1e-9))
    least = max(_FEWEST, min(_REPLAYED, affordable))
    for number, (super_arm, one) in enumerate(subject.timed(each, 0.05, least)):
        two = place.play(super_arm, rng)
        same = np.array_equal(one.arms, two.arms) and np.array_equal(one.outcomes, two.outcomes)
        text = (
            "round {} of {} showed outcomes {} of arms {}, and in a second run with the same"
            " seed, between other rounds, {} of {}"
        )
        told = (number, super_arm, one.outcomes, one.arms, two.outcomes, two.arms)
        require(same and (one.reward == two.reward or np.isnan(one.reward)), "replay", text, *told)
        place.play(subject.super_arms[number % len(subject.super_arms)].copy(), others)
        played += 1
    return Finding(f"{played} rounds")


def check_succession(subject: Subject) -> Finding:
    """Check that outcomes one to five rounds apart are uncorrelated, and that no batch of pulls recurs."""
    tests, calls = 0, _require_no_recurrence(subject) if subject.first_pulls else 0
    for super_arm, rounds in zip(subject.super_arms, subject.rounds, strict=True):
        shown = [dict(zip(f.arms.tolist(), f.outcomes.tolist(), strict=True)) for f in rounds]
        for arm in super_arm[:10].tolist():
            if not all(arm in each for each in shown):
                continue
            sample: FloatArray = np.array([each[arm] for each in shown])
            deviations = sample - sample.mean()
            largest = float(np.abs(deviations).max(initial=0.0))
            if largest > 1e-12 * np.abs(sample).max(initial=1.0):
                for lag in _LAGS:
                    products = deviations[lag:] * deviations[:-lag]
                    what = f"products of outcomes of arm {arm}, {lag} rounds apart, of {super_arm.tolist()}"
                    require_mean("succession", what, products, 0.0, largest**2)
                    tests += 1
    return Finding(
        f"{tests} correlations, {calls} batches of pulls", tests * MEAN_LEVEL + (_LEVEL if calls else 0.0)
    )


def _require_no_recurrence(subject: Subject) -> int:
    """Raise ``AssertionError`` if two calls of `pull` give equal batches. Return the number of calls.

    Equal batches occur if the outcomes are derived from one of a few seeds. Two outcomes of an arm are equal
    with the sum of the squared frequencies as probability, so that a long batch recurs with probability
    below ``_LEVEL``.
    """
    arms, outcomes = subject.pulled
    apart = 0.0
    for sample in outcomes:
        frequencies = np.unique(sample, return_counts=True)[1] / len(sample)
        apart -= float(np.log((frequencies**2).sum()))
    if apart < _SHORTEST:
        return 0  # almost all outcomes are equal
    # Half of the estimated distance, because the frequencies are estimated.
    times = int(np.ceil(2 * np.log(_BATCHES**2 / _LEVEL) / apart))
    asked, calls = np.repeat(arms, times), 0
    seen: dict[bytes, int] = {}
    rng = np.random.default_rng((18, subject.rng))
    for call in subject.timed(range(_BATCHES), 0.05):
        batch = np.asarray(subject.environment.pull(asked.copy(), rng)).tobytes()
        text = "call {} of pull gave the same {} outcomes as call {}; do not seed by a small number"
        require(batch not in seen, "succession", text, call, len(asked), seen.get(batch))
        seen[batch] = call
        calls += 1
    return calls
