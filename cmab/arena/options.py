"""The options of the command ``cmab arena``, in a module without other imports of the arena."""

from __future__ import annotations

import argparse
from typing import Any

from cmab._options import path_named

_ABOUT = """Play the policies of the library, and yours, on many problems, and print their scores.

With --policy or --problem, only matches of your policies and problems are played; the results of the
others were recorded at the quick level. All matches are played without them, with --fresh or with --full."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``cmab arena`` to a parser."""
    parser.description = _ABOUT
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    named: dict[str, Any] = {"action": "append", "default": [], "metavar": "MODULE:NAME"}
    parser.add_argument("--policy", help="a class of policies, a function of an oracle, or an Entry", **named)
    parser.add_argument("--problem", help="a Problem, or a function that returns one", **named)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="play this problem, this kind of problems or this entry only; may be repeated",
    )
    parser.add_argument("--full", action="store_true", help="five times as many replications and rounds")
    parser.add_argument(
        "--replications",
        type=int,
        metavar="N",
        help="number of replications of every problem, for a shorter run",
    )
    parser.add_argument("--fresh", action="store_true", help="play recorded matches again")
    parser.add_argument("--out", "--output", type=path_named, metavar="DIR", help="folder for all results")
    parser.add_argument(
        "--jobs", "--n-jobs", type=int, default=-1, metavar="N", help="workers, -1 for all cores (-1)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of all instances (0)")
    parser.add_argument(
        "--accept-versions", action="store_true", help="accept pieces that other versions of the code made"
    )
    parser.add_argument(
        "--record", type=path_named, metavar="FILE", help="write the results as recorded results"
    )
    parser.add_argument(
        "--list", action="store_true", dest="lists", help="list problems and entries, play nothing"
    )
