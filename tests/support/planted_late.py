"""Explorers with one planted fault each that shows late in a run, and policies with late reports."""

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from planted_oracles import Fault
from planted_policies import ORACLE, N

from cmab import Explorer, Policy
from cmab.goals import ExploreM


@dataclass
class Tally:
    """Counts and sums of each arm, the possible arms, and the rounds in which the answer was clear."""

    counts: np.ndarray
    sums: np.ndarray
    active: np.ndarray
    clear: int = 0

    @property
    def means(self):
        return self.sums / np.maximum(self.counts, 1)


class Confirmed(Explorer):
    """Sound: samples all arms until the intervals separate the two best ones in three rounds in a row."""

    n_arms, delta, sigma, goal = 4, 0.1, 0.5, ExploreM(2)

    def initial_state(self, rng=None):
        return Tally(np.zeros(4, np.int64), np.zeros(4), np.ones(4, np.bool_))

    def radii(self, state):
        n = np.maximum(state.counts, 1)
        return self.sigma * np.sqrt(2 * np.log(8 * n * (n + 1) / self.delta) / n)

    def intervals(self, state):
        return state.means - self.radii(state), state.means + self.radii(state)

    def is_clear(self, state):
        low, high = state.means - self.radii(state), state.means + self.radii(state)
        named = self.recommend(state)
        return bool(low[named].min() > np.delete(high, named).max())

    def select(self, state, rng, context=None):
        return np.arange(4)

    def update(self, state, feedback, ticket=None, rng=None):
        self.add(state, feedback, 1)
        state.clear = state.clear + 1 if self.is_clear(state) else 0

    def add(self, state, feedback, sign):
        state.sums[feedback.arms] += sign * feedback.outcomes
        state.counts[feedback.arms] += sign * (1 if feedback.pulls is None else feedback.pulls)

    def is_done(self, state):
        return state.clear >= 3

    def recommend(self, state):
        return np.sort(np.argsort(-state.means, kind="stable")[:2])


class DropsInSelect(Confirmed):
    """Drops arms that have lost in `select`, and not in `update`."""

    def select(self, state, rng, context=None):
        low, high = self.intervals(state)
        state.active &= high >= np.sort(low)[-2]
        return np.flatnonzero(state.active)

    def update(self, state, feedback, ticket=None, rng=None):
        self.add(state, feedback, 1)

    def is_done(self, state):
        return bool(state.active.sum() == 2)


class CountsAnswers(Confirmed):
    """Counts the calls of `recommend` after the answer is clear."""

    def recommend(self, state):
        found = super().recommend(state)
        if state.clear:
            state.clear += 1
        return found

    def is_clear(self, state):
        low, high = self.intervals(state)
        return bool(np.sort(low)[-2] > np.sort(high)[1])


class UndoForgetsTheStreak(Confirmed):
    """Does not restore the number of clear rounds."""

    def undo(self, state, feedback):
        self.add(state, feedback, -1)


class FirstOfTheReport(Confirmed):
    """Judges with the first arm of a report alone once it has 20 outcomes."""

    def update(self, state, feedback, ticket=None, rng=None):
        self.add(state, feedback, 1)
        first = feedback.arms[0]
        if state.counts[first] < 20:
            return
        state.clear += bool(state.means[first] > 0.5)


class KeptOutside(Confirmed):
    """Keeps the number of clear rounds in an attribute that is no field of the state."""

    def update(self, state, feedback, ticket=None, rng=None):
        self.add(state, feedback, 1)
        state._streak = getattr(state, "_streak", 0) + 1 if self.is_clear(state) else 0

    def is_done(self, state):
        return getattr(state, "_streak", 0) >= 3


class Forgetful(Tally):
    """Loses the number of clear rounds in a copy."""

    def __getstate__(self):
        return self.__dict__ | {"clear": 0}


class CopiesForget(Confirmed):
    """Has a state whose copies lose a number."""

    def initial_state(self, rng=None):
        return Forgetful(np.zeros(4, np.int64), np.zeros(4), np.ones(4, np.bool_))


class RemembersTheEnd(Confirmed):
    """Keeps in the explorer that the answer was clear."""

    def __init__(self):
        self.streak = 0

    def update(self, state, feedback, ticket=None, rng=None):
        self.add(state, feedback, 1)
        self.streak += self.is_clear(state)

    def is_done(self, state):
        return self.streak >= 3


class AllThatTie(Confirmed):
    """Returns all arms that tie with the second best, after 30 outcomes of each."""

    is_bounded = True

    def is_done(self, state):
        return bool(state.counts.min() >= 30)

    def recommend(self, state):
        return np.flatnonzero(state.means >= np.sort(state.means)[-2])

    def is_certified(self, state):
        return False


class BetterThanTheNext(AllThatTie):
    """Returns the arms that are better than the third best."""

    def recommend(self, state):
        return np.flatnonzero(state.means > np.sort(state.means)[-3])


