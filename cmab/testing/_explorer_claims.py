"""Checks of what an explorer claims: certificates and intervals, on problems that are hard for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback
from cmab.session import Session
from cmab.testing._checks import Finding
from cmab.testing._comparisons import LEVEL, Stopwatch, require
from cmab.testing._explorer_answers import _identify
from cmab.testing._explorer_runs import Subject
from cmab.testing._statistics import binomial_tail

_GAP = 0.04
_RUNS, _BATCH = 200, 20
_SAMPLES = 2000
_REQUESTS = 120
_UNKNOWN = 0.5
_TOLERANCE = 1e-9


class Close(Environment):
    """Arms whose means are close to each other: coins at the ends of the support, or Gaussian outcomes."""

    def __init__(self, n_arms: int, support: tuple[float, float], sigma: float, order: IntArray) -> None:
        self.n_arms, self.support = n_arms, support
        self.is_bounded = bool(np.isfinite(support[0]) and np.isfinite(support[1]))
        self.scale = sigma
        low, high = support if self.is_bounded else (-sigma, sigma)
        fractions = 0.5 + _GAP * (np.argsort(order) / max(n_arms - 1, 1) - 0.5)
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


class Run(NamedTuple):
    """The state of a session after a request, and the problem."""

    number: int
    state: Any
    place: Close


def hard(subject: Subject, number: int) -> Close:
    """Return a problem with close means in a random order, which satisfies the assumptions of the explorer."""
    explorer, environment = subject.explorer, subject.environment
    support = explorer.support or ((-np.inf, np.inf) if explorer.sigma is not None else environment.support)
    sigma = explorer.sigma if explorer.sigma is not None else environment.sigma
    order = np.random.default_rng((subject.rng, 41, number)).permutation(explorer.n_arms)
    return Close(explorer.n_arms, support, float(sigma), order)


def _delta(subject: Subject) -> float:
    """Return the permitted error rate: as given, or as the explorer declares it."""
    declared = subject.delta if subject.delta is not None else getattr(subject.explorer, "delta", None)
    is_rate = isinstance(declared, float | int) and 0 < declared < 1
    return float(declared) if is_rate and declared is not None else _UNKNOWN


def _states(subject: Subject, runs: int) -> Iterator[Run]:
    for number in range(runs):
        place = hard(subject, number)
        session: Session[Any] = Session(subject.explorer, rng=number)
        coins = np.random.default_rng((subject.rng, 42, number))
        for _ in range(_REQUESTS):
            if session.is_done:
                break
            ticket = session.ask()
            session.tell(place.sample(ticket.super_arm, ticket.pulls, coins))
            yield Run(number, session.state, place)


def check_certificates(subject: Subject) -> Finding:
    """Check that certified answers are wrong with probability at most `delta`, also if means are close."""
    explorer, goal, delta = subject.explorer, subject.explorer.goal, _delta(subject)
    fresh = explorer.initial_state(np.random.default_rng(0))
    text = "the answer is certified before the first outcome"
    require(not explorer.is_certified(fresh), "certificates", text)
    if goal is None:
        return Finding("not tried: the explorer declares no goal")
    watch, wrong, runs = Stopwatch(), set(), 0
    for run in _states(subject, 60):
        if run.number not in wrong and explorer.is_certified(run.state):
            arms = np.array(explorer.recommend(run.state), np.int64)
            if not goal.is_correct(arms, run.place.means):
                wrong.add(run.number)
        runs = run.number + 1
        if runs > 20 and watch.seconds() > 0.1 * subject.seconds:
            break
    text = "{} of {} runs on close means certified a wrong answer, which contradicts the error rate {:g}"
    require(binomial_tail(len(wrong), runs, delta) >= LEVEL, "certificates", text, len(wrong), runs, delta)
    if not explorer.is_proven:
        return Finding(f"{runs} short runs; nothing is proven", LEVEL)
    errors, tried = _stopped(subject, delta)
    return Finding(f"{runs} short and {tried} long runs on close means, {errors} wrong", (1 + tried / _BATCH) * LEVEL)


def _stopped(subject: Subject, delta: float) -> tuple[int, int]:
    """Count runs that stop with a wrong answer. A run that does not stop in time is no error."""
    goal, errors, runs, watch = subject.explorer.goal, 0, 0, Stopwatch()
    assert goal is not None
    while runs < _RUNS and (runs < 2 * _BATCH or watch.seconds() < 0.15 * subject.seconds):
        place = hard(subject, runs)
        found = _identify(subject, place, _BATCH, _SAMPLES, (4, runs))
        errors += int((~found.correct & found.stopped).sum())
        runs += _BATCH
        text = "{} of {} runs on close means ({}) stopped with a wrong answer, which contradicts delta={:g}"
        good = binomial_tail(errors, runs, delta) >= LEVEL
        require(good, "certificates", text, errors, runs, np.sort(place.means), delta)
    return errors, runs


def check_intervals(subject: Subject) -> Finding:
    """Check that intervals are ordered numbers, and contain all means with probability ``1 - delta``."""
    explorer, delta = subject.explorer, _delta(subject)
    outside, runs, watch = set(), 0, Stopwatch()
    for run in _states(subject, 60):
        ends = explorer.intervals(run.state)
        if ends is None:
            return Finding("no intervals are declared")
        lower, upper = (np.asarray(end) for end in ends)
        n = explorer.n_arms
        text = "intervals must be two arrays of {} numbers with lower <= upper, got {} and {}"
        good = lower.shape == upper.shape == (n,) and bool((lower <= upper + _TOLERANCE).all())
        require(good, "intervals", text, n, lower, upper)
        slack = _TOLERANCE * (1 + np.abs(run.place.means))
        if ((run.place.means < lower - slack) | (run.place.means > upper + slack)).any():
            outside.add(run.number)
        runs = run.number + 1
        if runs > 20 and watch.seconds() > 0.15 * subject.seconds:
            break
    text = "in {} of {} runs an interval missed the true mean of its arm, which contradicts the error rate {:g}"
    if explorer.is_proven:
        require(binomial_tail(len(outside), runs, delta) >= LEVEL, "intervals", text, len(outside), runs, delta)
    return Finding(f"{runs} runs, {len(outside)} of them with a mean outside", LEVEL)
