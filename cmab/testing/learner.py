"""Checks that policies and explorers share: determinism, states, feedback, copies and saved sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import IntArray
from cmab.environment import Environment
from cmab.explorer import Explorer
from cmab.feedback import Context, Feedback, Ticket
from cmab.policy import AnyPolicy
from cmab.session import Session
from cmab.statistics import ArmStatistics
from cmab.testing.common import (
    Level,
    NotTried,
    Subject,
    difference,
    dirty,
    entries,
    require,
    seeded_globally,
)

#: Rounds of the runs that are compared, and of those with a copy of each state.
ROUNDS, REPORTS = 60, 20


class Round(NamedTuple):
    """One round of a run: its environment, the super arm or the requested arms, the feedback, the ticket."""

    place: Environment
    super_arm: IntArray
    feedback: Feedback
    ticket: Ticket


class LearnerSubject(Subject):
    """A policy or an explorer with the environment in which it runs."""

    def __init__(self, learner: AnyPolicy, environment: Environment, level: Level, rng: int) -> None:
        super().__init__(learner, level, rng)
        self.learner, self.environment = learner, environment
        self.explores = isinstance(learner, Explorer)
        self.n_arms = learner.n_arms if isinstance(learner, Explorer) else learner.oracle.n_arms
        self.n_choices = self.n_arms if self.explores else learner.oracle.n_choices

    def select(
        self,
        state: Any,
        rng: np.random.Generator,
        context: Context | None = None,
        learner: AnyPolicy | None = None,
    ) -> IntArray:
        """Return the answer of `select` as a new array of distinct entries."""
        answer = (learner or self.learner).select(state, rng, context)
        return entries(answer, self.n_choices, "the answer of select")

    def run(
        self,
        environment: Environment | None = None,
        *,
        learner: AnyPolicy | None = None,
        state: Any = None,
        seed: int = 0,
        rounds: int = ROUNDS,
        contexts: Callable[[int], Context | None] | None = None,
    ) -> Iterator[Round]:
        """Yield rounds after their feedback was learned, until an explorer is done.

        Parameters
        ----------
        environment, learner : Environment, Policy, optional
            Others than those of the subject.
        state : object, optional
            The state to begin with and to update; a new one if omitted.
        seed : int
            Seed of the learner, the environment and its rounds.
        rounds : int
            Number of rounds.
        contexts : callable, optional
            Function of the number of the round that returns a context, in place of that of the environment.
        """
        world, player = environment or self.environment, learner or self.learner
        rng, chance, changes = (self.rng(seed, stream) for stream in range(3))
        state = player.initial_state(rng) if state is None else state
        for t in range(1, rounds + 1):
            if self.explores and player.is_done(state):
                return
            place = world.in_round(t, changes)
            context = place.context if contexts is None else contexts(t)
            arms = self.select(state, rng, None if self.explores else context, player)
            require(len(arms) or not self.explores, "select returned no arm before the stopping rule holds")
            pulls = int(player.pulls(state)) if isinstance(player, Explorer) else 1
            feedback = place.sample(arms, pulls, chance) if self.explores else place.play(arms, chance)
            ticket = Ticket(t - 1, arms, pulls=pulls, context=context)
            player.update(state, feedback, ticket, rng)
            yield Round(place, arms, feedback, ticket)

    @cached_property
    def sample(self) -> list[Round]:
        """The first rounds of a run."""
        return [*self.timed(self.run())]

    def new_state(self, *key: int) -> Any:
        """Return a state before the first round."""
        return self.learner.initial_state(self.rng(*key))

    def states(self, rounds: int = REPORTS) -> Iterator[tuple[Any, Round]]:
        """Yield rounds with a copy of the state before each of them."""
        state = self.new_state(0, 0)
        before = deepcopy(state)
        for each in self.timed(self.run(state=state, rounds=rounds)):
            yield before, each
            before = deepcopy(state)

    def learned(self, state: Any, report: Feedback, ticket: Ticket) -> Any:
        """Return a copy of a state after a report."""
        other = deepcopy(state)
        self.learner.update(other, report, ticket, self.rng(33))
        return other


def check_determinism(subject: LearnerSubject) -> str:
    """The same seed gives the same run, for any state of the global generators."""
    runs = []
    for _ in seeded_globally(3):
        runs.append([each.super_arm for each in subject.timed(subject.run())])  # noqa: PERF401
    for other in runs[1:]:
        for t, (one, two) in enumerate(zip(runs[0], other, strict=False)):
            text = "in round {}, select returned {} and {} in runs with the same seed; draw from rng only"
            require(np.array_equal(one, two), text, t + 1, one, two)
    return f"{len(runs)} runs of {len(runs[0])} rounds"


def check_state(subject: LearnerSubject) -> str:
    """Only `update` changes the state."""
    learner, tried = subject.learner, 0
    for state, each in subject.states(ROUNDS):
        context = None if subject.explores else each.ticket.context
        calls: dict[str, Callable[..., Any]] = {
            "select": lambda s, c=context: learner.select(s, subject.rng(1), c),
            "is_done": learner.is_done,
        }
        if isinstance(learner, Explorer):
            more = ("recommend", "pulls", "is_certified", *(("intervals",) if tried else ()))
            calls |= {name: getattr(learner, name) for name in more}
            calls["step"] = lambda s: learner.step(s, subject.rng(1))
        else:
            calls["propensity"] = lambda s, a=each.super_arm, c=context: learner.propensity(s, a, c)
        before = deepcopy(state)
        for name, call in calls.items():
            call(state)
            found = difference(before, state)
            require(not found, "{} changed the state; only update may change it: {}", name, found)
        tried += 1
    return f"{tried} states"


def check_memory(subject: LearnerSubject) -> str:
    """Two runs that take turns are the same as each of them alone: all that was learned is in the state."""
    alone = [[each.super_arm for each in subject.timed(subject.run(seed=seed))] for seed in (0, 5)]
    games = [subject.run(seed=seed) for seed in (0, 5)]
    rounds = min(map(len, alone))
    for t in range(rounds):
        for game, arms in zip(games, alone, strict=True):
            found = next(game, None)
            chosen = None if found is None else found.super_arm
            text = "in round {}, select returned {} instead of {} if another run takes turns; keep what is"
            text += " learned in the state"
            require(chosen is not None and np.array_equal(chosen, arms[t]), text, t + 1, chosen, arms[t])
    return f"{rounds} rounds"


def check_feedback(subject: LearnerSubject) -> str:
    """`update` does not change the feedback or the ticket, and the state does not refer to their arrays."""
    tried = 0
    for state, each in subject.states():
        feedback, ticket, other = deepcopy(each.feedback), deepcopy(each.ticket), deepcopy(state)
        for own in (feedback.arms, feedback.outcomes, ticket.super_arm):
            own.setflags(write=True)
        subject.learner.update(other, feedback, ticket, subject.rng(33))
        found = difference(each.feedback, feedback) or difference(each.super_arm, ticket.super_arm)
        require(not found, "update changed the feedback or the ticket: {}", found)
        before = deepcopy(other)
        for array in (feedback.arms, feedback.outcomes, feedback.squares, feedback.costs, ticket.super_arm):
            dirty(array)
        found = difference(before, other)
        require(not found, "the state refers to arrays of the feedback or the ticket; copy them: {}", found)
        tried += 1
    return f"{tried} reports"


def check_aliasing(subject: LearnerSubject) -> str:
    """Overwriting an answer changes neither the state nor later answers."""
    learner, tried = subject.learner, 0
    for state, each in subject.states():
        context = None if subject.explores else each.ticket.context
        before = deepcopy(state)
        answer = learner.select(state, subject.rng(1), context)
        expected = entries(answer, subject.n_choices)
        dirty(answer)
        if isinstance(learner, Explorer):
            dirty(learner.recommend(state))
            for end in (learner.intervals(state) if tried else None) or ():
                dirty(end)
        found = difference(before, state)
        require(not found, "an answer is a part of the state; return a copy: {}", found)
        again = subject.select(state, subject.rng(1), context)
        require(np.array_equal(again, expected), "overwriting an answer changed it to {}", again)
        tried += 1
    return f"{tried} states"


def session_run(session: Session[Any], subject: LearnerSubject, seed: int, rounds: int) -> list[IntArray]:
    """Return the super arms of further rounds of a session."""
    chance, changes, arms = subject.rng(seed, 1), subject.rng(seed, 2), []
    for t in subject.timed(range(1, rounds + 1)):
        if subject.explores and session.is_done:
            break
        place = subject.environment.in_round(t, changes)
        ticket = session.ask() if subject.explores else session.ask(place.context)
        arms.append(np.array(ticket.super_arm))
        played = np.array(ticket.super_arm)
        report = (
            place.sample(played, ticket.pulls, chance) if subject.explores else place.play(played, chance)
        )
        session.tell(report, ticket)
    return arms


def check_saving(subject: LearnerSubject) -> str:
    """A session that is saved and loaded continues as the session itself."""
    session = Session(subject.learner, rng=subject.seed)
    session_run(session, subject, 31, 20)
    ticket = None if subject.explores else session.ask(subject.sample[0].ticket.context)
    other = Session.load(session.to_bytes(), subject.learner)
    found = difference(session.state, other.state)
    require(not found, "the loaded state differs; all parts of a state must be fields: {}", found)
    if ticket is not None:
        session.cancel(ticket)
        other.cancel(ticket)
    here, there = (session_run(each, subject, 32, 40) for each in (session, other))
    for t, (one, two) in enumerate(zip(here, there, strict=False)):
        text = "{} rounds after loading, select returned {} instead of {}"
        require(np.array_equal(one, two), text, t + 1, two, one)
    if subject.explores and len(here) == len(there):
        one, two = session.recommend(), other.recommend()
        require(np.array_equal(one, two), "the loaded session recommends {} instead of {}", two, one)
    return f"20 rounds before and {len(here)} after"


def check_counts(subject: LearnerSubject) -> str:
    """The statistics contain every observed outcome once, and no other outcome."""
    state = subject.new_state(0, 0)
    if not isinstance(state, ArmStatistics) or state.counts.any():
        raise NotTried("the state is not an empty ArmStatistics")
    counts, sums, stopped = np.zeros(subject.n_arms), np.zeros(subject.n_arms), False
    for t, each in enumerate(subject.timed(subject.run(state=state)), 1):
        report = each.feedback
        if len(report.arms) and np.array_equal(state.counts, counts) and not subject.explores:
            stopped = True  # a policy may stop learning for good
            continue
        require(not stopped, "a report before round {} was ignored, but not that of this round", t)
        counts[report.arms] += 1 if report.pulls is None else report.pulls
        sums[report.arms] += report.outcomes
        if state.counts.sum() < counts.sum() and not state.counts[report.arms].any():
            raise NotTried("the statistics are discarded")
        text = "after round {} with arms {}, the {} are {} instead of {}"
        good = np.array_equal(state.counts, counts)
        require(good, text, t, report.arms, "counts", state.counts, counts.astype(int))
        means = sums / np.maximum(counts, 1)
        good = np.allclose(state.means, means, rtol=1e-9, atol=1e-9 * (1e-300 + np.abs(means).max()))
        require(good, text, t, report.arms, "means", state.means, means)
    return f"{len(subject.sample)} reports"


def check_report_order(subject: LearnerSubject) -> str:
    """A report has the same effect if its arms are listed in another order."""
    tried = 0
    for state, each in subject.states():
        report = each.feedback
        if len(report.arms) < 2 or report.costs is not None:
            continue
        turned = Feedback(
            report.arms[::-1],
            report.outcomes[::-1],
            reward=report.reward,
            pulls=None if report.pulls is None else report.pulls[::-1],
            squares=None if report.squares is None else report.squares[::-1],
            used=report.used,
        )
        rng = subject.rng(33)
        subject.learner.update(deepcopy(state), report, each.ticket, rng)
        if rng.random() != subject.rng(33).random():
            raise NotTried("update draws random numbers")
        one, two = (subject.learned(state, told, each.ticket) for told in (report, turned))
        found = difference(one, two, 1e-6)
        if found:  # a state may list the outcomes themselves
            games = [subject.run(state=deepcopy(after), seed=7, rounds=30) for after in (one, two)]
            pairs = zip(*games, strict=False)
            found = "" if all(np.array_equal(a.super_arm, b.super_arm) for a, b in pairs) else found
        require(not found, "arms {} in another order lead to another state: {}", report.arms, found)
        tried += 1
    if not tried:
        raise NotTried("no report has two arms")
    return f"{tried} reports"
