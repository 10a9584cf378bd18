"""The command ``cmab graph``: convert files of edges to graph stores, and check stores."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_SECONDS = 1.0


def graph(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], Iterator[str]]:
    """Convert a file of edges to a graph store, or check a store."""
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    converting = actions.add_parser("convert", help="convert edges as text, CSV or Parquet to a store")
    converting.add_argument("file", type=Path, metavar="FILE", help="file of edges")
    converting.add_argument("out", type=Path, metavar="OUT", help="folder of the store, which must not exist")
    converting.add_argument("--undirected", action="store_true", help="make two arcs of each edge")
    converting.add_argument("--relabel", action="store_true", help="number the nodes by their ids")
    converting.add_argument(
        "--duplicates",
        choices=("error", "keep", "first"),
        default="error",
        help="reject repeated arcs, keep them all, or keep the first (error)",
    )
    converting.add_argument(
        "--self-loops", choices=("error", "drop"), default="error", help="reject or drop self-loops (error)"
    )
    converting.set_defaults(run=_convert)
    checking = actions.add_parser("check", help="compare the arrays of a store with their hashes")
    checking.add_argument("store", type=Path, metavar="STORE", help="folder of the store")
    checking.set_defaults(run=_check)
    return _run


def _run(options: argparse.Namespace) -> Iterator[str]:
    yield from options.run(options)


def _convert(options: argparse.Namespace) -> Iterator[str]:
    from oracles.stores.conversion import convert_graph
    from oracles.stores.graph_store import open_graph

    convert_graph(
        options.file,
        options.out,
        directed=not options.undirected,
        relabel=options.relabel,
        duplicates=options.duplicates,
        self_loops=options.self_loops,
        progress=progress_lines(lambda line: print(line, file=sys.stderr, flush=True)),  # noqa: T201
    )
    yield f"{options.out}: {open_graph(options.out)}"


def _check(options: argparse.Namespace) -> Iterator[str]:
    from oracles.stores.graph_store import open_graph

    yield f"{options.store}: {open_graph(options.store, check=True)}, no errors found"


def progress_lines(
    write: Callable[[str], object], clock: Callable[[], float] = time.monotonic
) -> Callable[[str, float], None]:
    """Return a function that writes the step and the share that is done, at most once a second."""
    step, written = "", 0.0

    def see(name: str, share: float) -> None:
        nonlocal step, written
        if name != step or clock() - written >= _SECONDS:
            step, written = name, clock()
            write(f"{name}: {100 * share:.0f} %")

    return see
