"""The check that answers do not depend on earlier calls in the same process."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from cmab.saving._digest import pickled
from cmab.testing._checks import Finding
from cmab.testing._oracle_process import in_fresh_process
from cmab.testing._process_copies import THOROUGH
from cmab.testing._process_instances import _for_other, _rebuilt
from cmab.testing._process_state import kept_settings
from cmab.testing._shared_state import changed_state
from cmab.testing._trials import (
    Answer,
    Steps,
    Trial,
    environment_steps,
    explorer_steps,
    oracle_steps,
    policy_steps,
    prepared,
    rounds_in_order,
)

_OTHERS, _ROUNDS, _PROBLEMS = 2, 20, 10
_SEED = 1000


class Job(NamedTuple):
    """A run of an object, or of an object that is pickled."""

    thing: Any
    steps: Steps
    arguments: tuple[Any, ...]
    may_raise: bool


def check_history(subject: Any) -> Finding:
    """Check that answers do not depend on earlier runs of the object or of another instance of its class."""
    trial = prepared(subject)
    if trial.untouched is None:
        return Finding("not tried: the object cannot be pickled")
    written = changed_state(trial.thing)
    if not written and subject.seconds < THOROUGH:
        return Finding("no call changed a variable of a class, a module or a closure")
    given = chain(getattr(subject, "others", ()), _rebuilt(trial.thing))
    others = [other for other in islice(given, _OTHERS + 2) if _can_pickle(other)][:_OTHERS]
    jobs = [_job(_for_other(trial, other), other, True) for other in others]
    jobs.append(_job(trial, trial.thing, False))
    made = [*map(pickled, others), trial.untouched]
    # In this process, the object answered other questions first. There, the other instances answer first, and
    # oracles answer in reverse order.
    here = answers_of_all(jobs, False)
    # Classes of notebooks are pickled with their attributes, hence the objects from before the first call.
    sent = [job._replace(thing=one) for job, one in zip(jobs, made, strict=True)]
    there = in_fresh_process("history", answers_of_all, sent, True)
    named = f" (calls in this process changed {', '.join(written[:3])})" if written else ""
    for thing, ours, theirs in zip([*others, trial.thing], here, there, strict=True):
        where = f"in a process without earlier runs{named}, for {thing!r}"
        Trial.require_equal(ours, theirs, "history", where)
    text = f"{sum(map(len, here))} calls of {len(jobs)} objects in a process without earlier runs"
    return Finding(text + named)


def _can_pickle(thing: Any) -> bool:
    try:
        return bool(pickled(thing))
    except Exception:
        return False


def _job(trial: Trial, thing: Any, may_raise: bool) -> Job:
    """Return a run with other questions than those of the trial."""
    steps, arguments = trial.steps, trial.arguments
    if steps is oracle_steps:
        return Job(thing, oracle_history, (_variants(arguments[0]),), may_raise)
    if steps is environment_steps:
        return Job(thing, environment_history, arguments, may_raise)
    environment, seed = arguments
    return Job(thing, _SESSIONS[steps], (environment, seed + _SEED), may_raise)


def answers_of_all(jobs: list[Job], is_fresh: bool) -> list[list[Answer]]:
    """Return the answers of all objects, one after the other."""
    found = []
    for job in jobs:
        answers: list[Answer] = []
        try:
            with kept_settings():
                thing = pickle.loads(job.thing) if is_fresh else job.thing
                answers.extend(job.steps(thing, *job.arguments, is_fresh))
        except Exception:  # the other instance may not fit the problems
            if not job.may_raise:
                raise
        found.append(answers)
    return found


def oracle_history(oracle: Any, problems: list[Any], is_fresh: bool) -> Iterator[Answer]:
    """Yield the answers to all problems, which a fresh process solves in reverse order."""
    asked = problems[::-1] if is_fresh else problems
    answers = [_answer(oracle, means) for means in asked]
    yield from answers[::-1] if is_fresh else answers


def _answer(oracle: Any, means: Any) -> Answer:
    try:
        return next(oracle_steps(oracle, [means]))
    except Exception as error:  # means in another order may be rejected
        return f"solve for means {means}", type(error).__name__


def _variants(problems: list[Any]) -> list[Any]:
    """Return problems that an incomplete key confuses: in another order, or nearly the same."""
    found = []
    for means in problems[:_PROBLEMS]:
        found += [means, means[::-1].copy(), np.sort(means), 0.999 * means + 0.001 * means.mean()]
    return found


def environment_history(
    environment: Any,
    super_arms: list[Any],
    arms: Any,
    is_fresh: bool,
) -> Iterator[Answer]:
    """Yield the rounds of a replication, and the plays and pulls of some seeds."""
    yield from rounds_in_order(environment, super_arms, _SEED, _ROUNDS)
    for seed in range(_SEED, _SEED + 4):
        for super_arm in super_arms:
            shown = environment.play(super_arm.copy(), np.random.default_rng(seed))
            told = (np.array(shown.arms), np.array(shown.outcomes), float(shown.reward))
            yield f"play({super_arm.tolist()}) with seed {seed}", told
        if len(arms):
            pulls = np.array(environment.pull(arms.copy(), np.random.default_rng(seed)))
            yield f"pull with seed {seed}", (pulls,)


def policy_history(policy: Any, environment: Any, seed: int, is_fresh: bool) -> Iterator[Answer]:
    """Yield the answers of a session with another seed."""
    yield from policy_steps(policy, environment, seed)


def explorer_history(explorer: Any, environment: Any, seed: int, is_fresh: bool) -> Iterator[Answer]:
    """Yield the answers of a session with another seed."""
    yield from explorer_steps(explorer, environment, seed)


_SESSIONS: dict[Steps, Steps] = {policy_steps: policy_history, explorer_steps: explorer_history}
