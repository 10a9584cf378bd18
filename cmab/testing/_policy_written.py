"""States with given counts and means of each arm, written into a new state of a policy."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sized
from contextlib import suppress
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.policy import IndexPolicy
from cmab.statistics import ArmStatistics
from cmab.testing._policy_own import own_parts, write
from cmab.testing._policy_subject import Subject

_STATES = 60
#: Attributes of every policy, apart from its parameters.
_KNOWN = (
    "oracle",
    "_reals",
    "forms",
    "stale_forms",
    "_abc_impl",
    "_takes",
    "memory_parameters",
    "understood",
)


def is_plain(subject: Subject) -> bool:
    """Return whether statistics can be written into the state without contradicting other data."""
    state = subject.policy.initial_state(np.random.default_rng(0))
    return type(state) is ArmStatistics and not len(state.memory) and subject.place.context is None


def can_write(subject: Subject) -> bool:
    """Return whether `written` makes states: plain statistics, or own counts and means of each arm."""
    state = subject.policy.initial_state(np.random.default_rng(0))
    return is_plain(subject) or (not isinstance(state, ArmStatistics) and own_parts(subject) is not None)


def written(subject: Subject, counts: Any, fractions: Any, spread: float = 1.0) -> Any:
    """Return a state with these counts and means, given as fractions of the support."""
    state: Any = subject.policy.initial_state(np.random.default_rng(0))
    if not isinstance(state, ArmStatistics):
        n_arms = subject.policy.oracle.n_arms
        return write(subject, np.zeros(n_arms) + counts, np.zeros(n_arms) + fractions)
    (low, high), fractions = subject.support, np.asarray(fractions, np.float64)
    state.counters[:] = counts
    state.means[:] = np.where(state.counters > 0, low + (high - low) * fractions, 0.0)
    state.deviations[:] = spread * state.counters * fractions * (1 - fractions) * (high - low) ** 2
    state.rounds = min(int(state.counters.sum()), 2**53)
    return state


def rare(subject: Subject) -> Iterator[Any]:
    """Yield states with counts from 0 to ``2**40`` and means at the ends, in the middle and between."""
    n, rng = subject.policy.oracle.n_arms, np.random.default_rng((34, subject.rng))
    for number in range(_STATES):
        top = (1, 2, 10, 1000, 10**6, 10**9, 2**40)[number % 7]
        counts = (
            rng.integers(0, top, n, endpoint=True) if number % 2 else rng.choice(np.array([0, 1, top]), n)
        )
        ends = rng.choice(np.array([0.0, 0.5, 1.0]), n)
        fractions = ends if number % 3 else np.where(rng.random(n) < 0.5, ends, rng.random(n))
        with suppress(OverflowError):  # an own state with small integers
            yield written(subject, counts, fractions, spread=float(number % 4 != 0))


def indices_of(policy: Any, state: ArmStatistics, seed: int) -> FloatArray:
    """Return the indices of a copy of a state, for a seed."""
    return np.array(policy.indices(copy.deepcopy(state), np.random.default_rng(seed)), np.float64)


def tells_arms_apart(subject: Subject) -> str:
    """Return why indices may depend on more than the statistics of each arm, or ''."""
    policy = subject.policy
    if not isinstance(policy, IndexPolicy) or not is_plain(subject) or not policy.learns:
        return "not tried: the policy has no indices of plain statistics"
    named = named_data(subject)
    return f"not tried: `{named}` may tell arms apart" if named else ""


def named_data(subject: Subject) -> str:
    """Return the name of an attribute of the policy that may hold a number for each arm, or ''."""
    policy, n_arms = subject.policy, subject.policy.oracle.n_arms
    named = dict(vars(policy))
    for cls in type(policy).__mro__:
        if cls.__module__.split(".")[0] not in ("builtins", "abc", "cmab", "typing"):
            named |= {name: part for name, part in vars(cls).items() if not name.startswith("__")}
    for name, part in named.items():
        is_number = part is None or isinstance(part, bool | int | float | str | np.number)
        is_short = isinstance(part, Sized) and len(part) < n_arms
        is_method = callable(part) or hasattr(part, "__get__")
        if name not in _KNOWN and not (is_number or is_short or is_method):
            return str(name)
    return ""
