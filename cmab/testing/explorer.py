"""Checks of explorers: requests, answers, states, error rates, budgets and saved sessions."""

from __future__ import annotations

import io
import math
import random
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from cmab import identify
from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.explorer import AnyExplorer, Explorer
from cmab.feedback import Feedback, Ticket
from cmab.session import Session
from cmab.statistics import ArmStatistics
from cmab.testing.common import (
    Check,
    Level,
    NotTried,
    Report,
    Subject,
    deep,
    difference,
    dirty,
    entries,
    exceeds,
    named_checks,
    require,
    run_checks,
    twice,
)
from cmab.validation import real, shown

#: Requests of runs that are compared, and samples after which runs on easy and on hard problems end.
_REQUESTS, _SAMPLES, _FEW_SAMPLES = 60, 20_000, 1500
#: Means of a hard problem lie so close to each other.
_GAP = 0.02


class Request(NamedTuple):
    """One request of an explorer: the arms, the number of outcomes of each of them, and the feedback."""

    arms: IntArray
    pulls: int
    feedback: Feedback


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

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        counts = np.broadcast_to(pulls, arms.shape)
        if self.noise is not None:
            sums = rng.normal(counts * self.means[arms], self.noise * np.sqrt(counts))
            apart = np.where(counts > 1, rng.chisquare(np.maximum(counts - 1, 1)), 0.0)
            return sums, sums**2 / counts + self.noise**2 * apart
        hits, (low, high) = rng.binomial(counts, self.fractions[arms]), self.support
        return low * (counts - hits) + high * hits, low**2 * (counts - hits) + high**2 * hits


class ExplorerSubject(Subject):
    """An explorer with an environment, and the error rate that it promises."""

    def __init__(
        self, explorer: AnyExplorer, environment: Environment, delta: float | None, level: Level, rng: int
    ) -> None:
        super().__init__(explorer, level, rng)
        self.explorer, self.environment = explorer, environment
        self.delta = None if delta is None else real("delta", delta, 0.0, 1.0, inside=True)

    def run(
        self,
        environment: Environment | None = None,
        *,
        explorer: AnyExplorer | None = None,
        state: Any = None,
        seed: int = 0,
        requests: int = _REQUESTS,
    ) -> Iterator[Request]:
        """Let the explorer sample until it is done, and yield the requests after their feedback."""
        world = self.environment if environment is None else environment
        player = self.explorer if explorer is None else explorer
        rng, chance = self.rng(seed, 0), self.rng(seed, 1)
        if state is None:
            state = player.initial_state(rng)
        for number in range(requests):
            if player.is_done(state):
                return
            arms, pulls = self.request(state, rng, player)
            feedback = world.sample(arms, pulls, chance)
            player.update(state, feedback, Ticket(number, arms, pulls=pulls), rng)
            yield Request(arms, pulls, feedback)

    def request(
        self, state: Any, rng: np.random.Generator, explorer: AnyExplorer | None = None
    ) -> tuple[IntArray, int]:
        """Return the arms that the explorer selects, and the number of outcomes of each of them."""
        player = self.explorer if explorer is None else explorer
        arms = entries(player.select(state, rng), self.explorer.n_arms, "the answer of select")
        require(len(arms), "select must return an arm before the stopping rule holds, got none")
        return arms, int(player.pulls(state))

    def answer(self, state: Any) -> IntArray:
        """Return the arms that the explorer recommends."""
        return entries(self.explorer.recommend(state), self.explorer.n_arms, "the answer of recommend")

    def is_correct(self, arms: IntArray, means: FloatArray) -> bool:
        """Return whether an answer is correct for the goal, or without a goal, whether its means are best."""
        if self.explorer.goal is not None:
            return bool(self.explorer.goal.is_correct(arms, means))
        return bool(np.sort(means)[-len(arms) :].sum() <= means[arms].sum() + 1e-12) if len(arms) else False

    @cached_property
    def sample(self) -> list[Request]:
        """The first requests of a run."""
        return [*self.timed(self.run())]

    def states(self, requests: int = 40) -> Iterator[tuple[Any, Request]]:
        """Yield requests with a copy of the state before each of them."""
        state = self.explorer.initial_state(self.rng(0, 0))
        before = deep(state)
        for each in self.timed(self.run(state=state, requests=requests)):
            yield before, each
            before = deep(state)


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
        require(each.pulls >= 1, "pulls must be at least 1, got {}", each.pulls)
        answer = subject.answer(state)
        good = np.array_equal(answer, np.sort(answer))
        require(good, "recommend must return the arms in increasing order, got {}", answer)
        done = subject.explorer.is_done(state)
        require(isinstance(done, bool | np.bool_), "is_done must return a bool, got {}", repr(done))
        tried += 1
    return f"{tried} requests"


