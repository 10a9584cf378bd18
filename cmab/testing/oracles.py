"""Checks of oracles."""

from __future__ import annotations

import pickle
import random
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.oracle import LinearOracle, Oracle
from cmab.testing._checks import Check, binomial_tail, named_checks, pickled, require, require_same

_TOLERANCE = 1e-9
_LEVEL = 1e-6
_ENUMERABLE = 12


@dataclass(frozen=True)
class OracleReport:
    """What the checks saw of an oracle's cost.

    Attributes
    ----------
    seconds_per_call : float
        Median wall-clock seconds of `solve`.
    bytes_per_call : int
        Largest amount of memory that Python and numpy held during one call.
    exhaustive : bool
        Whether the guarantee was compared with the optimum over all super arms.

    Examples
    --------
    >>> from cmab.testing import check_oracle
    >>> from oracles import TopK
    >>> check_oracle(TopK(5, k=2)).seconds_per_call < 1
    True
    """

    seconds_per_call: float
    bytes_per_call: int
    exhaustive: bool


@dataclass(frozen=True, eq=False)
class _Subject:
    """An oracle and the problems to try it on."""

    oracle: Oracle
    family: list[IntArray] | None
    low: float
    high: float
    trials: int
    seed: int

    @property
    def name(self) -> str:
        return type(self.oracle).__name__

    def degenerate_means(self) -> Iterator[tuple[str, FloatArray]]:
        """Yield the means that break oracles: all high, all low, all tied, one arm above the others."""
        n_arms = self.oracle.n_arms
        yield "all means at the top", np.full(n_arms, self.high)
        yield "all means at the bottom", np.full(n_arms, self.low)
        yield "tied means", np.full(n_arms, (self.low + self.high) / 2)
        for arm in np.random.default_rng(self.seed).permutation(n_arms)[:5]:
            yield f"arm {arm} alone at the top", np.where(np.arange(n_arms) == arm, self.high, self.low)

    def random_means(self) -> Iterator[FloatArray]:
        """Yield means with many ties and means without, in turn."""
        rng = np.random.default_rng(self.seed)
        for _ in range(self.trials):
            yield rng.choice(np.linspace(self.low, self.high, 4), self.oracle.n_arms)
            yield rng.uniform(self.low, self.high, self.oracle.n_arms)

    def all_means(self) -> Iterator[FloatArray]:
        """Yield the degenerate and the random means."""
        return chain((means for _, means in self.degenerate_means()), self.random_means())

    def solve(self, means: FloatArray, state: int = 7) -> IntArray:
        """Return the oracle's answer in the generator state that belongs to `state`."""
        return self.oracle.solve(means.copy(), np.random.default_rng(state))


def check_oracle(
    oracle: Oracle,
    super_arms: Iterable[ArrayLike] | None = None,
    *,
    is_feasible: Callable[[IntArray], bool] | None = None,
    low: float = 0.0,
    high: float = 1.0,
    trials: int = 50,
    rng: int = 0,
) -> OracleReport:
    """Check that `oracle` keeps its promises on random, tied and degenerate means.

    Parameters
    ----------
    oracle : Oracle
        The oracle to check.
    super_arms : iterable of array_like, optional
        All feasible super arms, for an exhaustive check of ``alpha`` and ``beta``.
    is_feasible : callable, optional
        Says whether a sorted super arm is feasible; with at most 12 choices the family is enumerated with
        it. Without either argument the oracle's own `is_feasible` serves if it is overridden, and a larger
        family is checked against all super arms that the oracle itself returned.
    low, high : float
        Range of the means that the oracle accepts.
    trials : int
        Number of random means; each is used with ties and without.
    rng : int
        Seed.

    Returns
    -------
    OracleReport
        Time and memory of a call.

    Raises
    ------
    AssertionError
        At the first fault. Its text begins with the fault's name: ``form``, ``feasibility``, ``input``,
        ``global randomness``, ``determinism``, ``memory``, ``batch``, ``pickling``, ``ties``, ``sense``,
        ``guarantee``, ``monotonicity``, ``triggering`` or ``constraints``. An oracle that keeps its promise
        fails with probability below 1e-6.

    Examples
    --------
    >>> from itertools import combinations
    >>> from cmab.testing import check_oracle
    >>> from oracles import TopK
    >>> check_oracle(TopK(n_arms=5, k=2), super_arms=combinations(range(5), 2)).exhaustive
    True
    """
    subject = _subject(oracle, super_arms, is_feasible, low, high, trials, rng)
    for check in _CHECKS:
        check(subject)
    return _report(subject)


