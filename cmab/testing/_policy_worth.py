"""The check that a policy selects the best super arms for the availability, values and costs of a context."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from cmab._watched import watched
from cmab.arrays import FloatArray, IntArray
from cmab.feedback import Context
from cmab.policy import IndexPolicy
from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require
from cmab.testing._policy_choices import clear_world, leads, share_of, taught
from cmab.testing._policy_subject import Subject, World

#: Rounds of each super arm before the selections, selections of each context, and the most super arms.
_EACH, _DRAWS, _MOST = 60, 20, 12
#: The means of the best super arm, of the second one and of all others, as fractions of the support.
_GOOD, _FAIR, _POOR = 0.95, 0.6, 0.1
#: The value of the arms that a context makes worse, and the least gain from a context.
_LITTLE, _LEAST = 0.05, 0.1
_PARTS = ("values", "costs")


def check_worth(subject: Subject) -> Finding:
    """Check that the policy selects the best super arms for the availability, values and costs of a context.

    Parts that the policy rejects are not tried. A policy that still explores is not tried either: without a
    context, it must prefer clearly better arms, and it must select entries that it has learned.
    """
    policy, oracle = subject.policy, subject.policy.oracle
    if not policy.learns or subject.needs_context or subject.worlds is None:
        return Finding("not tried: the policy does not learn, it needs a context, or nothing differs")
    if not oracle.is_linear or oracle.n_choices != oracle.n_arms:
        return Finding("not tried: the reward is not a sum of the outcomes of the entries")
    owner = next(cls for cls in type(policy).__mro__ if "select" in vars(cls))
    if owner is IndexPolicy:
        return Finding("not tried: the `select` of IndexPolicy applies the context to the indices")
    if not any(_accepts(subject, part) for part in ("available", *_PARTS)):
        return Finding("not tried: the policy rejects contexts")
    # A super arm of many arms is the best one only if several of its arms are good.
    rng, n = np.random.default_rng((75, subject.rng)), oracle.n_arms
    others = [subject.world(rng.choice(np.array([0.1, 0.9]), n)).best() for _ in range(_MOST)]
    lists = {np.sort(arm).tobytes(): arm for arm in (*leads(subject), *others)}
    super_arms = list(lists.values())[:_MOST]
    tried = sum(_of_the_rest(subject, *pair, super_arms) for pair in _disjoint(subject, super_arms))
    parts = [part for part in _PARTS if _of_the_context(subject, part, super_arms)]
    told = f" and {' and '.join(parts)}" if parts else ""
    return Finding(f"availability in {tried} worlds{told}" if tried or parts else "not tried: none is used")


def _accepts(subject: Subject, part: str) -> bool:
    n, rng = subject.policy.oracle.n_arms, np.random.default_rng(0)
    given: dict[str, Any] = {part: np.ones(n, dtype=bool if part == "available" else float)}
    try:
        subject.policy.select(subject.policy.initial_state(rng), rng, Context(**given))
    except (ValueError, TypeError, NotImplementedError):
        return False
    return True


def _disjoint(subject: Subject, super_arms: list[IntArray]) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield some super arms, and for each of them another one without its entries."""
    oracle, rng = subject.policy.oracle, np.random.default_rng((74, subject.rng))
    assert subject.worlds is not None
    for first in (*(world.best() for world in subject.worlds), super_arms[-1]):
        available = ~np.isin(np.arange(oracle.n_arms), first)
        means = subject.world(rng.random(oracle.n_arms)).means
        try:
            second = np.array(oracle.solve_within(means, available, np.random.default_rng(7)))
        except (ValueError, TypeError, NotImplementedError):  # none, or the oracle cannot exclude entries
            continue
        if len(first) and len(second):
            yield first, second