def check_determinism(subject: ExplorerSubject) -> str:
    """The same seed gives the same requests, whatever the global generators are."""
    held = np.random.get_state(), random.getstate()  # noqa: NPY002
    runs = []
    try:
        for seed in range(2):
            np.random.seed(seed)  # noqa: NPY002
            random.seed(seed)
            runs.append([(each.arms, each.pulls) for each in subject.timed(subject.run())])
    finally:
        np.random.set_state(held[0])  # noqa: NPY002
        random.setstate(held[1])
    for number, (one, two) in enumerate(zip(*runs, strict=False)):
        text = "request {} is {} and {} in runs with the same seed; draw from rng only"
        require(np.array_equal(one[0], two[0]) and one[1] == two[1], text, number + 1, one[0], two[0])
    return f"2 runs of {len(runs[0])} requests"


def check_state(subject: ExplorerSubject) -> str:
    """Only `update` changes the state."""
    explorer, tried = subject.explorer, 0
    for state, _ in subject.states():
        calls: dict[str, Callable[[], Any]] = {
            "is_done": lambda state=state: explorer.is_done(state),
            "recommend": lambda state=state: explorer.recommend(state),
            "pulls": lambda state=state: explorer.pulls(state),
            "is_certified": lambda state=state: explorer.is_certified(state),
            "intervals": lambda state=state, is_new=not tried: is_new or explorer.intervals(state),
            "select": lambda state=state: explorer.select(state, subject.rng(1)),
            "step": lambda state=state: explorer.step(state, subject.rng(1)),
        }
        for name, call in calls.items():
            before = deep(state)
            call()
            found = difference(before, state)
            require(not found, "{} changed the state; only update may change it: {}", name, found)
        tried += 1
    return f"{tried} states"


def check_new_states(subject: ExplorerSubject) -> str:
    """Every call of `initial_state` returns a new state, whatever was learned before."""
    explorer = subject.explorer
    first = explorer.initial_state(subject.rng(1))
    before, second = deep(first), explorer.initial_state(subject.rng(1))
    for _ in subject.timed(subject.run(state=second)):
        pass
    for name, other in (
        ("learning in another state", first),
        ("a run", explorer.initial_state(subject.rng(1))),
    ):
        found = difference(before, other)
        require(not found, "the initial state is another one after {}: {}", name, found)
    return "3 states"


def check_memory(subject: ExplorerSubject) -> str:
    """Two runs that take turns are the same as each of them alone: all that was learned is in the state."""
    alone = [[each.arms for each in subject.timed(subject.run(seed=seed))] for seed in (0, 5)]
    games = [subject.run(seed=seed) for seed in (0, 5)]
    for number in range(min(map(len, alone))):
        for game, arms in zip(games, alone, strict=True):
            found = next(game, None)
            good = found is not None and np.array_equal(found.arms, arms[number])
            text = (
                "request {} is {} instead of {} if another run takes turns; keep what is learned in the state"
            )
            require(good, text, number + 1, None if found is None else found.arms, arms[number])
    return f"{min(map(len, alone))} requests"


def check_feedback(subject: ExplorerSubject) -> str:
    """`update` does not change the feedback, and the state does not refer to its arrays."""
    tried = 0
    for before, each in subject.states(20):
        state, feedback = deep(before), deep(each.feedback)
        ticket = Ticket(0, each.arms.copy(), pulls=each.pulls)
        subject.explorer.update(state, feedback, ticket, subject.rng(1))
        found = difference(each.feedback, feedback)
        require(not found, "update changed the feedback: {}", found)
        held = deep(state)
        for array in (feedback.arms, feedback.outcomes, feedback.squares, ticket.super_arm):
            dirty(array)
        found = difference(held, state)
        require(not found, "the state refers to arrays of the feedback; copy them: {}", found)
        tried += 1
    return f"{tried} reports"


