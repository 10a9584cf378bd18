"""Checks of the reports to an explorer and of its answers: credit, ties, copies, and undone reports."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback, Ticket
from cmab.saving._digest import content
from cmab.session import Session
from cmab.statistics import ArmStatistics
from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require
from cmab.testing._explorer_credit import check_parts
from cmab.testing._explorer_runs import Subject, require_answer
from cmab.testing._policy_parts import numbers_of, parting

_REQUESTS, _LONG = 40, 250
_MOST_PULLS = 10**9


class Constant(Environment):
    """Arms that all have the same, certain outcome."""

    def __init__(self, environment: Environment, outcome: float) -> None:
        self.n_arms, self.support = environment.n_arms, environment.support
        self.means = np.full(self.n_arms, outcome)

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        raise NotImplementedError("explorers sample base arms")

    def expected_reward(self, super_arm: IntArray) -> float:
        raise NotImplementedError("explorers sample base arms")

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        return self.means[arms]

    def pull_many(
        self,
        arms: IntArray,
        pulls: IntArray,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> tuple[FloatArray, FloatArray]:
        return pulls * self.means[arms], pulls * self.means[arms] ** 2


@dataclass(frozen=True, eq=False)
class Reported:
    """The state before a report, the ticket, and the outcomes in the support in another order of the arms."""

    state: Any
    ticket: Ticket
    feedback: Feedback
    outcomes: FloatArray

    def learned(self, subject: Subject, feedback: Feedback) -> Any:
        """Return a copy of the state after `feedback`."""
        state = copy.deepcopy(self.state)
        subject.explorer.update(state, feedback, self.ticket, np.random.default_rng(0))
        return state


def _ends(subject: Subject) -> tuple[float, float]:
    low, high = subject.explorer.support or subject.environment.support
    return (low, high) if np.isfinite(low) and np.isfinite(high) else (0.0, 1.0)


def reports(subject: Subject) -> Iterator[Reported]:
    """Yield requests with outcomes that are not binary, and learn each of them."""
    (low, high), rng = _ends(subject), np.random.default_rng((43, subject.rng))
    session: Session[Any] = Session(subject.explorer, rng=subject.rng)
    for _ in range(_REQUESTS):
        if session.is_done:
            return
        ticket = session.ask()
        if ticket.pulls > _MOST_PULLS:
            return
        arms = rng.permutation(np.array(ticket.super_arm))
        size = (len(arms), min(ticket.pulls, 1000))
        outcomes = low + (high - low) * rng.choice(np.array([0.0, 0.03, 0.37, 0.62, 0.999, 1.0]), size)
        weight = ticket.pulls / size[1]
        feedback = Feedback(arms, outcomes[:, 0])
        if ticket.pulls > 1:
            sums, squares = weight * outcomes.sum(axis=1), weight * (outcomes**2).sum(axis=1)
            feedback = Feedback(arms, sums, pulls=np.full(len(arms), ticket.pulls), squares=squares)
        yield Reported(copy.deepcopy(session.state), ticket, feedback, outcomes)
        session.tell(feedback, ticket)


def check_conservation(subject: Subject) -> Finding:
    """Check that the statistics contain every requested outcome once: counts, and sums of outcomes."""
    tried, silent, requests = 0, list[bool](), list(reports(subject))
    known = check_parts(subject, requests, _ends(subject)) if requests else ""
    for one in requests:
        arms, pulls = one.feedback.arms, one.ticket.pulls
        silent.append(not _influences(subject, one))
        if not isinstance(one.state, ArmStatistics):
            continue
        after = one.learned(subject, one.feedback)
        # Explorers of phases start again.
        if not len(arms) or (after.counters.sum() <= one.state.counters.sum() and not silent[-1]):
            continue
        counts = one.state.counts.copy()
        counts[arms] += pulls
        text = "a report of {} outcomes of each of the arms {} changed the counts from {} to {}"
        same = np.array_equal(counts, after.counts)
        require(same, "conservation", text, pulls, arms, one.state.counts, after.counts)
        sums = one.state.counts * one.state.means
        sums[arms] += one.feedback.outcomes
        wrong = np.flatnonzero(np.abs(after.counts * after.means - sums) > 1e-7 * (1 + np.abs(sums)))
        text = (
            "a report of arms {} with outcomes {} changed the sums of the outcomes of arms {} to {}"
            " instead of {}"
        )
        told = (arms, one.feedback.outcomes, wrong, (after.counts * after.means)[wrong], sums[wrong])
        require(not len(wrong), "conservation", text, *told)
        tried += 1
    first = next((number for number, each in enumerate(silent) if each), None)
    used = silent.count(False)
    text = "the outcomes of report {} have no effect on the state, but those of {} of {} reports have"
    require(first is None or used < 0.8 * len(silent), "conservation", text, first, used, len(silent))
    text = f"{tried} reports compared with the statistics, {len(silent)} with each other"
    return Finding(text + (f"; {known}" if known else ""))


def _influences(subject: Subject, one: Reported) -> bool:
    """Return whether the state depends on the reported outcomes."""
    (low, high), n, states = _ends(subject), len(one.feedback.arms), []
    for end in (low, high):
        outcomes, pulls = np.full(n, end * one.ticket.pulls), np.full(n, one.ticket.pulls)
        told = Feedback(one.feedback.arms, np.full(n, end))
        if one.ticket.pulls > 1:
            told = Feedback(one.feedback.arms, outcomes, pulls=pulls, squares=pulls * end**2)
        states.append(content(one.learned(subject, told)))
    return states[0] != states[1]


def check_report_order(subject: Subject) -> Finding:
    """Check that a report has the same effect if its arms are listed in another order."""
    tried, parted = 0, ""
    for one in reports(subject):
        told = one.feedback
        turned = _in_order(told, np.arange(len(told.arms))[::-1])
        states = [one.learned(subject, feedback) for feedback in (told, turned)]
        answers = [np.array(subject.explorer.recommend(state)) for state in states]
        text = (
            "the report of arms {} and outcomes {} has another effect than the same report in"
            " reverse order: {} and {}"
        )
        if isinstance(states[0], ArmStatistics):
            for name in ("counters", "means"):
                first, second = (getattr(state, name) for state in states)
                same = np.allclose(first, second, rtol=1e-9, atol=1e-12)
                require(same, "report order", text, told.arms, told.outcomes, first, second)
        require(
            np.array_equal(answers[0], answers[1]), "report order", text, told.arms, told.outcomes, *answers
        )
        parted = parted or parting(states[0], states[1], subject.explorer.n_arms)
        tried += len(told.arms) > 1
    if parted:  # a record of the order is no fault, unless the requests and answers depend on it
        text = (
            "the order of the arms in a report changes `{}` of the state, and in two runs that differ only in"
            " this order, the requests and answers {} and {} of round {} differ"
        )
        rounds = zip(_ordered_run(subject, 1), _ordered_run(subject, -1), strict=False)
        for number, (first, second) in enumerate(rounds):
            require(first == second, "report order", text, parted, first, second, number)
    return Finding(f"{tried} reports of several arms")


def _in_order(told: Feedback, order: IntArray) -> Feedback:
    pulls = None if told.pulls is None else told.pulls[order]
    squares = None if told.squares is None else told.squares[order]
    return Feedback(told.arms[order], told.outcomes[order], pulls=pulls, squares=squares)


def _ordered_run(subject: Subject, step: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the requests and answers of a run with sorted reports (`step` is 1) or reversed ones (-1)."""
    session: Session[Any] = Session(subject.explorer, rng=subject.rng)
    coins = np.random.default_rng((44, subject.rng))
    for _ in range(_LONG):
        if session.is_done:
            yield [], np.array(session.recommend()).tolist()
            return
        ticket = session.ask()
        if ticket.pulls > _MOST_PULLS:
            return
        told = subject.environment.sample(np.sort(ticket.super_arm), ticket.pulls, coins)
        session.tell(_in_order(told, np.argsort(told.arms)[::step]), ticket)
        yield np.sort(ticket.super_arm).tolist(), np.array(session.recommend()).tolist()


