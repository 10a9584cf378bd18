"""Checks of environments: means, rewards, optimum, common random numbers, triggering, pulls and rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import cached_property
from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Context, Feedback
from cmab.oracle import Oracle
from cmab.testing.common import (
    ROUNDING,
    Level,
    NotTried,
    Report,
    Subject,
    difference,
    dirty,
    entries,
    mean_differs,
    named_checks,
    require,
    run_checks,
)
from cmab.validation import shown

#: Rounds of each super arm.
_ROUNDS = 5000
#: Pulls of each arm, and sums of pulls.
_PULLS, _SUMS = 4000, 2000


class EnvironmentSubject(Subject):
    """An environment, one of its rounds, and some super arms that are available in it."""

    def __init__(
        self, environment: Environment, super_arms: Iterable[ArrayLike], level: Level = "quick", rng: int = 0
    ) -> None:
        super().__init__(environment, level, rng)
        self.environment = environment
        self.given = [np.array(list(arm), np.int64) for arm in super_arms]  # type: ignore[arg-type]
        if not self.given:
            raise ValueError("super_arms must contain a super arm, got an empty list")

    @property
    def changes(self) -> bool:
        """Whether rounds may differ."""
        return type(self.environment).in_round is not Environment.in_round

    @cached_property
    def world(self) -> Environment:
        """The environment of one round, in which some super arm is available."""
        for t in range(1, 40):
            world = self.environment.in_round(t, self.rng(1, t))
            if any(_is_available(world, arm) for arm in self.given):
                return world
        raise NotTried("none of super_arms is available in the first rounds")

    @cached_property
    def super_arms(self) -> list[IntArray]:
        """The super arms that are available in that round."""
        return [arm for arm in self.given if _is_available(self.world, arm)]

    @property
    def oracle(self) -> Oracle | None:
        """The oracle of the environment, if it has one."""
        oracle = getattr(self.world, "oracle", None)
        return oracle if isinstance(oracle, Oracle) else None

    def play(self, super_arm: IntArray, *key: int, world: Environment | None = None) -> Feedback:
        """Return the feedback of a round with its own generator."""
        place = self.world if world is None else world
        feedback = place.play(super_arm.copy(), self.rng(2, *key))
        require(isinstance(feedback, Feedback), "play must return a Feedback, got {}", shown(feedback))
        entries(feedback.arms, place.n_arms, "the arms of a feedback")
        return feedback

    @cached_property
    def rounds(self) -> list[list[Feedback]]:
        """Many rounds of each super arm."""
        found = []
        for number, arm in enumerate(self.super_arms[:12]):
            rng = self.rng(3, number)
            plays = (self.world.play(arm.copy(), rng) for _ in range(_ROUNDS * self.effort))
            found.append([*self.timed(plays)])
        return found

    @cached_property
    def pulled(self) -> tuple[IntArray, FloatArray]:
        """Some base arms, and a row of pulls of each of them."""
        n = self.world.n_arms
        arms = np.arange(n) if n <= 20 else np.sort(self.rng(4).choice(n, 20, replace=False))
        times = _PULLS * self.effort
        drawn = np.asarray(self.world.pull(np.tile(arms, times), self.rng(5)))
        require(drawn.shape == (times * len(arms),), "pull must return one outcome for each entry of arms")
        return arms, drawn.reshape(times, len(arms)).T.astype(float)

    @property
    def width(self) -> float:
        """The length of the support; for unbounded outcomes, twelve times their scale."""
        low, high = self.world.support
        return high - low if math.isfinite(high - low) else 12 * min(float(self.world.sigma), 1e12)

    def require_average(self, what: str, values: FloatArray, claimed: float, scale: float) -> None:
        """Raise ``AssertionError`` if an average contradicts `claimed`."""
        bad = len(values) >= 30 and mean_differs(values, claimed, scale)
        text = "the average of {} {} is {:.6g}, but {:.6g} is declared"
        require(not bad, text, len(values), what, float(np.mean(values)) if bad else claimed, claimed)


def _is_available(world: Environment, super_arm: IntArray) -> bool:
    context = world.context
    return context is None or context.available is None or bool(context.available[super_arm].all())


def check_declaration(subject: EnvironmentSubject) -> None:
    """`n_arms`, `means`, `support`, `sigma` and `optimum` are valid and fit each other."""
    for world in (subject.environment, subject.world):
        n: Any = world.n_arms
        low, high = world.support
        require(isinstance(n, int | np.integer) and n >= 1, "n_arms must be positive, got {}", repr(n))
        means = np.asarray(world.means, float)
        good = means.shape == (n,) and np.isfinite(means).all()
        require(good, "means must be {} finite numbers, got {}", n, shown(world.means))
        require(low <= high, "support must be an interval, got {}", world.support)
        slack = ROUNDING * (1 + np.abs(means).max())
        inside = low - slack <= means.min() and means.max() <= high + slack
        require(inside, "means must lie in the support {}, got {}", world.support, means)
        require(float(world.sigma) >= 0, "sigma must not be negative, got {}", world.sigma)
        require(not math.isinf(world.optimum), "optimum must be finite or nan, got {}", world.optimum)
        require(isinstance(repr(world), str), "repr must return a string")


def check_form(subject: EnvironmentSubject) -> str:
    """Rounds are feedback with distinct base arms and finite outcomes; expected rewards are finite."""
    for number, arm in enumerate(subject.super_arms):
        for seed in range(10):
            subject.play(arm, number, seed)
        value: Any = subject.world.expected_reward(arm.copy())
        good = isinstance(value, float | int | np.floating) and math.isfinite(value)
        require(good, "expected_reward must be a finite float, got {} for {}", repr(value), arm)
        again = subject.world.expected_reward(arm.copy())
        require(value == again, "expected_reward returned {} and {} for {}", value, again, arm)
    return f"{len(subject.super_arms)} super arms"


def _same_rounds(subject: EnvironmentSubject, first: list[Feedback], when: str) -> None:
    for number, expected in enumerate(first):
        arm = subject.super_arms[number % len(subject.super_arms)]
        found = difference(expected, subject.play(arm, number))
        text = "a round of {} with the same generator state has other feedback {}: {}"
        require(not found, text, arm, when, found)


def check_determinism(subject: EnvironmentSubject) -> str:
    """The same generator state gives the same rounds and pulls."""
    arms = subject.super_arms
    first = [deepcopy(subject.play(arms[number % len(arms)], number)) for number in range(30)]
    _same_rounds(subject, first, "in a second call")
    some = subject.pulled[0]
    one, two = (np.asarray(subject.world.pull(some, subject.rng(6))) for _ in range(2))
    require(np.array_equal(one, two), "pulls with the same generator state are {} and {}", one, two)
    return "30 rounds and a pull"


def check_stationarity(subject: EnvironmentSubject) -> str:
    """Rounds do not depend on earlier rounds, and do not change the means, the optimum or rewards."""
    world, arms = subject.world, subject.super_arms
    first = [deepcopy(subject.play(arms[number % len(arms)], number)) for number in range(30)]
    truth = np.array(world.means), float(world.optimum), [world.expected_reward(arm) for arm in arms]
    rng = subject.rng(7)
    for number in subject.timed(range(300)):
        world.play(arms[number % len(arms)].copy(), rng)
        world.pull(subject.pulled[0], rng)
    _same_rounds(subject, first[::-1][::-1], "after 300 other rounds")
    now = np.array(world.means), float(world.optimum), [world.expected_reward(arm) for arm in arms]
    found = difference(truth, now)
    require(not found, "the means, the optimum or expected rewards changed during 300 rounds: {}", found)
    return "300 rounds"


def check_input(subject: EnvironmentSubject) -> str:
    """Methods do not change their arguments."""
    world, rng = subject.world, subject.rng(8)
    for arm in subject.super_arms:
        given, pulled = arm.copy(), subject.pulled[0].copy()
        world.play(given, rng)
        world.expected_reward(given)
        world.pull(pulled, rng)
        good = np.array_equal(given, arm) and np.array_equal(pulled, subject.pulled[0])
        require(good, "the super arm {} or arms to pull were changed to {}", arm, given)
    return f"{len(subject.super_arms)} super arms"


def check_aliasing(subject: EnvironmentSubject) -> str:
    """Later rounds do not change a feedback, and overwriting its arrays does not change later rounds."""
    arms, held = subject.super_arms, []
    means = np.array(subject.world.means)
    for number in range(20):
        feedback = subject.play(arms[number % len(arms)], number)
        held.append((feedback, deepcopy(feedback)))
    for feedback, expected in held:
        found = difference(expected, feedback)
        require(not found, "a later round changed an earlier feedback; return new arrays: {}", found)
        for array in (feedback.arms, feedback.outcomes, feedback.costs):
            dirty(array)
    _same_rounds(subject, [expected for _, expected in held], "after its arrays were overwritten")
    same = np.array_equal(means, subject.world.means)
    require(same, "overwriting outcomes changed the means to {}; return a copy", subject.world.means)
    dirty(subject.world.pull(subject.pulled[0], subject.rng(6)))
    require(np.array_equal(means, subject.world.means), "overwriting pulls changed the means")
    return "20 rounds"


def check_support(subject: EnvironmentSubject) -> str:
    """Outcomes of rounds and pulls lie in the support."""
    low, high = subject.world.support
    slack = 1e-12 * max(1.0, abs(low) if math.isfinite(low) else 0, abs(high) if math.isfinite(high) else 0)
    for rounds in subject.rounds:
        outcomes = np.concatenate([each.outcomes for each in rounds])
        if len(outcomes):
            inside = low - slack <= outcomes.min() and outcomes.max() <= high + slack
            text = "outcomes of rounds lie between {} and {}, outside the support {}"
            require(inside, text, outcomes.min(), outcomes.max(), (low, high))
    drawn = subject.pulled[1]
    inside = low - slack <= drawn.min() and drawn.max() <= high + slack
    require(inside, "pulls lie between {} and {}, outside {}", drawn.min(), drawn.max(), (low, high))
    return f"{sum(map(len, subject.rounds))} rounds"


def _outcomes_of(rounds: list[Feedback], arm: int) -> FloatArray:
    found = [each.outcomes[each.arms == arm] for each in rounds]
    return np.concatenate(found) if found else np.empty(0)


def check_outcomes(subject: EnvironmentSubject) -> str:
    """The observed outcomes of each base arm average to its mean, in each super arm."""
    tested = 0
    for number, rounds in enumerate(subject.rounds):
        seen = np.unique(np.concatenate([each.arms for each in rounds]))
        for arm in seen[:12]:
            subject.require_average(
                f"outcomes of arm {arm} in rounds of {subject.super_arms[number].tolist()}",
                _outcomes_of(rounds, arm),
                float(subject.world.means[arm]),
                subject.width,
            )
            tested += 1
    if not tested:
        raise NotTried("no outcomes are observed")
    return f"{tested} averages"


def check_rewards(subject: EnvironmentSubject) -> str:
    """Rewards average to the expected reward; those of linear oracles are the sums of the outcomes."""
    tested = 0
    oracle = subject.oracle
    for number, rounds in enumerate(subject.rounds):
        rewards = np.array([each.reward for each in rounds], float)
        if np.isnan(rewards).any():
            continue
        arm = subject.super_arms[number]
        for each in rounds[:50]:
            if oracle is not None and oracle.is_linear and np.array_equal(np.sort(each.arms), np.sort(arm)):
                total = float(each.outcomes.sum())
                good = abs(each.reward - total) <= 1e-9 * (1 + abs(total))
                require(good, "the reward of {} is {}, the sum of outcomes {}", arm, each.reward, total)
        scale = max(
            subject.width,
            float(np.ptp(rewards)),
            *([float(oracle.max_size) * subject.width] if oracle is not None and oracle.is_linear else []),
        )
        subject.require_average(
            f"rewards of {arm.tolist()}",
            rewards,
            float(subject.world.expected_reward(arm)),
            scale,
        )
        tested += 1
    if not tested:
        raise NotTried("rewards are not observed")
    return f"{tested} averages"


def check_optimum(subject: EnvironmentSubject) -> str:
    """No super arm is better than the optimum, and an exact oracle of the environment attains it."""
    worlds = [subject.world]
    if subject.changes:
        worlds += [subject.environment.in_round(t, subject.rng(1, t)) for t in (2, 3, 5, 10, 40)]
    told = sum(_has_optimum(subject, world) for world in worlds)
    if not told:
        raise NotTried("the optimum is unknown (nan)")
    return f"{told} rounds"


def _has_optimum(subject: EnvironmentSubject, world: Environment) -> bool:
    """Check the optimum of one round, and return whether it is known."""
    optimum, oracle = float(world.optimum), getattr(world, "oracle", None)
    if math.isnan(optimum):
        return False
    slack = 1e-6 * (1 + abs(optimum))
    arms = [arm for arm in subject.given if _is_available(world, arm)]
    rewards = [float(world.expected_reward(arm)) for arm in arms]
    if world.allowance is not None:
        return True  # a single super arm may use more than the allowance, and earn more
    if not isinstance(oracle, Oracle):
        # Without the sense, rewards on both sides of the optimum contradict it.
        above = any(value > optimum + slack for value in rewards)
        below = any(value < optimum - slack for value in rewards)
        text = "the expected rewards {} lie on both sides of the optimum {}"
        require(not (above and below), text, rewards, optimum)
        require(
            not above or world.optimum == 0, "the expected rewards {} exceed the optimum {}", rewards, optimum
        )
        return True
    for arm, value in zip(arms, rewards, strict=True):
        good = oracle._sign * (optimum - value) >= -slack
        require(good, "the expected reward of {} is {:.9g}, but the optimum is {:.9g}", arm, value, optimum)
    if oracle.is_exact and oracle.n_arms == world.n_arms:
        means, context = np.array(world.means, float), world.context
        if context is not None and context.available is not None:
            try:
                best = oracle.solve_within(means, np.array(context.available), subject.rng(9))
            except (TypeError, NotImplementedError):
                return True
        else:
            best = oracle.solve(means, subject.rng(9))
        if context is None or (context.values is None and context.costs is None):
            value = float(world.expected_reward(entries(best, oracle.n_choices)))
            text = "the optimum is {:.9g}, but the best super arm {} has the expected reward {:.9g}"
            require(abs(value - optimum) <= slack, text, optimum, best, value)
    return True


def _draws_one(subject: EnvironmentSubject) -> bool:
    """Return whether every round draws exactly one number from its generator."""
    for number, arm in enumerate(subject.super_arms):
        rng, other = subject.rng(10, number), subject.rng(10, number)
        subject.world.play(arm.copy(), rng)
        other.random()
        if str(rng.bit_generator.state) != str(other.bit_generator.state):
            return False
    return True


def check_common_numbers(subject: EnvironmentSubject) -> str:
    """In the same round, a base arm has the same outcome in every super arm."""
    if not _draws_one(subject):
        raise NotTried(
            "a round draws other than one number from rng, so that policies do not meet the same outcomes;"
            " derive the outcomes of a round from one rng.random() (see round_key)"
        )
    shared = 0
    for seed in range(50):
        seen: dict[int, tuple[float, IntArray]] = {}
        for arm in subject.super_arms:
            feedback = subject.world.play(arm.copy(), subject.rng(11, seed))
            for base, outcome in zip(feedback.arms.tolist(), feedback.outcomes.tolist(), strict=True):
                held = seen.setdefault(base, (outcome, arm))
                text = "arm {} has the outcome {} in {}, but {} in {} in the same round (round_key)"
                require(held[0] == outcome, text, base, outcome, arm, held[0], held[1])
                shared += held[1] is not arm
    if not shared:
        raise NotTried("no two of super_arms show the same base arm")
    return f"{shared} shared outcomes"


def check_triggering(subject: EnvironmentSubject) -> str:
    """Base arms are observed as often as `triggering_probabilities` declares, and only if they may be."""
    oracle, tested = subject.oracle, 0
    for number, rounds in enumerate(subject.rounds):
        arm, n = subject.super_arms[number], subject.world.n_arms
        if oracle is not None:
            seen = np.unique(np.concatenate([each.arms for each in rounds]))
            stray = np.setdiff1d(seen, oracle.triggered_arms(arm))
            require(not len(stray), "rounds of {} show arms {}, not in triggered_arms", arm, stray)
        chances = subject.world.triggering_probabilities(arm)
        if chances is None:
            continue
        for base in range(min(n, 30)):
            observed = np.array([float(base in each.arms) for each in rounds])
            chance = float(chances[base])
            if chance in (0.0, 1.0):
                good = (observed == chance).all()
                require(good, "{} triggers arm {} with another probability than {}", arm, base, chance)
                continue
            subject.require_average(
                f"observations of arm {base} in rounds of {arm.tolist()}",
                observed,
                chance,
                1.0,
            )
            tested += 1
    if not tested and oracle is None:
        raise NotTried("triggering_probabilities is not defined")
    return f"{tested} frequencies"


def check_pulls(subject: EnvironmentSubject) -> str:
    """Single pulls of each base arm average to its mean."""
    arms, drawn = subject.pulled
    for arm, row in zip(arms, drawn, strict=True):
        subject.require_average(
            f"pulls of arm {arm}",
            row,
            float(subject.world.means[arm]),
            subject.width,
        )
    return f"{len(arms)} averages"


def check_sums(subject: EnvironmentSubject) -> str:
    """`pull_many` and `sample` return sums and squares of pulls with the means and variances of pulls."""
    world, (arms, drawn) = subject.world, subject.pulled
    times, rng = 5, subject.rng(14)
    sums, squares = [], []
    for _ in subject.timed(range(_SUMS * subject.effort)):
        total, square = world.pull_many(arms, np.full(len(arms), times), rng)
        sums.append(np.asarray(total, float))
        squares.append(np.asarray(square, float))
    totals, second = np.array(sums), np.array(squares)
    require(totals.shape[1:] == arms.shape, "pull_many must return one sum for each arm, got {}", totals[0])
    slack = 1e-9 * (1 + np.abs(second))
    good = (second * times >= totals**2 - times * slack).all()
    require(good, "pull_many returned squares smaller than the sums allow")
    for place, arm in enumerate(arms):
        mean = float(world.means[arm])
        what = f"sums of {times} pulls of arm {arm}"
        subject.require_average(what, totals[:, place], times * mean, times * subject.width)
        one, many = drawn[place].var(), totals[:, place].var() / times
        rounding = ROUNDING * (1.0 + (drawn[place] ** 2).mean())
        spread = _variance_error(drawn[place]) + _variance_error(totals[:, place]) / times
        text = "the variance of {} is {:.4g} times {}, but that of single pulls is {:.4g}"
        require(abs(one - many) <= 7 * spread + rounding, text, what, float(many), times, float(one))
        gap = abs(second[:, place].mean() / times - (drawn[place] ** 2).mean())
        spread = (drawn[place] ** 2).std() / math.sqrt(drawn.shape[1])
        spread += second[:, place].std() / times / math.sqrt(len(second))
        require(gap <= 7 * spread + rounding, "the squares of {} do not agree with single pulls", what)
    report = world.sample(arms, times, rng)
    agrees = np.array_equal(report.arms, arms) and report.pulls is not None and (report.pulls == times).all()
    require(agrees, "sample must return sums of {} pulls of {}, got {}", times, arms, report)
    return f"{len(totals)} sums of {times} pulls"


def _variance_error(values: FloatArray) -> float:
    """Return the standard error of a sample variance."""
    apart = (values - values.mean()) ** 2
    return float(apart.std() / math.sqrt(len(values)))


def check_scale(subject: EnvironmentSubject) -> str:
    """The variance of the outcomes is at most the square of `sigma`."""
    sigma, (arms, drawn) = float(subject.world.sigma), subject.pulled
    if math.isinf(sigma):
        raise NotTried("sigma is infinite")
    rows = [(f"pulls of arm {arm}", row) for arm, row in zip(arms, drawn, strict=True)]
    for rounds in subject.rounds[:3]:
        seen = np.unique(np.concatenate([each.arms for each in rounds]))[:6]
        rows += [(f"outcomes of arm {arm}", _outcomes_of(rounds, arm)) for arm in seen]
    for what, row in rows:
        if len(row) > 100:
            good = row.var() <= sigma**2 + 7 * _variance_error(row) + 1e-12
            require(good, "the variance of {} is {:.4g}, but sigma is {}", what, float(row.var()), sigma)
            largest = float(np.abs(row - row.mean()).max())
            # P(|X - mean| > 8 sigma) < 2 exp(-32) for sub-Gaussian outcomes.
            require(
                largest <= 8 * sigma + 1e-9,
                "{} is {:.4g} from its mean, but sigma is {}",
                what,
                largest,
                sigma,
            )
    return f"{len(rows)} variances"


def _content(world: Environment) -> tuple[Any, ...]:
    context = world.context
    parts = () if context is None else tuple(getattr(context, part) for part in context.parts)
    return np.array(world.means), float(world.optimum), parts


def check_rounds(subject: EnvironmentSubject) -> str:
    """`in_round` depends on its arguments only, and does not change the environment."""
    if not subject.changes:
        raise NotTried("all rounds are alike")
    environment = subject.environment
    before = np.array(environment.means), float(environment.optimum)
    times = (1, 2, 3, 7, 20, 100)
    first = [_content(environment.in_round(t, subject.rng(15, t))) for t in times]
    for t, expected in reversed([*zip(times, first, strict=True)]):
        found = difference(expected, _content(environment.in_round(t, subject.rng(15, t))))
        text = "round {} is another one in a second call with the same generator state: {}"
        require(not found, text, t, found)
    found = difference(before, (np.array(environment.means), float(environment.optimum)))
    require(not found, "in_round changed the environment: {}", found)
    for t in times:
        world = environment.in_round(t, subject.rng(15, t))
        require(world.n_arms == environment.n_arms, "round {} has another number of arms", t)
        low, high = environment.support
        means = np.asarray(world.means, float)
        slack = ROUNDING * (1 + np.abs(means).max())
        inside = low - slack <= means.min() and means.max() <= high + slack
        require(inside, "the means of round {} lie outside the support: {}", t, means)
        context, oracle = world.context, getattr(world, "oracle", None)
        if context is not None:
            require(isinstance(context, Context), "context must be a Context, got {}", shown(context))
            choices = oracle.n_choices if isinstance(oracle, Oracle) else world.n_choices or world.n_arms
            context.check(world.n_arms, choices)
    return f"{len(times)} rounds"


ENVIRONMENT_CHECKS: tuple[Callable[[Any], str | None], ...] = (
    check_declaration,
    check_form,
    check_determinism,
    check_stationarity,
    check_input,
    check_aliasing,
    check_support,
    check_outcomes,
    check_rewards,
    check_optimum,
    check_common_numbers,
    check_triggering,
    check_pulls,
    check_sums,
    check_scale,
    check_rounds,
)


def check_environment(
    environment: Environment,
    super_arms: Iterable[ArrayLike],
    *,
    level: Level = "quick",
    expected_failures: Mapping[str, str] | None = None,
    rng: int = 0,
) -> Report:
    """Run all checks of an environment, and list all faults.

    Outcomes of one round may be dependent. Single pulls must be independent.

    Parameters
    ----------
    environment : Environment
        The environment to check.
    super_arms : iterable of array_like
        Some super arms to play. If two of them share base arms, common random numbers are tested.
    level : {"quick", "thorough"}
        Effort: a few seconds of work for ``"quick"``, ten times as much for ``"thorough"``.
    expected_failures : mapping of str to str, optional
        Reason for each check that is known to fail, by its title. If the check passes, this is a fault.
    rng : int
        Seed of the rounds.

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
    >>> from cmab.testing import check_environment
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> environment = SemiBandit(BernoulliArms([0.2, 0.6, 0.9]), TopK(3, k=2))
    >>> "common numbers" in check_environment(environment, [(0, 1), (1, 2)]).passed
    True
    """
    subject = EnvironmentSubject(environment, super_arms, level, rng)
    return run_checks(named_checks(subject, ENVIRONMENT_CHECKS, expected_failures))