def check_aliasing(subject: ExplorerSubject) -> str:
    """Overwriting requests and answers does not change the state."""
    explorer, tried = subject.explorer, 0
    for state, _ in subject.states(20):
        before = deep(state)
        dirty(explorer.select(state, subject.rng(1)))
        dirty(explorer.recommend(state))
        for end in (explorer.intervals(state) if tried else None) or ():
            dirty(end)
        found = difference(before, state)
        require(not found, "an answer is a part of the state; return a copy: {}", found)
        tried += 1
    return f"{tried} states"


def check_counts(subject: ExplorerSubject) -> str:
    """The statistics contain every requested outcome once, and no other outcome."""
    state = subject.explorer.initial_state(subject.rng(0, 0))
    if not isinstance(state, ArmStatistics) or state.counts.any():
        raise NotTried("the state is not an empty ArmStatistics")
    counts, sums = np.zeros(subject.explorer.n_arms), np.zeros(subject.explorer.n_arms)
    for each in subject.timed(subject.run(state=state)):
        report = each.feedback
        counts[report.arms] += 1 if report.pulls is None else report.pulls
        sums[report.arms] += report.outcomes
        text = "after a report of arms {}, the {} are {} instead of {}"
        good = np.array_equal(state.counts, counts)
        require(good, text, report.arms, "counts", state.counts, counts.astype(int))
        means = sums / np.maximum(counts, 1)
        good = np.allclose(state.means, means, rtol=1e-9, atol=1e-9 * (1 + np.abs(means).max()))
        require(good, text, report.arms, "means", state.means, means)
    return f"{len(subject.sample)} reports"


def check_report_order(subject: ExplorerSubject) -> str:
    """A report has the same effect if its arms are listed in another order."""
    tried = 0
    for state, each in subject.states():
        report = each.feedback
        if len(report.arms) < 2:
            continue
        turn = slice(None, None, -1)
        turned = Feedback(
            report.arms[turn],
            report.outcomes[turn],
            reward=report.reward,
            pulls=None if report.pulls is None else report.pulls[turn],
            squares=None if report.squares is None else report.squares[turn],
        )
        one, two = deep(state), deep(state)
        for other, told in ((one, report), (two, turned)):
            rng = subject.rng(1)
            subject.explorer.update(other, told, Ticket(0, each.arms, pulls=each.pulls), rng)
            if rng.random() != subject.rng(1).random():
                raise NotTried("update draws random numbers")
        found = difference(one, two, 1e-6)
        require(not found, "arms {} in another order lead to another state: {}", report.arms, found)
        tried += 1
    if not tried:
        raise NotTried("no request has two arms")
    return f"{tried} reports"


def check_saving(subject: ExplorerSubject) -> str:
    """A session that is saved and loaded continues as the session itself, up to the same answer."""
    session = Session(subject.explorer, rng=subject.seed)
    _advance(session, subject, 11, 15)
    file = io.BytesIO()
    session.save(file)
    other = Session.load(file.getvalue(), subject.explorer)
    found = difference(session.state, other.state)
    require(not found, "the loaded state differs; all parts of a state must be fields: {}", found)
    here, there = (_advance(each, subject, 12, 200) for each in (session, other))
    same = len(here) == len(there) and all(map(np.array_equal, here, there))
    same = same and np.array_equal(session.recommend(), other.recommend())
    require(same, "a loaded session requests other arms, or gives another answer")
    return f"{len(here)} requests after loading"


def _advance(session: Session[Any], subject: ExplorerSubject, seed: int, requests: int) -> list[IntArray]:
    """Return the arms of further requests of a session."""
    chance, found = subject.rng(seed), []
    for _ in subject.timed(range(requests)):
        if session.is_done:
            break
        ticket = session.ask()
        found.append(np.array(ticket.super_arm))
        session.tell(subject.environment.sample(np.array(ticket.super_arm), ticket.pulls, chance), ticket)
    return found


