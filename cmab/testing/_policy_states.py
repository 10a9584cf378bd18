"""Checks of a policy in rare states: extreme statistics, late rounds, constant outcomes, renumbered arms."""

from __future__ import annotations

import copy
import pickle
from contextlib import suppress
from typing import Any

import numpy as np

from cmab.policy import IndexPolicy
from cmab.statistics import ArmStatistics
from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require
from cmab.testing._policy_parts import within
from cmab.testing._policy_subject import Subject
from cmab.testing._policy_written import can_write, indices_of, rare, tells_arms_apart, written
from cmab.testing._statistics import same_law

_GAMES = 60
_DRAWS = 300
_LEVEL = 1e-10
_LATE = (10**4, 10**6, 10**9, 10**12, 2**52)
_GROWING = tuple(3 * 10**power + 7 for power in range(3, 15))
_PLAIN = Finding("not tried: the state has other parts than counts, sums and means of each arm")


def check_rare_states(subject: Subject) -> Finding:
    """Check that indices are numbers and super arms feasible for all counts and means in the support."""
    if not can_write(subject):
        return _PLAIN
    tried = 0
    for state in rare(subject):
        told = within(state)
        try:
            if isinstance(subject.policy, IndexPolicy):
                _check_indices(subject.policy, state, told)
            super_arm = subject.select(subject.policy, state, np.random.default_rng(tried))
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"rare states: for the state {told}: {error!r}") from error
        text = "for the state {}, the super arm {} is not feasible"
        require(subject.is_super_arm(super_arm), "rare states", text, told, super_arm)
        tried += 1
    return Finding(f"{tried} states")


def _check_indices(policy: Any, state: ArmStatistics, told: dict[str, Any]) -> None:
    indices: Any = policy.indices(copy.deepcopy(state), np.random.default_rng(1))
    text = "for the state {}, `indices` returned {}; it must return {} numbers, not nan"
    n = len(state.means)
    good = isinstance(indices, np.ndarray) and indices.shape == (n,) and indices.dtype.kind in "fiu"
    require(good and not np.isnan(indices).any(), "rare states", text, told, indices, n)


def check_late_rounds(subject: Subject) -> Finding:
    """Check that a policy that prefers good arms after 10,000 rounds also does after 2**52 rounds."""
    if not subject.policy.learns or not can_write(subject) or subject.worlds is None:
        return _PLAIN if subject.policy.learns else Finding("not tried: the policy declares learns=False")
    shares = []
    for t in _LATE:
        with suppress(OverflowError):  # an own state with small integers
            shares.append(_share_of_best(subject, t))
    if not shares or shares[0] < 0.9:
        return Finding("not tried: the policy does not prefer clearly better arms")
    for t, share in zip(_LATE, shares, strict=False):
        text = (
            "after {} rounds, the policy selects the best super arm in {:.0%} of the draws, after {}"
            " in {:.0%}"
        )
        require(share >= 0.5, "late rounds", text, t, share, _LATE[0], shares[0])
    _check_bounds(subject)
    return Finding(f"rounds up to {_LATE[len(shares) - 1]}")


