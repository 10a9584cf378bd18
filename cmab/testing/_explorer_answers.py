"""Checks of the errors of an explorer, in the given environment and with permuted arms."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback
from cmab.results.identification import Identification
from cmab.running.identification import identify
from cmab.testing._checks import Finding
from cmab.testing._comparisons import LEVEL, Stopwatch, require
from cmab.testing._explorer_runs import Subject
from cmab.testing._statistics import binomial_tail, refused_rate

_WORSE = 1.5
_MOST_RUNS = 3000
_BELIEVED = math.log(0.01)
_PLACES = 60
_AT_LEAST = 10
_MOST_SAMPLES = 5000


def check_errors(subject: Subject) -> Finding | None:
    """Check that wrong answers and runs without an answer are at most as frequent as `delta` allows.

    The check is Wald's sequential test of `delta` against ``1.5 * delta``. By Ville's inequality, the
    likelihood ratio of a correct explorer ever reaches ``1 / LEVEL`` with probability at most `LEVEL`. At
    delta 0.1, an explorer without errors needs about 80 runs until an error rate of ``1.5 * delta`` would be
    detected with probability .99. If there is time for fewer runs only, a binomial test ends the check, and
    the report has the error rate that this test detects.
    """
    delta = subject.delta
    if delta is None or subject.explorer.goal is None:
        return None
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1), got {delta!r}")
    # Wald's sequential test of the guaranteed rate against 1.5 times this rate ends early if the answer is
    # clear.
    worse = min(_WORSE * delta, (1 + delta) / 2)
    errors = runs = 0
    watch = Stopwatch()
    while runs < _MOST_RUNS:
        size = 10 if runs < subject.replications else min(subject.replications * (1 + runs // 30), 300)
        found = _identify(subject, subject.environment, size, subject.max_samples, (1, runs))
        errors += int((~(found.correct & found.stopped)).sum())
        runs += size
        # The logarithm of the likelihood ratio.
        doubt = errors * math.log(worse / delta) + (runs - errors) * math.log((1 - worse) / (1 - delta))
        # By Ville's inequality, the likelihood ratio ever exceeds 1 / LEVEL with probability at most LEVEL,
        # so the test can be evaluated after every batch.
        refused = doubt >= -math.log(LEVEL)
        text = "{} of {} runs failed, but the explorer guarantees delta={:g}"
        require(not refused, "errors", text, errors, runs, delta)
        # The first runs, and an explorer that errs more often than delta, get ten times as much time.
        share = 0.4 if doubt <= 0 and runs >= subject.replications else 4.0
        if (doubt <= _BELIEVED and runs >= subject.replications) or watch.seconds() > share * subject.seconds:
            break
    # At the end, use the exact distribution, which is sharper for few runs.
    possible = binomial_tail(errors, runs, delta) >= LEVEL
    require(possible, "errors", text, errors, runs, delta)
    seen = worse if doubt <= _BELIEVED else refused_rate(runs, delta, LEVEL)
    text = f"{errors} of {runs} runs failed; {delta:g} is allowed, and a rate of {seen:.2g} is detected"
    return Finding(text + " with probability .99", 2 * LEVEL)


def _identify(
    subject: Subject, environment: Environment, runs: int, max_samples: int, stream: tuple[int, int]
) -> Identification:
    seed = np.random.SeedSequence((subject.rng, *stream))
    return identify(subject.explorer, environment, replications=runs, rng=seed, max_samples=max_samples)


class Moved(Environment):
    """An environment with the arms of another one in permuted places."""

    def __init__(self, environment: Environment, order: IntArray) -> None:
        self.environment = environment
        self.order = order
        self.n_arms = environment.n_arms
        self.means = np.array(environment.means)[order]
        self.support = environment.support

    @property
    def sigma(self) -> float:
        return self.environment.sigma

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        raise NotImplementedError("explorers sample base arms")

    def expected_reward(self, super_arm: IntArray) -> float:
        raise NotImplementedError("explorers sample base arms")

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        return self.environment.pull(self.order[arms], rng)

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        return self.environment.pull_many(self.order[arms], pulls, rng)


def check_places(subject: Subject) -> Finding | None:
    """Check that an explorer follows the outcomes of the arms and not their numbers, with permuted arms.

    Permuted arms may be harder, so runs that do not stop are ignored. An explorer that guarantees `delta`
    must not err more often than that. An explorer without a guarantee fails only if all its answers are
    correct before and wrong after the permutation.
    """
    explorer, environment = subject.explorer, subject.environment
    if explorer.goal is None:
        return None
    rng, runs = np.random.default_rng(subject.rng), 10
    most = min(subject.max_samples, _MOST_SAMPLES)
    usual: set[tuple[int, ...]] = set()
    longest = 0
    for run in range(runs):
        before = _identify(subject, environment, 1, most, (2, run))
        if not before.stopped.all() or not before.correct.all():
            return Finding(f"not tried: the explorer does not always answer correctly within {most} samples")
        usual.add(tuple(before.arms[0].tolist()))
        longest = max(longest, int(before.samples[0]))
    # An explorer that answers by number stops as before, or is misled for a long time. It may use up to three
    # times as many samples.
    limit = min(subject.max_samples, 3 * longest)
    wrong, tried, watch = 0, 0, Stopwatch()
    for place in range(_PLACES):
        moved = Moved(environment, rng.permutation(environment.n_arms))
        if any(explorer.goal.is_correct(np.array(arms, np.int64), moved.means) for arms in usual):
            continue  # the former answers are correct for the permuted arms as well
        found = _identify(subject, moved, 1, limit, (3, place))
        wrong += int((found.stopped & ~found.correct).sum())
        tried += int(found.stopped.sum())
        if tried >= _AT_LEAST and watch.seconds() > 0.15 * subject.seconds:
            break
    if subject.delta is not None:
        refused = binomial_tail(wrong, tried, subject.delta) < LEVEL
    else:
        # Without a guarantee, only an explorer that is always wrong fails.
        refused = wrong == tried >= _AT_LEAST
    text = "{} of {} answers are wrong for permuted arms; before, all answers were correct: {}"
    require(not refused, "places", text, wrong, tried, sorted(usual))
    return Finding(f"{tried} runs with permuted arms, {wrong} of them wrong", LEVEL)
