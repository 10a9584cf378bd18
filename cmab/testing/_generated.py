"""Checks of generated sequences of calls and of generated means, whose counterexamples are shrunk.

Thorough checks use Hypothesis. Quick checks, and all checks if Hypothesis is not installed, draw sequences
and means at random and shrink by omitting calls and by simplifying numbers.
"""

from __future__ import annotations

import copy
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from cmab.campaign.campaign import Campaign
from cmab.explorer import Explorer
from cmab.session import Session
from cmab.statistics import ArmStatistics, alike
from cmab.testing._checks import Finding
from cmab.testing._comparisons import Stopwatch
from cmab.testing._oracle_subject import TOLERANCE, key
from cmab.testing._policy_resuming import resumed
from cmab.testing._process_copies import THOROUGH
from cmab.testing.common import require

_CALLS = (
    "ask",
    "ask",
    "ask",
    "tell the oldest",
    "tell the newest",
    "cancel",
    "save and load",
    "pickle",
    "look",
)
_EVENTS = ("ask", "ask", "tell the oldest", "tell the newest", "cancel", "correct", "undo", "reopen")
_LONGEST, _MOST_OPEN, _MOST_ARMS = 30, 4, 40
_EXAMPLES = 40
#: Calls after which the session must be as if they had not been made.
_SILENT = ("save and load", "pickle", "look")


def check_sequences(subject: Any) -> Finding:
    """Check that ask, tell, cancel, save and load in any order give the same answers as without saving."""

    def examine(calls: list[str]) -> None:
        try:
            plain = _session(subject, [call for call in calls if call not in _SILENT])
            other = _session(subject, calls)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"sequences: the calls {calls} raised {error!r}") from error
        text = "the calls {} gave {} instead of {} without the saving, copying and looking"
        for one, two in zip(plain, other, strict=True):
            require(alike(one, two), "sequences", text, calls, two, one)

    tried = _generate(subject, _CALLS, examine)
    journals = _campaigns(subject) if _learner(subject).kept_in_journals else 0
    return Finding(f"{tried} sequences of calls of a session, {journals} of a campaign")


class _learner:
    def __init__(self, subject: Any) -> None:
        self.is_explorer = hasattr(subject, "explorer")
        self.thing = subject.explorer if self.is_explorer else subject.policy
        self.place = subject.environment if self.is_explorer else subject.place
        self.seed = subject.rng
        # A campaign needs names and takes time, so that only thorough checks keep journals.
        self.kept_in_journals = subject.seconds >= THOROUGH and self.place.context is None

    def feedback(self, ticket: Any, times: int = 0) -> Any:
        rng = np.random.default_rng((self.seed, 51, ticket.number, times))
        if self.is_explorer:
            return self.place.sample(ticket.super_arm.copy(), ticket.pulls, rng)
        return self.place.play(ticket.super_arm.copy(), rng)


def _session(subject: Any, calls: list[str]) -> tuple[Any, ...]:
    """Return all super arms of a session and its statistics after the calls."""
    learner = _learner(subject)
    session: Session[Any] = Session(learner.thing, rng=learner.seed)
    asked: list[Any] = []
    waiting: list[Any] = []
    for call in calls:
        if (
            call == "ask"
            and len(waiting) < (1 if learner.is_explorer else _MOST_OPEN)
            and not session.is_done
        ):
            waiting.append(session.ask(learner.place.context))
            asked.append(waiting[-1].super_arm.copy())
        elif call.startswith("tell") and waiting:
            ticket = waiting.pop(0 if "oldest" in call else -1)
            session.tell(learner.feedback(ticket), ticket.number)
        elif call == "cancel" and waiting:
            session.cancel(waiting.pop(0).number)
        elif call == "save and load":
            session = resumed(session)
        elif call == "pickle":
            session = pickle.loads(pickle.dumps(session))
        elif call == "look" and not session.is_done:
            _look(learner, session)
    return asked, _told(session.state), list(session.pending)


def _look(learner: _learner, session: Session[Any]) -> None:
    rng = copy.deepcopy(session.rng)
    if isinstance(learner.thing, Explorer):
        learner.thing.select(session.state, rng)
    else:
        learner.thing.select(session.state, rng, learner.place.context)


def _told(state: Any) -> tuple[Any, ...]:
    if not isinstance(state, ArmStatistics):
        return ()
    return (state.counters.copy(), state.means.copy(), state.rounds)


def _campaigns(subject: Any) -> int:
    """Compare campaigns after generated events with campaigns that are read from the journal."""

    def examine(calls: list[str]) -> None:
        learner = _learner(subject)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "journal.jsonl"
            campaign = Campaign(learner.thing, path, rng=learner.seed)
            waiting: list[Any] = []
            closed: list[Any] = []
            for number, call in enumerate(calls):
                if call == "ask" and not waiting and not campaign.is_done:
                    waiting.append(campaign.ask().ticket)
                elif call.startswith("tell") and waiting:
                    closed.append(waiting.pop())
                    campaign.tell(learner.feedback(closed[-1]), closed[-1])
                elif call == "cancel" and waiting:
                    campaign.cancel(waiting.pop())
                elif call == "correct" and closed:
                    campaign.correct(learner.feedback(closed[-1], number), closed[-1])
                elif call == "undo" and closed:
                    before = _told(campaign.session.state)
                    campaign.correct(learner.feedback(closed[-1], number), closed[-1])
                    campaign.undo()
                    now = _told(campaign.session.state)
                    text = "after the events {}, a correction that was undone left {} instead of {}"
                    require(alike(before, now), "sequences", text, calls, now, before)
                elif call == "reopen":
                    campaign = Campaign(learner.thing, path)
            again, here = Campaign(learner.thing, path), _told(campaign.session.state)
            text = "after the events {}, the campaign has {}, but {} when it is read from its journal"
            there = _told(again.session.state)
            require(alike(here, there), "sequences", text, calls, here, there)

    return _generate(subject, _EVENTS, examine, 15)