def oracle_checks(
    oracle: Oracle,
    super_arms: Iterable[ArrayLike] | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
    trials: int = 50,
    name: str | None = None,
) -> list[Check]:
    """Return the checks of `check_oracle` one by one, for `parametrize_with_checks`.

    Parameters
    ----------
    oracle, super_arms, low, high, trials
        As for `check_oracle`.
    name : str, optional
        Begins the name of each check; the class's name if left out.

    Returns
    -------
    list of Check

    Examples
    --------
    >>> from cmab.testing import oracle_checks
    >>> from oracles import TopK
    >>> oracle_checks(TopK(5, k=2))[0].name
    'TopK-ties'
    """
    subject = _subject(oracle, super_arms, None, low, high, trials, 0)
    return named_checks(name or subject.name, subject, _CHECKS)


def _subject(
    oracle: Oracle,
    super_arms: Iterable[ArrayLike] | None,
    is_feasible: Callable[[IntArray], bool] | None,
    low: float,
    high: float,
    trials: int,
    seed: int,
) -> _Subject:
    family = None
    if super_arms is not None:
        family = [np.array(list(arm), np.int64) for arm in super_arms]  # type: ignore[arg-type]
    elif oracle.n_choices <= _ENUMERABLE:
        own = oracle.is_feasible if type(oracle).is_feasible is not Oracle.is_feasible else None
        family = _enumerate(oracle.n_choices, is_feasible or own)
    return _Subject(oracle, family, low, high, trials, seed)


def _enumerate(n_choices: int, is_feasible: Callable[[IntArray], bool] | None) -> list[IntArray] | None:
    if is_feasible is None:
        return None
    subsets = chain.from_iterable(combinations(range(n_choices), size) for size in range(n_choices + 1))
    arrays = (np.array(subset, np.int64) for subset in subsets)
    return [array for array in arrays if is_feasible(array)]


def _check_form(subject: _Subject) -> None:
    """The answer is a 1-D array of distinct integers of the declared range, with a label each."""
    n_choices = subject.oracle.n_choices
    for means in subject.all_means():
        answer = subject.solve(means)
        require(
            isinstance(answer, np.ndarray), "form", f"solve must return an array, got {type(answer).__name__}"
        )
        require(answer.ndim == 1, "form", f"a super arm must be 1-D, got shape {answer.shape}")
        if answer.size == 0:
            continue
        require(answer.dtype.kind in "iu", "form", f"a super arm must hold integers, got {answer.dtype}")
        require(len(np.unique(answer)) == len(answer), "form", f"entries must not repeat, got {answer}")
        inside = answer.min() >= 0 and answer.max() < n_choices
        require(inside, "form", f"entries must lie in range({n_choices}), got {answer}")
        labels = subject.oracle.labels(answer)
        require(len(labels) == len(answer), "form", f"labels must name every entry of {answer}, got {labels}")


def _check_ties(subject: _Subject) -> None:
    """Tied, constant and one-hot means are no reason to fail."""
    for what, means in subject.degenerate_means():
        try:
            subject.solve(means)
        except Exception as error:
            raise AssertionError(
                f"ties: {subject.name}.solve raised {error!r} for {what}, {means}"
            ) from error


def _check_feasibility(subject: _Subject) -> None:
    """Every answer belongs to the family."""
    members = None if subject.family is None else {_key(arm) for arm in subject.family}
    for means in subject.all_means():
        answer = subject.solve(means)
        known = members is None or _key(answer) in members
        require(known, "feasibility", f"{answer} is not one of the super arms (means {means})")
        require(subject.oracle.is_feasible(answer), "feasibility", f"is_feasible refuses the answer {answer}")


def _check_input(subject: _Subject) -> None:
    """The caller's means are left alone."""
    for means in subject.all_means():
        given = means.copy()
        subject.oracle.solve(given, np.random.default_rng(7))
        require(
            np.array_equal(given, means),
            "input",
            f"solve must leave means {means} unchanged, made it {given}",
        )


def _check_global_randomness(subject: _Subject) -> None:
    """Randomness comes from the argument, not from the global generators."""
    for means in subject.all_means():
        before = (pickle.dumps(np.random.get_state()), random.getstate())  # noqa: NPY002
        subject.solve(means)
        after = (pickle.dumps(np.random.get_state()), random.getstate())  # noqa: NPY002
        require(before == after, "global randomness", "solve drew from a global generator instead of rng")