def _check_bounds(subject: Subject) -> None:
    """Check that the index of an arm with fixed statistics only rises, or only falls, with the rounds."""
    policy: Any = subject.policy
    if not isinstance(policy, IndexPolicy):
        return
    n, rises = policy.oracle.n_arms, []
    for t in _GROWING:
        counts = np.full(n, t // n)
        counts[0] = 100
        fractions = np.full(n, 0.5)
        fractions[0] = 0.1 if policy.oracle.sense == "max" else 0.9
        drawn = [indices_of(policy, written(subject, counts, fractions), seed)[0] for seed in range(2)]
        if drawn[0] != drawn[1] or not np.isfinite(drawn[0]):
            return  # random indices, or forced exploration
        rises.append(drawn[0])
    steps = np.diff(rises)
    slack = 1e-9 * (1 + np.abs(rises).max())
    text = (
        "after {} rounds, the index of an arm with 100 outcomes is {}; it rises and falls, perhaps"
        " by overflow"
    )
    good = bool((steps >= -slack).all() or (steps <= slack).all())
    require(good, "late rounds", text, _GROWING, np.array(rises))


def _share_of_best(subject: Subject, t: int) -> float:
    assert subject.worlds is not None
    (low, high), n, hits = subject.support, subject.policy.oracle.n_arms, []
    for world in subject.worlds:
        state = written(subject, t // n, (world.means - low) / (high - low))
        best = world.value(np.array(world.oracle.solve(world.means.copy(), np.random.default_rng(7))))
        for seed in range(10):
            chosen = subject.select(subject.policy, copy.deepcopy(state), np.random.default_rng(seed))
            hits.append(world.value(chosen) >= best - 1e-9 * (1 + abs(best)))
    return float(np.mean(hits))


def check_constant_outcomes(subject: Subject) -> Finding:
    """Check that runs with constant outcomes, which make all arms tie, are feasible and repeatable."""
    if subject.needs_context:
        return Finding("not tried: the policy needs a context")
    n = subject.policy.oracle.n_arms
    for fraction in (0.0, 1.0):
        world = subject.world(np.full(n, fraction))
        runs = []
        for _ in range(2):
            played = subject.game(subject.policy, world, subject.rng, rounds=_GAMES)
            runs.append([arm for arm, _, _ in played])
        for number, (one, other) in enumerate(zip(*runs, strict=True)):
            text = "with constant outcomes, the super arm {} of round {} is not feasible"
            require(subject.is_super_arm(one), "constant outcomes", text, one, number)
            text = "with constant outcomes, round {} gave {} and {} for the same seed; break ties with rng"
            require(np.array_equal(one, other), "constant outcomes", text, number, one, other)
    return Finding(f"4 runs of {_GAMES} rounds")


def check_relabelling(subject: Subject) -> Finding:
    """Check that arms with equal statistics have equal indices, or indices of the same law."""
    if reason := tells_arms_apart(subject):
        return Finding(reason)
    policy, n = subject.policy, subject.policy.oracle.n_arms
    rng = np.random.default_rng((35, subject.rng))
    tests = 0
    for count in (0, 1, 5, 200):
        fraction = float(rng.uniform(0.2, 0.8))
        state = written(subject, count, np.full(n, fraction))
        draws = np.array([indices_of(policy, state, seed) for seed in range(2)])
        if np.array_equal(draws[0], draws[1]):
            first, apart = draws[0][0], np.abs(draws[0] - draws[0][0])
            slack = 1e-6 * (1 + abs(first))
            text = (
                "arms with {} outcomes of mean {:.3g} each have indices {}; they must not depend on"
                " the number of the arm"
            )
            same = bool((apart <= slack).all()) or np.isinf(draws[0]).all()
            require(same, "relabelling", text, count, fraction, draws[0])
            continue
        tests += _check_laws(policy, state, count)
    return Finding("4 states", tests * _LEVEL)


def _check_laws(policy: Any, state: ArmStatistics, count: int) -> int:
    draws = np.array([indices_of(policy, state, seed) for seed in range(_DRAWS)])
    others = np.array([indices_of(policy, state, seed) for seed in range(_DRAWS, 2 * _DRAWS)])
    for arm in range(1, draws.shape[1]):
        chance = same_law(draws[:, 0], others[:, arm])
        text = "arms 0 and {} have the same {} outcomes, but other laws of the index: means {:.4g} and {:.4g}"
        told = (arm, count, draws[:, 0].mean(), others[:, arm].mean())
        require(chance > _LEVEL, "relabelling", text, *told)
    return int(draws.shape[1]) - 1


def check_aliasing(subject: Subject) -> Finding:
    """Check that overwriting a selected super arm changes neither the state nor the policy."""
    policy, rng = subject.policy, np.random.default_rng((36, subject.rng))
    state = policy.initial_state(rng)
    for number in range(20):
        context = subject.place.context
        chosen: Any = policy.select(state, np.random.default_rng(number), context)
        kept = np.array(chosen)
        twin = pickle.loads(pickle.dumps(state))
        if isinstance(chosen, np.ndarray) and chosen.flags.writeable and chosen.size:
            chosen[...] = 0
        again = entries(policy.select(state, np.random.default_rng(number), context))
        text = "after the selected super arm {} was overwritten, the same call gave {}; return a copy"
        require(np.array_equal(kept, again), "aliasing", text, kept, again)
        there = entries(policy.select(twin, np.random.default_rng(number), context))
        text = "a pickled copy of the state of round {} gave {} instead of {}"
        require(np.array_equal(kept, there), "aliasing", text, number, there, kept)
        subject.learn(state, kept, subject.place.play(kept.copy(), rng), rng)
    return Finding("20 super arms")
