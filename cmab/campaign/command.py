"""The command ``cmab campaign``: campaigns in a terminal, without programming."""

from __future__ import annotations

import argparse
import getpass
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cmab.campaign.folder import CampaignFolder


Lines = Iterator[str]
_EXAMPLES = """examples:
  cmab campaign new spring --network friends.csv --undirected --k 3
  cmab campaign ask spring                            choose the people for the next round
  cmab campaign tell spring Bob Dora                  Bob and Dora joined
  cmab campaign show spring                           the state, and a table by person
  cmab campaign export spring --out rounds.csv        all rounds as a table"""


class _Mixed(argparse.ArgumentParser):
    """A parser that accepts names after options, as before them."""

    _is_inside = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._is_inside:
            return super().parse_known_args(args, namespace)
        self._is_inside = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_inside = False


def campaign(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], Lines]:
    """Run a campaign in a folder: choose people or items, report the results, and see the progress."""
    parser.epilog, parser.formatter_class = _EXAMPLES, argparse.RawDescriptionHelpFormatter
    verbs = parser.add_subparsers(required=True, metavar="VERB", parser_class=_Mixed)
    for name, text, options, function in _VERBS:
        verb = verbs.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        verb.add_argument("folder", type=_path, metavar="FOLDER", help="folder of the campaign")
        if options is not None:
            options(verb)
        if name in ("tell", "correct", "cancel"):
            verb.add_argument("--round", type=int, metavar="N", help="number of the round")
        if name != "new":
            verb.add_argument(
                "--accept-changes", action="store_true", help="accept changed files and options"
            )
        verb.set_defaults(verb=function)
    return lambda options: options.verb(options)


def _path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("must be the path of a folder or a file, got an empty text")
    return Path(text)


def _options_of_new(verb: argparse.ArgumentParser) -> None:
    source = verb.add_mutually_exclusive_group(required=True)
    source.add_argument("--network", type=_path, metavar="FILE", help="network of people, as for cmab demo")
    source.add_argument("--list", type=_path, metavar="FILE", dest="names", help="names, one a line")
    way = verb.add_mutually_exclusive_group()
    way.add_argument("--directed", action="store_true", default=None, help="ties go one way")
    way.add_argument("--undirected", action="store_false", dest="directed", help="ties go both ways")
    verb.add_argument("--from", metavar="NAME", dest="from_column", help="column of the first names of ties")
    verb.add_argument("--to", metavar="NAME", dest="to_column", help="column of the second names of ties")
    verb.add_argument("--weight", metavar="NAME", dest="weight_column", help="column of the weights of ties")
    header = argparse.BooleanOptionalAction
    verb.add_argument("--header", action=header, help="whether the first line has the names of the columns")
    verb.add_argument(
        "--k", type=int, default=1, metavar="N", help="how many to choose in a round (default: 1)"
    )
    verb.add_argument("--largest", type=float, default=1.0, metavar="X", help="largest result of an item (1)")
    verb.add_argument("--title", metavar="TEXT", help="title (default: the name of the folder)")
    verb.add_argument("--seed", type=int, metavar="N", help="seed of the random numbers")


def _new(options: argparse.Namespace) -> Lines:
    from cmab.campaign.files import Options
    from cmab.campaign.folder import create_folder, title_of
    from cmab.campaign.progress import size_in_words

    given: Path = options.network or options.names
    made = Options(
        title=options.title or title_of(options.folder),
        network=options.network and options.network.name,
        names=options.names and options.names.name,
        k=options.k,
        largest=options.largest,
        seed=options.seed,
        **{name: getattr(options, name) for name in Options.of_network()},
    )
    folder = create_folder(options.folder, made, {given.name: given.read_bytes()})
    yield from folder.problem.told
    yield f"made {options.folder}: {size_in_words(folder)}"


