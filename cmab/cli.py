"""The command ``cmab``: list the classes of the library, and run the commands of the installed packages."""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import pkgutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import entry_points
from typing import Any, NoReturn

import cmab

#: The exit status that shells report for a program that Ctrl-C ended: 128 plus the number of the signal.
INTERRUPTED = 130
# Every line can be typed as it is, with your own file names.
_EXAMPLES = """examples:
  cmab demo influence                                 compare learners on a small network
  cmab demo influence --graph friends.csv --k 3       compare learners on a network of your own
  cmab list oracles                                   list the oracles and their parameters
  cmab arena --policy mypackage:MyPolicy              compare a policy of your own with all others
  cmab reproduce twelve-instances --quick             run an experiment of a paper
  cmab graph convert edges.csv graph                  convert a file of edges to a graph store"""
#: The function of each command, and its help. The function adds its options to a parser, and returns a
#: function of the parsed options that yields the lines to print. Another package names such a function in an
#: entry point of the group ``cmab.commands``.
COMMANDS = {
    "demo": ("instances.demos:demo", "compare learners on an example problem"),
    "arena": ("instances.arena.command:arena", "compare all policies, and yours, on many problems"),
    "reproduce": ("instances.reproduce.experiment:reproduce", "run an experiment of a paper"),
    "serve": ("cmab.campaign.page.command:serve", "show the local page of campaigns"),
    "graph": ("oracles.stores:graph", "convert files of edges to stores of graphs"),
    "warmup": ("cmab.cli:warm_up", "compile the usual rules now instead of when they are used"),
    "list": ("cmab.cli:list_classes", "list the policies, explorers, oracles and environments"),
}
_APPLICATIONS = {"campaigns", "demos", "reproduce", "arena", "datasets", "networks", "stores"}
GROUPS = ("policies", "explorers", "oracles", "environments")


def command() -> NoReturn:
    """Run the command in a process of its own, then exit. SIGTERM ends it as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None if it was closed before the start
        stream.reconfigure(errors="backslashreplace")
    sys.exit(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    The status is 0 after success, 1 after an error, which is reported in one sentence, and 130 after Ctrl-C.
    If the command line cannot be parsed, the function raises ``SystemExit`` with status 2, as `argparse`
    does. With ``--debug`` before the command, the traceback is printed before the sentence.
    """
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    try:
        options = _parser(words).parse_args(words)
        for line in options.run(options):
            print(_printable(line), flush=True)
    except KeyboardInterrupt:
        return _fail("interrupted; finished results are stored", INTERRUPTED)
    except BrokenPipeError:  # the program that reads the output has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        if "--debug" in words[:1]:
            traceback.print_exc()
        return _fail(_sentence(error), 1)
    return 0


def _fail(message: str, status: int) -> int:
    print(_printable(" ".join(f"cmab: {message}".split())), file=sys.stderr)
    return status


def _printable(text: str) -> str:
    """Return lines with escapes for control characters, which could control the terminal."""
    from cmab.run.tables import printable

    return "\n".join(map(printable, text.split("\n")))