class AllThatAreLeft(AllThatTie):
    """Returns all arms that the intervals allow at the end of the budget."""

    def recommend(self, state):
        low, high = self.intervals(state)
        return np.flatnonzero(high >= np.sort(low)[-2])


class OtherScale(Confirmed):
    """Forgets the scale in the intervals."""

    def intervals(self, state):
        radii = self.radii(state) / self.sigma
        return state.means - radii, state.means + radii


class OtherLevel(Confirmed):
    """Returns intervals at a stricter level than the one at which it stops."""

    def intervals(self, state):
        n = np.maximum(state.counts, 1)
        radii = self.sigma * np.sqrt(2 * np.log(8e5 * n * (n + 1) / self.delta) / n)
        return state.means - radii, state.means + radii


class SortedIntervals(Confirmed):
    """Returns the intervals in the order of the means instead of the order of the arms."""

    def intervals(self, state):
        order = np.argsort(state.means)
        return tuple(end[order] for end in super().intervals(state))


# Policies ---------------------------------------------------------------------------------------------------

PAIRS = [np.array(pair) for pair in combinations(range(N), 2)]


@dataclass
class Trials:
    """The sum of rewards and the number of rounds of each super arm, and super arms that are remembered."""

    sums: np.ndarray
    counts: np.ndarray
    rounds: int = 0
    queue: list = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Listed(Policy):
    """Sound: three rounds with each super arm, then the best of them; it learns from rewards only."""

    oracle: object = ORACLE
    support = (0.0, 1.0)

    def initial_state(self, rng=None):
        return Trials(np.zeros(len(PAIRS)), np.zeros(len(PAIRS), np.int64))

    def turn(self, state):
        if state.rounds < 3 * len(PAIRS):
            return state.rounds % len(PAIRS)
        return int(np.argmax(state.sums / np.maximum(state.counts, 1)))

    def select(self, state, rng, context=None):
        return PAIRS[self.turn(state)].copy()

    def credit(self, state, place, reward):
        if place is not None and not np.isnan(reward):
            state.sums[place] += reward
            state.counts[place] += 1
        state.rounds += 1

    def update(self, state, feedback, ticket=None, rng=None):
        self.credit(state, place_of(ticket.super_arm), feedback.reward)


def place_of(super_arm):
    """Return the place of a super arm in the list, or None if it is not in the list."""
    found = (place for place, pair in enumerate(PAIRS) if set(pair.tolist()) == set(super_arm.tolist()))
    return next(found, None)


class Recent(Listed):
    """Sound: keeps the super arms and rewards of the latest rounds in a list."""

    def update(self, state, feedback, ticket=None, rng=None):
        super().update(state, feedback, ticket)
        if (place := place_of(ticket.super_arm)) is not None and not np.isnan(feedback.reward):
            state.queue = [*state.queue[-9:], [place, feedback.reward]]


class PresentTurn(Listed):
    """Credits a reward to the super arm that it would select now."""

    def update(self, state, feedback, ticket=None, rng=None):
        self.credit(state, self.turn(state), feedback.reward)


class FirstInFirstOut(Listed):
    """Credits a reward to the super arm that was reserved first, in a list without numbers of tickets."""

    def reserve(self, state, ticket):
        state.queue.append(place_of(ticket.super_arm))

    def update(self, state, feedback, ticket=None, rng=None):
        place = state.queue.pop(0) if state.queue else place_of(ticket.super_arm)
        self.credit(state, place, feedback.reward)


class LastReserved(Listed):
    """Credits a reward to the super arm that was reserved last."""

    def reserve(self, state, ticket):
        state.queue = [place_of(ticket.super_arm)]

    def update(self, state, feedback, ticket=None, rng=None):
        place = state.queue[0] if state.queue else place_of(ticket.super_arm)
        self.credit(state, place, feedback.reward)


class SettlesEarly(LastReserved):
    """Does the same, and soon selects one super arm only."""

    def turn(self, state):
        best = int(np.argmax(state.sums / np.maximum(state.counts, 1)))
        return best if state.counts.min() > 1 else int(np.argmin(state.counts))


POLICIES = [Fault(make, "delays") for make in (PresentTurn, FirstInFirstOut, LastReserved, SettlesEarly)]
SOUND_POLICIES = [Listed, Recent]
EXPLORERS = [
    *(Fault(make, "late states") for make in (DropsInSelect, CountsAnswers, UndoForgetsTheStreak)),
    Fault(FirstOfTheReport, "late states"),
    *(Fault(make, "late resuming") for make in (KeptOutside, CopiesForget, RemembersTheEnd)),
    *(Fault(make, "answers") for make in (AllThatTie, BetterThanTheNext, AllThatAreLeft)),
    *(Fault(make, "comparisons") for make in (OtherScale, OtherLevel, SortedIntervals)),
]
SOUND_EXPLORERS = [Confirmed]
