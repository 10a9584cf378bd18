"""Checks of oracles: answers, guarantees, determinism, rewards, and the methods beside `solve`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import chain, combinations
from typing import Any, cast

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.oracle import LinearOracle, Oracle
from cmab.testing.common import (
    ROUNDING,
    Level,
    NotTried,
    Report,
    Subject,
    dirty,
    entries,
    exceeds,
    for_all,
    hypothesis,
    means_strategy,
    named_checks,
    require,
    run_checks,
    seeded_globally,
    usual_means,
)
from cmab.validation import shown

#: Families of more super arms are sampled. If rewards are not sums, the limit is smaller.
_MOST_LINEAR, _MOST = 20_000, 300
#: Subsets of at most so many entries are enumerated by `is_feasible` if no family is given.
_FEW = 8


class OracleSubject(Subject):
    """An oracle with its super arms, as far as they are known, and means to solve."""

    def __init__(
        self,
        oracle: Oracle,
        super_arms: Iterable[ArrayLike] | None = None,
        low: float = 0.0,
        high: float = 1.0,
        level: Level = "quick",
        rng: int = 0,
    ) -> None:
        super().__init__(oracle, level, rng)
        self.oracle, self.low, self.high, self.sign = oracle, low, high, oracle._sign
        given = cast("Iterable[Iterable[int]] | None", super_arms)
        listed = None if given is None else [np.array(list(arm), np.int64) for arm in given]
        self.family = self._enumerated() if listed is None else listed
        if self.family == []:
            raise ValueError("super_arms must contain a super arm, got an empty list")
        self.is_listed = listed is not None

    def _enumerated(self) -> list[IntArray] | None:
        """Return the feasible subsets of a few entries, or None if they are too many or not known."""
        n = self.oracle.n_choices
        if not self.oracle.has_membership or n > _FEW:
            return None
        subsets = chain.from_iterable(combinations(range(n), size) for size in range(n + 1))
        arrays = (np.array(subset, np.int64) for subset in subsets)
        return [arm for arm in arrays if self.oracle.is_feasible(arm)] or None

    @cached_property
    def problems(self) -> list[FloatArray]:
        """Means for the checks that do not search for the simplest ones."""
        found = usual_means(self.oracle.n_arms, self.low, self.high, self.rng(1))
        return found if self.effort == 1 else found * 5

    @cached_property
    def rivals(self) -> list[IntArray]:
        """Super arms with which answers are compared: the family, or a sample of it, or other answers."""
        limit = _MOST_LINEAR if self.oracle.is_linear else _MOST
        if self.family is None:
            answers = [self.solve(means) for means in self.timed(self.problems)]
            return [*{answer.tobytes(): answer for answer in answers}.values()][:limit]
        if len(self.family) <= limit:
            return self.family
        return [self.family[i] for i in self.rng(2).choice(len(self.family), limit, replace=False)]

    @property
    def exhaustive(self) -> bool:
        """Whether the rivals are all super arms."""
        return self.family is not None and len(self.rivals) == len(self.family)

    @cached_property
    def _members(self) -> FloatArray:
        members = np.zeros((len(self.rivals), self.oracle.n_arms))
        for row, arm in zip(members, self.rivals, strict=True):
            row[arm] = 1.0
        return members

    @cached_property
    def _sets(self) -> set[frozenset[int]]:
        return {frozenset(arm.tolist()) for arm in self.family or ()}

    def solve(self, means: FloatArray, seed: int = 7) -> IntArray:
        """Return the checked answer to a copy of `means`."""
        try:
            answer = self.oracle.solve(means.copy(), np.random.default_rng(seed))
        except Exception as error:
            raise AssertionError(f"solve raised {error!r} for means {shown(means.tolist(), 200)}") from error
        return entries(answer, self.oracle.n_choices)

    def rewards(self, means: FloatArray) -> FloatArray:
        """Return the rewards of the rivals."""
        if self.oracle.is_linear:
            return self._members @ means
        return np.array([self.oracle.expected_reward(arm, means.copy()) for arm in self.rivals], float)

    def require_member(self, answer: IntArray, means: FloatArray, what: str = "solve") -> None:
        """Raise ``AssertionError`` unless an answer belongs to the family."""
        if self.family is not None and self.is_listed:
            is_member = frozenset(answer.tolist()) in self._sets
        else:
            is_member = bool(self.oracle.is_feasible(answer))
        require(is_member, "{} returned {} for means {}, which is not a super arm", what, answer, means)

    def is_short(self, means: FloatArray, answer: IntArray, where: Any = None) -> str:
        """Return how an answer misses the guarantee, or '' if it satisfies it.

        Parameters
        ----------
        means : FloatArray
            The means.
        answer : IntArray
            The answer.
        where : array of bool, optional
            The rivals with which the answer is compared; all if omitted.
        """
        oracle, rewards = self.oracle, self.rewards(means)
        rivals = np.arange(len(rewards)) if where is None else np.flatnonzero(where)
        if not len(rivals) or math.isnan(oracle.alpha):
            return ""
        at = int(rivals[np.argmax(self.sign * rewards[rivals])])
        best, value = float(rewards[at]), float(oracle.expected_reward(answer, means.copy()))
        if oracle.alpha != 1.0 and best < 0:  # a ratio says nothing about negative rewards
            return ""
        size = float(np.abs(means).max(initial=0.0)) * max(1, len(answer), len(self.rivals[at]))
        slack = ROUNDING * ((size if oracle.is_linear else 1.0) + abs(best))
        if self.sign * (value - oracle.alpha * best) >= -slack:
            return ""
        text = f"the reward of {answer.tolist()} is {value:.9g}, that of {self.rivals[at].tolist()} is"
        return f"{text} {best:.9g} for means {shown(means.tolist(), 300)}; alpha is {oracle.alpha:g}"


#: Attributes that a class sets if it defines a method.
_FLAGS = {
    "is_feasible": ("has_membership", True),
    "solve_constrained": ("can_constrain", True),
    "triggering_probabilities": ("triggers_surely", False),
}
_BASES = (Oracle, LinearOracle)


def _owner(oracle: Oracle, name: str) -> type:
    """Return the class that defines an attribute."""
    return next((cls for cls in type(oracle).__mro__ if name in vars(cls)), Oracle)


def check_declaration(subject: OracleSubject) -> None:
    """`n_arms`, `n_choices`, `max_size`, `sense`, `alpha` and `beta` are valid."""
    oracle = subject.oracle
    for name, least in (("n_arms", 1), ("n_choices", 1), ("max_size", 0)):
        value = getattr(oracle, name)
        good = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least
        require(good, "{} must be an integer of at least {}, got {}", name, least, repr(value))
    require(oracle.sense in ("max", "min"), "sense must be 'max' or 'min', got {}", repr(oracle.sense))
    alpha = float(oracle.alpha)
    fits = math.isnan(alpha) or (0 < alpha <= 1 if oracle.sense == "max" else alpha >= 1)
    require(fits, "alpha must lie in (0, 1] for rewards and be at least 1 for costs, got {}", alpha)
    require(0 < float(oracle.beta) <= 1, "beta must lie in (0, 1], got {}", oracle.beta)
    require(isinstance(repr(oracle), str), "repr must return a string")
    for method, (flag, value) in _FLAGS.items():
        # A wrapper defines both. A class that defines the method alone forgot the flag.
        forgot = _owner(oracle, method) not in _BASES and _owner(oracle, flag) in _BASES
        forgot = forgot and flag not in vars(oracle)
        require(not forgot, "{} is defined, so that the class must set {} = {}", method, flag, value)
    clusters = getattr(oracle, "clusters", None)
    if clusters is not None:
        fits = np.asarray(clusters).shape == (oracle.n_arms,)
        require(fits, "clusters must have one number for each base arm, got {}", clusters)


def check_form(subject: OracleSubject) -> str:
    """Every answer of `solve` is a list of distinct integers in ``range(n_choices)``."""
    return f"{sum(1 for means in subject.timed(subject.problems) if subject.solve(means) is not None)} means"


def check_feasibility(subject: OracleSubject) -> str:
    """Every answer of `solve` belongs to the family, also for tied means."""
    if subject.family is None and not subject.oracle.has_membership:
        raise NotTried("give super_arms, or define is_feasible")
    strategy = means_strategy(subject.oracle.n_arms, subject.low, subject.high)
    return for_all(subject, strategy, lambda means: subject.require_member(subject.solve(means), means))


def check_membership(subject: OracleSubject) -> str:
    """`is_feasible` accepts the super arms of the family and no others."""
    oracle = subject.oracle
    if not oracle.has_membership:
        raise NotTried("is_feasible is not defined")
    for means in subject.timed(subject.problems[:20]):
        answer = subject.solve(means)
        require(oracle.is_feasible(answer), "is_feasible rejects {}, an answer of solve", answer)
    if subject.family is None or not subject.is_listed:
        return "answers of solve"
    rng, n = subject.rng(4), oracle.n_choices
    for arm in subject.timed(subject.family[:500]):
        require(oracle.is_feasible(arm), "is_feasible rejects {}, which super_arms contains", arm)
    for _ in subject.timed(range(100)):
        base = subject.family[rng.integers(len(subject.family))]
        other = np.setxor1d(base, rng.choice(n, min(n, int(rng.integers(1, 4))), replace=False))
        if frozenset(other.tolist()) not in subject._sets:
            require(not oracle.is_feasible(other), "is_feasible accepts {}, not in super_arms", other)
    return "all super arms, and other sets"


def check_sense(subject: OracleSubject) -> str:
    """The answers are not the worst super arms."""
    told, worst = 0, 0
    for means in subject.timed(subject.problems):
        rewards = subject.sign * subject.rewards(means)
        if np.ptp(rewards) <= ROUNDING * (1 + abs(rewards).max()):
            continue
        told += 1
        value = subject.sign * subject.oracle.expected_reward(subject.solve(means), means)
        worst += bool(value <= rewards.min() + ROUNDING * (1 + abs(rewards).max()))
    if told < 8:
        raise NotTried("too few super arms with different rewards are known")
    text = "for {} of {} means, the answer is the worst super arm, although sense is {}"
    require(worst < 0.7 * told, text, worst, told, repr(subject.oracle.sense))
    return f"{told} means"


def check_guarantee(subject: OracleSubject) -> str:
    """The reward is at least (costs: at most) alpha times the optimum, with probability beta."""
    oracle = subject.oracle
    if math.isnan(oracle.alpha):
        raise NotTried("no approximation ratio is declared")
    if oracle.beta < 1.0:
        faults, trials = [], 0
        for trial in subject.timed(range(100 * subject.effort)):
            means = subject.problems[trial % len(subject.problems)]
            fault = subject.is_short(means, subject.solve(means, trial))
            faults += [fault] if fault else []
            trials += 1
        text = "{} of {} answers miss the guarantee, more than beta={} permits; for example {}"
        bad = exceeds(len(faults), trials, 1.0 - oracle.beta)
        require(not bad, text, len(faults), trials, oracle.beta, faults[0] if faults else "")
        return f"{trials} answers"

    def test(means: FloatArray) -> None:
        fault = subject.is_short(means, subject.solve(means))
        require(not fault, "{}", fault)

    for means in subject.timed(subject.problems):
        test(means)
    told = for_all(subject, means_strategy(oracle.n_arms, subject.low, subject.high), test, 60)
    return f"{told}, {'all' if subject.exhaustive else len(subject.rivals)} super arms"


def check_determinism(subject: OracleSubject) -> str:
    """The same means and generator state give the same answer, for any state of the global generators."""
    answers = [[subject.solve(means) for means in subject.problems[:25]] for _ in seeded_globally(4)]
    for other in answers[1:]:
        for means, one, two in zip(subject.problems, answers[0], other, strict=False):
            text = "solve returned {} and {} for the same means {} and generator; draw from rng only"
            require(np.array_equal(one, two), text, one, two, means)
    return f"{len(answers[0])} means"


def check_memory(subject: OracleSubject) -> str:
    """Answers do not depend on earlier calls, also if the caller reuses the array of means."""
    alone = [(means, subject.solve(means)) for means in subject.timed(subject.problems)]
    buffer = np.empty(subject.oracle.n_arms)
    for means, expected in reversed(alone):
        buffer[:] = means
        answer = entries(subject.oracle.solve(buffer, np.random.default_rng(7)), subject.oracle.n_choices)
        text = "solve returned {} for means {}, but {} in another order of calls"
        require(np.array_equal(answer, expected), text, answer, means, expected)
    return f"{len(alone)} means"


def check_input(subject: OracleSubject) -> str:
    """`solve` and `expected_reward` leave the means and the super arm unchanged."""
    oracle = subject.oracle
    for means in subject.timed(subject.problems[:20]):
        given = means.copy()
        answer = entries(oracle.solve(given, np.random.default_rng(7)), oracle.n_choices)
        require(np.array_equal(given, means), "solve changed the means {} to {}", means, given)
        held = answer.copy()
        oracle.expected_reward(answer, given)
        good = np.array_equal(given, means) and np.array_equal(held, answer)
        require(good, "expected_reward changed its arguments {} and {}", held, means)
    return "20 means"


def check_aliasing(subject: OracleSubject) -> str:
    """Later calls do not change an answer, and overwriting an answer does not change later ones."""
    held = []
    for means in subject.timed(subject.problems):
        answer = subject.oracle.solve(means.copy(), np.random.default_rng(7))
        held.append((means, answer, np.array(entries(answer, subject.oracle.n_choices))))
    for means, answer, expected in held:
        good = np.array_equal(entries(answer, subject.oracle.n_choices), expected)
        require(good, "a later call changed the answer {} to {}; return a new array", expected, answer)
        dirty(answer)
        again = subject.solve(means)
        require(np.array_equal(again, expected), "overwriting an answer changed it to {}", again)
    return f"{len(held)} answers"


def check_compiled(subject: OracleSubject) -> str:
    """The compiled form of `solve` gives the same answers as `solve`."""
    oracle = subject.oracle
    compiled = oracle.kernel()
    if compiled is None or not issubclass(_owner(oracle, "kernel"), _owner(oracle, "solve")):
        raise NotTried("there is no compiled form of this solve")
    out = np.empty(max(oracle.n_arms, oracle.n_choices), np.int64)
    tried = 0
    for means in subject.timed(subject.problems):
        size = compiled.function(means.copy(), compiled.integers, compiled.reals, out)
        answer, expected = out[:size], subject.solve(means)
        text = "the compiled form returned {} where solve returns {} for means {}"
        require(np.array_equal(answer, expected), text, answer, expected, means)
        tried += 1
    return f"{tried} means"


def check_rewards(subject: OracleSubject) -> str:
    """`expected_reward` is a finite number that depends on its arguments only."""
    oracle, rng = subject.oracle, subject.rng(6)
    for means in subject.timed(subject.problems[:20]):
        arm = subject.rivals[rng.integers(len(subject.rivals))]
        value: Any = oracle.expected_reward(arm.copy(), means.copy())
        again = oracle.expected_reward(arm.copy(), means.copy())
        good = isinstance(value, float | int | np.floating) and math.isfinite(value)
        require(good, "expected_reward must be a finite float, got {} for {}", repr(value), arm)
        require(value == again, "expected_reward returned {} and {} for {}", value, again, arm)
        if oracle.is_linear:
            total = float(means[arm].sum())
            good = abs(value - total) <= ROUNDING * (1 + abs(total))
            require(good, "the reward of {} is {}, but the sum of its means is {}", arm, value, total)
    return "20 super arms"


def check_monotonicity(subject: OracleSubject) -> str:
    """The reward of a super arm does not decrease when means increase, if `is_monotone`."""
    oracle = subject.oracle
    if oracle.is_linear or not getattr(oracle, "is_monotone", True):
        raise NotTried("the reward is a sum, or is_monotone is False")
    st = hypothesis().strategies
    means = means_strategy(oracle.n_arms, subject.low, subject.high)
    choice = st.integers(0, len(subject.rivals) - 1)

    def test(drawn: tuple[FloatArray, FloatArray, int, int]) -> None:
        lower, upper, arm = np.minimum(*drawn[:2]), np.maximum(*drawn[:2]), subject.rivals[drawn[2]]
        if drawn[3] < oracle.n_arms:  # one mean alone
            upper = np.where(np.arange(oracle.n_arms) == drawn[3], upper, lower)
        less, more = (oracle.expected_reward(arm, each.copy()) for each in (lower, upper))
        text = "the reward of {} falls from {:.9g} to {:.9g} when the means increase from {} to {}"
        require(more >= less - ROUNDING * (1 + abs(less)), text, arm, less, more, lower, upper)

    single = st.integers(0, oracle.n_arms + oracle.n_arms // 2)
    return for_all(subject, st.tuples(means, means, choice, single), test, 80)


def check_triggering(subject: OracleSubject) -> str:
    """Triggered arms are distinct base arms, and the reward depends on their means only."""
    oracle, rng = subject.oracle, subject.rng(7)
    for means, other in subject.timed(zip(subject.problems, reversed(subject.problems), strict=True)):
        arm = subject.rivals[rng.integers(len(subject.rivals))]
        triggered = entries(oracle.triggered_arms(arm.copy()), oracle.n_arms, "triggered_arms")
        text = "{} triggers {} base arms, more than max_size={}"
        require(len(triggered) <= oracle.max_size, text, arm, len(triggered), oracle.max_size)
        chances = oracle.triggering_probabilities(arm.copy(), means.copy())
        if chances is not None:
            chances = np.asarray(chances, float)
            good = chances.shape == means.shape and ((chances >= 0) & (chances <= 1 + ROUNDING)).all()
            require(good, "triggering_probabilities must be {} probabilities, got {}", len(means), chances)
            outside = np.setdiff1d(np.flatnonzero(chances), triggered)
            text = "{} triggers arms {} with positive probability, but triggered_arms is {}"
            require(not len(outside), text, arm, outside, triggered)
            if oracle.triggers_surely:
                good = (chances[triggered] == 1).all()
                require(good, "triggers_surely is True, but the probabilities are {}", chances)
        mixed = other.copy()
        mixed[triggered] = means[triggered]
        here, there = (oracle.expected_reward(arm, each.copy()) for each in (means, mixed))
        text = "the reward of {} changes from {:.9g} to {:.9g} with means of arms outside triggered_arms {}"
        require(abs(here - there) <= ROUNDING * (1 + abs(here)), text, arm, here, there, triggered)
    return f"{len(subject.problems)} super arms"


def check_labels(subject: OracleSubject) -> str:
    """Entries have different labels, which are hashable and always the same."""
    oracle, everything = subject.oracle, np.arange(subject.oracle.n_choices)
    names, again = list(oracle.labels(everything)), list(oracle.labels(everything[::-1]))[::-1]
    text = "labels must be {} different names, got {}"
    require(len(set(names)) == len(names) == len(everything), text, len(everything), shown(names))
    require(names == again, "labels depend on the other entries: {} and {}", shown(names), shown(again))
    return f"{len(names)} labels"


def check_availability(subject: OracleSubject) -> str:
    """`solve_within` returns a super arm of available entries with the guarantee of `solve`."""
    oracle = subject.oracle
    st = hypothesis().strategies
    means = means_strategy(oracle.n_arms, subject.low, subject.high)
    sleepers = st.sets(st.integers(0, oracle.n_choices - 1), max_size=max(1, oracle.n_choices // 2))
    members = [frozenset(arm.tolist()) for arm in subject.rivals]

    def test(drawn: tuple[FloatArray, set[int]]) -> None:
        numbers, gone = drawn
        available = ~np.isin(np.arange(oracle.n_choices), list(gone))
        given, held = numbers.copy(), available.copy()
        where = np.array([member.isdisjoint(gone) for member in members])
        try:
            answer = oracle.solve_within(given, held, np.random.default_rng(7))
        except (TypeError, NotImplementedError) as error:
            raise NotTried(f"solve_within: {error}") from error
        except ValueError as error:
            text = "solve_within raised {} although {} is available"
            left = np.flatnonzero(where)
            require(not len(left), text, repr(error), subject.rivals[left[0]] if len(left) else "")
            return
        kept = np.array_equal(given, numbers) and np.array_equal(held, available)
        require(kept, "solve_within changed its arguments")
        found = entries(answer, oracle.n_choices)
        text = "solve_within returned {}, but entries {} are not available"
        require(gone.isdisjoint(found.tolist()), text, found, sorted(gone))
        if subject.family is not None or oracle.has_membership:
            subject.require_member(found, numbers, "solve_within")
        if oracle.beta == 1.0:
            fault = subject.is_short(numbers, found, where)
            require(not fault, "solve_within without {}: {}", sorted(gone), fault)

    rng = subject.rng(11)
    for numbers in subject.timed(subject.problems[:3] * 4):
        gone = rng.choice(oracle.n_choices, int(rng.integers(oracle.n_choices // 2 + 1)))
        test((numbers, set(gone.tolist())))
    return for_all(subject, st.tuples(means, sleepers), test)


def check_constraints(subject: OracleSubject) -> str:
    """`solve_constrained` returns the best super arm with some arms included and others excluded."""
    oracle: Any = subject.oracle
    if not (oracle.is_linear and oracle.can_constrain):
        raise NotTried("solve_constrained is not defined")
    st = hypothesis().strategies
    means = means_strategy(oracle.n_arms, subject.low, subject.high)
    sides = st.lists(st.sampled_from([0, 0, 0, 1, 2]), min_size=oracle.n_arms, max_size=oracle.n_arms)
    factors = st.sampled_from([1.0, 1.0, 1e3] if subject.low == 0 else [1.0])
    members = [frozenset(arm.tolist()) for arm in subject.rivals]

    def test(drawn: tuple[FloatArray, list[int], float]) -> None:
        numbers, side = drawn[0] * drawn[2], np.array(drawn[1])
        include, exclude = np.flatnonzero(side == 1), np.flatnonzero(side == 2)
        given = numbers.copy(), include.copy(), exclude.copy()
        try:
            answer = oracle.solve_constrained(*given, np.random.default_rng(7))
        except TypeError as error:
            raise NotTried(f"solve_constrained: {error}") from error
        except ValueError as error:  # means of this size are rejected
            if drawn[2] == 1.0:
                raise
            raise NotTried(str(error)) from error
        told = f"for include={include.tolist()}, exclude={exclude.tolist()}"
        require(np.array_equal(given[0], numbers), "solve_constrained changed the means {}", told)
        where = np.array([m.issuperset(include) and m.isdisjoint(exclude) for m in members])
        if answer is None:
            text = "solve_constrained returned None {}, but {} super arms satisfy it"
            require(not where.any(), text, told, int(where.sum()))
            return
        found = entries(answer, oracle.n_choices)
        good = not len(np.setdiff1d(include, found)) and not len(np.intersect1d(exclude, found))
        require(good, "solve_constrained returned {} {}", found, told)
        if subject.family is not None or oracle.has_membership:
            subject.require_member(found, numbers, "solve_constrained")
        fault = subject.is_short(numbers, found, where) if oracle.beta == 1.0 else ""
        require(not fault, "solve_constrained {}: {}", told, fault)

    return for_all(subject, st.tuples(means, sides, factors), test)


def check_gaps(subject: OracleSubject) -> str:
    """`gaps` returns an optimum and the loss if each arm is moved to the other side."""
    oracle: Any = subject.oracle
    if not (oracle.is_linear and oracle.can_constrain and oracle.is_exact and subject.exhaustive):
        raise NotTried("there are no constraints, the oracle is not exact, or not all super arms are known")
    inside, tried = subject._members > 0, 0
    for means in subject.timed(subject.problems[3:]):
        values = subject.sign * subject.rewards(means)
        try:
            best, gaps = oracle.gaps(means.copy(), [], [], np.random.default_rng(7))
        except TypeError as error:
            raise NotTried(f"gaps: {error}") from error
        is_best = np.isin(np.arange(oracle.n_arms), best)
        for arm in range(oracle.n_arms):
            other = values[inside[:, arm] != is_best[arm]]
            loss = values.max() - other.max() if len(other) else np.inf
            good = loss == gaps[arm] or abs(loss - gaps[arm]) <= ROUNDING * (1 + abs(values).max())
            require(good, "the gap of arm {} is {}, but must be {} for means {}", arm, gaps[arm], loss, means)
        tried += 1
    return f"{tried} means"


ORACLE_CHECKS: tuple[Callable[[Any], str | None], ...] = (
    check_declaration,
    check_form,
    check_feasibility,
    check_membership,
    check_sense,
    check_guarantee,
    check_determinism,
    check_memory,
    check_input,
    check_aliasing,
    check_compiled,
    check_rewards,
    check_monotonicity,
    check_triggering,
    check_labels,
    check_availability,
    check_constraints,
    check_gaps,
)


def check_oracle(
    oracle: Oracle,
    super_arms: Iterable[ArrayLike] | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
    level: Level = "quick",
    expected_failures: Mapping[str, str] | None = None,
    rng: int = 0,
) -> Report:
    """Run all checks of an oracle on tied, random, nearly tied and generated means, and list all faults.

    Parameters
    ----------
    oracle : Oracle
        The oracle to check.
    super_arms : iterable of array_like, optional
        All feasible super arms. The answers are compared with the optimum over these super arms. If omitted,
        the feasible subsets of at most 8 entries are enumerated if the oracle defines `is_feasible`;
        otherwise answers are only compared with other answers.
    low, high : float
        Range of the means that the oracle accepts.
    level : {"quick", "thorough"}
        Effort: about a second of work for ``"quick"``, ten times as many examples for ``"thorough"``. A check
        of a slow oracle stops after half a second (20 seconds) of processor time.
    expected_failures : mapping of str to str, optional
        Reason for each check that is known to fail, by its title. If the check passes, this is a fault.
    rng : int
        Seed of the generated means.

    Returns
    -------
    Report
        The checks that passed, and those that were not tried with the reasons.

    Raises
    ------
    ConformanceError
        If checks fail. The message lists all faults, with the simplest means that were found.
    ImportError
        If Hypothesis is not installed.

    Examples
    --------
    >>> from itertools import combinations
    >>> from cmab.testing import check_oracle
    >>> from oracles import TopK
    >>> check_oracle(TopK(n_arms=5, k=2), super_arms=combinations(range(5), 2)).exhaustive
    True
    """
    subject = OracleSubject(oracle, super_arms, low, high, level, rng)
    report = run_checks(named_checks(subject, ORACLE_CHECKS, expected_failures))
    return Report(report.subject, report.results, subject.exhaustive)
