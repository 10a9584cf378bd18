"""Checks that the methods of an explorer agree with each other and with its declarations."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from cmab.explorer import Explorer
from cmab.run.identify import compiled_exploration, explore
from cmab.session import Session
from cmab.statistics import ArmStatistics
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._explorer_answers import Moved
from cmab.testing._explorer_claims import hard
from cmab.testing._explorer_runs import Subject

_REQUESTS = 60
_SHAPES = (0, 3, 4)
_RUNS, _SAMPLES = 3, 400
_COUNT = 10**15


def check_steps(subject: Subject) -> Finding:
    """Check that `step` returns no arms if `is_done` is true, and otherwise those of `select`."""
    explorer = subject.explorer
    if type(explorer).step is Explorer.step:
        return Finding("not tried: the class does not override `step`")
    tried = 0
    for place in (subject.environment, *(hard(subject, shape, shape) for shape in _SHAPES)):
        session: Session[Any] = Session(explorer, rng=subject.rng)
        coins = np.random.default_rng((subject.rng, 61))
        for number in range(_REQUESTS):
            states = [copy.deepcopy(session.state) for _ in range(2)]
            found = np.array(explorer.step(states[0], np.random.default_rng(number)), np.int64)
            done = explorer.is_done(states[1])
            expected: Any = [] if done else explorer.select(states[1], np.random.default_rng(number))
            text = "after {} requests, step returned {}, but is_done {} and select {}"
            same = np.array_equal(found, np.array(expected, np.int64))
            require(same, "steps", text, number, found, done, "is not called" if done else expected)
            tried += 1
            if session.is_done:
                break
            ticket = session.ask()
            session.tell(place.sample(ticket.super_arm, ticket.pulls, coins))
    return Finding(f"{tried} states")


def check_ending(subject: Subject) -> Finding:
    """Check that an explorer that declares `is_bounded` ends if all arms are tied."""
    explorer = subject.explorer
    if not explorer.is_bounded:
        return Finding("not tried: the explorer does not declare `is_bounded`")
    state = explorer.initial_state(np.random.default_rng(0))
    if type(state) is not ArmStatistics or len(state.memory):
        return Finding("not tried: the state is not a plain ArmStatistics")
    low, high = explorer.support or subject.environment.support
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = -1.0, 1.0
    for fraction in (0.5, 0.1):
        state.counters[:] = _COUNT
        state.means[:] = low + fraction * (high - low)
        state.deviations[:] = _COUNT * fraction * (1 - fraction) * (high - low) ** 2
        state.rounds = _COUNT
        text = "is_bounded is true, but after {:.0e} outcomes of each arm with equal means the run goes on"
        require(explorer.is_done(state), "ending", text, float(_COUNT))
    return Finding("2 states with tied arms")


def check_compiled(subject: Subject) -> Finding:
    """Check that the compiled loop samples the same arms and gives the same answers as the Python loop."""
    explorer, environment = subject.explorer, subject.environment
    if compiled_exploration(explorer, environment) is None:
        return Finding("not tried: the explorer or the environment has no compiled form")
    most = min(subject.max_samples, _SAMPLES)
    # The same arms without a compiled form.
    in_python = Moved(environment, np.arange(environment.n_arms))
    for run in range(_RUNS):
        seed = np.random.SeedSequence((subject.rng, 62))
        one = explore(explorer, environment, seed, most, run)
        other = explore(explorer, in_python, seed, most, run)
        text = "run {} took {} samples and returned {} in the compiled loop, but {} and {} in the Python loop"
        same = one.samples == other.samples and np.array_equal(one.arms, other.arms)
        require(same, "compiled", text, run, one.samples, one.arms, other.samples, other.arms)
    return Finding(f"{_RUNS} runs of at most {most} samples")
