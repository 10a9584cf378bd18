"""Checks of what an explorer claims: certificates and intervals, on problems that are hard for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback
from cmab.session import Session
from cmab.testing._checks import Finding
from cmab.testing._comparisons import LEVEL, Stopwatch, require
from cmab.testing._explorer_runs import Subject
from cmab.testing._statistics import binomial_tail
from cmab.testing._trials import prepared

_GAP = 0.04
_RUNS, _AT_LEAST = 200, 3
_REQUESTS = 300
_MOST_PULLS = 10**9
_UNKNOWN = 0.5
_TOLERANCE = 1e-9


class Close(Environment):
    """Arms whose means are close to each other: coins at the ends of the support, or Gaussian outcomes."""

    def __init__(
        self, n_arms: int, support: tuple[float, float], sigma: float, order: IntArray, far: int = 0
    ) -> None:
        self.n_arms, self.support = n_arms, support
        self.is_bounded = bool(np.isfinite(support[0]) and np.isfinite(support[1]))
        self.scale = sigma
        low, high = support if self.is_bounded else (-sigma, sigma)
        ranks = np.argsort(order)
        fractions = 0.5 + _GAP * (ranks / max(n_arms - 1, 1) - 0.5)
        # An explorer that compares with one other arm, not with all, stops as soon as that is far.
        if far and n_arms > 2:
            fractions[ranks == (0 if far == 1 else n_arms - 1)] = 0.1 if far == 1 else 0.9
        self.means = low + (high - low) * fractions
        self.low, self.high = low, high

    @property
    def sigma(self) -> float:
        return self.scale

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        raise NotImplementedError("explorers sample base arms")

    def expected_reward(self, super_arm: IntArray) -> float:
        raise NotImplementedError("explorers sample base arms")

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        if not self.is_bounded:
            return self.means[arms] + self.scale * rng.standard_normal(len(arms))
        chances = (self.means[arms] - self.low) / (self.high - self.low)
        return np.where(rng.random(len(arms)) < chances, self.high, self.low)

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        # Sums are drawn at once, because some explorers ask for ever larger batches.
        if not self.is_bounded:
            sums = rng.normal(pulls * self.means[arms], self.scale * np.sqrt(pulls))
            apart = self.scale**2 * np.where(pulls > 1, rng.chisquare(np.maximum(pulls - 1, 1)), 0.0)
            return sums, sums**2 / pulls + apart
        chances = (self.means[arms] - self.low) / (self.high - self.low)
        hits = rng.binomial(pulls, chances)
        return self.low * (pulls - hits) + self.high * hits, self.low**2 * (
            pulls - hits
        ) + self.high**2 * hits


class Run(NamedTuple):
    """The state of a session after a request, and the problem."""

    state: Any
    place: Close


def hard(subject: Subject, number: int) -> Close:
    """Return a problem with close means, perhaps but one, that fits the explorer."""
    explorer, environment = subject.explorer, subject.environment
    support = explorer.support or ((-np.inf, np.inf) if explorer.sigma is not None else environment.support)
    sigma = explorer.sigma if explorer.sigma is not None else environment.sigma
    order = np.random.default_rng((subject.rng, 41, number)).permutation(explorer.n_arms)
    return Close(explorer.n_arms, support, float(sigma), order, number % 3)


def _delta(subject: Subject) -> float:
    """Return the permitted error rate: as given, or as the explorer declares it."""
    declared = subject.delta if subject.delta is not None else getattr(subject.explorer, "delta", None)
    is_rate = isinstance(declared, float | int) and 0 < declared < 1
    return float(declared) if is_rate and declared is not None else _UNKNOWN


def _runs(subject: Subject, look: Callable[[Run], bool]) -> tuple[int, int]:
    """Run sessions on close means until `look` returns true. Return the number of such runs, and of all.

    The runs are repeated while time is left, and longer if some of them show a fault.
    """
    watch, bad, runs, spent = Stopwatch(), 0, 0, 0.0
    while runs < _RUNS:
        place, session = hard(subject, runs), Session[Any](subject.explorer, rng=runs)
        coins = np.random.default_rng((subject.rng, 42, runs))
        for _ in range(_REQUESTS):
            if session.is_done:
                break
            ticket = session.ask()
            if ticket.pulls > _MOST_PULLS:
                break
            session.tell(place.sample(ticket.super_arm, ticket.pulls, coins))
            spent = watch.seconds()
            if look(Run(session.state, place)):
                bad += 1
                break
        runs += 1
        share = 0.15 if bad == 0 else 3.0
        if runs >= _AT_LEAST and spent > share * subject.seconds:
            break
    return bad, runs


def check_certificates(subject: Subject) -> Finding:
    """Check that certified answers are wrong with probability at most `delta`, also if means are close."""
    explorer, goal, delta = subject.explorer, subject.explorer.goal, _delta(subject)
    fresh = explorer.initial_state(np.random.default_rng(0))
    text = "the answer is certified before the first outcome"
    require(not explorer.is_certified(fresh), "certificates", text)
    if goal is None:
        return Finding("not tried: the explorer declares no goal")

    def is_wrong(run: Run) -> bool:
        if not explorer.is_certified(run.state):
            return False
        return not goal.is_correct(np.array(explorer.recommend(run.state), np.int64), run.place.means)

    wrong, runs = _runs(subject, is_wrong)
    text = "{} of {} runs on close means certified a wrong answer, which contradicts the error rate {:g}"
    require(binomial_tail(wrong, runs, delta) >= LEVEL, "certificates", text, wrong, runs, delta)
    return Finding(f"{runs} runs of {_REQUESTS} requests on close means, {wrong} wrong", LEVEL)


def check_intervals(subject: Subject) -> Finding:
    """Check that intervals are ordered numbers, and contain all means with probability ``1 - delta``."""
    explorer, delta = subject.explorer, _delta(subject)

    def misses(run: Run) -> bool:
        ends = explorer.intervals(run.state)
        if ends is None:
            return False
        lower, upper = (np.asarray(end) for end in ends)
        n = explorer.n_arms
        text = "intervals must be two arrays of {} numbers with lower <= upper, got {} and {}"
        good = lower.shape == upper.shape == (n,) and bool((lower <= upper + _TOLERANCE).all())
        require(good, "intervals", text, n, lower, upper)
        slack = _TOLERANCE * (1 + np.abs(run.place.means))
        return bool(((run.place.means < lower - slack) | (run.place.means > upper + slack)).any())

    # Intervals need not exist before the first outcomes.
    if all(len(told) < 5 or not told[4] for _, told in prepared(subject).answers):
        return Finding("no intervals are declared")
    outside, runs = _runs(subject, misses)
    text = "in {} of {} runs an interval missed the mean of its arm, which contradicts the error rate {:g}"
    if explorer.is_proven:
        require(binomial_tail(outside, runs, delta) >= LEVEL, "intervals", text, outside, runs, delta)
    return Finding(f"{runs} runs, {outside} of them with a mean outside", LEVEL)
