"""Optimal Steiner trees by directed cuts: linear programs with cuts, then integer programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from oracles.anytime import SolverError
from oracles.programs._kept_programs import import_highs, silent_highs
from oracles.programs._mixed_integer import scaled
from oracles.trees._steiner_search import Search

# A cut is violated if its arcs have less than 1 minus the first number; the second favours cuts of few arcs.
_VIOLATED, _CREEP = 1e-4, 1e-6
_INTEGRAL = 1e-6


class CutProgram:
    """A HiGHS program with a column for each arc of an edge that is not excluded."""

    def __init__(self, search: Search) -> None:
        from oracles.flows._kernels_flows import pipes_of

        self.search, self._hi = search, import_highs()
        self.edges = np.flatnonzero(search.weights < np.inf)
        tails, heads = search.roads.tails[self.edges], search.roads.heads[self.edges]
        self.arcs = np.concatenate([2 * self.edges, 2 * self.edges + 1])
        self.tails, self.heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
        self.column = np.full(2 * len(search.costs), -1, np.int64)
        self.column[self.arcs] = np.arange(len(self.arcs))
        costs, self._exponent = scaled(np.tile(search.costs[self.edges], 2))
        self.pipes = pipes_of(self.tails, self.heads, len(search.is_terminal))
        self.highs = silent_highs()()
        options = {"output_flag": False, "threads": 1, "mip_abs_gap": 0.0, "mip_rel_gap": search.gap / 2}
        if search.node_limit is not None:
            options["mip_max_nodes"] = search.node_limit
        for name, value in options.items():
            self.highs.setOptionValue(name, value)
        self.highs.cbMipInterrupt.subscribe(self._see_nodes)
        self.highs.cbSimplexInterrupt.subscribe(self._see)
        upper = np.where(self.heads == search.root, 0.0, 1.0)
        self.highs.addCols(len(costs), costs, np.zeros(len(costs)), upper, 0, [], [], [])
        self.y, self._prices = np.zeros(len(costs)), np.zeros(len(costs))
        self._objective, self.is_stopped = 0.0, False
        self._add_degrees()
        self._add_cuts(
            [
                search.cuts[first:last]
                for first, last in zip(search.starts[:-1], search.starts[1:], strict=True)
            ]
        )

    @property
    def is_over(self) -> bool:
        """Whether a limit ended HiGHS or the search, or the gap is closed."""
        return self.is_stopped or self.search.is_over

    def _add_degrees(self) -> None:
        """One arc enters a terminal; at most one arc, and no more than leave, enters another node."""
        search, nodes = self.search, np.unique(np.concatenate([self.tails, self.heads]))
        into = [np.flatnonzero(self.heads == node) for node in nodes]
        out = [np.flatnonzero(self.tails == node) for node in nodes]
        for node, arriving, leaving in zip(nodes, into, out, strict=True):
            if node == search.root:
                continue
            is_terminal = bool(search.is_terminal[node])
            self._row(arriving, np.ones(len(arriving)), float(is_terminal), 1.0)
            if not is_terminal:
                signs = np.concatenate([np.ones(len(leaving)), -np.ones(len(arriving))])
                self._row(np.concatenate([leaving, arriving]), signs, 0.0, np.inf)

    def _row(self, columns: IntArray, values: FloatArray, low: float, high: float) -> None:
        self.highs.addRow(low, high, len(columns), columns.astype(np.int32), values)

    def _add_cuts(self, cuts: list[IntArray]) -> None:
        for cut in cuts:
            columns = self.column[cut]
            columns = columns[columns >= 0]
            self._row(columns, np.ones(len(columns)), 1.0, np.inf)

    def relax(self) -> bool:
        """Solve the relaxation; return whether it has a solution, with its values in `y`."""
        # The simplex method compares the limit with the total time of all runs of the object.
        if not self._run(self.highs.getRunTime() + self.search.clock.left):
            return False
        solution = self.highs.getSolution()
        self.y = np.clip(np.array(solution.col_value), 0.0, 1.0)
        self._prices = np.array(solution.col_dual)
        self._objective = float(self.highs.getInfo().objective_function_value)
        self._raise_bound(self._objective)
        if self._is_integral():
            self._keep_tree()
        return True

    def _run(self, seconds: float) -> bool:
        """Run HiGHS; return whether it solved the program. If no better tree exists, close the gap."""
        highs, kinds = self.highs, self._hi.HighsModelStatus
        highs.setOptionValue("time_limit", seconds)
        highs.run()
        if highs.getModelStatus() == kinds.kNotset:
            # Other code started the scheduler of this thread with another number of threads: use that number.
            highs.setOptionValue("threads", 0)
            highs.run()
        status = highs.getModelStatus()
        if status == kinds.kInfeasible:
            # All trees that could be better were excluded.
            self.search.bound = self.search.value
        elif status in (kinds.kTimeLimit, kinds.kSolutionLimit, kinds.kInterrupt):
            self.is_stopped = True
        elif status != kinds.kOptimal:
            raise SolverError(
                f"HiGHS must solve the cut program, got status {highs.modelStatusToString(status)!r}"
            )
        return bool(status == kinds.kOptimal)

    def _see(self, event: Any) -> None:
        """Stop HiGHS after Ctrl-C."""
        if self.search.watch.is_interrupted:
            event.interrupt()

    def _see_nodes(self, event: Any) -> None:
        """Show the progress of branch and bound, and stop it after Ctrl-C."""
        bound = float(np.ldexp(event.data_out.mip_dual_bound, -self._exponent))
        self.search.watch.tell(self.search.value, bound)
        self._see(event)

    def _raise_bound(self, objective: float) -> None:
        bound = float(np.ldexp(objective, -self._exponent))
        self.search.raise_bound(bound)

    def _is_integral(self) -> bool:
        return bool((np.abs(self.y - np.rint(self.y)) <= _INTEGRAL).all())

    def _keep_tree(self) -> None:
        """Keep the selected edges, if they connect the terminals."""
        chosen = np.zeros(len(self.search.costs), bool)
        chosen[self.edges[self._shares() > 0.5]] = True
        if self.search.connects(chosen):
            self.search.keep(chosen)

    def _shares(self) -> FloatArray:
        """Return the larger value of the two arcs of each edge."""
        larger: FloatArray = self.y.reshape(2, -1).max(axis=0)
        return larger

    def offer_trees(self) -> None:
        """Grow trees by weights that are small where the program's values are large."""
        search = self.search
        guide = np.full(len(search.costs), np.inf)
        guide[self.edges] = search.weights[self.edges] * (1.0 + 1e-3 - self._shares())
        search.grow(guide, search.terminals[:4])

    def exclude(self) -> None:
        """Exclude arcs whose reduced cost exceeds the difference between the tree and the bound."""
        search = self.search
        spare = float(np.ldexp(search.value, self._exponent)) * (1.0 + 1e-9) - self._objective
        gone = (self._prices > spare).astype(bool)
        columns = np.flatnonzero(gone).astype(np.int32)
        if len(columns):
            self.highs.changeColsBounds(len(columns), columns, np.zeros(len(columns)), np.zeros(len(columns)))
            search.weights[self.edges[gone.reshape(2, -1).all(axis=0)]] = np.inf

    def separate(self) -> int:
        """Add the cuts that `y` violates; return their number."""
        from oracles.flows._kernels_cuts import minimum_cut
        from oracles.trees._kernels_dual_ascent import far_side

        search, n = self.search, len(self.search.is_terminal)
        seen: set[bytes] = set()
        free, is_near, is_far = self.y + _CREEP, np.empty(n, bool), np.empty(n, bool)
        for terminal in search.terminals:
            if terminal == search.root:
                continue
            # Arcs of cuts that were found in this round are free, so further cuts are different.
            room = np.column_stack([free, np.zeros(len(free))]).reshape(-1)
            minimum_cut(self.pipes, room, search.root, int(terminal), is_near)
            far_side(self.pipes, room, int(terminal), is_far)
            for inside in (is_far, ~is_near):
                cut = np.flatnonzero(inside[self.heads] & ~inside[self.tails])
                if self.y[cut].sum() >= 1.0 - _VIOLATED or cut.tobytes() in seen:
                    continue
                seen.add(cut.tobytes())
                self._row(cut, np.ones(len(cut)), 1.0, np.inf)
                free[cut] = 1.0
            if search.is_late:
                break
        return len(seen)

    def solve_integers(self) -> bool:
        """Solve the integer program with the present cuts; return whether it has a solution in `y`."""
        highs, search = self.highs, self.search
        whole = np.arange(len(self.y), dtype=np.int32)
        highs.changeColsIntegrality(len(whole), whole, [self._hi.HighsVarType.kInteger] * len(whole))
        is_solved = self._run(search.clock.left)
        if not is_solved and not self.is_stopped:
            return False
        info = highs.getInfo()
        if np.isfinite(info.mip_dual_bound):
            self._raise_bound(float(info.mip_dual_bound))
        if info.primal_solution_status != int(self._hi.SolutionStatus.kSolutionStatusFeasible):
            return False
        self.y = np.clip(np.rint(np.array(highs.getSolution().col_value)), 0.0, 1.0)
        self._keep_tree()
        return True
