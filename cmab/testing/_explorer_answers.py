"""Checks of how often the answers of an explorer are wrong, also if the arms are permuted."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback
from cmab.run.identify import identify
from cmab.run.results import Identification
from cmab.testing._checks import Finding
from cmab.testing._comparisons import LEVEL, Stopwatch, require
from cmab.testing._explorer_runs import Subject
from cmab.testing._statistics import binomial_tail, refused_rate

_WORSE = 1.5
# The most runs, and the number of runs without an error after which slow explorers are believed.
_MOST_RUNS, _CLEAN = 3000, 16
_BELIEVED = math.log(0.01)
#: Answers on the environment that are compared with those for permuted arms.
_USUAL = 6
_PLACES = 60
_AT_LEAST = 10
_MOST_SAMPLES = 5000


def check_errors(subject: Subject) -> Finding:
    """Check that the rate of wrong answers and of runs that do not stop is at most `delta`.

    This is Wald's sequential test of `delta` against ``1.5 * delta``. If the error rate is `delta`, the
    likelihood ratio ever reaches ``1 / LEVEL`` with probability at most `LEVEL`, by Ville's inequality. The
    test also ends when an error rate of ``1.5 * delta`` would have been detected with probability .99. At
    delta 0.1, an explorer that is never wrong needs 80 runs for this. If the time is over before, a binomial
    test ends the check, and the report shows the error rate that would have been detected.
    """
    delta = subject.allowed
    if subject.explorer.goal is None:
        return Finding(
            "not tried: the explorer declares no `goal`, so that wrong answers cannot be recognised"
        )
    if delta is None:
        return Finding("not tried: no error probability `delta` is given")
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1), got {delta!r}")
    worse = min(_WORSE * delta, (1 + delta) / 2)
    errors = runs = 0
    spent = 0.0
    while runs < _MOST_RUNS:
        size = 1 if runs == 0 else _batch(subject, runs, errors, spent)
        found = _identify(subject, subject.environment, size, subject.max_samples, (1, runs))
        _keep(subject, found)
        errors += int((~(found.correct & found.stopped)).sum())
        if runs == 0:
            watch = Stopwatch()  # from here on, because the first runs may have compiled code
        runs += size
        spent = watch.seconds()
        # The logarithm of the likelihood ratio.
        doubt = errors * math.log(worse / delta) + (runs - errors) * math.log((1 - worse) / (1 - delta))
        # Ville's inequality holds for all batches together, so the test may be repeated after each of them.
        refused = doubt >= -math.log(LEVEL)
        text = "{} of {} runs failed, which contradicts delta={:g}"
        require(not refused, "errors", text, errors, runs, delta)
        # Explorers with a likelihood ratio above 1 get eight times as long.
        enough = runs >= (_CLEAN if errors == 0 else subject.replications)
        share = 0.5 if doubt <= 0 and enough else 4.0
        if (doubt <= _BELIEVED and runs >= subject.replications) or spent > share * subject.seconds:
            break
    # Finally the exact binomial law, which is sharper for few runs.
    possible = binomial_tail(errors, runs, delta) >= LEVEL
    require(possible, "errors", text, errors, runs, delta)
    seen = worse if doubt <= _BELIEVED else refused_rate(runs, delta, LEVEL)
    text = f"{errors} of {runs} runs failed; the permitted rate is {delta:g}, and "
    if math.isnan(seen):
        return Finding(text + "these are too few runs to reject a higher rate reliably", 2 * LEVEL)
    return Finding(text + f"a rate of {seen:.2g} would be rejected with probability .99", 2 * LEVEL)


def _batch(subject: Subject, runs: int, errors: int, spent: float) -> int:
    """Return the number of runs of the next batch, which is small if a run takes long."""
    each = max(spent / max(runs - 1, 1), 1e-9)
    if runs < 9:
        return 1 if each > 0.05 * subject.seconds else 9
    size = 10 if runs < subject.replications else min(subject.replications * (1 + runs // 30), 300)
    # Without errors, the runs shall end when their time is over.
    left = 0.5 * subject.seconds - spent if errors == 0 and runs >= _CLEAN else subject.seconds
    return max(1, min(size, int(left / each)))


def _keep(subject: Subject, found: Identification) -> None:
    """Keep the first answers on the environment, which the check of places compares with others."""
    kept = subject.kept.setdefault("answers", [])
    for run in range(len(found.samples)):
        if len(kept) < _USUAL:
            is_right = bool(found.stopped[run] and found.correct[run])
            kept.append((tuple(found.arms[run].tolist()), int(found.samples[run]), is_right))


def _identify(
    subject: Subject, environment: Environment, runs: int, max_samples: int, stream: tuple[int, int]
) -> Identification:
    seed = np.random.SeedSequence((subject.rng, *stream))
    return identify(subject.explorer, environment, replications=runs, rng=seed, max_samples=max_samples)


class Moved(Environment):
    """The base arms of another environment in another order."""

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


def check_places(subject: Subject) -> Finding:
    """Check that the answers are right if the arms are permuted, so that they depend on the outcomes.

    A permuted problem may be harder, so that runs that do not stop are ignored. If `delta` is known, the
    error rate must be at most `delta`. Otherwise the check fails only if all answers for permuted arms are
    wrong.
    """
    explorer, environment = subject.explorer, subject.environment
    if explorer.goal is None:
        return Finding(
            "not tried: the explorer declares no `goal`, so that wrong answers cannot be recognised"
        )
    rng, most = np.random.default_rng(subject.rng), min(subject.max_samples, _MOST_SAMPLES)
    watch = Stopwatch()
    while len(subject.kept.get("answers", ())) < _USUAL:
        run = len(subject.kept.get("answers", ()))
        if run > 2 and watch.seconds() > subject.seconds:
            return Finding("not tried: the runs take too long")
        _keep(subject, _identify(subject, environment, 1, most, (1, run)))
    answers = subject.kept["answers"]
    longest = max(samples for _, samples, _ in answers)
    if longest > most or not all(is_right for _, _, is_right in answers):
        return Finding(f"not tried: the explorer is not always right within {most} samples")
    usual = {arms for arms, _, _ in answers}
    # An explorer that names arms by their numbers may be misled for long, so that the samples are limited.
    limit = min(subject.max_samples, 3 * longest)
    wrong, tried, watch = 0, 0, Stopwatch()
    for place in range(_PLACES):
        moved = Moved(environment, rng.permutation(environment.n_arms))
        if any(explorer.goal.is_correct(np.array(arms, np.int64), moved.means) for arms in usual):
            continue  # an earlier answer is also right for this order
        found = _identify(subject, moved, 1, limit, (3, place))
        wrong += int((found.stopped & ~found.correct).sum())
        tried += int(found.stopped.sum())
        if tried >= _AT_LEAST and watch.seconds() > 0.15 * subject.seconds:
            break
    if subject.allowed is not None:
        refused = binomial_tail(wrong, tried, subject.allowed) < LEVEL
    else:
        # Without `delta`, only an explorer that is always wrong is rejected.
        refused = wrong == tried >= _AT_LEAST
    text = "{} of {} answers are wrong after the arms were permuted; before, all answers were right: {}"
    require(not refused, "places", text, wrong, tried, sorted(usual))
    return Finding(f"{tried} runs with permuted arms, {wrong} of them wrong", LEVEL)