def _sentence(error: Exception) -> str:
    """Return the message of an error of input; any other error is said to be a bug."""
    from cmab.run.study import StudyFailed

    if isinstance(error, StudyFailed):
        piece, trace = error.failures[0]
        first = f"replication {piece.replication} of {piece.learner}: {trace.strip().splitlines()[-1]}"
        return f"{len(error.failures):,} runs failed, the first is {first}; all other runs are stored"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ValueError | OSError | ImportError | RuntimeError | MemoryError) and str(error):
        return str(error)
    return f"{type(error).__name__}: {error}; this is a bug: `cmab --debug ...` shows the traceback"


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser; only the chosen command is imported."""
    raw = argparse.RawDescriptionHelpFormatter
    about = "Combinatorial bandits with graph oracles."
    parser = argparse.ArgumentParser("cmab", description=about, epilog=_EXAMPLES, formatter_class=raw)
    parser.add_argument("--debug", action="store_true", help="print the traceback of an error")
    parser.add_argument("--version", action="version", version=f"cmab {cmab.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    chosen = next((word for word in words if not word.startswith("-")), None)
    known = dict(COMMANDS)
    for entry in entry_points(group="cmab.commands"):
        known.setdefault(entry.name, (entry.value, f"the command of {entry.value.partition('.')[0]}"))
    for name, (place, text) in known.items():
        own = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name == chosen:
            own.set_defaults(run=pkgutil.resolve_name(place)(own))
    return parser


def list_classes(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], Iterator[str]]:
    """List all classes of the library."""
    parser.add_argument("group", nargs="?", choices=GROUPS, help="list this group only")
    return _list


def _list(options: argparse.Namespace) -> Iterator[str]:
    found = classes()
    for group in GROUPS if options.group is None else (options.group,):
        yield f"{group}:"
        for name, kind in sorted(found[group].items(), key=lambda item: item[0].lower()):
            yield f"  {name}{signature_of(kind)}"
            yield f"      {' '.join((inspect.getdoc(kind) or '').split(chr(10) + chr(10))[0].split())}"


def classes() -> dict[str, dict[str, type]]:
    """Return the public concrete classes of each group by name, exported or not."""
    from cmab.environment import Environment
    from cmab.explorer import Explorer
    from cmab.oracle import Oracle
    from cmab.policy import Policy

    # Explorers are also policies, so they come first.
    bases: dict[type, str] = {
        Explorer: "explorers",
        Policy: "policies",
        Oracle: "oracles",
        Environment: "environments",
    }
    found: dict[str, dict[str, type]] = {group: {} for group in GROUPS}
    for module in map(
        importlib.import_module, _modules("cmab.policies", "cmab.exploration", "oracles", "instances")
    ):
        for name, kind in vars(module).items():
            if isinstance(kind, type) and kind.__module__ == module.__name__ and not name.startswith("_"):
                group = next((group for base, group in bases.items() if issubclass(kind, base)), None)
                if group is not None and not inspect.isabstract(kind):
                    found[group][name] = kind
    return found


def _modules(*packages: str) -> Iterator[str]:
    """Yield the names of the modules of packages, without the applications, which have no such classes."""
    for package in packages:
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
            if module.name.rpartition(".")[2] in _APPLICATIONS:
                continue
            yield module.name
            if module.ispkg:
                yield from _modules(module.name)


def signature_of(kind: type) -> str:
    """Return the parameters of a class with their defaults, without types; ``*`` marks keyword-only ones."""
    signature = inspect.signature(kind)
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    text = str(signature.replace(parameters=parameters, return_annotation=signature.empty))
    return text.replace("=<factory>", "=...")


def warm_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], Iterator[str]]:
    """Compile the usual rules, or load them from the cache."""
    return _warm_up


def _warm_up(_: argparse.Namespace) -> Iterator[str]:
    import networkx as nx

    from cmab import CTS, CUCB, AdaptiveCTS, LilRandLUCB, LUCBPlusPlus, Session, identify, simulate
    from cmab.compiled import interpret
    from instances import BernoulliArms, IndependentCascade, SemiBandit
    from oracles import GraphicMatroid, InfluenceMaximization, Matching, ShortestPath, TopK

    network = nx.karate_club_graph()
    linear = (
        TopK(6, 2),
        GraphicMatroid(network),
        Matching(nx.complete_bipartite_graph(3, 3)),
        ShortestPath(network, 0, 33),
    )
    places: dict[Any, Any] = {
        oracle: SemiBandit(BernoulliArms([0.5] * oracle.n_arms), oracle) for oracle in linear
    }
    places[InfluenceMaximization(network, k=2)] = IndependentCascade(network, 0.1, k=2)
    with interpret(False):
        for oracle, place in places.items():
            for policy in (AdaptiveCTS(oracle), CTS(oracle), CUCB(oracle)):
                simulate(policy, place, 20, replications=2, rng=0)
                Session(policy, rng=0).ask()
            yield type(oracle).__name__
        for explorer in (LUCBPlusPlus(3, 1, delta=0.1), LilRandLUCB(3, 1, delta=0.1)):
            identify(explorer, BernoulliArms([0.05, 0.95, 0.05]), rng=0)
            yield type(explorer).__name__


if __name__ == "__main__":
    command()