def _spread(pairs: list[Any]) -> list[Any]:
    """Return the first, middle and last of some pairs."""
    places = sorted({0, len(pairs) // 2, len(pairs) - 1})
    return [pairs[i] for i in places] if pairs else []


def _of_the_rest(subject: Subject, first: IntArray, second: IntArray, super_arms: list[IntArray]) -> bool:
    """Check that the policy selects the second best super arm if the best one is not available."""
    oracle, world = subject.policy.oracle, clear_world(subject, first, _GOOD, _POOR)
    fair = clear_world(subject, second, _FAIR, _POOR)
    means = np.where(np.isin(np.arange(oracle.n_arms), second), fair.means, world.means)
    world = World(oracle, means, subject.support)
    available = ~np.isin(np.arange(oracle.n_arms), first)
    best = np.array(oracle.solve_within(means.copy(), available, np.random.default_rng(7)))
    # The policy must also tell the second super arm from the others, if the first one is bad.
    without = World(oracle, np.where(available, means, fair.means), subject.support)
    alike = (taught(subject, place, [*super_arms, first, second], _EACH) for place in (world, without))
    state, other = alike
    if state is None or other is None or share_of(subject, world, state, first) < 0.9:
        return False
    if share_of(subject, without, other, best) < 0.9:
        return False
    try:
        chosen = list(_selected(subject, state, Context(available)))
    except (ValueError, TypeError, NotImplementedError):
        return False
    if _explores(subject, [*super_arms, first, second], chosen):
        return False
    goal = world.value(best)
    share = np.mean([world.value(one) >= goal - 1e-9 * (1 + abs(goal)) for one in chosen])
    text = (
        "after {} rounds of each super arm in a world with means {}, the policy selects the best super arm"
        " {}; but if it is not available, the policy selects the best available super arm {} in only {:.0%}"
        " of the draws, and for example {}"
    )
    require(share >= 0.5, "worth", text, _EACH, means, first, best, share, chosen[0])
    return True


def _selected(subject: Subject, state: Any, context: Context) -> Iterator[IntArray]:
    for seed in range(_DRAWS):
        rng = np.random.default_rng((73, seed))
        yield entries(subject.policy.select(copy.deepcopy(state), rng, context))


def _explores(subject: Subject, learned: list[IntArray], chosen: list[IntArray]) -> bool:
    """Return whether the policy selects entries about which it has learned nothing, as it may."""
    known = np.isin(np.arange(subject.policy.oracle.n_choices), np.concatenate(learned))
    return not all(known[one].all() for one in chosen)


def _of_the_context(subject: Subject, part: str, super_arms: list[IntArray]) -> bool:
    """Check that values or costs, of arms that are alike, lead to the super arms that they make best."""
    n, (low, _) = subject.policy.oracle.n_arms, subject.support
    if part == "values" and low < 0:
        return False  # a value then makes bad outcomes worse
    pairs = [(a, b) for a in super_arms for b in super_arms if not np.array_equal(np.sort(a), np.sort(b))]
    if not pairs:
        return False
    clear = clear_world(subject, pairs[0][0], _GOOD, _POOR)
    state = taught(subject, clear, super_arms, _EACH)
    if state is None or share_of(subject, clear, state, pairs[0][0]) < 0.9:
        return False
    world = subject.world(np.full(n, 0.5))
    state = taught(subject, world, super_arms, _EACH)
    tried = False
    for pair in _spread(pairs) if state is not None else ():
        if not all(_tells(subject, part, arm, super_arms) for arm in pair):
            continue
        numbers = [_favouring(subject, part, arm) for arm in pair]
        try:
            reads = [_reads(subject, state, part, given) for given in numbers]
            chosen = [list(_selected(subject, state, Context(**{part: given}))) for given in numbers]
        except (ValueError, TypeError, NotImplementedError):
            return False
        if not all(reads):
            return False  # used in update only
        if _explores(subject, super_arms, [one for arms in chosen for one in arms]):
            return False
        worth = [_worth(subject, world, part, given) for given in numbers]
        sums = [[_mean_of(subject, each, arms) for arms in chosen] for each in worth]
        (first, second), (here, there) = pair, worth
        most = _of(subject, here, first) - _of(subject, here, second)
        most += _of(subject, there, second) - _of(subject, there, first)
        if most <= 0.0:
            continue  # super arms of different sizes
        gain = (sums[0][0] - sums[0][1] + sums[1][1] - sums[1][0]) / most
        text = (
            "after {} rounds of each super arm in which all arms have the mean {:g}, context.{} of {} and {}"
            " lead to super arms such as {} and {}; this is {:.0%} of the gain of those with the best sums of"
            " mean x value - cost (-100 %: the worst ones)"
        )
        told = (_EACH, world.means[0], part, *numbers, chosen[0][0], chosen[1][0], gain)
        require(gain >= _LEAST, "worth", text, *told)
        tried = True
    return tried


def _tells(subject: Subject, part: str, super_arm: IntArray, super_arms: list[IntArray]) -> bool:
    """Return whether the policy prefers a super arm whose means are as the context would make them."""
    low, high = subject.support
    world = subject.world(np.full(subject.policy.oracle.n_arms, 0.5))
    worth = _worth(subject, world, part, _favouring(subject, part, super_arm))
    same = World(subject.policy.oracle, np.clip(worth, low, high), subject.support)
    state = taught(subject, same, super_arms, _EACH)
    return state is not None and share_of(subject, same, state, super_arm) >= 0.9


def _worth(subject: Subject, world: World, part: str, numbers: FloatArray) -> FloatArray:
    given: dict[str, Any] = {part: numbers}
    return Context(**given).worth(world.means, subject.policy.oracle.sense)


def _reads(subject: Subject, state: Any, part: str, numbers: FloatArray) -> bool:
    context, read = watched(Context(**{part: numbers}), (part,))
    subject.policy.select(copy.deepcopy(state), np.random.default_rng(0), context)
    return part in read


def _favouring(subject: Subject, part: str, super_arm: IntArray) -> FloatArray:
    """Return values or costs for which a super arm is the best one if all means are equal."""
    oracle, (low, high) = subject.policy.oracle, subject.support
    inside = np.isin(np.arange(oracle.n_arms), super_arm)
    is_large = inside if part == "values" and oracle.sense == "max" else ~inside
    return np.where(is_large, 1.0, _LITTLE) * (1.0 if part == "values" else high - low)


def _mean_of(subject: Subject, worth: FloatArray, super_arms: list[IntArray]) -> float:
    return float(np.mean([_of(subject, worth, arm) for arm in super_arms]))


def _of(subject: Subject, worth: FloatArray, super_arm: IntArray) -> float:
    return subject.policy.oracle.sign * float(worth[super_arm].sum())