def _check_determinism(subject: _Subject) -> None:
    """The same means and generator state give the same answer."""
    for means in subject.all_means():
        require_same(subject.solve(means), subject.solve(means), "determinism", "the same call")


def _check_memory(subject: _Subject) -> None:
    """The answer does not depend on the calls before it."""
    problems = list(subject.all_means())
    answers = [subject.solve(means) for means in problems]
    for position in np.random.default_rng(subject.seed).permutation(len(problems)):
        again = subject.solve(problems[position])
        require_same(answers[position], again, "memory", f"a later call with means {problems[position]}")


def _check_batch(subject: _Subject) -> None:
    """Many problems at once have the answers that they have one after the other."""
    problems = np.array(list(subject.all_means()))
    answers = subject.oracle.solve_batch(problems.copy(), np.random.default_rng(7))
    require(len(answers) == len(problems), "batch", f"{len(problems)} rows have {len(answers)} answers")
    rng = np.random.default_rng(7)
    for means, answer in zip(problems, answers, strict=True):
        require_same(subject.oracle.solve(means, rng), answer, "batch", f"solve_batch with the row {means}")


def _check_pickling(subject: _Subject) -> None:
    """A pickled copy, as worker processes get it, gives the same answers."""
    copy: Oracle = pickle.loads(pickled(subject.oracle))
    for means in subject.all_means():
        answer = copy.solve(means.copy(), np.random.default_rng(7))
        require_same(subject.solve(means), answer, "pickling", f"a pickled copy with means {means}")


def _check_guarantee(subject: _Subject) -> None:
    """Answers are worth alpha times the optimum with probability beta (sense included)."""
    oracle, rivals = subject.oracle, subject.family
    if rivals is None:  # every answer is feasible, so each is a rival of the others
        rivals = list({_key(answer): answer for answer in map(subject.solve, subject.all_means())}.values())
    problems = list(subject.all_means())
    # Only a promise with probability needs a fresh generator state for each problem.
    states = range(len(problems)) if oracle.beta < 1 else [7] * len(problems)
    tried = zip(problems, states, strict=True)
    failed = [means for means, state in tried if _falls_short(subject, rivals, means, state)]
    if not failed or binomial_tail(len(failed), len(problems), 1 - oracle.beta) >= _LEVEL:
        return
    # With beta < 1 a shortfall may be chance, and shrinking would chase it.
    means = failed[0] if oracle.beta < 1 else _shrink(subject, rivals, failed[0])
    answer = subject.solve(means)
    values = [oracle.expected_reward(arm, means) for arm in rivals]
    best, worst = (max(values), min(values)) if oracle.sense == "max" else (min(values), max(values))
    value = oracle.expected_reward(answer, means)
    text = (
        f"{len(failed)} of {len(problems)} answers miss alpha={oracle.alpha:.6g} (beta={oracle.beta:.6g},"
        f" sense={oracle.sense!r}); for means {means} the answer {answer} is worth {value:.6g},"
        f" {rivals[values.index(best)]} is worth {best:.6g}"
    )
    if len({_key(subject.solve(other)) for other in problems}) == 1:
        raise AssertionError(f"guarantee: {text}; it ignores its means")
    if abs(value - worst) <= _TOLERANCE < abs(best - worst) and len(failed) > len(problems) // 2:
        raise AssertionError(f"sense: {text}; it seems to optimise the other way")
    raise AssertionError(f"guarantee: {text}")


def _falls_short(subject: _Subject, rivals: list[IntArray], means: FloatArray, state: int) -> bool:
    """Return whether the answer is worse than alpha times the best of `rivals`."""
    oracle = subject.oracle
    values = [oracle.expected_reward(arm, means) for arm in rivals]
    value = oracle.expected_reward(subject.solve(means, state), means)
    slack = _TOLERANCE * (1.0 + abs(value))
    if oracle.sense == "max":
        return value < oracle.alpha * max(values) - slack
    return value > oracle.alpha * min(values) + slack


def _shrink(subject: _Subject, rivals: list[IntArray], means: FloatArray) -> FloatArray:
    """Return simpler means that still fail: each entry at an end or in the middle where possible."""
    simple = (subject.low, subject.high, (subject.low + subject.high) / 2)
    for _ in range(3):  # an entry may become simple once the others are
        for arm in np.flatnonzero(~np.isin(means, simple)):
            for value in simple:
                simpler = np.where(np.arange(len(means)) == arm, value, means)
                if _falls_short(subject, rivals, simpler, 7):
                    means = simpler
                    break
    return means


