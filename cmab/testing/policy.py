"""Checks of policies: choices, states, feedback, learning, contexts, propensities and saved sessions."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy, IndexPolicy, Policy
from cmab.statistics import ArmStatistics
from cmab.testing.common import (
    ROUNDING,
    Level,
    NotTried,
    Report,
    difference,
    entries,
    exceeds,
    leaves,
    named_checks,
    require,
    run_checks,
)
from cmab.testing.learner import (
    ROUNDS,
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
from cmab.validation import shown

#: Rounds of the longest attempt to learn.
_LEARNED = 3000
#: Exceptions with which a policy or an oracle rejects a context.
_REFUSALS = (ValueError, TypeError, NotImplementedError)


class World(Environment):
    """Independent outcomes at the two ends of an interval, for an oracle whose rewards are sums."""

    def __init__(
        self, oracle: Oracle, fractions: FloatArray, support: tuple[float, float], full: bool
    ) -> None:
        low, high = support
        self.oracle, self.support, self.fractions, self.full = oracle, support, fractions, full
        self.n_arms, self.n_choices = oracle.n_arms, oracle.n_choices
        self.means = low + (high - low) * fractions

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        low, high = self.support
        outcomes = np.where(rng.random(self.n_arms) < self.fractions, high, low)[super_arm]
        if self.full:
            return Feedback([], [], reward=float(outcomes.sum()))
        return Feedback(super_arm, outcomes, reward=float(outcomes.sum()))

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        return np.where(rng.random(len(arms)) < self.fractions[arms], self.support[1], self.support[0])

    def expected_reward(self, super_arm: IntArray) -> float:
        return float(self.means[super_arm].sum())

    def best(self) -> IntArray:
        """Return the best super arm."""
        answer = self.oracle.solve(self.means.copy(), np.random.default_rng(7))
        return entries(answer, self.oracle.n_choices)

    def worth(self, super_arm: IntArray) -> float:
        """Return the expected reward; for costs, its negative."""
        return self.oracle._sign * self.expected_reward(super_arm)


class PolicySubject(LearnerSubject):
    """A policy with the environment in which it is played."""

    def __init__(
        self, policy: AnyPolicy, environment: Environment, level: Level = "quick", rng: int = 0
    ) -> None:
        if not isinstance(policy, Policy):
            raise TypeError(f"policy must be a Policy, got {shown(policy)}")
        super().__init__(policy, environment, level, rng)
        self.policy, self.oracle, self.sign = policy, policy.oracle, policy.oracle._sign

    @cached_property
    def support(self) -> tuple[float, float]:
        """The interval of the outcomes of artificial feedback."""
        low, high = self.policy.support or self.environment.support
        return (low, high) if math.isfinite(low) and math.isfinite(high) else (0.0, 1.0)

    def state_after(self, rounds: int, seed: int = 0) -> Any:
        """Return the state after so many rounds."""
        state = self.new_state(seed, 0)
        for _ in self.timed(self.run(state=state, rounds=rounds, seed=seed)):
            pass
        return state

    @cached_property
    def shows_arms(self) -> bool:
        """Whether the environment shows the outcome of every arm of a super arm, and of no other arm."""
        return all(
            np.array_equal(np.sort(each.feedback.arms), np.sort(each.super_arm)) for each in self.sample
        )

    @cached_property
    def shows_reward_only(self) -> bool:
        """Whether the environment shows rewards and no outcomes."""
        return all(
            not len(each.feedback.arms) and each.feedback.reward == each.feedback.reward
            for each in self.sample
        )

    def world(self, fractions: FloatArray) -> World:
        """Return an artificial world, or raise `NotTried` if the policy cannot play there."""
        policy, oracle = self.policy, self.oracle
        if not policy.learns:
            raise NotTried("the policy declares learns=False")
        if not oracle.is_linear or oracle.n_choices != oracle.n_arms:
            raise NotTried("rewards are not sums of outcomes")
        if not (self.shows_arms or self.shows_reward_only):
            raise NotTried("the environment shows neither all outcomes nor only rewards")
        if self.sample[0].ticket.context is not None:
            try:
                self.select(policy.initial_state(), self.rng(1))
            except _REFUSALS as error:
                raise NotTried("the policy needs a context") from error
        return World(oracle, fractions, self.support, self.shows_reward_only)

    @cached_property
    def worlds(self) -> tuple[World, World]:
        """Two worlds with different best super arms. In each of them, its arms are clearly better."""
        rng, oracle, best = self.rng(20), self.oracle, 0.0
        good, bad = (0.9, 0.1) if oracle.sense == "max" else (0.1, 0.9)
        pair = None
        self.world(np.full(oracle.n_arms, 0.5))
        arms: list[IntArray] = []
        for _ in range(20):
            fractions = rng.random(oracle.n_arms)
            arms.append(self.world(fractions).best())
        made = [self.world(np.where(np.isin(np.arange(oracle.n_arms), arm), good, bad)) for arm in arms]
        for first in made[:5]:
            for second in made:
                lost = min(
                    first.worth(first.best()) - first.worth(second.best()),
                    second.worth(second.best()) - second.worth(first.best()),
                )
                if lost > best + ROUNDING:
                    pair, best = (first, second), lost
        if pair is None:
            raise NotTried("one super arm is the best in all worlds")
        return pair


def check_declaration(subject: PolicySubject) -> None:
    """The policy has an oracle, and `support` is an interval."""
    policy = subject.policy
    require(isinstance(policy.oracle, Oracle), "oracle must be an Oracle, got {}", repr(policy.oracle))
    if policy.support is not None:
        low, high = policy.support
        require(low < high, "support must be an interval, got {}", policy.support)
    require(isinstance(repr(policy), str), "repr must return a string")
    done = policy.is_done(policy.initial_state(subject.rng(1)))
    require(isinstance(done, bool | np.bool_), "is_done must return a bool, got {}", repr(done))


def check_feasibility(subject: PolicySubject) -> str:
    """Every super arm is a list of distinct entries that belongs to the family of the oracle."""
    runs, oracle = [subject.sample], subject.oracle
    with contextlib.suppress(NotTried):  # equal outcomes, so that all arms tie
        worlds = [subject.world(np.full(oracle.n_arms, fraction)) for fraction in (0.0, 1.0)]
        runs += [[*subject.timed(subject.run(world, rounds=40))] for world in worlds]
    for each in chain.from_iterable(runs):
        arm = each.super_arm
        is_member = oracle.is_feasible(arm) or (subject.policy.may_rest and not len(arm))
        require(is_member, "select returned {}, which is not a super arm", arm)
    return f"{sum(map(len, runs))} rounds"


def check_unobserved(subject: PolicySubject) -> str:
    """A report without some arms of the super arm does not change what is known about these arms."""
    n, tried = subject.oracle.n_arms, 0
    for state, each in subject.states():
        report = each.feedback
        if len(report.arms) < 2 or report.costs is not None or report.used is not None:
            continue
        gone = int(report.arms[0])
        partial = Feedback(report.arms[1:], report.outcomes[1:])
        other = Ticket(each.ticket.number, np.setdiff1d(each.super_arm, [gone]), context=each.ticket.context)
        try:
            after, without = (dict(leaves(subject.learned(state, partial, t))) for t in (each.ticket, other))
        except ValueError:
            continue
        tried += 1
        for name, value in after.items():
            if not (isinstance(value, np.ndarray) and value.shape == (n,) and value.dtype.kind in "iuf"):
                continue
            held = without.get(name)
            if isinstance(held, np.ndarray) and held.shape == (n,):
                text = "a report of arms {} changed {} of arm {}, which was played but not observed"
                require(value[gone] == held[gone], text, partial.arms, name.lstrip("."), gone)
    if not tried:
        raise NotTried("no round shows two outcomes, or such reports are rejected")
    return f"{tried} reports"


def check_sums(subject: PolicySubject) -> str:
    """A report of sums counts as its outcomes do one by one, or is rejected with ``ValueError``."""
    policy, rng, n = subject.policy, subject.rng(37), subject.oracle.n_arms
    if not isinstance(policy.initial_state(rng), ArmStatistics) or not subject.shows_arms:
        raise NotTried("the state is not an ArmStatistics, or not all outcomes are shown")
    low, high = subject.support
    arms = subject.sample[0].super_arm
    context = subject.sample[0].ticket.context
    outcomes = np.where(rng.random((4, len(arms))) < 0.5, high, low)
    one, many = policy.initial_state(subject.rng(1)), policy.initial_state(subject.rng(1))
    ticket = Ticket(0, arms, context=context)
    together = Feedback(
        arms, outcomes.sum(axis=0), pulls=np.full(len(arms), 4), squares=(outcomes**2).sum(axis=0)
    )
    try:
        policy.update(many, together, ticket, rng)
    except _REFUSALS as error:
        raise NotTried("sums are rejected") from error
    for row in outcomes:
        policy.update(one, Feedback(arms, row), ticket, rng)
    text = "the counts after a sum of 4 outcomes of arms {} are {} instead of {}"
    require(np.array_equal(one.counts, many.counts), text, arms, many.counts, one.counts)
    text = "the means after a sum of 4 outcomes of arms {} are {} instead of {}"
    require(np.allclose(one.means, many.means), text, arms, many.means, one.means)
    return f"4 outcomes of {n} arms"


def _written(subject: PolicySubject, counts: IntArray, fractions: FloatArray, rounds: int) -> ArmStatistics:
    """Return statistics with these counts, and means as fractions of the support; raise `NotTried`."""
    policy, (low, high) = subject.policy, subject.support
    state = policy.initial_state(subject.rng(1))
    if not isinstance(policy, IndexPolicy) or type(state) is not ArmStatistics or len(state.memory):
        raise NotTried("the policy does not compute indices from counts and means alone")
    if not policy.learns or state.counts.any():
        raise NotTried("the policy does not learn, or begins with outcomes")
    seen = counts > 0
    state.counters[:] = counts
    state.means[:] = np.where(seen, low + (high - low) * fractions, 0.0)
    state.deviations[:] = np.where(seen, counts * fractions * (1 - fractions) * (high - low) ** 2, 0.0)
    state.rounds = rounds
    return state


def _index(subject: PolicySubject, counts: int, fraction: float, rounds: int) -> float:
    """Return the average index of arms with such statistics, times the sign of the sense."""
    policy: Any = subject.policy
    n = subject.oracle.n_arms
    state = _written(subject, np.full(n, counts), np.full(n, fraction), rounds)
    indices, again = (np.asarray(policy.indices(state, subject.rng(39, i)), float) for i in range(2))
    if len(np.unique((indices, again))) > 1:
        raise NotTried("indices are random, or differ between arms with the same statistics")
    return subject.sign * float(indices[0])


def check_radius(subject: PolicySubject) -> str:
    """A confidence bound moves away from the mean as rounds pass, and like 1 / sqrt(n) with n outcomes."""
    places = ((400, 10**4), (400, 10**10), (40_000, 10**4), (40_000, 10**10))
    few, later, many, much_later = (_index(subject, count, 0.5, rounds) for count, rounds in places)
    if few == later:
        raise NotTried("the indices do not depend on the number of rounds")
    text = (
        "the index of an arm with 400 outcomes moves from {:.4g} to {:.4g} between rounds 10**4 and 10**10,"
    )
    text += " to the worse side; a bound must be above the mean for rewards, and below it for costs"
    sign = subject.sign
    require(later > few, text, sign * few, sign * later)
    if much_later <= many:
        raise NotTried("the indices of arms with many outcomes do not depend on the number of rounds")
    ratio = (later - few) / (much_later - many)
    text = "the growth of the index between rounds 10**4 and 10**10 is {:.0f} times smaller with 100 times as"
    text += " many outcomes, but the standard error of a mean is 10 times smaller; good arms are lost"
    require(ratio < 30, text, ratio)
    return "growth with rounds at 400 and 40,000 outcomes"


def _gain(subject: PolicySubject, rounds: int) -> float:
    """Return the gain of own super arms over those of the other world, as a share of the largest gain."""
    chosen: list[list[IntArray]] = [[], []]
    for found, world in zip(chosen, subject.worlds, strict=True):
        found += [each.super_arm for each in subject.timed(subject.run(world, rounds=rounds))]
    length = min(map(len, chosen))
    first, second = subject.worlds
    here, there = (arms[length // 2 : length] for arms in chosen)

    def worth(world: World, arms: list[IntArray]) -> float:
        return float(np.mean([world.worth(arm) for arm in arms]))

    most = first.worth(first.best()) - first.worth(second.best())
    most += second.worth(second.best()) - second.worth(first.best())
    gained = worth(first, here) - worth(first, there) + worth(second, there) - worth(second, here)
    return gained / most


def check_learning(subject: PolicySubject) -> str:
    """In two worlds with different best super arms, the policy comes to select those of its own world."""
    share, rounds = 0.0, 0
    for rounds in (200, 800, _LEARNED):
        share = _gain(subject, rounds)
        if share > 0.3:
            return f"gain of {share:.0%} after {rounds} rounds"
    text = "after {} rounds in each of two worlds in which other arms are good, the policy gains {:.0%} of"
    text += " the difference (-100 %: it selects the worst); declare learns=False if it does not learn"
    require(share > 0.05 or (subject.policy.may_rest and rounds), text, rounds, share)
    return f"gain of {share:.0%} after {rounds} rounds"


def check_regret(subject: PolicySubject) -> str:
    """In the environment, the policy is not worse than random super arms."""
    if not subject.policy.learns:
        raise NotTried("the policy declares learns=False")
    if not _lacks_worlds(subject):
        raise NotTried("see learning")
    rng, oracle, gains = subject.rng(41), subject.oracle, []
    for t, each in enumerate(subject.timed(subject.run(rounds=300))):
        if t < 100 or not len(each.super_arm):
            continue
        means, context = rng.random(oracle.n_arms), each.ticket.context
        if context is None or context.available is None:
            other = oracle.solve(means, rng)
        else:
            other = oracle.solve_within(means, context.available, rng)
        if context is not None and (context.values is not None or context.costs is not None):
            raise NotTried("the worth of a super arm depends on the context")
        here, there = (
            each.place.expected_reward(entries(arm, oracle.n_choices)) for arm in (each.super_arm, other)
        )
        gains.append(subject.sign * (here - there))
    if len(gains) < 100:
        raise NotTried("too few rounds in the given time")
    error = float(np.std(gains)) / math.sqrt(len(gains))
    text = "in rounds 100 to 300, the reward is on average {:.4g} worse than that of random super arms"
    require(np.mean(gains) >= -6 * error - ROUNDING, text, -float(np.mean(gains)))
    return f"{len(gains)} rounds"


def _lacks_worlds(subject: PolicySubject) -> bool:
    """Return whether the policy cannot play in artificial worlds."""
    try:
        return not subject.worlds
    except NotTried:
        return True


def check_exploration(subject: PolicySubject) -> str:
    """If all outcomes are the worst, every arm that the oracle can select is observed."""
    oracle = subject.oracle
    worst = 0.0 if oracle.sense == "max" else 1.0
    bleak = subject.world(np.full(oracle.n_arms, worst))
    alone = np.eye(oracle.n_arms) if oracle.sense == "max" else 1.0 - np.eye(oracle.n_arms)
    missing = {arm for arm, row in enumerate(alone) if arm in subject.world(row).best()}
    rounds = 0
    for seed in range(3):
        for each in subject.timed(subject.run(bleak, rounds=30 * oracle.n_arms + 300, seed=seed)):
            missing -= set(each.super_arm.tolist())
            rounds += 1
            if not missing:
                return f"all arms after {rounds} rounds"
    if rounds < 30 * oracle.n_arms:
        raise NotTried("too many arms for the given time")
    text = "arms {} were never selected in {} rounds in which all outcomes were the worst"
    require(False, text, sorted(missing), rounds)
    return ""


def _part(subject: PolicySubject, part: str, rng: np.random.Generator) -> Context:
    """Return a context with one random part."""
    n, low, high = subject.oracle.n_arms, *subject.support
    if part == "available":
        return Context(available=rng.random(subject.oracle.n_choices) < 0.7)
    if part == "values":
        return Context(values=rng.choice([0.05, 1.0], n))
    if part == "costs":
        return Context(costs=rng.choice([0.0, 1.0], n) * (high - low))
    return Context(features=rng.random((n, 2)))


def check_availability(subject: PolicySubject) -> str:
    """The policy selects available entries only, or rejects the context."""
    rng, state, tried = subject.rng(44), subject.state_after(20), 0
    for _ in range(30):
        context = _part(subject, "available", rng)
        try:
            chosen = subject.select(state, rng, context)
        except _REFUSALS:
            continue
        available = context.available
        assert available is not None
        tried += 1
        text = "select returned {}, but only the entries {} are available"
        require(available[chosen].all(), text, chosen, np.flatnonzero(available))
    if not tried:
        raise NotTried("the policy rejects contexts with available entries")
    return f"{tried} contexts"


def check_context(subject: PolicySubject) -> str:
    """The policy uses every part of a context that it does not reject."""
    if not subject.policy.learns:
        raise NotTried("the policy declares learns=False")
    used = []
    given, learned = subject.sample[0].ticket.context, subject.state_after(300)
    # The lower bounds of costs may all be 0, whatever their values.
    for part in ("values",) * (subject.oracle.sense == "max") + ("costs", "features"):
        runs = []
        for stream in (45, 46):
            rng = subject.rng(stream)
            contexts = [_merged(given, _part(subject, part, rng)) for _ in range(ROUNDS + 1)]
            state = deepcopy(learned)
            try:
                rounds = subject.run(state=state, contexts=contexts.__getitem__)
                runs.append(([each.super_arm for each in rounds], state))
            except _REFUSALS:
                break
        if len(runs) < 2:
            continue
        (here, one), (there, two) = runs
        is_same = all(map(np.array_equal, here, there)) and not difference(one, two)
        text = (
            "runs with different context.{} are identical: use this part, or raise ValueError (refuse_parts)"
        )
        require(not is_same, text, part)
        used.append(part)
    if not used:
        raise NotTried("the policy rejects contexts with values, costs or features")
    return ", ".join(used)


def _merged(given: Context | None, other: Context) -> Context:
    """Return a context with the parts of `given` and those of `other`."""
    parts = ("available", "features", "values", "costs")
    first: list[Any] = [None if given is None else getattr(given, part) for part in parts]
    both = {
        part: getattr(other, part) if old is None else old for part, old in zip(parts, first, strict=True)
    }
    if given is not None and given.features is not None and other.features is not None:
        both["features"] = np.random.default_rng(int(other.features[0, 0] * 1e6)).permutation(given.features)
    return Context(**both)


def check_propensities(subject: PolicySubject) -> str:
    """`propensity` returns the frequencies with which `select` chooses super arms."""
    told = 0
    for rounds in (0, 15, 50):
        state, context = subject.state_after(rounds), subject.sample[0].ticket.context
        drawn = [
            subject.select(state, subject.rng(49, draw), context)
            for draw in subject.timed(range(300 * subject.effort))
        ]
        others = [each.super_arm for each in subject.sample[:10]]
        fault, tests = _propensity_fault(subject, state, context, drawn, others)
        if fault and subject.oracle.is_linear:  # the order of a list may have no meaning
            fault, tests = _propensity_fault(
                subject, state, context, [np.sort(arm) for arm in drawn], [np.sort(arm) for arm in others]
            )
        require(not fault, "{}", fault)
        told += tests
    if not told:
        raise NotTried("propensity is not defined")
    return f"{told} propensities"


def _propensity_fault(
    subject: PolicySubject, state: Any, context: Context | None, drawn: list[IntArray], others: list[IntArray]
) -> tuple[str, int]:
    """Return how propensities differ from frequencies, or '', and the number of propensities."""
    arms = {arm.tobytes(): arm for arm in (*others, *drawn)}
    keys, tests, total = [arm.tobytes() for arm in drawn], 0, 0.0
    for key, arm in arms.items():
        chance = subject.policy.propensity(state, arm.copy(), context)
        if chance is None:
            continue
        tests, total, found = tests + 1, total + chance, keys.count(key)
        if not 0.0 <= chance <= 1.0 + ROUNDING:
            return f"propensity must return a probability, got {chance} for {arm.tolist()}", tests
        if exceeds(found, len(keys), min(1.0, chance + 1e-12)) or exceeds(
            len(keys) - found, len(keys), min(1.0, 1.0 - chance + 1e-12)
        ):
            text = f"propensity returned {chance:.4g} for {arm.tolist()}, which select chose in"
            return f"{text} {found} of {len(keys)} draws", tests
    if total > 1.0 + 1e-6:
        return f"the propensities of different super arms add up to {total}", tests
    return "", tests


POLICY_CHECKS: tuple[Callable[[Any], str | None], ...] = (
    check_declaration,
    check_feasibility,
    check_determinism,
    check_state,
    check_memory,
    check_feedback,
    check_aliasing,
    check_saving,
    check_counts,
    check_report_order,
    check_unobserved,
    check_sums,
    check_radius,
    check_learning,
    check_regret,
    check_exploration,
    check_availability,
    check_context,
    check_propensities,
)


def check_policy(
    policy: AnyPolicy,
    environment: Environment,
    *,
    level: Level = "quick",
    expected_failures: Mapping[str, str] | None = None,
    rng: int = 0,
) -> Report:
    """Run all checks of a policy in an environment and in artificial worlds, and list all faults.

    Parameters
    ----------
    policy : Policy
        The policy to check.
    environment : Environment
        An environment that the policy can play, with few arms.
    level : {"quick", "thorough"}
        Effort: about a second of work for ``"quick"``, ten times as much for ``"thorough"``.
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
    >>> from cmab import CUCB
    >>> from cmab.testing import check_policy
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(3, k=2)
    >>> report = check_policy(CUCB(oracle), SemiBandit(BernoulliArms([0.2, 0.6, 0.9]), oracle))
    >>> "learning" in report.passed
    True
    """
    subject = PolicySubject(policy, environment, level, rng)
    return run_checks(named_checks(subject, POLICY_CHECKS, expected_failures))
