"""Checks of the claims of an explorer: certificates and intervals, on problems that are hard for it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback
from cmab.session import Session
from cmab.testing._checks import Finding
from cmab.testing._comparisons import LEVEL, Stopwatch, require
from cmab.testing._explorer_runs import Subject
from cmab.testing._explorer_widths import check_widths
from cmab.testing._statistics import log_evidence
from cmab.testing._trials import prepared

_GAP = 0.04
#: Runs, shapes of the means, and the number of the first shapes (with means close to each other).
_RUNS, _SHAPES, _CLOSE = 200, 6, 3
# The evidence that rejects a rate: the logarithm of the number of tests divided by their level.
_DECISIVE = math.log(_SHAPES / LEVEL)
_REQUESTS, _FEWER, _EACH = 300, 120, 3
_MOST_PULLS = 10**9
_UNKNOWN = 0.5
#: Requests after which a certificate is compared with the stopping rule.
_FIRST = 100
_UNFINISHED = "is_certified is true, but is_done is false after {} requests; a certificate needs both"
_TOLERANCE = 1e-9


class Close(Environment):
    """Arms whose means are close to each other: coins at the ends of the support, or Gaussian outcomes."""

    def __init__(
        self, n_arms: int, support: tuple[float, float], sigma: float, order: IntArray, shape: int = 0
    ) -> None:
        self.n_arms, self.support, self.shape = n_arms, support, shape
        self.is_bounded = bool(np.isfinite(support[0]) and np.isfinite(support[1]))
        self.scale = sigma
        low, high = support if self.is_bounded else (-sigma, sigma)
        self.means = low + (high - low) * _fractions(np.argsort(order) / max(n_arms - 1, 1), shape)
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


def _fractions(ranks: FloatArray, shape: int) -> FloatArray:
    """Return means in [0, 1] for ranks in [0, 1]: close ones, and ones with larger gaps.

    An explorer that compares with one other arm, not with all, stops as soon as that is far. Another one may
    only be wrong about arms that are far from the best.
    """
    close = 0.5 + _GAP * (ranks - 0.5)
    shapes = (
        close,
        np.where(ranks == 0.0, 0.1, close),
        np.where(ranks == 1.0, 0.9, close),
        0.02 + 0.96 * ranks,
        np.where(ranks >= 0.5, 0.92 + 0.06 * ranks, 0.02 + 0.06 * ranks),
        np.where(ranks == 1.0, 0.98, 0.02 + 0.06 * ranks),
    )
    return shapes[shape] if len(ranks) > 2 else close


class Run(NamedTuple):
    """The state of a session after a request, and the problem."""

    state: Any
    place: Close


def hard(subject: Subject, number: int, shape: int) -> Close:
    """Return a problem that fits the explorer, with means of a shape in an order that depends on `number`."""
    explorer, environment = subject.explorer, subject.environment
    support = explorer.support or ((-np.inf, np.inf) if explorer.sigma is not None else environment.support)
    sigma = explorer.sigma if explorer.sigma is not None else environment.sigma
    order = np.random.default_rng((subject.rng, 41, number)).permutation(explorer.n_arms)
    return Close(explorer.n_arms, support, float(sigma), order, shape)


def _delta(subject: Subject) -> float:
    """Return the permitted error rate: as given, or as the explorer declares it."""
    declared = subject.delta if subject.delta is not None else getattr(subject.explorer, "delta", None)
    is_rate = isinstance(declared, float | int) and 0 < declared < 1
    return float(declared) if is_rate and declared is not None else _UNKNOWN


@dataclass
class Claims:
    """The runs with each shape of the means: all, wrongly certified ones, and those with a mean outside."""

    runs: IntArray = field(default_factory=lambda: np.zeros(_SHAPES, np.int64))
    wrong: IntArray = field(default_factory=lambda: np.zeros(_SHAPES, np.int64))
    outside: IntArray = field(default_factory=lambda: np.zeros(_SHAPES, np.int64))
    form: str = ""
    unfinished: str = ""

    def evidence(self, delta: float) -> FloatArray:
        """Return the largest evidence against `delta` for each shape, as a logarithm."""
        parts = [
            [log_evidence(int(part[i]), int(self.runs[i]), delta) for i in range(_SHAPES)]
            for part in (self.wrong, self.outside)
        ]
        largest: FloatArray = np.max(parts, axis=0)
        return largest


def claims_of(subject: Subject) -> Claims:
    """Run sessions on close means and examine the state after each request, once for both checks.

    The runs are repeated while time is left, and longer if some of them show a fault.
    """
    if "claims" not in subject.kept:
        subject.kept["claims"] = _examined(subject)
    found: Claims = subject.kept["claims"]
    return found


def _examined(subject: Subject) -> Claims:
    watch, found, delta = Stopwatch(), Claims(), _delta(subject)
    has_intervals = any(len(told) >= 5 and told[4] for _, told in prepared(subject).answers)
    doubted: int | None = None
    for number in range(_RUNS):
        # Means far from each other come first, because these runs usually end soon.
        shape = (number + _CLOSE) % _SHAPES if doubted is None else doubted
        place = hard(subject, number, shape)
        # Slow explorers get shorter runs on close means, until one of them shows a fault.
        is_late = doubted is None and shape < _CLOSE and watch.seconds() > 0.15 * subject.seconds
        requests = _FEWER if is_late else _REQUESTS
        wrong, outside, found.form = _run(subject, place, number, has_intervals, requests)
        if found.form.startswith(_UNFINISHED[:20]):
            found.form, found.unfinished = "", found.form
        if found.form or found.unfinished:
            return found
        found.runs[place.shape] += 1
        found.wrong[place.shape] += wrong
        found.outside[place.shape] += outside
        if number + 1 < _SHAPES:
            continue
        evidence = found.evidence(delta)
        doubted = int(np.argmax(evidence)) if evidence.max() > 0 else None
        share = 0.15 if doubted is None else 3.0
        if evidence.max() >= _DECISIVE or watch.seconds() > share * subject.seconds:
            break
    return found


def _run(
    subject: Subject, place: Close, seed: int, has_intervals: bool, requests: int
) -> tuple[bool, bool, str]:
    """Return whether a wrong answer was certified, whether a mean was outside, and a fault of form or ''."""
    session: Session[Any] = Session(subject.explorer, rng=seed)
    coins = np.random.default_rng((subject.rng, 42, seed))
    wrong, outside, form = False, False, ""
    for number in range(requests):
        if session.is_done or (wrong and (outside or not has_intervals)):
            break
        ticket = session.ask()
        if ticket.pulls > _MOST_PULLS:
            break
        session.tell(place.sample(ticket.super_arm, ticket.pulls, coins))
        if number % _EACH and not session.is_done:
            continue
        run = Run(session.state, place)
        if number < _FIRST and subject.explorer.is_certified(run.state) and not session.is_done:
            return wrong, outside, _UNFINISHED.format(number + 1)
        wrong = wrong or _is_wrong(subject, run)
        if has_intervals and not outside:
            outside, form = _misses(subject, run)
            if form:
                break
    return wrong, outside, form


def _is_wrong(subject: Subject, run: Run) -> bool:
    """Return whether a wrong answer is certified."""
    explorer, goal = subject.explorer, subject.explorer.goal
    if goal is None or not explorer.is_certified(run.state):
        return False
    return not goal.is_correct(np.array(explorer.recommend(run.state), np.int64), run.place.means)


def _misses(subject: Subject, run: Run) -> tuple[bool, str]:
    """Return whether an interval misses the mean of its arm, and the fault in the form of intervals or ''."""
    ends, n = subject.explorer.intervals(run.state), subject.explorer.n_arms
    if ends is None:
        return False, ""
    lower, upper = (np.asarray(end) for end in ends)
    good = lower.shape == upper.shape == (n,) and bool((lower <= upper + _TOLERANCE).all())
    if not good:
        text = "intervals must be two arrays of {} numbers with lower <= upper, got {} and {}"
        return True, text.format(n, lower, upper)
    slack = _TOLERANCE * (1 + np.abs(run.place.means))
    return bool(((run.place.means < lower - slack) | (run.place.means > upper + slack)).any()), ""


def check_certificates(subject: Subject) -> Finding:
    """Check that certified answers are wrong with probability at most `delta`, also if means are close."""
    explorer, delta = subject.explorer, _delta(subject)
    fresh = explorer.initial_state(np.random.default_rng(0))
    text = "the answer is certified before the first outcome"
    require(not explorer.is_certified(fresh), "certificates", text)
    if explorer.goal is None:
        return Finding("not tried: the explorer declares no goal")
    found = claims_of(subject)
    require(not found.unfinished, "certificates", "{}", found.unfinished)
    _require_rate(subject, "certificates", "certified a wrong answer", found.wrong, found.runs, delta)
    runs, wrong = found.runs.sum(), found.wrong.sum()
    return Finding(f"{runs} runs of {_REQUESTS} requests on close and far means, {wrong} wrong", LEVEL)


def _require_rate(
    subject: Subject, fault: str, what: str, bad: IntArray, runs: IntArray, delta: float
) -> None:
    """Raise ``AssertionError`` if the runs of some shape contradict an error rate of `delta`."""
    for shape in range(_SHAPES):
        # The evidence for each shape is a nonnegative supermartingale, and so is their average.
        possible = log_evidence(int(bad[shape]), int(runs[shape]), delta) < _DECISIVE
        text = "{} of {} runs on arms with means such as {} {}, which contradicts the error rate {:g}"
        means = hard(subject, 0, shape).means
        require(possible, fault, text, bad[shape], runs[shape], means, what, delta)


def check_intervals(subject: Subject) -> Finding:
    """Check that intervals are ordered numbers, and contain all means with probability ``1 - delta``."""
    # Intervals need not exist before the first outcomes.
    if all(len(told) < 5 or not told[4] for _, told in prepared(subject).answers):
        return Finding("no intervals are declared")
    found, delta = claims_of(subject), _delta(subject)
    require(not found.form, "intervals", "{}", found.form)
    if subject.explorer.is_proven:
        what = "had an interval without the mean of its arm"
        _require_rate(subject, "intervals", what, found.outside, found.runs, delta)
        check_widths(subject, delta)
    return Finding(f"{found.runs.sum()} runs, {found.outside.sum()} of them with a mean outside", LEVEL)