def _check_monotonicity(subject: _Subject) -> None:
    """Raising means never lowers the reward of a super arm (random search for a counterexample)."""
    rng = np.random.default_rng(subject.seed)
    for means in subject.all_means():
        arm = subject.solve(means)
        raised = means + rng.uniform(0, 1, means.shape) * (rng.random(means.shape) < 0.5) * (
            subject.high - means
        )
        lower = subject.oracle.expected_reward(arm, means)
        upper = subject.oracle.expected_reward(arm, raised)
        ordered = lower <= upper + _TOLERANCE * (1 + abs(upper))
        require(
            ordered, "monotonicity", f"{arm} is worth {lower:.6g} at {means}, only {upper:.6g} at {raised}"
        )


def _check_triggering(subject: _Subject) -> None:
    """The reward depends on the means of the arms that the super arm may trigger, and on no others."""
    oracle, rng = subject.oracle, np.random.default_rng(subject.seed)
    for means in subject.random_means():
        arm = subject.solve(means)
        triggered = np.zeros(oracle.n_arms, bool)
        triggered[oracle.triggered_arms(arm)] = True
        other = np.where(triggered, means, rng.uniform(subject.low, subject.high, means.shape))
        first, second = oracle.expected_reward(arm, means), oracle.expected_reward(arm, other)
        equal = abs(first - second) <= _TOLERANCE * (1 + abs(first))
        require(
            equal, "triggering", f"the reward of {arm} moved from {first:.6g} to {second:.6g} with other arms"
        )
        additive = not isinstance(oracle, LinearOracle) or abs(first - means[arm].sum()) <= 1e-9 * (
            1 + abs(first)
        )
        require(
            additive, "triggering", f"a LinearOracle is worth the sum of its means, got {first} for {arm}"
        )


def _check_constraints(subject: _Subject) -> None:
    """A LinearOracle that solves with arms forced in or out finds the best of what is left."""
    oracle, rng = subject.oracle, np.random.default_rng(subject.seed)
    if (
        subject.family is None
        or not isinstance(oracle, LinearOracle)
        or type(oracle).solve_constrained is LinearOracle.solve_constrained
    ):
        return
    family = [(frozenset(arm.tolist()), arm) for arm in subject.family]
    for means in subject.all_means():
        sides = rng.choice(3, oracle.n_arms, p=(0.6, 0.2, 0.2))
        include, exclude = np.flatnonzero(sides == 1), np.flatnonzero(sides == 2)
        left = {key: arm for key, arm in family if key.issuperset(include) and key.isdisjoint(exclude)}
        what = f"with {include} forced in, {exclude} forced out and means {means}"
        try:
            answer = oracle.solve_constrained(means.copy(), include, exclude, np.random.default_rng(7))
        except TypeError:  # the oracle says that it cannot force arms in
            continue
        require((answer is None) == (not left), "constraints", f"got {answer}, {len(left)} are left {what}")
        if answer is None:
            continue
        require(frozenset(answer.tolist()) in left, "constraints", f"{answer} breaks them or is none {what}")
        values = [oracle.expected_reward(arm, means) for arm in left.values()]
        best = max(values) if oracle.sense == "max" else min(values)
        value = oracle.expected_reward(answer, means)
        good = not oracle.is_exact or abs(value - best) <= _TOLERANCE * (1 + abs(best))
        require(good, "constraints", f"{answer} is worth {value:.6g}, the optimum {best:.6g} {what}")


_CHECKS: tuple[Callable[[_Subject], None], ...] = (
    _check_ties,
    _check_form,
    _check_feasibility,
    _check_input,
    _check_global_randomness,
    _check_determinism,
    _check_memory,
    _check_batch,
    _check_pickling,
    _check_guarantee,
    _check_monotonicity,
    _check_triggering,
    _check_constraints,
)


def _key(super_arm: IntArray) -> tuple[int, ...]:
    return tuple(sorted(super_arm.tolist()))


def _report(subject: _Subject) -> OracleReport:
    seconds = []
    for means in subject.random_means():
        started = time.perf_counter()
        subject.solve(means)
        seconds.append(time.perf_counter() - started)
    tracemalloc.start()
    subject.solve(means)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return OracleReport(float(np.median(seconds)), peak, subject.family is not None)
