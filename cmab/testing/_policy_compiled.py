"""The check that the compiled rules of a policy agree with its methods: indices, their laws, and learning."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.compiled import compiled_form
from cmab.policy import IndexPolicy
from cmab.statistics import ArmStatistics
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._policy_subject import Subject
from cmab.testing._policy_written import indices_of, is_plain, rare
from cmab.testing._statistics import same_law

_ROUNDS, _TOLERANCE = 60, 1e-9
#: The rounds after which laws of random indices are compared, the draws of each, and the level.
_LAWS, _DRAWS, _LEVEL = (2, 20, 59), 200, 1e-10


def check_compiled(subject: Subject) -> Finding:
    """Check that the compiled rules write the same indices and memory as `indices` and `update`."""
    policy: Any = subject.policy
    form = compiled_form(policy) if isinstance(policy, IndexPolicy) else None
    if form is None or not hasattr(form, "is_random"):
        return Finding("not tried: the policy has no compiled rule of indices")
    if type(policy.initial_state(np.random.default_rng(0))) is not ArmStatistics:
        return Finding("not tried: the state is not an ArmStatistics")
    learned = _check_learning(subject, form)
    if form.is_random:
        tests = sum(_check_laws(subject, state, number) for number, state in enumerate(_played(subject)))
        return Finding(f"{tests} laws of indices{learned}", tests * _LEVEL)
    tried = 0
    for state in _states(subject):
        expected, found = indices_of(policy, state, 0), _written(form, state, 0)
        text = "for counts {}, means {} and round {}, `indices` returned {}, but the compiled rule wrote {}"
        slack = _TOLERANCE * (1 + np.abs(np.where(np.isfinite(expected), expected, 0.0)))
        with np.errstate(invalid="ignore"):
            same = (expected == found) | (np.abs(expected - found) <= slack)
        told = (state.counters, state.means, state.rounds + 1, expected, found)
        require(same.all(), "compiled", text, *told)
        if tried < _ROUNDS:
            _check_selection(subject, state, found)
        tried += 1
    return Finding(f"{tried} states{learned}")


def _check_selection(subject: Subject, state: Any, indices: FloatArray) -> None:
    """Check that a `select` of the class itself returns the super arm that the compiled loop plays."""
    policy: Any = subject.policy
    owner = next(cls for cls in type(policy).__mro__ if "select" in vars(cls))
    if owner is IndexPolicy or subject.place.context is not None or not np.isfinite(indices).all():
        return
    chosen = subject.select(policy, copy.deepcopy(state), np.random.default_rng(0))
    answer = np.array(policy.oracle.solve(indices.copy(), np.random.default_rng(0)))
    reward = policy.oracle.expected_reward
    one, other = (float(reward(arms, indices.copy())) for arms in (chosen, answer))
    text = "for counts {} and means {}, `select` returned {}, but the compiled loop plays {}"
    same = abs(one - other) <= _TOLERANCE * (1 + abs(other))
    require(same, "compiled", text, state.counters, state.means, chosen, answer)


def _written(form: Any, state: ArmStatistics, seed: int) -> FloatArray:
    """Return the indices that the compiled rule writes. Rounds are numbered from 1."""
    told = (state.counters.copy(), state.means.copy(), state.deviations.copy(), state.memory.copy())
    found = np.empty(len(state.means))
    form.function(*told, state.rounds + 1, form.reals.copy(), np.random.default_rng(seed), found)
    return found


def _played(subject: Subject) -> Iterator[Any]:
    for _, _, state in subject.game(subject.policy, subject.place, subject.rng, rounds=_ROUNDS):
        yield copy.deepcopy(state)


def _states(subject: Subject) -> Iterator[Any]:
    """Yield the states of a run and, if the state is plain, rare ones."""
    yield from _played(subject)
    if is_plain(subject):
        for state in rare(subject):
            if state.counters.max() < 10**9:
                yield state


def _check_laws(subject: Subject, state: Any, number: int) -> int:
    """Compare the laws of the indices of some arms between `indices` and the compiled rule."""
    if number not in _LAWS:
        return 0
    policy: Any = subject.policy
    form, n = compiled_form(policy), len(state.means)
    ours = np.array([indices_of(policy, state, seed) for seed in range(_DRAWS)])
    theirs = np.array([_written(form, state, _DRAWS + seed) for seed in range(_DRAWS)])
    arms = range(0, n, max(1, n // 5))
    for arm in arms:
        text = (
            "after {} rounds, the index of arm {} with {} outcomes has the average {:.4g} in `indices`, but"
            " {:.4g} in the compiled rule, and another law"
        )
        told = (number + 1, arm, state.counters[arm], ours[:, arm].mean(), theirs[:, arm].mean())
        require(same_law(ours[:, arm], theirs[:, arm]) > _LEVEL, "compiled", text, *told)
    return len(arms)


def _check_learning(subject: Subject, form: Any) -> str:
    """Compare the memory after `update` with that after the compiled learning rule, if there is one."""
    policy: Any = subject.policy
    owner = next(cls for cls in type(policy).__mro__ if "update" in vars(cls))
    if form.learning is None and owner is IndexPolicy:
        return ""
    state, rng = policy.initial_state(np.random.default_rng(0)), np.random.default_rng((63, subject.rng))
    for number in range(_ROUNDS):
        super_arm = subject.select(policy, state, rng)
        told = subject.place.play(super_arm.copy(), rng)
        memory, other = state.memory.copy(), copy.deepcopy(state)
        stream = np.random.default_rng(number)
        before = stream.bit_generator.state
        subject.learn(state, super_arm, told, stream)
        if stream.bit_generator.state != before:
            return ", not of learning, which draws random numbers"
        other.update(told)
        if form.learning is not None:
            form.learning(told.arms, len(told.arms), told.outcomes, other.rounds, form.reals.copy(), memory)
        for name, one, two in (
            ("memory", state.memory, memory),
            ("counters", state.counters, other.counters),
            ("means", state.means, other.means),
        ):
            text = (
                "after round {} and outcomes {} of arms {}, `update` left the {} {}, but the compiled loop {}"
            )
            same = np.allclose(one, two, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True)
            require(same, "compiled", text, number + 1, told.outcomes, told.arms, name, one, two)
    return f", and {_ROUNDS} rounds of learning"
