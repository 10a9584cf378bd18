"""Checks of explorers: requests, answers, states, error rates, budgets and saved sessions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cmab import identify
from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.explorer import AnyExplorer, Explorer
from cmab.feedback import Feedback
from cmab.testing.common import (
    Level,
    NotTried,
    Report,
    entries,
    exceeds,
    named_checks,
    require,
    run_checks,
)
from cmab.testing.learner import (
    LearnerSubject,
    check_aliasing,
    check_counts,
    check_determinism,
    check_feedback,
    check_memory,
    check_report_order,
    check_saving,
    check_state,
)
from cmab.validation import real, shown

#: Samples after which runs on easy and on hard problems end.
_SAMPLES, _FEW_SAMPLES = 20_000, 1500
#: Means of a hard problem lie so close to each other.
_GAP = 0.02


class Hard(Environment):
    """Outcomes at the two ends of an interval, or normal ones, with means that are close to each other."""

    def __init__(self, explorer: AnyExplorer, support: tuple[float, float], fractions: FloatArray) -> None:
        self.n_arms, self.fractions = explorer.n_arms, fractions
        self.noise = None
        self.support = explorer.support or support
        if explorer.support is None and explorer.sigma is not None:
            self.noise, self.support = float(explorer.sigma), (-math.inf, math.inf)
            self.means = 2.0 * self.noise * (fractions - 0.5)
        else:
            self.means = self.support[0] + (self.support[1] - self.support[0]) * fractions

    @property
    def sigma(self) -> float:
        return (self.support[1] - self.support[0]) / 2 if self.noise is None else self.noise

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        return Feedback(super_arm, self.pull(super_arm, rng))

    def expected_reward(self, super_arm: IntArray) -> float:
        return float(self.means[super_arm].sum())

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        if self.noise is not None:
            return self.means[arms] + self.noise * rng.standard_normal(len(arms))
        low, high = self.support
        return np.where(rng.random(len(arms)) < self.fractions[arms], high, low)


class ExplorerSubject(LearnerSubject):
    """An explorer with an environment, and the error rate that it promises."""

    def __init__(
        self,
        explorer: AnyExplorer,
        environment: Environment,
        delta: float | None = None,
        level: Level = "quick",
        rng: int = 0,
    ) -> None:
        if not isinstance(explorer, Explorer):
            raise TypeError(f"explorer must be an Explorer, got {shown(explorer)}")
        super().__init__(explorer, environment, level, rng)
        self.explorer = explorer
        self.delta = None if delta is None else real("delta", delta, 0.0, 1.0, inside=True)

    def answer(self, state: Any) -> IntArray:
        """Return the arms that the explorer recommends."""
        return entries(self.explorer.recommend(state), self.explorer.n_arms, "the answer of recommend")

    def is_correct(self, arms: IntArray, means: FloatArray) -> bool:
        """Return whether an answer is correct for the goal, or without a goal, whether its means are best."""
        if self.explorer.goal is not None:
            return bool(self.explorer.goal.is_correct(arms, means))
        return bool(np.sort(means)[-len(arms) :].sum() <= means[arms].sum() + 1e-12) if len(arms) else False


def check_declaration(subject: ExplorerSubject) -> None:
    """`n_arms` is that of the environment, and `delta`, `sigma` and `support` are valid."""
    explorer, n = subject.explorer, subject.environment.n_arms
    require(explorer.n_arms == n, "n_arms is {}, that of the environment is {}", explorer.n_arms, n)
    delta = getattr(explorer, "delta", None)
    require(delta is None or 0 < delta < 1, "delta must lie in (0, 1), got {}", delta)
    require(explorer.sigma is None or explorer.sigma > 0, "sigma must be positive, got {}", explorer.sigma)
    if explorer.support is not None:
        require(explorer.support[0] < explorer.support[1], "support must be an interval")
    require(isinstance(repr(explorer), str), "repr must return a string")


def check_form(subject: ExplorerSubject) -> str:
    """Requests are distinct arms with at least one outcome, and answers are distinct arms in order."""
    state = subject.explorer.initial_state(subject.rng(0, 0))
    tried = 0
    for each in subject.timed(subject.run(state=state)):
        require(each.ticket.pulls >= 1, "pulls must be at least 1, got {}", each.ticket.pulls)
        answer = subject.answer(state)
        good = np.array_equal(answer, np.sort(answer))
        require(good, "recommend must return the arms in increasing order, got {}", answer)
        done = subject.explorer.is_done(state)
        require(isinstance(done, bool | np.bool_), "is_done must return a bool, got {}", repr(done))
        tried += 1
    return f"{tried} requests"


def check_budget(subject: ExplorerSubject) -> str:
    """An explorer with a `budget` requests no more outcomes than the budget, and then stops."""
    budget = getattr(subject.explorer, "budget", None)
    if budget is None:
        raise NotTried("the explorer has no budget")
    state, used = subject.explorer.initial_state(subject.rng(0, 0)), 0
    for each in subject.timed(subject.run(state=state, rounds=int(budget) + 1)):
        used += len(each.super_arm) * each.ticket.pulls
        require(used <= budget, "{} outcomes were requested, but the budget is {}", used, budget)
    if used < budget and not subject.explorer.is_done(state):
        raise NotTried("the run did not end in the given time")
    require(subject.explorer.is_done(state), "the budget is spent, but is_done is false")
    return f"{used} of {budget} outcomes"


def _support(subject: ExplorerSubject) -> tuple[float, float]:
    low, high = subject.environment.support
    return (low, high) if math.isfinite(low) and math.isfinite(high) else (0.0, 1.0)


def check_answers(subject: ExplorerSubject) -> str:
    """In the environment, a run that stops gives an answer of the size of the goal, mostly the right one."""
    means, wrong, runs, tried = subject.environment.means, 0, 0, 0
    sizes = set()
    for seed in subject.timed(range(10 * subject.effort)):
        found = identify(
            subject.explorer, subject.environment, rng=subject.rng(13, seed), max_samples=_SAMPLES
        )
        tried += 1
        if not found.stopped[0]:
            continue
        runs += 1
        arms = entries(found.arms[0], subject.explorer.n_arms, "the answer of recommend")
        sizes.add(len(arms))
        wrong += not subject.is_correct(arms, means)
    if not runs:
        raise NotTried(f"{tried} runs did not stop within {_SAMPLES} outcomes")
    goal = subject.explorer.goal
    size = getattr(goal, "k", None)
    if size is not None and not hasattr(goal, "arms_per_bandit"):
        require(sizes <= {size}, "the answers have {} arms, but the goal has {}", sorted(sizes), size)
    # Without a promise, an explorer may often be wrong on hard problems, but not always.
    promised = _delta(subject)
    rate = 0.5 if promised is None else promised
    bad = exceeds(wrong, runs, rate) or (wrong == runs and runs >= 8 and rate <= 0.5)
    text = "{} of {} answers are wrong for the means {} of the environment"
    require(not bad, text, wrong, runs, means)
    return f"{runs} runs, {wrong} wrong answers"


def _delta(subject: ExplorerSubject) -> float | None:
    """Return the error rate that the explorer promises, or None."""
    if subject.delta is not None:
        return subject.delta
    delta = getattr(subject.explorer, "delta", None)
    return float(delta) if subject.explorer.is_proven and isinstance(delta, float) else None


def _shapes(subject: ExplorerSubject, number: int) -> FloatArray:
    """Return means of a hard problem in a random order, as fractions of the range."""
    n = subject.explorer.n_arms
    ranks = np.arange(n) / max(1, n - 1)
    fractions = 0.5 + _GAP * (ranks - 0.5)
    if number % 3 == 1 and n > 2:
        fractions[0] = 0.1
    if number % 3 == 2 and n > 2:
        fractions[-1] = 0.9
    return subject.rng(14, number).permutation(fractions)


def check_errors(subject: ExplorerSubject) -> str:
    """On problems with close means, certified answers are wrong with probability at most `delta`."""
    delta = _delta(subject)
    if delta is None:
        raise NotTried("no error rate is declared (delta)")
    wrong, runs = [0, 0, 0], [0, 0, 0]
    for number in subject.timed(range(240 * subject.effort), 3.0):
        world = Hard(subject.explorer, _support(subject), _shapes(subject, number))
        found = identify(subject.explorer, world, rng=subject.rng(15, number), max_samples=_FEW_SAMPLES)
        arms = entries(found.arms[0], subject.explorer.n_arms, "the answer of recommend")
        runs[number % 3] += 1
        is_claimed = bool(found.stopped[0]) and (bool(found.certified[0]) or not subject.explorer.is_proven)
        wrong[number % 3] += is_claimed and not subject.is_correct(arms, world.means)
    for each, total in (*zip(wrong, runs, strict=True), (sum(wrong), sum(runs))):
        text = "{} of {} answers are wrong on problems with means {} apart, but delta is {}"
        require(not exceeds(each, total, delta, 1e-7), text, each, total, _GAP, delta)
    return f"{sum(runs)} runs, {sum(wrong)} wrong answers"


def check_intervals(subject: ExplorerSubject) -> str:
    """`intervals` are ordered, contain the means, and at a certified stop, prove the answer."""
    explorer, delta = subject.explorer, _delta(subject)
    if type(explorer).intervals is Explorer.intervals:
        raise NotTried("intervals is not defined")
    missed, runs, unproved, stopped = 0, 0, 0, 0
    means = subject.environment.means
    for seed in subject.timed(range(40 * subject.effort)):
        state, is_missed = explorer.initial_state(subject.rng(seed + 100, 0)), False
        for number, _ in enumerate(subject.run(state=state, seed=seed + 100, rounds=400)):
            ends = explorer.intervals(state) if number % 7 == 0 else None
            if ends is not None:
                low, high = (np.asarray(end, float) for end in ends)
                text = "lower bounds {} must be at most the upper bounds {}"
                require((low <= high + 1e-12).all(), text, low, high)
                is_missed = is_missed or bool(((means < low - 1e-12) | (means > high + 1e-12)).any())
        runs += 1
        missed += is_missed
        if explorer.is_done(state) and explorer.is_certified(state):
            ends, named = explorer.intervals(state), subject.answer(state)
            if ends is not None:
                worst = np.array(ends[1], float)
                worst[named] = np.asarray(ends[0])[named]
                stopped += 1
                finite = np.isfinite(worst).all()
                unproved += bool(finite) and not subject.is_correct(named, worst)
    if delta is not None:
        text = "the intervals do not contain the means in {} of {} runs, but delta is {}"
        require(not exceeds(missed, runs, delta), text, missed, runs, delta)
    text = "in {} of {} runs that ended with a certificate, the intervals do not prove the answer"
    require(stopped < 3 or unproved < 0.5 * stopped, text, unproved, stopped)
    return f"{runs} runs, {stopped} certificates"


EXPLORER_CHECKS: tuple[Callable[[Any], str | None], ...] = (
    check_declaration,
    check_form,
    check_determinism,
    check_state,
    check_memory,
    check_feedback,
    check_aliasing,
    check_counts,
    check_report_order,
    check_saving,
    check_budget,
    check_answers,
    check_errors,
    check_intervals,
)


def check_explorer(
    explorer: AnyExplorer,
    environment: Environment,
    *,
    delta: float | None = None,
    level: Level = "quick",
    expected_failures: Mapping[str, str] | None = None,
    rng: int = 0,
) -> Report:
    """Run all checks of an explorer in an environment and on hard problems, and list all faults.

    Parameters
    ----------
    explorer : Explorer
        The explorer to check.
    environment : Environment
        An easy environment, in which the explorer stops after at most 20,000 outcomes.
    delta : float, optional
        The probability with which an answer may be wrong. If omitted, the attribute `delta` of explorers that
        are proven; without both, error rates are not tested.
    level : {"quick", "thorough"}
        Effort: a few seconds of work for ``"quick"``, ten times as much for ``"thorough"``.
    expected_failures : mapping of str to str, optional
        Reason for each check that is known to fail, by its title. If the check passes, this is a fault.
    rng : int
        Seed of the runs.

    Returns
    -------
    Report
        The checks that passed, and those that were not tried with the reasons.

    Raises
    ------
    ConformanceError
        If checks fail. The message lists all faults.
    ImportError
        If Hypothesis is not installed.

    Examples
    --------
    >>> from cmab import LUCB1
    >>> from cmab.testing import check_explorer
    >>> from instances import BernoulliArms
    >>> report = check_explorer(LUCB1(3, k=1, delta=0.1), BernoulliArms([0.1, 0.9, 0.5]))
    >>> "errors" in report.passed
    True
    """
    subject = ExplorerSubject(explorer, environment, delta, level, rng)
    return run_checks(named_checks(subject, EXPLORER_CHECKS, expected_failures))
