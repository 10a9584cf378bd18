"""Checks that the super arms of a policy depend only on its state, the feedback and the generator."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.feedback import Feedback
from cmab.saving._digest import content
from cmab.session import Session
from cmab.statistics import ArmStatistics
from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require, require_same
from cmab.testing._contents import differing, parts
from cmab.testing._memory import growth
from cmab.testing._own_generators import require_no_own_streams
from cmab.testing._policy_late import check_own_credit
from cmab.testing._policy_learning import loss_of_learning
from cmab.testing._policy_parts import of_each_arm
from cmab.testing._policy_subject import Subject
from cmab.testing._surroundings import global_state, kept_generators, later, seed_generators
from cmab.testing._trials import prepared

#: Rounds in which generators of the policy itself are looked for.
_OWN = 60


def play(subject: Subject) -> list[IntArray]:
    """Return the super arms of a session."""
    session = Session(subject.policy, rng=subject.rng)
    coins = np.random.default_rng(subject.rng)
    played = []
    for _ in range(subject.rounds):
        ticket = session.ask(subject.place.context)
        session.tell(subject.place.play(ticket.super_arm, coins))
        played.append(ticket.super_arm)
    return played


def _require_same_games(first: list[IntArray], second: list[IntArray], fault: str, what: str) -> None:
    for number, (one, other) in enumerate(
        zip(first, second, strict=False)
    ):  # either run may be shorter because of the time limit
        require_same(one, other, fault, what + " in round {}", number)


def check_determinism(subject: Subject) -> Finding:
    """Check that the same seed gives the same run, whatever was played before."""
    assert subject.untouched  # pickles the policy before its first round
    first, second = (subject.policy.initial_state() for _ in range(2))
    strange = set(differing(parts(first), parts(first)))
    drawn = [name for name in differing(parts(first), parts(second)) if name not in strange]
    text = "initial_state() without rng must draw nothing, but {} differ between two calls"
    require(not drawn, "determinism", text, ", ".join(f"state{name}" for name in drawn))
    for first, second in zip(play(subject), play(subject), strict=True):
        require_same(first, second, "determinism", "the same seed")
    game = subject.timed(subject.game(subject.policy, subject.environment, subject.rng))
    again = [arm for arm, _, _ in game]
    _require_same_games(subject.long_game, again, "determinism", "the same seed")
    return Finding(f"{len(again)} rounds")


def check_feasibility(subject: Subject) -> Finding:
    """Check that every super arm is feasible."""
    oracle = subject.policy.oracle
    for number, super_arm in enumerate(subject.long_game):
        distinct = len(np.unique(super_arm)) == len(super_arm)
        inside = len(super_arm) == 0 or 0 <= super_arm.min() <= super_arm.max() < oracle.n_choices
        feasible = distinct and inside and subject.is_super_arm(super_arm)
        require(
            feasible,
            "feasibility",
            "super arm {} in round {} is not feasible for {!r}",
            super_arm,
            number,
            oracle,
        )
    return Finding(f"{len(subject.long_game)} rounds")


def check_state(subject: Subject) -> Finding:
    """Check that `select`, `is_done` and `propensity` keep the state unchanged, and a run the policy."""
    session, context = Session(subject.policy, rng=subject.rng), subject.place.context
    coins = np.random.default_rng(subject.rng)
    prepared(subject)  # computes parameters that are derived at the first use
    parameters = content(subject.policy)
    # Parts that are pickled into other bytes each time cannot be compared.
    strange = set(differing(parts(session.state), parts(session.state)))
    for _ in range(subject.rounds):
        # Compare the object with itself, because an equal copy may be pickled into other bytes.
        before = parts(session.state)
        chosen = entries(subject.policy.select(session.state, copy.deepcopy(session.rng), context))
        subject.policy.is_done(session.state)
        subject.policy.propensity(session.state, chosen, context)
        changed = [name for name in differing(before, parts(session.state)) if name not in strange]
        text = "select, is_done and propensity must leave the state unchanged, but changed {}"
        require(not changed, "state", text, ", ".join(f"state{name}" for name in changed))
        ticket = session.ask(context)
        session.tell(subject.place.play(ticket.super_arm, coins))
    require(content(subject.policy) == parameters, "state", "a run must not change the policy")
    skipped = ", ".join(f"state{name}" for name in sorted(strange))
    unsaid = f"; not compared, because every pickle differs: {skipped}" if skipped else ""
    return Finding(f"{subject.rounds} rounds{unsaid}")


def check_late_feedback(subject: Subject) -> Finding:
    """Check that feedback in any order is accepted, and changes the numbers of the same arms as in order."""
    session, coins = Session(subject.policy, rng=subject.rng), np.random.default_rng(subject.rng)
    for _ in range(3):
        tickets = [session.ask(subject.place.context) for _ in range(4)]
        batch = [(ticket, subject.place.play(ticket.super_arm, coins)) for ticket in tickets]
        state, rng = copy.deepcopy(session.state), np.random.default_rng(subject.rng)
        in_order = sum(
            _changes(state, partial(subject.policy.update, state, feedback, ticket, rng))
            for ticket, feedback in batch
        )
        late = sum(
            _changes(session.state, partial(session.tell, feedback, ticket))
            for ticket, feedback in batch[::-1]
        )
        text = "of 4 tickets, {} changed the statistics when reported in reverse order, but {} in order"
        require(late >= in_order, "late feedback", text, late, in_order)
    require(not session.pending, "late feedback", "all tickets were reported, but some are still pending")
    return Finding(f"12 tickets, and {check_own_credit(subject)} pairs of pending tickets")


def _changes(state: Any, tell: Callable[[], None]) -> bool:
    """Call `tell` and return whether it changed the state (of `ArmStatistics`: the counters)."""

    def known() -> bytes:
        return content(state.counters if isinstance(state, ArmStatistics) else state)

    before = known()
    tell()
    return known() != before


def check_memory(subject: Subject) -> Finding:
    """Check that the policy keeps no data of a run outside the state."""
    seed, rounds = subject.rng, min(len(subject.long_game), 200)
    # Two runs take turns with one policy. Data outside their states would make them depend on each other.
    first, other = (
        subject.game(subject.policy, subject.environment, s, rounds=rounds) for s in (seed, seed + 1)
    )
    mixed = [arm for (arm, _, _), _ in zip(first, other, strict=True)]
    _require_same_games(subject.long_game, mixed, "memory", "while another run took turns, the policy")
    # A copy of the policy from before the first round continues with a state from the middle of a run.
    for number, (_, _, state) in enumerate(
        subject.game(subject.policy, subject.environment, seed, rounds=rounds)
    ):
        if number % 20 != 19:
            continue
        known, rng = pickle.dumps(state), 1000 + number
        here, there = (
            subject.select(policy, pickle.loads(known), np.random.default_rng(rng))
            for policy in (subject.policy, subject.copy)
        )
        what = "a new copy of the policy, with the same state after round {},"
        require_same(np.array(here), np.array(there), "memory", what, number)
    return Finding(f"{rounds} rounds")


def check_clock(subject: Subject) -> Finding:
    """Check that the super arms do not depend on the time."""
    with later(subject.policy, subject.policy.oracle):
        played = [
            arm for arm, _, _ in subject.game(subject.policy, subject.environment, subject.rng, rounds=100)
        ]
    _require_same_games(subject.long_game, played, "clock", "half a year later, the same seed")
    return Finding(f"{len(played)} rounds")


def check_global_randomness(subject: Subject) -> Finding:
    """Check that the policy draws from `rng`, not from global generators or its own with fixed seeds."""
    games: list[list[IntArray]] = []
    with kept_generators():
        for seed in (1, 2):
            seed_generators(seed)
            before, games_before = pickle.dumps(global_state()), len(games)
            game = subject.game(subject.policy, subject.environment, subject.rng, rounds=100)
            games.append([arm for arm, _, _ in game])
            touched = before != pickle.dumps(global_state())
            text = "run {} used or seeded a global generator instead of rng"
            require(not touched, "global randomness", text, games_before + 1)
    _require_same_games(games[0], games[1], "global randomness", "another seed of the global generators")
    seeds = require_no_own_streams(subject.policy, partial(_own_game, subject), "global randomness")
    return Finding(f"2 runs of 100 rounds, and {seeds} seeds of own generators")


def _own_game(subject: Subject, seed: int) -> list[Any]:
    """Return the super arms of a run with a first state that depends on no seed."""
    state = subject.policy.initial_state(np.random.default_rng(seed))
    game = subject.game(subject.policy, subject.environment, seed, state, _OWN)
    return [arm.tolist() for arm, _, _ in game]


def check_feedback(subject: Subject) -> None:
    """Check that `update` does not modify the feedback, and that the state does not refer to its arrays."""
    policy, rng = subject.policy, np.random.default_rng(subject.rng)
    state = policy.initial_state(rng)
    for _ in range(30):
        super_arm = subject.select(policy, state, rng)
        feedback = subject.place.play(super_arm, rng)
        arms, outcomes = feedback.arms.copy(), feedback.outcomes.copy()
        given = Feedback(arms.copy(), outcomes.copy(), reward=feedback.reward)
        tried = copy.deepcopy(state)
        subject.learn(tried, super_arm.copy(), given, np.random.default_rng(subject.rng))
        subject.learn(state, super_arm, feedback, rng)
        same = np.array_equal(given.arms, arms) and np.array_equal(given.outcomes, outcomes)
        text = "update must not modify the feedback, but changed {} and {} to {} and {}"
        require(same, "feedback", text, arms, outcomes, given.arms, given.outcomes)
        learned = content(tried)
        given.arms[...], given.outcomes[...] = 0, subject.support[1]
        kept = content(tried) != learned
        require(not kept, "feedback", "the state refers to the arrays of the feedback; update must copy them")


def check_empty_feedback(subject: Subject) -> None:
    """Check that the policy accepts feedback without arms, plays on and still learns."""
    policy, rng = subject.policy, np.random.default_rng(subject.rng)
    # An example is a seed set without outgoing edges.
    nothing = Feedback(np.empty(0, np.int64), np.empty(0), reward=0.0)
    new = dict(of_each_arm(policy.initial_state(np.random.default_rng(subject.rng)), policy.oracle.n_arms))
    for rounds in (0, 20):
        state = policy.initial_state(rng)
        played = list(subject.game(policy, subject.environment, subject.rng, state, rounds))
        known = _known(new, state, policy.oracle.n_arms, played[-1][1].arms) if played else {}
        try:
            subject.learn(state, subject.select(policy, state, rng), nothing, rng)
            super_arm = subject.select(policy, state, rng)
        except Exception as error:
            text = f"empty feedback: after {rounds} rounds, feedback without arms caused {error!r}"
            raise AssertionError(text) from error
        feasible = subject.is_super_arm(super_arm)
        require(
            feasible,
            "empty feedback",
            "the super arm {} after feedback without arms is not feasible",
            super_arm,
        )
        now = dict(of_each_arm(state, policy.oracle.n_arms))
        erased = [name for name in known if name in now and np.array_equal(now[name], new[name])]
        text = "feedback without arms erased `{}` of the state, which was {}; it contains no outcome to learn"
        require(not erased, "empty feedback", text, *((erased[0], known[erased[0]]) if erased else ("", "")))
        lost = loss_of_learning(subject, nothing, rounds)
        text = "after {} rounds and one feedback without arms, the policy {}; skip updates that divide by 0"
        require(not lost, "empty feedback", text, rounds, lost)


def _known(new: dict[str, FloatArray], state: Any, n: int, last: IntArray) -> dict[str, FloatArray]:
    """Return the parts of a state with learned numbers of arms, other than the arms of the last report.

    `new` has the parts of the state before the first round.
    """
    others = np.setdiff1d(np.arange(n), last)
    return {
        name: numbers.copy()
        for name, numbers in of_each_arm(state, n)
        if name in new and len(others) and (numbers[others] != new[name][others]).any()
    }


def check_growth(subject: Subject) -> Finding:
    """Check that a round leaves no more memory than a record of it needs."""
    policy, rng = subject.policy, np.random.default_rng(subject.rng)
    state = policy.initial_state(rng)

    def play_round(number: int) -> None:
        super_arm = subject.select(policy, state, rng)
        subject.learn(state, super_arm, subject.place.play(super_arm, rng), rng)

    left, leak = growth(play_round, policy.oracle.n_arms)
    require(not leak, "growth", "each round leaves {:.0f} bytes in memory", left)
    return Finding(f"{left:.0f} bytes per round")
