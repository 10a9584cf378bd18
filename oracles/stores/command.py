"""The command ``cmab graph convert``: convert a file of edges to a graph store."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path


def graph(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], Iterator[str]]:
    """Convert a file of edges to a graph store."""
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
    return _convert


def _convert(options: argparse.Namespace) -> Iterator[str]:
    from oracles.stores import StoredGraph, convert_graph

    convert_graph(
        options.file,
        options.out,
        directed=not options.undirected,
        relabel=options.relabel,
        duplicates=options.duplicates,
        self_loops=options.self_loops,
    )
    yield f"{options.out}: {StoredGraph(options.out)}"
