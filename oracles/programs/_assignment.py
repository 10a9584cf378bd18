"""Bipartite matchings by scipy's assignment algorithms, on a dense or a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab.arrays import FloatArray, IntArray
from oracles.programs._mixed_integer import scaled

# From tests/benchmarks/matching.py: on large matrices with few edges the sparse method is 2 to 3 times
# faster; otherwise the dense method is faster.
_LARGE, _SPARSE = 100_000, 20


@dataclass(frozen=True, eq=False)
class TwoSides:
    """The row and the column of each edge."""

    rows: IntArray
    columns: IntArray
    shape: tuple[int, int]
    has_parallels: bool

    @classmethod
    def of(cls, side: IntArray, tails: IntArray, heads: IntArray, may_repeat: bool) -> TwoSides:
        """Return the rows, the nodes of side 0, and the columns of the edges of a bipartite graph."""
        is_row = side == 0
        place = np.where(is_row, np.cumsum(is_row), np.cumsum(~is_row)) - 1
        rows = np.where(is_row[tails], place[tails], place[heads])
        columns = np.where(is_row[tails], place[heads], place[tails])
        n_columns = int((~is_row).sum())
        has_parallels = may_repeat and len(np.unique(rows * n_columns + columns)) < len(rows)
        return cls(rows, columns, (int(is_row.sum()), n_columns), has_parallels)

    def best(self, worth: FloatArray, perfect: bool, allowed: IntArray | None = None) -> IntArray | None:
        """Return the edges of the best matching, in increasing order; None if there is no matching.

        `allowed` are the edges that may be chosen; by default all edges.
        """
        edges = np.arange(len(worth)) if allowed is None else allowed
        values = np.zeros(len(worth))
        values[edges] = scaled(worth[edges])[0]
        if not perfect:
            edges = edges[values[edges] > 0.0]
        if self.has_parallels:
            edges = self._without_parallels(edges, values)
        cells = self.shape[0] * self.shape[1]
        is_sparse = cells >= _LARGE and cells > _SPARSE * (len(edges) + self.shape[0])
        try:
            return np.sort((self._sparse if is_sparse else self._dense)(edges, values, perfect))
        except ValueError:
            # Both methods of scipy raise this error if a row cannot be matched; other causes were excluded
            # before.
            if perfect and allowed is not None:
                return None
            raise

    def _without_parallels(self, edges: IntArray, values: FloatArray) -> IntArray:
        """Return the best edge of each cell; ties go to the first edge."""
        edges = edges[np.lexsort((edges, -values[edges]))]
        cells = self.rows[edges] * self.shape[1] + self.columns[edges]
        return edges[np.unique(cells, return_index=True)[1]]

    def _dense(self, edges: IntArray, values: FloatArray, perfect: bool) -> IntArray:
        from scipy.optimize import linear_sum_assignment

        matrix = np.full(self.shape, -np.inf if perfect else 0.0)
        arms = np.full(self.shape, -1, np.int64)
        matrix[self.rows[edges], self.columns[edges]] = values[edges]
        arms[self.rows[edges], self.columns[edges]] = edges
        chosen: IntArray = arms[linear_sum_assignment(matrix, maximize=True)]
        return chosen[chosen >= 0]

    def _sparse(self, edges: IntArray, values: FloatArray, perfect: bool) -> IntArray:
        """Match every row. If rows may stay unmatched, add a column of value 0 for each row."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import min_weight_full_bipartite_matching

        n_rows, n_columns = self.shape
        alone = np.arange(0 if perfect else n_rows)
        rows, columns = np.append(self.rows[edges], alone), np.append(self.columns[edges], n_columns + alone)
        # Entries of 0 would be missing edges. All rows are matched, so adding a constant to all entries
        # changes nothing. The constant is of the order of the largest value, so rounding affects only the
        # last digit of that value.
        shift = 2.0 * np.ldexp(1.0, int(np.frexp(np.abs(values).max(initial=1.0))[1]))
        costs = np.append(shift - values[edges], np.full(len(alone), shift))
        graph = csr_array((costs, (rows, columns)), shape=(n_rows, n_columns + len(alone)))
        matched = np.full(n_rows, -1, np.int64)
        left, right = min_weight_full_bipartite_matching(graph)
        matched[left] = right
        chosen: IntArray = edges[matched[self.rows[edges]] == self.columns[edges]]
        return chosen