@contextmanager
def _without_sync() -> Iterator[None]:
    """Let files be written without waiting for the disk, because no test here ends the process."""
    kept = os.fsync
    os.fsync = lambda fd: None  # noqa: ARG005
    try:
        yield
    finally:
        os.fsync = kept


def check_generated(subject: Any) -> Finding:
    """Check that answers to generated means are feasible and satisfy the guarantee, and shrink the others."""
    oracle, n = subject.oracle, subject.oracle.n_arms
    if n > _MOST_ARMS or subject.family is None:
        return Finding("not tried: there are too many arms, or the super arms are not known")
    is_sure = oracle.beta == 1.0 and oracle.alpha == oracle.alpha

    def examine(numbers: list[float]) -> None:
        means = np.array(numbers)
        answer = subject.answer(means)
        text = "the answer {} to means {} is not one of the super arms"
        require(key(answer) in subject.members, "generated", text, answer, means)
        if not is_sure:
            return
        worths = subject.worths(means)
        best = float(worths.max() if oracle.sense == "max" else worths.min())
        value = float(oracle.expected_reward(answer, means))
        missed = (oracle.alpha * best - value) * oracle.sign
        text = "for means {} the answer {} has reward {:.9g}, but the best super arm {:.9g}; alpha={:g}"
        good = missed <= TOLERANCE * (1 + abs(value))
        require(good, "generated", text, means, answer, value, best, oracle.alpha)

    ends = (subject.low, subject.high, (subject.low + subject.high) / 2)
    tried = _generate(subject, ends, examine, size=n, between=(subject.low, subject.high))
    return Finding(f"{tried} generated means")


def _generate(
    subject: Any,
    values: tuple[Any, ...],
    examine: Callable[[Any], None],
    examples: int = _EXAMPLES,
    size: int | None = None,
    between: tuple[float, float] | None = None,
) -> int:
    """Call `examine` with generated lists until the time is over, and return their number."""
    tried, least = 0, 10 if getattr(subject, "cost", 0.0) < 0.003 else 8
    is_thorough = subject.seconds >= THOROUGH
    examples = 10 * examples if is_thorough else examples

    def timed(items: list[Any]) -> None:
        nonlocal tried
        # Once the time is over, all lists pass. A failing list is still shrunk.
        if watch.seconds() < (0.3 if tried < least else 0.05) * subject.seconds or failed:
            tried += 1
            try:
                with _without_sync():
                    examine(items)
            except AssertionError:
                failed.append(items)
                raise

    failed: list[Any] = []
    watch = Stopwatch()
    # The import of Hypothesis takes longer than a quick check.
    if not is_thorough or find_spec("hypothesis") is None:
        for items in _drawn(subject, values, examples, size, between):
            try:
                timed(items)
            except AssertionError:
                timed(_shrunk(subject, items, values, timed, size))
                raise  # the shorter list did not fail again
        return tried
    from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
    from hypothesis import strategies as st

    element = st.sampled_from(values)
    each: Any = element if between is None else element | st.floats(*between)
    lists = st.lists(each, min_size=size or 1, max_size=size or _LONGEST)
    chosen = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    watch = Stopwatch()  # without the time of the import
    seed(subject.rng)(chosen(given(lists)(timed)))()
    return tried


def _drawn(
    subject: Any,
    values: tuple[Any, ...],
    examples: int,
    size: int | None,
    between: tuple[float, float] | None,
) -> Iterator[list[Any]]:
    """Yield random lists of the values, or of the values and of numbers between two ends."""
    rng = np.random.default_rng((subject.rng, 52))
    for number in range(examples):
        length = size or int(rng.integers(1, _LONGEST + 1))
        items = [values[i] for i in rng.integers(len(values), size=length)]
        if between is not None and number % 2:
            others = rng.uniform(*between, length).tolist()
            items = [one if rng.random() < 0.5 else other for one, other in zip(items, others, strict=True)]
        yield items


def _shrunk(
    subject: Any,
    items: list[Any],
    values: tuple[Any, ...],
    examine: Callable[[Any], None],
    size: int | None,
) -> list[Any]:
    """Return a list that fails as well, with fewer items or, if the size is fixed, with simpler ones."""
    watch, position = Stopwatch(), 0
    while position < len(items) and watch.seconds() < subject.seconds:
        others = [items[:position] + items[position + 1 :]] if size is None and len(items) > 1 else []
        if items[position] not in values:
            others += [[*items[:position], value, *items[position + 1 :]] for value in values]
        failing = next((other for other in others if _fails(examine, other)), None)
        if failing is None or len(failing) == len(items):
            position += 1
        items = items if failing is None else failing
    return items


def _fails(examine: Callable[[Any], None], items: list[Any]) -> bool:
    try:
        examine(items)
    except AssertionError:
        return True
    return False