def _options_of_ask(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--without", action="append", default=[], metavar="NAME", help="leave out this name")


def _ask(options: argparse.Namespace) -> Lines:
    from cmab.campaign.progress import reasons_of

    folder = _folder(options)
    of = folder.ask(options.without)
    yield f"Round {of.number}: {'ask' if folder.is_network else 'choose'}"
    for row in reasons_of(folder.problem, folder.campaign.beliefs(), of, folder.rounds()):
        yield f"  {row['name']}: {'best so far' if row['is_best'] else 'explored, to learn more'}"


def _options_of_tell(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "entries",
        nargs="*",
        metavar="NAME",
        help="who joined, or NAME=STEP; for a list of items, what worked, or NAME=RESULT",
    )
    verb.add_argument("--unknown", action="append", default=[], metavar="NAME", help="result is not known")
    verb.add_argument(
        "--asked", nargs="+", metavar="NAME", help="all who were really asked and came, if others than chosen"
    )
    verb.add_argument("--count", type=float, metavar="N", help="only how many joined, with those asked")
    verb.add_argument("--nobody", action="store_true", help="nobody joined, or nothing worked")


def _report(options: argparse.Namespace, *, is_correction: bool) -> Lines:
    """Store the report of the command line."""
    from cmab.campaign.progress import outcome_in_words
    from cmab.campaign.reports import UnreachableError, report_of, round_of

    ways = [bool(options.entries or options.unknown), options.count is not None, options.nobody]
    if sum(ways) != 1:
        raise ValueError(
            "a report must be names, --count or --nobody, one of these, got"
            f" {'none' if not any(ways) else 'several'}"
        )
    folder = _folder(options)
    if not folder.is_network and (options.asked or options.count is not None):
        raise ValueError("--asked and --count have no effect on a list of items; leave them out")
    of = round_of(folder.rounds(), options.round)
    number, state = of.number, of.state
    report = report_of(
        of,
        folder.problem.names,
        options.entries,
        is_network=folder.is_network,
        unknown=options.unknown,
        asked=options.asked,
        largest=folder.options.largest,
    )
    if options.count is not None:
        report.count = options.count
    if state == "reported" and not is_correction:
        raise ValueError(f"round {number} was reported before; correct its report instead")
    if state == "waiting" and is_correction:
        raise ValueError(f"round {number} has no report yet; report it instead")
    try:
        of = folder.tell(report)
    except UnreachableError as error:
        raise ValueError(
            f"{error} Add the people in between to the report, or give them as unknown if they may have"
            f" joined without your knowledge. If a tie is missing from the network, add it to"
            f" {folder.options.network} in the folder, and use --accept-changes"
        ) from None
    yield f"Round {of.number}: {outcome_in_words(of, is_network=folder.is_network)}"


def _cancel(options: argparse.Namespace) -> Lines:
    from cmab.campaign.reports import round_of

    folder = _folder(options)
    number = round_of(folder.rounds(), options.round).number
    folder.cancel(number)
    yield f"Round {number}: {folder.rounds()[number - 1].state}"


def _undo(options: argparse.Namespace) -> Lines:
    from cmab.campaign.progress import words_of

    event = _folder(options).undo()
    yield f"Round {event['round']}: no longer {words_of(event)}"


def _show(options: argparse.Namespace) -> Lines:
    from cmab.campaign.progress import summary_lines

    yield from summary_lines(_folder(options))


def _options_of_export(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--table",
        choices=("rounds", "people", "history"),
        default="rounds",
        help="the table (default: rounds)",
    )
    verb.add_argument("--out", type=_path, required=True, metavar="FILE", help=".csv file")


def _export(options: argparse.Namespace) -> Lines:
    from cmab.campaign.progress import exported

    if options.out.suffix.casefold() != ".csv":
        raise ValueError(f"--out must end with .csv, got {options.out}")
    options.out.write_bytes(exported(_folder(options), options.table))
    yield f"written to {options.out}"


def _folder(options: argparse.Namespace) -> CampaignFolder:
    from cmab.campaign.folder import CampaignFolder

    return CampaignFolder(options.folder, accept_changes=options.accept_changes)


def user() -> str:
    """Return the name of the user of this process, or nothing."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the user of the process has no name
        return ""


_VERBS = (
    ("new", "make a campaign in a new folder", _options_of_new, _new),
    ("ask", "choose for the next round, with reasons", _options_of_ask, _ask),
    ("tell", "report who joined, or what worked", _options_of_tell, partial(_report, is_correction=False)),
    ("correct", "replace the report of a round", _options_of_tell, partial(_report, is_correction=True)),
    ("cancel", "close a round that was not played, or leave out a report", None, _cancel),
    ("undo", "take back the last report, correction or cancellation", None, _undo),
    ("show", "show the state, and a table by person", None, _show),
    ("export", "write a table as CSV", _options_of_export, _export),
)
