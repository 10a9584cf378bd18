"""One function that reads benchmark files of many formats."""

from __future__ import annotations

import bz2
import lzma
import os
from pathlib import Path

from cmab.validation import integer
from instances.benchmarks.problem import Problem
from instances.graphs import bytes_of, text_in

_PACKED = {b"\xfd7zXZ\x00": lzma.decompress, b"BZh": bz2.decompress}
_ENDINGS = (".xz", ".gz", ".bz2", ".txt")


def read_benchmark(path: str | os.PathLike[str], *, kind: str | None = None, index: int = 0) -> Problem:
    """Return a problem of a benchmark file, with its oracle and its means.

    The formats are those of DIMACS (shortest paths ``.gr``, maximum flows ``.max``, minimum-cost flows
    ``.min``, graphs ``.col`` and ``.clq``), of SteinLib and PACE 2018 (``.stp``, ``.gr`` with sections), of
    PACE 2019 (vertex cover), and of the OR-Library: set cover (``scp``), assignment (``assign``), generalised
    assignment (``gap``) and multi-dimensional knapsack (``mknap``). Files of knapsacks have the rows of
    Pisinger's generator. Graphs are recognised by their content. Files that contain only numbers are
    recognised by their name, unless `kind` is given. Files may be packed by gzip, bzip2 or xz.

    Parameters
    ----------
    path : str or path
        The file.
    kind : str, optional
        The kind of a file that contains only numbers: ``"set_cover"``, ``"assignment"``,
        ``"generalized_assignment"``, ``"multidimensional_knapsack"`` or ``"knapsack"``.
    index : int
        The number of the problem in a file of several problems, from 0.

    Returns
    -------
    Problem
        A problem with `oracle()` and `means`. For shortest paths, pass `source` and `target` to `oracle`,
        because the file does not contain them. For a maximum flow, the oracle is `MinimumCut`, whose cost is
        the flow. For a generalised assignment, pass ``sense="min"`` to `oracle` if the means are costs,
        because the file does not tell. For a graph of colouring or of cliques, it is `VertexCover`, with
        means of 1; a largest clique is the complement of a vertex cover of the complement of the graph.

    Raises
    ------
    ValueError
        If the format is unknown, or if the file ends too early or has no problem of this number.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from instances import read_benchmark
    >>> lines = ["SECTION Graph", "E 1 2 5", "E 2 3 1", "E 1 3 4", "END", "SECTION Terminals", "T 1", "T 3"]
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "small.stp").write_text(chr(10).join([*lines, "END", "EOF"]))
    ...     problem = read_benchmark(Path(folder) / "small.stp")
    >>> oracle, means = problem.oracle(), problem.means
    >>> oracle.labels(oracle.solve(means, rng=0)), means
    ([(1, 3)], array([5., 4., 1.]))
    """
    from instances.benchmarks._graph_files import graph_problem
    from instances.benchmarks._number_files import number_problems

    number = integer("index", index, 0)
    file = Path(path)
    data = bytes_of(file)
    for start, unpack in _PACKED.items():
        if data.startswith(start):
            data = unpack(data)
    text, name = text_in(file, data), file.name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    found = None if kind is not None else graph_problem(name, text)
    problems = number_problems(name, text, kind) if found is None else [found]
    return problems[integer("index", number, 0, len(problems) - 1)]