def check_constant_outcomes(subject: Subject) -> Finding:
    """Check that runs with constant outcomes, which make all arms tie, are valid and repeatable."""
    for outcome in _ends(subject):
        place, runs = Constant(subject.environment, outcome), []
        for _ in range(2):
            session: Session[Any] = Session(subject.explorer, rng=subject.rng)
            coins, asked = np.random.default_rng(0), []
            for _ in range(_REQUESTS):
                if session.is_done:
                    break
                ticket = session.ask()
                if ticket.pulls > _MOST_PULLS:
                    break
                session.tell(place.sample(ticket.super_arm, ticket.pulls, coins))
                answer = np.array(session.recommend())
                require_answer(answer, subject.explorer.n_arms)
                asked.append((ticket.super_arm.tolist(), answer.tolist()))
            runs.append(asked)
        differs = next((n for n, (a, b) in enumerate(zip(*runs, strict=False)) if a != b), None)
        text = (
            "if all outcomes are {}, request {} and the answer differ for the same seed; break ties with rng"
        )
        require(differs is None and len(runs[0]) == len(runs[1]), "constant outcomes", text, outcome, differs)
    return Finding(f"4 runs of {_REQUESTS} requests")


def check_aliasing(subject: Subject) -> Finding:
    """Check that answers may be overwritten, and that copies of the state and `step` answer alike."""
    explorer, tried = subject.explorer, 0
    for one in reports(subject):
        twin = pickle.loads(pickle.dumps(one.state))
        for method in ("select", "recommend", "step"):
            answers = []
            for state in (one.state, one.state, twin):
                rng = (np.random.default_rng(5),) if method != "recommend" else ()
                answer = getattr(explorer, method)(state, *rng)
                answers.append(np.array(answer))
                if isinstance(answer, np.ndarray) and answer.flags.writeable:
                    answer[...] = 0
            text = (
                "after the answer {} of {} was overwritten, the same call gave {}, and with a copy"
                " of the state {}"
            )
            same = np.array_equal(answers[0], answers[1]) and np.array_equal(answers[0], answers[2])
            require(same, "aliasing", text, answers[0], method, answers[1], answers[2])
            if method == "step":
                usual = entries(explorer.select(one.state, np.random.default_rng(5)))
                text = "step returned {}, but select {}; step must be empty if is_done, otherwise as select"
                require(np.array_equal(answers[0], usual), "aliasing", text, answers[0], usual)
        tried += 1
    return Finding(f"{tried} requests")


