"""Checks of the rounds of an environment."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import FloatArray
from cmab.feedback import Feedback
from cmab.oracle import Oracle
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._contents import differing, kept
from cmab.testing._environment_draws import ROUND_STATES, require_same_draws
from cmab.testing._environment_numbers import EACH
from cmab.testing._environment_subject import TIMES, Subject
from cmab.testing._statistics import (
    MEAN_LEVEL,
    bounded_level,
    detected,
    doubted_from,
    in_doubt,
    mean_margin,
    rare_spread,
    require_mean,
)
from cmab.testing._surroundings import global_state, kept_generators, later, seed_generators

_ARMS = 50
# Shares of the seconds for more rounds of an arm in doubt.
_LOOKS = (0.1, 2.0)
_MOST = 400_000
_LEVEL = 1e-9


def check_determinism(subject: Subject) -> None:
    """Check that the same generator state gives the same rounds and pulls."""
    assert subject.first_draws is not None
    again = subject.draws_again()
    require_same_draws(subject.first_draws, again, "determinism", "the same generator state")


def check_coins(subject: Subject) -> Finding:
    """Check that all super arms observe the same outcome of a base arm in the same round."""
    if subject.draws_each_arm:
        return Finding(EACH)
    for seed in subject.seeds(20):
        # Common random numbers: the outcome depends on the round and the arm, not on the super arm.
        seen: dict[int, float] = {}
        for super_arm in subject.super_arms:
            feedback = subject.environment.play(super_arm, np.random.default_rng(seed))
            for arm, outcome in zip(feedback.arms.tolist(), feedback.outcomes.tolist(), strict=True):
                same = seen.setdefault(arm, outcome) == outcome
                require(
                    same,
                    "coins",
                    "arm {} has outcomes {} and {} for the same generator state",
                    arm,
                    outcome,
                    seen[arm],
                )
    return Finding("20 seeds")


def check_support(subject: Subject) -> Finding:
    """Check that outcomes lie in the support, and base arms in ``range(n_arms)``."""
    low, high = subject.environment.support
    arms, pulled = subject.pulled
    outside = np.flatnonzero((pulled < low).any(axis=1) | (pulled > high).any(axis=1))
    text = "outcomes must lie in [{}, {}], but pulls of arms {} do not"
    require(not len(outside), "support", text, low, high, arms[outside])
    rounds = [f for rounds in subject.rounds for f in rounds if f.arms.size]
    for feedback in rounds:
        inside = low <= feedback.outcomes.min() and feedback.outcomes.max() <= high
        require(inside, "support", "outcomes must lie in [{}, {}], got {}", low, high, feedback.outcomes)
        in_range = feedback.arms.max() < subject.environment.n_arms
        text = "arms must lie in range({}), got {}"
        require(in_range, "support", text, subject.environment.n_arms, feedback.arms)
    return Finding(f"{len(rounds)} rounds, {pulled.shape[1]} pulls of each arm")


def check_outcomes(subject: Subject) -> Finding:
    """Check that the observed outcomes of each arm average to its mean, whatever the super arm."""
    arms = np.concatenate([f.arms for rounds in subject.rounds for f in rounds])
    outcomes = np.concatenate([f.outcomes for rounds in subject.rounds for f in rounds])
    doubted: dict[int, FloatArray] = {}
    widest = 0.0
    tested = np.unique(arms)[:_ARMS]
    for arm in tested:
        sample, mean = outcomes[arms == arm], float(subject.environment.means[arm])
        rare = rare_spread(sample, subject.environment.support)
        require_mean("outcomes", f"outcomes of arm {arm}", sample, mean, rare)
        widest = max(widest, _detected(subject, sample, rare, len(tested)))
        if in_doubt(sample, mean, len(tested)):
            doubted[int(arm)] = sample
    longer, level = _look_longer(subject, doubted)
    # Each arm is tested by the normal law and, if in doubt, by the bound for outcomes in an interval.
    text = f"{len(tested)} arms; an error of {widest:.2g} in a mean would be detected with probability .99"
    return Finding(text + longer, len(tested) * (MEAN_LEVEL + level))


def _detected(subject: Subject, sample: FloatArray, rare: float, tests: int) -> float:
    """Return an error of a mean that the rounds and, if in doubt, the further rounds detect."""
    low, high = subject.environment.support
    if not np.isfinite([low, high]).all():
        return detected(sample, rare, subject.many // 2, tests)
    # By Pinsker's inequality, `bounded_level` is at most 2 exp(-2 n d^2) for an error d in [0, 1].
    later = math.sqrt(math.log(2 / _LEVEL) / 2 / subject.many) + 1.3 / math.sqrt(subject.many)
    return min(2 * mean_margin(sample, rare), max(doubted_from(sample, tests), (high - low) * later))


def _look_longer(subject: Subject, doubted: dict[int, FloatArray]) -> tuple[str, float]:
    """Play more rounds for arms with an average two standard errors off; by chance, one in twenty is."""
    low, high = subject.environment.support
    if not doubted:
        return "", 0.0
    if not np.isfinite([low, high]).all():
        return _look_at_normal(subject, doubted)
    rng = np.random.default_rng((13, subject.rng))
    # Rounding error of sums of outcomes far from 0, relative to the length of the support.
    rounding = 1e-12 * max(abs(low), abs(high)) / (high - low) if low < high else np.inf
    for arm, sample in doubted.items():
        # Rescale to [0, 1], where `bounded_level` holds for every law. Averages near an end are not normal.
        claimed = (float(subject.environment.means[arm]) - low) / (high - low)
        super_arm = next((s for s in subject.super_arms if arm in s), subject.super_arms[0])
        total, count = float(sample.sum()), float(len(sample))
        for share in _LOOKS:
            for feedback in subject.timed(subject.more(super_arm, _MOST, rng), share, subject.many):
                found = feedback.outcomes[feedback.arms == arm]
                total, count = total + found.sum(), count + len(found)
            mean = (total / count - low) / (high - low)
            possible = abs(mean - claimed) <= rounding or bounded_level(mean, claimed, count) >= _LEVEL
            text = "outcomes of arm {} average {:.6g} over {:.0f} samples, not {:.6g} as declared"
            told = (arm, total / count, count, float(subject.environment.means[arm]))
            require(possible, "outcomes", text, *told)
            # Stop if the average is within three standard errors of the law with the largest variance.
            if abs(mean - claimed) <= 3 * np.sqrt(claimed * (1 - claimed) / count):
                break
    return f"; arms {[*doubted]} got more rounds", len(_LOOKS) * _LEVEL


def _look_at_normal(subject: Subject, doubted: dict[int, FloatArray]) -> tuple[str, float]:
    """Play more rounds for arms in doubt whose outcomes have no bounds."""
    for arm in doubted:
        number = next((i for i, s in enumerate(subject.super_arms) if arm in s), 0)
        more = [f.outcomes[f.arms == arm] for f in subject.further(number)]
        sample, mean = np.concatenate(more), float(subject.environment.means[arm])
        require_mean("outcomes", f"outcomes of arm {arm}", sample, mean)
    return f"; arms {[*doubted]} got more rounds", MEAN_LEVEL


def check_triggers(subject: Subject) -> Finding:
    """Check that base arms are observed as often as declared, and only if the super arm may trigger them."""
    environment, tests = subject.environment, 0
    has_oracle = isinstance(subject.oracle, Oracle)
    for number, (super_arm, rounds) in enumerate(zip(subject.super_arms, subject.rounds, strict=True)):
        seen = _observations(rounds, environment.n_arms)
        if has_oracle:
            stray = np.setdiff1d(np.flatnonzero(seen.any(axis=0)), subject.oracle.triggered_arms(super_arm))
            text = "super arm {} showed arms {}, which are not in triggered_arms"
            require(not len(stray), "triggers", text, super_arm.tolist(), stray)
        chances = environment.triggering_probabilities(super_arm)
        if chances is None:
            continue
        numbers = np.asarray(chances)
        fits = numbers.shape == (environment.n_arms,) and bool(((numbers >= 0) & (numbers <= 1 + 1e-9)).all())
        text = "triggering_probabilities must be {} numbers in [0, 1], got {} for {}"
        require(fits, "triggers", text, environment.n_arms, chances, super_arm)
        for arm in range(min(environment.n_arms, _ARMS)):
            what = f"observations of arm {arm} by {super_arm.tolist()}"
            require_mean("triggers", what, seen[:, arm], float(chances[arm]))
            if in_doubt(seen[:, arm], float(chances[arm]), len(subject.super_arms) * environment.n_arms):
                more = _observations(subject.further(number), environment.n_arms)[:, arm]
                require_mean("triggers", what, more, float(chances[arm]))
            tests += 2
    return Finding("" if tests else "no probabilities are declared", tests * MEAN_LEVEL)


def _observations(rounds: list[Feedback], n_arms: int) -> FloatArray:
    """Return 1 for each arm that a round showed and 0 for the others, with a row for each round."""
    seen = np.zeros((len(rounds), n_arms))
    for row, feedback in zip(seen, rounds, strict=True):
        row[feedback.arms] = 1.0
    return seen


def check_stationarity(subject: Subject) -> Finding:
    """Check that results do not depend on earlier rounds, and that rounds do not change the environment."""
    environment, played = subject.environment, sum(map(len, subject.rounds))
    pulled = subject.pulled[1].size + TIMES * subject.sums[0].size if subject.first_pulls else 0
    what = f"after {played} rounds and {pulled} pulls, the same generator state"
    require_same_draws(subject.first_draws, subject.draws_again(), "stationarity", what)
    for (name, first), now in zip(subject.first_truth.items(), subject.truth().values(), strict=True):
        same = np.allclose(first, now, rtol=1e-9, atol=0.0, equal_nan=True)
        require(
            same,
            "stationarity",
            "the {} changed from {} to {} while the environment was played",
            name,
            first,
            now,
        )
    # Caches that are filled once are full by now, so that the same rounds once more must not change anything.
    before = kept(environment)
    subject.draws_again()
    changed = differing(before, kept(environment))
    # Play the last round once more, because a state that recurs after as many rounds would not show above.
    # Caches that drop entries, or order their keys by use, do not change by a repeated round.
    environment.play(subject.super_arms[-1].copy(), np.random.default_rng(ROUND_STATES - 1))
    changed = changed or differing(before, kept(environment))
    text = "the same rounds and pulls once more changed {} of the environment, which must not keep counters"
    require(not changed, "stationarity", text, ", ".join(changed))
    return Finding(f"{len(subject.first_draws)} rounds and pulls repeated after {played + pulled} others")


def check_clock(subject: Subject) -> None:
    """Check that rounds and pulls do not depend on the time."""
    assert subject.first_draws is not None
    with later(subject.environment):
        again = subject.draws_again()
    require_same_draws(subject.first_draws, again, "clock", "half a year later, the same generator state")


def check_global_randomness(subject: Subject) -> None:
    """Check that rounds and pulls neither use nor seed the global generators."""
    assert subject.first_draws is not None
    draws = []
    with kept_generators():
        for seed in (1, 2):
            seed_generators(seed)
            before = repr(global_state())
            draws.append(subject.draws_again())
            text = "a round or pull used or seeded a global generator instead of rng"
            require(before == repr(global_state()), "global randomness", text)
    require_same_draws(draws[0], draws[1], "global randomness", "another seed of the global generators")
