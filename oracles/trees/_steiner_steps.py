"""The steps of a search for Steiner trees: local search, dual ascents, and a way to the optimum."""

from __future__ import annotations

import numpy as np

from cmab.arrays import BoolArray, IntArray
from oracles.trees._steiner_cuts import CutProgram
from oracles.trees._steiner_search import STARTS, Search

# The number of roots of dual ascents.
_ROOTS = 6
# The dynamic program comes first if it has at most so many steps; it comes before the integer program if it
# has at most so many steps (2 s) and so many entries, of 24 bytes each.
_FEW_STEPS, _MOST_STEPS, _MOST_ENTRIES = 3e5, 1e9, 4e7
_STEPS_PER_SECOND = 3e8
# Trees are grown from the values of the program in every so many rounds.
_EVERY = 5
# The rounds without progress of this share after which the integer program takes over.
_PATIENCE, _PROGRESS = 40, 1e-5


def best_tree(search: Search, known: BoolArray, is_exact: bool) -> None:
    """Search for a cheapest tree. Unless `is_exact`, use only local search and one dual ascent."""
    search.keep(known)
    if is_exact and _steps(search) <= _FEW_STEPS:
        _by_subsets(search)
        return
    # A bound comes first, because the local search alone may take until the limit.
    search.raise_by_ascent(int(search.terminals[0]))
    search.grow(search.costs, search.terminals[:STARTS])
    for root in _spread_out(search.terminals)[: None if is_exact else 1]:
        if search.is_over:
            return
        before = search.bound, search.value, search.n_left
        search.ascend(int(root))
        if search.bound <= before[0] and search.value >= before[1] and search.n_left > 0.98 * before[2]:
            break
    if is_exact and not search.is_over:
        _close(search)


def _close(search: Search) -> None:
    """Raise the bound and improve the tree until both agree within the gap, or until a limit.

    Each arc is a binary variable. A tree, directed away from the root, contains an arc into every set of
    nodes that contains a terminal but not the root (Wong 1984; Koch, Martin 1998). The program starts with
    the sets of the dual ascent, and violated sets are found as minimum cuts.
    """
    program = CutProgram(search)
    bounds = [search.bound]
    while True:
        if not program.relax() or search.is_over:
            return
        added = program.separate()
        if len(bounds) % _EVERY == 0 or not added:
            program.offer_trees()
        program.exclude()
        if search.is_over:
            return
        bounds.append(search.bound)
        is_slow = len(bounds) > _PATIENCE and bounds[-1] <= bounds[-_PATIENCE] + _PROGRESS * search.value
        if not added or is_slow:
            break
    if _by_few_subsets(search):
        return
    while program.solve_integers():
        program.offer_trees()
        if program.is_over or not program.separate():
            return


def _by_few_subsets(search: Search) -> bool:
    """Find the optimum by subsets of terminals, unless this takes too much time or memory."""
    if _steps(search) > min(_MOST_STEPS, search.clock.left * _STEPS_PER_SECOND):
        return False
    _by_subsets(search)
    return True


def _steps(search: Search) -> float:
    """Return the number of steps of the dynamic program, or infinity if it needs too much memory."""
    n, t = len(search.is_terminal), len(search.terminals)
    if n * 2.0 ** min(t - 1, 1_000) > _MOST_ENTRIES:
        return np.inf
    return float(n * 3.0 ** (t - 1) / 2 + 2.0 ** (t - 1) * 8 * (n + 2 * search.n_left))


def _by_subsets(search: Search) -> None:
    """Find the optimum by subsets of terminals."""
    from oracles.trees._kernels_steiner import cheapest

    chosen = np.empty(len(search.costs), bool)
    if cheapest(search.roads, search.weights, search.terminals, chosen):
        search.keep(chosen)
    search.bound = search.value


def _spread_out(terminals: IntArray) -> IntArray:
    return terminals[np.unique(np.linspace(0, len(terminals) - 1, _ROOTS).astype(np.int64))]