def check_feedback(subject: Subject) -> Finding:
    """Check that `update` does not modify the feedback, and that the state does not refer to its arrays."""
    tried = 0
    for one in reports(subject):
        told = one.feedback
        parts = {name: part for name, part in vars(told).items() if isinstance(part, np.ndarray)}
        kept = {name: part.copy() for name, part in parts.items()}
        state = one.learned(subject, told)
        for name, part in parts.items():
            text = "update must not modify the feedback, but changed its {} from {} to {}"
            require(np.array_equal(part, kept[name]), "feedback", text, name, kept[name], part)
        before = content(state)
        for part in parts.values():
            part[...] = part[::-1].copy() if len(part) > 1 else part + 1
        text = "the state refers to the arrays of the feedback; update must copy them"
        require(content(state) == before, "feedback", text)
        for name, part in parts.items():
            part[...] = kept[name]
        tried += 1
    return Finding(f"{tried} reports")


def check_undo(subject: Subject) -> Finding:
    """Check that `undo`, if the class defines it, restores the state before the report."""
    undo, tried = getattr(subject.explorer, "undo", None), 0
    if undo is None:
        return Finding("the class defines no `undo`")
    for one in reports(subject):
        state = one.learned(subject, one.feedback)
        changed = undo(state, one.feedback)
        state = state if changed is None else changed
        now = dict(numbers_of(state))
        for name, part in numbers_of(one.state):
            other = now.get(name, np.empty(0))
            same = part.shape == other.shape and np.allclose(
                other, part, rtol=1e-9, atol=1e-9, equal_nan=True
            )
            text = "after update and undo of a report of arms {}, {} of the state is {} instead of {}"
            require(same, "undo", text, one.feedback.arms, name, other, part)
        tried += 1
    return Finding(f"{tried} reports undone")
