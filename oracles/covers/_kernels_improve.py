"""Local search for covers of least cost, with weights of elements that are often uncovered."""

import math
from typing import NamedTuple

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.kernels import GOLDEN, kernel, lean_kernel, mix

# Of more chosen arms than `_SCANNED`, the search compares a sample of `_SAMPLED` ("best from multiple
# selections", Cai 2015).
_SCANNED, _SAMPLED = 512, 64


class Walk(NamedTuple):
    """The present set of arms of the search, which need not be a cover, and what its moves need.

    The loss of a chosen arm, or the gain of another arm, is ``score[arm]``: the weight of the elements that
    would become uncovered, or covered. `places` has the position of each arm in `members`, and of each
    element in `open`. `numbers`: how many members, how many open elements, the step, the random counter.
    """

    times: IntArray
    weights: FloatArray
    score: FloatArray
    stamp: IntArray
    may_return: BoolArray
    members: IntArray
    places: IntArray
    open: IntArray
    open_places: IntArray
    numbers: IntArray
    spent: FloatArray


MEMBERS, OPEN, STEP, COUNTER = range(4)


@lean_kernel
def _draw(walk, n):
    """Return a random integer below n."""
    walk.numbers[COUNTER] += 1
    word = mix(np.uint64(walk.numbers[COUNTER]) * GOLDEN)
    return np.int64(word % np.uint64(n))


@lean_kernel
def _add(incidence, costs, walk, arm):
    """Add an arm, and update the scores of the arms that share elements with it."""
    walk.score[arm] = 0.0
    for i in range(incidence.starts[arm], incidence.starts[arm + 1]):
        element = incidence.elements[i]
        weight = walk.weights[element]
        walk.times[element] += 1
        if walk.times[element] == 1:
            walk.score[arm] += weight
            last, at = walk.open[walk.numbers[OPEN] - 1], walk.open_places[element]
            walk.open[at], walk.open_places[last] = last, at
            walk.numbers[OPEN] -= 1
            for j in range(incidence.firsts[element], incidence.firsts[element + 1]):
                other = incidence.arms[j]
                if other != arm:
                    walk.score[other] -= weight
                    walk.may_return[other] = True
        elif walk.times[element] == 2:
            for j in range(incidence.firsts[element], incidence.firsts[element + 1]):
                other = incidence.arms[j]
                if other != arm and walk.places[other] >= 0:
                    walk.score[other] -= weight
                    break
    walk.places[arm] = walk.numbers[MEMBERS]
    walk.members[walk.numbers[MEMBERS]] = arm
    walk.numbers[MEMBERS] += 1
    walk.spent[0] += costs[arm]
    walk.stamp[arm] = walk.numbers[STEP]


@lean_kernel
def _remove(incidence, costs, walk, arm):
    """Remove an arm; it may return after an arm that shares an element with it has changed."""
    last, at = walk.members[walk.numbers[MEMBERS] - 1], walk.places[arm]
    walk.members[at], walk.places[last] = last, at
    walk.places[arm] = -1
    walk.numbers[MEMBERS] -= 1
    walk.score[arm] = 0.0
    for i in range(incidence.starts[arm], incidence.starts[arm + 1]):
        element = incidence.elements[i]
        weight = walk.weights[element]
        walk.times[element] -= 1
        if walk.times[element] == 0:
            walk.score[arm] += weight
            walk.open[walk.numbers[OPEN]], walk.open_places[element] = element, walk.numbers[OPEN]
            walk.numbers[OPEN] += 1
            for j in range(incidence.firsts[element], incidence.firsts[element + 1]):
                other = incidence.arms[j]
                if other != arm:
                    walk.score[other] += weight
                    walk.may_return[other] = True
        elif walk.times[element] == 1:
            for j in range(incidence.firsts[element], incidence.firsts[element + 1]):
                other = incidence.arms[j]
                if walk.places[other] >= 0:
                    walk.score[other] += weight
                    break
    walk.may_return[arm] = False
    walk.spent[0] -= costs[arm]
    walk.stamp[arm] = walk.numbers[STEP]


@lean_kernel
def _least_loss(costs, walk, tabu):
    """Return the member of least loss per cost, the oldest of several; -1 if there is none."""
    size, best, least = walk.numbers[MEMBERS], -1, np.inf
    tries = size if size <= _SCANNED else _SAMPLED
    for k in range(tries):
        arm = walk.members[k if size <= _SCANNED else _draw(walk, size)]
        if costs[arm] <= 0.0 or arm == tabu:
            continue
        loss = walk.score[arm] / costs[arm]
        if loss < least or (loss == least and walk.stamp[arm] < walk.stamp[best]):
            best, least = arm, loss
    return best


@lean_kernel
def _most_gain(incidence, costs, walk, element):
    """Return the arm of largest gain per cost among those that cover an element, the oldest of several."""
    best, most = -1, -1.0
    for i in range(incidence.firsts[element], incidence.firsts[element + 1]):
        arm = incidence.arms[i]
        if not walk.may_return[arm]:
            continue
        gain = walk.score[arm] / costs[arm]
        if gain > most or (gain == most and walk.stamp[arm] < walk.stamp[best]):
            best, most = arm, gain
    return best


@kernel
def begin_walk(incidence, costs, chosen, walk):
    """Set the state of the search to a cover; arms of cost 0 or less are always chosen."""
    n_elements = walk.times.shape[0]
    walk.weights[:], walk.may_return[:], walk.places[:] = 1.0, True, -1
    walk.open[:], walk.open_places[:] = np.arange(n_elements), np.arange(n_elements)
    walk.numbers[OPEN] = n_elements
    walk.score[:] = np.diff(incidence.starts)
    for arm in range(costs.shape[0]):
        if chosen[arm] or costs[arm] <= 0.0:
            _add(incidence, costs, walk, arm)
            chosen[arm] = True


@kernel
def improve_cover(incidence, costs, walk, steps, chosen, least):
    """Search for `steps` exchanges; write the best cover to `chosen`, and return its cost, at most `least`.

    An exchange removes the arm of least loss per cost, and adds arms for random uncovered elements. The
    weights of elements that remain uncovered grow, so that the search leaves local optima. An arm returns
    only after another arm that shares an element has changed (configuration checking). Cai, Su, Luo, Sattar
    (2013), NuMVC, for vertex covers; Gao, Weise, Li (2015), RWLS, for set covers; both from memory.
    """
    tabu = -1
    for _ in range(steps):
        walk.numbers[STEP] += 1
        while walk.numbers[OPEN] == 0:
            if walk.spent[0] < least - 1e-12 * abs(least):
                least = walk.spent[0]
                chosen[:] = walk.places >= 0
            arm = _least_loss(costs, walk, -1)
            if arm < 0:
                return least
            _remove(incidence, costs, walk, arm)
        arm = _least_loss(costs, walk, tabu)
        if arm >= 0:
            _remove(incidence, costs, walk, arm)
        while walk.numbers[OPEN] > 0:
            arm = _most_gain(incidence, costs, walk, walk.open[_draw(walk, walk.numbers[OPEN])])
            if arm < 0 or walk.spent[0] + costs[arm] >= least:
                break
            _add(incidence, costs, walk, arm)
            tabu = arm
        for k in range(walk.numbers[OPEN]):
            element = walk.open[k]
            walk.weights[element] += 1.0
            for j in range(incidence.firsts[element], incidence.firsts[element + 1]):
                walk.score[incidence.arms[j]] += 1.0
    if math.isnan(least):
        return np.inf
    return least
