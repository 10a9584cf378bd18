"""Checks of a policy in rare states: extreme statistics, late rounds, constant outcomes, renumbered arms."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator, Sized
from operator import itemgetter
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.policy import IndexPolicy
from cmab.statistics import ArmStatistics
from cmab.testing._checks import Finding
from cmab.testing._comparisons import Stopwatch, require
from cmab.testing._policy_subject import Subject
from cmab.testing._statistics import same_law, same_rate

_STATES = 60
_GAMES = 60
_DRAWS = 300
_LEVEL = 1e-10
# Maximal number of entries whose super arms are enumerated.
_FEW_CHOICES = 10
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
_MANY_DRAWS, _MOST_NAMES = 2000, 100
#: The p-value below which frequencies are drawn for longer.
_SUSPICIOUS = 1e-3
_LATE = (10**4, 10**6, 10**9, 10**12, 2**52)
_GROWING = tuple(3 * 10**power + 7 for power in range(3, 15))
_PLAIN = Finding("not tried: the state is not a plain ArmStatistics")


def is_plain(subject: Subject) -> bool:
    """Return whether statistics can be written into the state without contradicting other data."""
    state = subject.policy.initial_state(np.random.default_rng(0))
    return type(state) is ArmStatistics and not len(state.memory) and subject.place.context is None


def written(subject: Subject, counts: Any, fractions: Any, spread: float = 1.0) -> ArmStatistics:
    """Return a state with these counts and means, given as fractions of the support."""
    state: ArmStatistics = subject.policy.initial_state(np.random.default_rng(0))
    (low, high), fractions = subject.support, np.asarray(fractions, np.float64)
    state.counters[:] = counts
    state.means[:] = np.where(state.counters > 0, low + (high - low) * fractions, 0.0)
    state.deviations[:] = spread * state.counters * fractions * (1 - fractions) * (high - low) ** 2
    state.rounds = min(int(state.counters.sum()), 2**53)
    return state


def check_rare_states(subject: Subject) -> Finding:
    """Check that indices are numbers and super arms feasible for all counts and means in the support."""
    if not is_plain(subject):
        return _PLAIN
    tried = 0
    for state in rare(subject):
        told = (state.counters, state.means, state.deviations)
        try:
            if isinstance(subject.policy, IndexPolicy):
                _check_indices(subject.policy, state, told)
            super_arm = subject.select(subject.policy, state, np.random.default_rng(tried))
        except AssertionError:
            raise
        except Exception as error:
            text = f"rare states: for counts {told[0]}, means {told[1]} and deviations {told[2]}: {error!r}"
            raise AssertionError(text) from error
        text = "for counts {}, means {} and deviations {}, the super arm {} is not feasible"
        require(subject.is_super_arm(super_arm), "rare states", text, *told, super_arm)
        tried += 1
    return Finding(f"{tried} states")


def rare(subject: Subject) -> Iterator[ArmStatistics]:
    """Yield states with counts from 0 to ``2**40`` and means at the ends, in the middle and between."""
    n, rng = subject.policy.oracle.n_arms, np.random.default_rng((34, subject.rng))
    for number in range(_STATES):
        top = (1, 2, 10, 1000, 10**6, 10**9, 2**40)[number % 7]
        counts = (
            rng.integers(0, top, n, endpoint=True) if number % 2 else rng.choice(np.array([0, 1, top]), n)
        )
        ends = rng.choice(np.array([0.0, 0.5, 1.0]), n)
        fractions = ends if number % 3 else np.where(rng.random(n) < 0.5, ends, rng.random(n))
        yield written(subject, counts, fractions, spread=float(number % 4 != 0))


def _check_indices(policy: Any, state: ArmStatistics, told: tuple[Any, ...]) -> None:
    indices: Any = policy.indices(copy.deepcopy(state), np.random.default_rng(1))
    text = (
        "for counts {}, means {} and deviations {}, `indices` returned {}; it must return {} numbers, not nan"
    )
    n = len(state.means)
    good = isinstance(indices, np.ndarray) and indices.shape == (n,) and indices.dtype.kind in "fiu"
    require(good and not np.isnan(indices).any(), "rare states", text, *told, indices, n)


def check_late_rounds(subject: Subject) -> Finding:
    """Check that a policy that prefers good arms after 10,000 rounds also does after 2**52 rounds."""
    if not subject.policy.learns or not is_plain(subject) or subject.worlds is None:
        return _PLAIN if subject.policy.learns else Finding("not tried: the policy declares learns=False")
    shares = [_share_of_best(subject, t) for t in _LATE]
    if shares[0] < 0.9:
        return Finding("not tried: the policy does not prefer clearly better arms")
    for t, share in zip(_LATE, shares, strict=True):
        text = (
            "after {} rounds, the policy selects the best super arm in {:.0%} of the draws, after {}"
            " in {:.0%}"
        )
        require(share >= 0.5, "late rounds", text, t, share, _LATE[0], shares[0])
    _check_bounds(subject)
    return Finding(f"rounds up to {_LATE[-1]}")


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


def indices_of(policy: Any, state: ArmStatistics, seed: int) -> FloatArray:
    """Return the indices of a copy of a state, for a seed."""
    return np.array(policy.indices(copy.deepcopy(state), np.random.default_rng(seed)), np.float64)


def tells_arms_apart(subject: Subject) -> str:
    """Return why indices may depend on more than the statistics of each arm, or ''."""
    policy = subject.policy
    if not isinstance(policy, IndexPolicy) or not is_plain(subject) or not policy.learns:
        return "not tried: the policy has no indices of plain statistics"
    named = _own_data(policy, policy.oracle.n_arms)
    return f"not tried: `{named}` may tell arms apart" if named else ""


def _own_data(policy: Any, n_arms: int) -> str:
    """Return the name of an attribute that may hold a number for each arm, or ''."""
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
        again = np.array(policy.select(state, np.random.default_rng(number), context))
        text = "after the selected super arm {} was overwritten, the same call gave {}; return a copy"
        require(np.array_equal(kept, again), "aliasing", text, kept, again)
        there = np.array(policy.select(twin, np.random.default_rng(number), context))
        text = "a pickled copy of the state of round {} gave {} instead of {}"
        require(np.array_equal(kept, there), "aliasing", text, number, there, kept)
        subject.learn(state, kept, subject.place.play(kept.copy(), rng), rng)
    return Finding("20 super arms")


def check_propensity(subject: Subject) -> Finding:
    """Check that `propensity` is the frequency with which `select` chooses a super arm."""
    policy, rng = subject.policy, np.random.default_rng((37, subject.rng))
    state, tests, context = policy.initial_state(rng), 0, subject.place.context
    for number in range(31):
        chosen = subject.select(policy, state, rng)
        if number % 10 == 0:
            if policy.propensity(state, chosen, context) is None:
                return Finding("no propensities are declared")
            tests += _check_frequencies(subject, state, number)
            _check_total(subject, state, number)
        subject.learn(state, chosen, subject.place.play(chosen.copy(), rng), rng)
    return Finding(f"{tests} comparisons of frequencies", tests * _LEVEL)


def _check_total(subject: Subject, state: Any, number: int) -> None:
    """Check that the propensities of all super arms sum to 1, if they are few sets."""
    policy, oracle, context = subject.policy, subject.policy.oracle, subject.place.context
    if oracle.n_choices > _FEW_CHOICES or not oracle.has_membership:
        return
    total, count = 0.0, 0
    watch = Stopwatch()
    for bits in range(2**oracle.n_choices):
        arm = np.flatnonzero(bits >> np.arange(oracle.n_choices) & 1)
        if not subject.is_super_arm(arm):
            continue
        chance = policy.propensity(state, arm.copy(), context)
        turned = policy.propensity(state, arm[::-1].copy(), context)
        # In ranked lists, every order is a super arm of its own.
        if chance is None or chance != turned or watch.seconds() > 0.05 * subject.seconds:
            return
        total, count = total + float(chance), count + 1
    drawn = {
        tuple(subject.select(policy, copy.deepcopy(state), np.random.default_rng((number, seed))).tolist())
        for seed in range(100)
    }
    if len(drawn) > len({tuple(sorted(arm)) for arm in drawn}):
        return
    text = "in round {}, the propensities of all {} super arms sum to {:.12g} instead of 1"
    require(abs(total - 1.0) <= 1e-9, "propensity", text, number, count, total)


def _check_frequencies(subject: Subject, state: Any, number: int) -> int:
    """Compare frequencies with propensities. If they look different, draw for longer before the verdict."""
    drawn: list[tuple[int, ...]] = []
    tests = 0
    for share in (0.1, 1.0):
        for seed in subject.timed(range(len(drawn), _MANY_DRAWS), share):
            chosen = subject.select(
                subject.policy, copy.deepcopy(state), np.random.default_rng((number, seed))
            )
            drawn.append(tuple(chosen.tolist()))
        comparisons = list(_comparisons(subject, state, number, drawn))
        tests += len(comparisons)
        if not comparisons:
            break
        least = min(comparisons, key=itemgetter(0))
        require(least[0] > _LEVEL, "propensity", least[1], *least[2])
        if least[0] > _SUSPICIOUS:
            break
    return tests


def _comparisons(
    subject: Subject, state: Any, number: int, drawn: list[tuple[int, ...]]
) -> Iterator[tuple[float, str, tuple[Any, ...]]]:
    """Yield the p-value of each frequency, and of that of all super arms of the first half of the draws."""
    n, mass = len(drawn), 0.0
    half, names = n // 2, list(dict.fromkeys(drawn))[:_MOST_NAMES]
    first, known = set(drawn[:half]), set(names)
    for arm in names:
        claimed = subject.policy.propensity(state, np.array(arm, np.int64), subject.place.context)
        if claimed is None:  # the policy knows the propensities of other super arms only
            known.discard(arm)
            continue
        text = "the propensity of {} in round {} must be a probability, got {!r}"
        require(0.0 < claimed <= 1.0 + 1e-12, "propensity", text, arm, number, claimed)
        chance = min(float(claimed), 1.0)
        mass += chance if arm in first else 0.0
        text = "in round {}, {} was selected in {} of {} draws, but its propensity is {:.6g}"
        times = drawn.count(arm)
        yield same_rate(times, n, chance), text, (number, arm, times, n, chance)
    if known != set(drawn):
        return
    # Super arms of the first half have a total probability, which the second half tests.
    text = (
        "in round {}, the propensities of {} super arms sum to {:.6g}, but {} of {} further draws"
        " were of them"
    )
    again = sum(arm in first for arm in drawn[half:])
    found = (number, len(first), mass, again, n - half)
    yield 0.0 if mass > 1.0 + 1e-9 else same_rate(again, n - half, min(mass, 1.0)), text, found