def check_copies(subject: ExplorerSubject) -> str:
    """A pickled copy of the explorer, which worker processes receive, requests the same arms."""
    other = twice(subject.explorer)
    for number, (one, two) in enumerate(zip(subject.sample, subject.run(explorer=other), strict=False)):
        text = "request {} of a copy is {} instead of {}"
        require(np.array_equal(one.arms, two.arms), text, number + 1, two.arms, one.arms)
    return f"{len(subject.sample)} requests"


def check_steps(subject: ExplorerSubject) -> str:
    """`step` returns no arms if `is_done` is true, and otherwise those of `select`."""
    explorer = subject.explorer
    if type(explorer).step is Explorer.step:
        raise NotTried("step is not defined")
    state, tried = explorer.initial_state(subject.rng(0, 0)), 0
    for _ in subject.timed(subject.run(state=state, requests=300)):
        stepped = entries(explorer.step(deep(state), subject.rng(1)), explorer.n_arms)
        expected = np.empty(0, np.int64)
        if not explorer.is_done(state):
            expected = subject.request(deep(state), subject.rng(1))[0]
        text = "step returned {}, but is_done and select lead to {}"
        require(np.array_equal(np.sort(stepped), np.sort(expected)), text, stepped, expected)
        tried += 1
    return f"{tried} states"


def check_budget(subject: ExplorerSubject) -> str:
    """An explorer with a `budget` requests no more outcomes than the budget, and then stops."""
    budget = getattr(subject.explorer, "budget", None)
    if budget is None:
        raise NotTried("the explorer has no budget")
    state, used = subject.explorer.initial_state(subject.rng(0, 0)), 0
    for each in subject.timed(subject.run(state=state, requests=int(budget) + 1)):
        used += len(each.arms) * each.pulls
        require(used <= budget, "{} outcomes were requested, but the budget is {}", used, budget)
    if used < budget and not subject.explorer.is_done(state):
        raise NotTried("the run did not end in the given time")
    require(subject.explorer.is_done(state), "the budget is spent, but is_done is false")
    return f"{used} of {budget} outcomes"


def check_ending(subject: ExplorerSubject) -> str:
    """An explorer that declares `is_bounded` ends, also if all outcomes are equal."""
    if not subject.explorer.is_bounded:
        raise NotTried("the explorer does not declare is_bounded")
    fractions = np.full(subject.explorer.n_arms, 0.0)
    for world in (subject.environment, Hard(subject.explorer, _support(subject), fractions)):
        found = identify(subject.explorer, world, rng=subject.seed)
        require(found.stopped.all(), "a run did not stop after {} outcomes", int(found.samples[0]))
    return "2 runs"


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
    rate = _delta(subject) if _delta(subject) is not None else 0.5
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
        for number, _ in enumerate(subject.run(state=state, seed=seed + 100, requests=400)):
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


def check_places(subject: ExplorerSubject) -> str:
    """The answers follow the outcomes: on easy problems with permuted means, they are mostly right."""
    n, wrong, runs = subject.explorer.n_arms, 0, 0
    size = len(subject.answer(subject.explorer.initial_state(subject.rng(1))))
    for seed in subject.timed(range(12 * subject.effort)):
        fractions = np.where(np.arange(n) < max(1, size), 0.95, 0.05)
        world = Hard(subject.explorer, _support(subject), subject.rng(16, seed).permutation(fractions))
        found = identify(subject.explorer, world, rng=subject.rng(16, seed), max_samples=_SAMPLES)
        if found.stopped[0]:
            runs += 1
            arms = entries(found.arms[0], n, "the answer of recommend")
            wrong += not subject.is_correct(arms, world.means)
    if runs < 6:
        raise NotTried(f"only {runs} runs stopped within {_SAMPLES} outcomes and the given time")
    require(wrong <= 0.5 * runs, "{} of {} answers are wrong on easy problems in other orders", wrong, runs)
    return f"{runs} runs, {wrong} wrong answers"


