"""Checks of an explorer late in a run and at its stop: states, saved runs, answers and intervals."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.feedback import Feedback, Ticket
from cmab.goals import BestSuperArm
from cmab.session import Session
from cmab.testing._checks import Finding
from cmab.testing._comparisons import Stopwatch, entries, require
from cmab.testing._explorer_late import (
    Moment,
    Run,
    demanded,
    dumped,
    further_run,
    is_changed,
    late_runs,
    tied_runs,
)
from cmab.testing._explorer_runs import Subject, require_answer
from cmab.testing._policy_parts import within
from cmab.testing._trials import alike

#: Methods that only read the state, and whether they take a generator.
_READ = {"is_done": False, "select": True, "step": True, "pulls": False}
_ANSWERS = {"recommend": False, "intervals": False, "is_certified": False}
#: Requests before the end at which a run is saved, and the most requests that are repeated after loading.
_SAVED, _LONGEST = (1, 2, 5, 13, 48), 600
#: The share of the seconds of a subject for these checks of a run, after the least number of states.
_SHARE, _AT_LEAST = 0.05, 3
#: The runs beyond the first two and the certified stops that refute intervals, and the tolerance of rounding.
_FURTHER, _STOPS, _TOLERANCE = 4, 3, 1e-7


def check_late_states(subject: Subject) -> Finding:
    """Check that late in a run only `update` and `undo` change the state, and repeated calls agree."""
    tried, runs = 0, late_runs(subject)
    for run in (*runs, *tied_runs(subject)):
        text = "before request {} of a run in {}, select, is_done or pulls changed the state"
        require(run.meddled is None, "late states", text, run.meddled, run.name)
        if run.has_stopped:
            _require_read_only(
                subject, dumped(run.end), len(run.asked), f"at the stop of a run in {run.name}"
            )
    for run in runs:
        watch = Stopwatch()
        for number, moment in enumerate(run.moments()[::-1]):
            if number >= _AT_LEAST and watch.seconds() > _SHARE * subject.seconds:
                break
            where = f"{len(run.asked) - moment.number} requests before the end of a run in {run.name}"
            _require_read_only(subject, moment.state, moment.number, where)
            _require_any_order(subject, run, moment, where)
            tried += 1
    return Finding(f"{tried} states")


def _require_read_only(subject: Subject, before: bytes, number: int, where: str) -> None:
    """Raise ``AssertionError`` if a method that only reads changes the state, or repeats another answer."""
    state = pickle.loads(before)
    done = bool(subject.explorer.is_done(state))
    methods = _READ | (_ANSWERS if number else {})
    if done:
        methods = {name: draws for name, draws in methods.items() if name not in ("select", "pulls")}
    for name, draws in methods.items():
        answers = [_answer(subject, state, name, draws) for _ in range(2)]
        text = "{}, two calls of {} with the same state gave {} and {}"
        require(alike(*answers), "late states", text, where, name, *answers)
    if is_changed(before, state):
        for name, draws in methods.items():
            state = pickle.loads(before)
            _answer(subject, state, name, draws)
            text = "{}, {} changed the state; only update and undo may change it"
            require(not is_changed(before, state), "late states", text, where, name)


def _answer(subject: Subject, state: Any, name: str, draws: bool) -> Any:
    found = getattr(subject.explorer, name)(state, *([np.random.default_rng(3)] if draws else []))
    # Copies, because a later call may overwrite an array.
    return tuple(map(np.array, found)) if isinstance(found, tuple) else np.array(found)


def _require_any_order(subject: Subject, run: Run, moment: Moment, where: str) -> None:
    """Raise ``AssertionError`` unless the order of a report has no effect, and `undo` removes the report."""
    explorer, told = subject.explorer, run.told[moment.number]
    arms, pulls = run.asked[moment.number]
    ticket, found = Ticket(moment.number, arms.copy(), pulls), []
    for report in (told, _reversed(told)):
        state, rng = moment.restored()
        explorer.update(state, report, ticket, rng)
        done = bool(explorer.is_done(state))
        asked = [] if done else entries(explorer.select(state, rng)).tolist()
        found.append((done, asked, np.array(explorer.recommend(state)).tolist()))
    text = "{}, a report of arms {} in reverse order led to the stop, request and answer {} instead of {}"
    require(found[0] == found[1], "late states", text, where, told.arms, found[1], found[0])
    undo: Any = getattr(explorer, "undo", None)
    if undo is None:
        return
    (before, _), (state, rng) = moment.restored(), moment.restored()
    explorer.update(state, told, ticket, rng)
    changed = undo(state, told)
    state = state if changed is None else changed
    for name, part in within(before).items():
        if not isinstance(part, np.ndarray | int | float):
            continue
        one, other = (np.asarray(each, np.float64) for each in (part, getattr(state, name)))
        same = one.shape == other.shape and np.allclose(one, other, rtol=1e-9, atol=1e-9, equal_nan=True)
        text = "{}, update and undo of a report of arms {} changed {} of the state from {} to {}"
        require(same, "late states", text, where, told.arms, name, one, other)


def _reversed(told: Feedback) -> Feedback:
    pulls, squares = (None if part is None else part[::-1] for part in (told.pulls, told.squares))
    return Feedback(told.arms[::-1], told.outcomes[::-1], pulls=pulls, squares=squares)


def check_late_resuming(subject: Subject) -> Finding:
    """Check that a run that is saved or copied shortly before its stop ends like the run without this."""
    tried = 0
    for run in late_runs(subject):
        watch = Stopwatch()
        for number, before in enumerate(_SAVED):
            moment = run.latest(before)
            if moment is None or len(run.asked) - moment.number > _LONGEST:
                continue
            if number >= _AT_LEAST and watch.seconds() > _SHARE * subject.seconds:
                break
            for way, (state, rng) in _returned(subject, moment):
                _require_same_end(subject, run, moment.number, state, rng, way)
                tried += 1
    return Finding(f"{tried} runs continued")


def _returned(subject: Subject, moment: Moment) -> Iterator[tuple[str, tuple[Any, np.random.Generator]]]:
    """Yield copies of a state and a generator, and the way in which they were made."""
    yield "copied", moment.restored()
    session: Session[Any] = Session(subject.explorer, rng=0)
    session.state, session.rng = moment.restored()
    loaded = Session.load(session.to_bytes(), session.policy)
    yield "saved to a file and loaded", (loaded.state, loaded.rng)


def _require_same_end(
    subject: Subject, run: Run, number: int, state: Any, rng: np.random.Generator, way: str
) -> None:
    """Raise ``AssertionError`` unless a run continues from a state as it did before."""
    explorer = subject.explorer
    text = "a run was {} after {} of {} requests; request {} was then {} instead of {}"
    for place in range(number, len(run.asked)):
        wanted = (run.asked[place][0].tolist(), run.asked[place][1])
        if explorer.is_done(state):
            require(False, "late resuming", text, way, number, len(run.asked), place, "a stop", wanted)
        found = (entries(explorer.select(state, rng)).tolist(), int(explorer.pulls(state)))
        require(found == wanted, "late resuming", text, way, number, len(run.asked), place, found, wanted)
        explorer.update(state, run.told[place], Ticket(place, run.asked[place][0].copy(), wanted[1]), rng)
    ends = [
        (bool(explorer.is_done(one)), np.array(explorer.recommend(one)).tolist()) for one in (state, run.end)
    ]
    text = "a run was {} after {} of {} requests; at its end, is_done and the answer were {} instead of {}"
    require(ends[0] == ends[1], "late resuming", text, way, number, len(run.asked), *ends)


def check_answers(subject: Subject) -> Finding:
    """Check that the answer at a stop has the number of arms that the goal demands, also if means tie."""
    explorer, tried = subject.explorer, 0
    size = demanded(explorer.goal)
    for run in (*late_runs(subject), *tied_runs(subject)):
        if not run.has_stopped:
            continue
        answer = np.array(explorer.recommend(run.end))
        try:
            require_answer(answer, explorer.n_arms)
        except AssertionError as error:
            require(False, "answers", "at the stop in {}, {}", run.name, error)
        text = "at the stop in {}, recommend returned {}, but the goal {} demands {} arms; break ties"
        good = size is None or len(answer) == size
        require(good, "answers", text, run.name, answer, explorer.goal, size)
        if isinstance(explorer.goal, BestSuperArm):
            text = "at the stop in {}, recommend returned {}, which is no feasible super arm"
            require(explorer.goal.oracle.is_feasible(answer), "answers", text, run.name, answer)
        tried += 1
    return Finding(f"{tried} stops, {'of a demanded size' if size else 'of any size'}")


def check_comparisons(subject: Subject) -> Finding:
    """Check that at a certified stop the answer is correct for all means within the intervals.

    Explorers that drop arms compare the intervals at that time, and rarely, those at the stop overlap. The
    check therefore fails only if they do at most of several stops.
    """
    explorer, goal, runs = subject.explorer, subject.explorer.goal, late_runs(subject)
    if goal is None or not runs[0].asked or explorer.intervals(runs[0].end) is None:
        return Finding("not tried: the explorer declares no goal or has no `intervals`")
    stops, wrong, bad = 0, 0, runs[0]
    for run in chain(runs, (further_run(subject, seed) for seed in range(1, _FURTHER + 1))):
        if not wrong and run not in runs:
            break
        if run.has_stopped and explorer.is_certified(run.end):
            answer = np.array(explorer.recommend(run.end), np.int64)
            stops += 1
            if not goal.is_correct(answer, _worst(subject, run)):
                wrong, bad = wrong + 1, run
    if not wrong or stops < _STOPS:
        return Finding(f"{stops} certified stops, {wrong} of them with intervals that allow other answers")
    lower, upper = (np.asarray(end) for end in explorer.intervals(bad.end) or ())
    text = (
        "{} of {} stops are certified, although the intervals allow other answers, such as after {} requests"
        " with the answer {}, lower bounds {} and upper bounds {}. intervals must return the bounds that the"
        " stopping rule compares, and a stop for another reason must not be certified"
    )
    told = (wrong, stops, len(bad.asked), explorer.recommend(bad.end), lower, upper)
    require(2 * wrong <= stops, "comparisons", text, *told)
    return Finding(f"{stops} certified stops, {wrong} of them with intervals that allow other answers")


def _worst(subject: Subject, run: Run) -> FloatArray:
    """Return the means within the intervals that are the worst for the answer, up to rounding."""
    lower, upper = (np.array(end, np.float64) for end in subject.explorer.intervals(run.end) or ())
    answer = np.array(subject.explorer.recommend(run.end), np.int64)
    means = upper - _TOLERANCE * (1 + np.abs(upper))
    means[answer] = lower[answer]
    finite: FloatArray = np.nan_to_num(means, posinf=1e300, neginf=-1e300)
    return finite