def check_certificates(subject: ExplorerSubject) -> str:
    """`is_certified` is true only if the stopping rule holds and the explorer is proven."""
    explorer, tried = subject.explorer, 0
    state = explorer.initial_state(subject.rng(0, 0))
    for _ in subject.timed(subject.run(state=state, requests=200)):
        certified = explorer.is_certified(state)
        good = not certified or (explorer.is_done(state) and explorer.is_proven)
        require(good, "is_certified is true, but is_done is false, or is_proven is")
        tried += 1
    return f"{tried} states"


class _Python(Explorer[Any]):
    """An explorer without its compiled form."""

    def __init__(self, explorer: AnyExplorer) -> None:
        names = ("n_arms", "sigma", "support", "is_bounded", "delta")
        for name in names:
            if hasattr(explorer, name):
                object.__setattr__(self, name, getattr(explorer, name))
        object.__setattr__(self, "explorer", explorer)

    @property
    def is_proven(self) -> bool:
        return self.explorer.is_proven  # type: ignore[attr-defined,no-any-return]

    @property
    def goal(self) -> Any:
        return self.explorer.goal  # type: ignore[attr-defined]

    def initial_state(self, rng: np.random.Generator | None = None) -> Any:
        return self.explorer.initial_state(rng)  # type: ignore[attr-defined]

    def select(self, state: Any, rng: np.random.Generator, context: Any = None) -> IntArray:  # noqa: ARG002
        return self.explorer.select(state, rng)  # type: ignore[attr-defined,no-any-return]

    def update(
        self,
        state: Any,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.explorer.update(state, feedback, ticket, rng)  # type: ignore[attr-defined]

    def pulls(self, state: Any) -> int:
        return int(self.explorer.pulls(state))  # type: ignore[attr-defined]

    def unseen(self, state: Any) -> IntArray:
        return self.explorer.unseen(state)  # type: ignore[attr-defined,no-any-return]

    def is_done(self, state: Any) -> bool:
        return bool(self.explorer.is_done(state))  # type: ignore[attr-defined]

    def is_certified(self, state: Any) -> bool:
        return bool(self.explorer.is_certified(state))  # type: ignore[attr-defined]

    def recommend(self, state: Any) -> IntArray:
        return self.explorer.recommend(state)  # type: ignore[attr-defined,no-any-return]


def check_compiled(subject: ExplorerSubject) -> str:
    """The compiled loop requests as many outcomes and gives the same answers as the methods in Python."""
    explorer = subject.explorer
    if explorer.kernel() is None:
        raise NotTried("there is no compiled form")
    settings: dict[str, Any] = {"replications": 3, "rng": subject.seed, "max_samples": 3000}
    here, there = (identify(each, subject.environment, **settings) for each in (explorer, _Python(explorer)))
    text = "the compiled loop takes {} outcomes for the answers {}, the Python loop {} for {}"
    same = np.array_equal(here.samples, there.samples) and all(map(np.array_equal, here.arms, there.arms))
    require(same, text, here.samples, here.arms, there.samples, there.arms)
    return "3 runs"


EXPLORER_CHECKS: tuple[Callable[[Any], str | None], ...] = (
    check_declaration,
    check_form,
    check_determinism,
    check_state,
    check_new_states,
    check_memory,
    check_feedback,
    check_aliasing,
    check_counts,
    check_report_order,
    check_saving,
    check_copies,
    check_steps,
    check_budget,
    check_ending,
    check_answers,
    check_places,
    check_errors,
    check_intervals,
    check_certificates,
    check_compiled,
)


def explorer_checks(
    explorer: AnyExplorer,
    environment: Environment,
    *,
    delta: float | None = None,
    level: Level = "quick",
    expected_failures: Mapping[str, str] | None = None,
    rng: int = 0,
    name: str | None = None,
) -> list[Check]:
    """Return the list of checks of an explorer. The arguments are those of `check_explorer`."""
    if not isinstance(explorer, Explorer):
        raise TypeError(f"explorer must be an Explorer, got {shown(explorer)}")
    subject = ExplorerSubject(explorer, environment, delta, level, rng)
    return named_checks(subject, EXPLORER_CHECKS, expected_failures, name)


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
    settings: dict[str, Any] = {"level": level, "rng": rng, "expected_failures": expected_failures}
    return run_checks(explorer_checks(explorer, environment, delta=delta, **settings))
