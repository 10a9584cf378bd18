"""The command ``cmab``: list the registered names, run demos, experiments and studies, write reports."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, get_args

import cmab
from cmab import _faults
from cmab._options import parser_of, path_named
from cmab._streams import fitted, lossy_streams, open_closed_descriptors, printable
from cmab.plotting import Band
from cmab.results import tables
from cmab.studies import _registry
from cmab.studies._pieces import StudyFailed
from cmab.studies._workers import Backend, backend
from cmab.studies.store import STORE

# Every line can be typed as it is, with your own file names.
_EXAMPLES = """examples:
  cmab demo influence                                 compare learners on a small network
  cmab demo influence --graph friends.csv --k 3       compare learners on a network of your own
  cmab demo matching --help                           list the options of a demo
  cmab list oracles                                   list the oracles and their parameters
  cmab run study.toml --out results --jobs -1         run a study, or its missing pieces
  cmab arena --policy mypackage:MyPolicy              compare a policy of your own with all others
  cmab graph convert edges.csv graph                  convert a file of edges to a graph store
  cmab report results                                 write the results of a study as a page"""

# The exit status that shells report for a program that Ctrl-C ended: 128 plus the number of the signal.
INTERRUPTED = 130


class _BadOutput(ValueError):
    """The output folder cannot be used."""


def command() -> NoReturn:
    """Run the command in a process of its own, then exit."""
    open_closed_descriptors()
    # If Ctrl-C is ignored, as in a background job of a script, it stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt_once)
    status = main()
    if signal.getsignal(signal.SIGINT) is _interrupt_once:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # all work is done, so Ctrl-C may end the process
    sys.exit(status)


def _interrupt_once(_number: int, _frame: FrameType | None) -> None:
    """Stop in good order on the first Ctrl-C and at once on the second; finished pieces are stored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    raise KeyboardInterrupt


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    The status is 0 after success, 1 after an error, which is reported in one sentence, and 130 after Ctrl-C.
    If the command line cannot be parsed, the function raises ``SystemExit`` with status 2, as `argparse`
    does. With ``--debug`` at any position, the traceback is printed before the sentence.
    """
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    debug = _faults.DEBUG in given
    with lossy_streams(), _faults.plain_warnings():
        try:
            options = _parser().parse_args([word for word in given if word != _faults.DEBUG])
            status: int = options.command(options)
            sys.stdout.flush()
            return status
        except KeyboardInterrupt as stopped:
            return _fail(str(stopped) or "interrupted", INTERRUPTED)
        except Exception as error:
            return _end(error, debug=debug)


def _end(error: Exception, *, debug: bool) -> int:
    """Report an error in one sentence and return the exit status."""
    if debug:
        _faults.show_traceback(error, sys.stderr)
    if not isinstance(error, StudyFailed):
        return _fail(_faults.sentence(error), 1)
    piece, trace = error.failures[0]
    first = f"replication {piece.replication} of {piece.learner} on {piece.instance}"
    return _fail(_faults.of_pieces(len(error.failures), first, trace), 1)


def _fail(message: str, status: int) -> int:
    print("\n".join(map(printable, f"cmab: {message}".split("\n"))), file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cmab",
        description="Combinatorial bandits with graph oracles.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # Removed from the arguments before they are parsed, because it may be at any position.
    parser.add_argument(_faults.DEBUG, action="store_true", help="print the traceback of an error")
    parser.add_argument("--version", action="version", version=f"cmab {cmab.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list demos, experiments, oracles, policies and so on")
    listing.add_argument("group", nargs="?", choices=_registry.GROUPS, help="list this group only")
    listing.set_defaults(command=_list)
    for name, group, text in (
        ("demo", "demos", "compare learners on an example problem"),
        ("reproduce", "experiments", "run an experiment of a paper"),
    ):
        running = commands.add_parser(name, help=text, description=f"{text.capitalize()}.")
        # argparse would report both NAME and "arguments" as required, but the arguments are optional.
        running.add_argument("name", nargs="?", metavar="NAME", help=f"a name from `cmab list {group}`")
        running.add_argument("arguments", nargs=argparse.REMAINDER, help="options; NAME --help lists them")
        running.set_defaults(command=_run, group=group, word=name, missing=running.error)
    study = commands.add_parser("run", help="run a study, or its missing pieces")
    study.add_argument("file", type=Path, metavar="FILE", help="TOML file of the study")
    study.add_argument("--out", type=path_named, required=True, metavar="DIR", help="folder for the results")
    study.add_argument(
        "--jobs", type=int, metavar="N", help="workers, -1 for all (default: 1, or all of a cluster)"
    )
    study.add_argument(
        "--backend", choices=get_args(Backend), default="loky", help="where the workers run (loky: here)"
    )
    study.add_argument("--address", metavar="ADDRESS", help="cluster address (default: start a cluster)")
    study.add_argument(
        "--accept-versions",
        action="store_true",
        help="accept pieces that other versions of the code made",
    )
    study.add_argument(
        "--part",
        type=_part,
        default=(1, 1),
        metavar="I/N",
        help="run only part I of N, for example in a job array",
    )
    study.set_defaults(command=_run_study)
    _add_import(study)
    merging = commands.add_parser("merge", help="merge the results of several folders into one folder")
    merging.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="folders of results")
    merging.add_argument("--out", type=path_named, required=True, metavar="DIR", help="folder for the result")
    merging.set_defaults(command=_merge)
    checking = commands.add_parser("validate", help="check a study without running it")
    checking.add_argument("file", type=Path, metavar="FILE", help="TOML file of the study")
    checking.set_defaults(command=_validate)
    _add_import(checking)
    warming = commands.add_parser("warmup", help="compile the usual rules now instead of in the first run")
    warming.set_defaults(command=_warm_up)
    reporting = commands.add_parser("report", help="write the results of a study as a page with figures")
    reporting.add_argument("folder", type=Path, metavar="DIR", help="folder of the results")
    reporting.add_argument("--band", choices=get_args(Band), default="t", help="kind of the intervals (t)")
    reporting.add_argument("--level", type=float, default=0.95, metavar="X", help="confidence level (0.95)")
    reporting.set_defaults(command=_report)
    for name, entry in _registry.commands().items():
        _add_command(commands, name, entry)
    return parser


def _add_command(commands: Any, name: str, entry: metadata.EntryPoint) -> None:
    """Add the command of a package: a function that adds options to a parser and returns what it runs."""
    try:
        add = entry.load()
    except Exception as error:  # any exception of an imported module
        broken = commands.add_parser(name, help=f"cannot be loaded ({type(error).__name__})", add_help=False)
        broken.add_argument("arguments", nargs=argparse.REMAINDER)
        message = f"{name} cannot be loaded: {type(error).__name__}: {error}"
        broken.set_defaults(command=lambda _: _fail(message, 1))
        return
    about = _summary(add)
    parser = commands.add_parser(name, help=f"{about[0].lower()}{about[1:].rstrip('.')}", description=about)
    run = add(parser)
    parser.set_defaults(command=lambda options: _print_lines(run(options)))


def _print_lines(lines: Iterator[str]) -> int:
    for text in lines:
        print(printable(text), flush=True)
    return 0


def _part(text: str) -> tuple[int, int]:
    number, _, parts = text.partition("/")
    if not (number.isdecimal() and parts.isdecimal()):
        raise argparse.ArgumentTypeError(f"must be I/N, such as 1/4, got {text!r}")
    return int(number), int(parts)


def _merge(options: argparse.Namespace) -> int:
    from cmab.studies.store import Store

    if missing := [folder for folder in options.folders if not (folder / STORE).is_file()]:
        raise ValueError(f"{missing[0]} must be a folder in which a study ran")
    with _kept(options.out), Store(options.out) as store:
        for folder in options.folders:
            with Store(folder, reading=True) as other:
                print(f"{folder}: {store.take(other):,} pieces")
    return 0


def _add_import(parser: argparse.ArgumentParser) -> None:
    """Add ``--import``, the modules with the classes of a file; files themselves import nothing."""
    text = "module whose classes the file names as module:Class; the current folder is searched first"
    parser.add_argument("--import", action="append", default=[], metavar="MODULE", dest="modules", help=text)


def _import_all(modules: Sequence[str]) -> None:
    if modules:
        sys.path.insert(0, str(Path.cwd()))
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:  # any exception of a module of the user
            raise ImportError(f"--import {module}: {type(error).__name__}: {error}") from error


def _warm_up(_: argparse.Namespace) -> int:
    from cmab.studies._warmup import warm_up

    for name, seconds in warm_up():
        print(f"{name}: {seconds:.1f} s", flush=True)
    return 0


def _report(options: argparse.Namespace) -> int:
    from cmab.reports.report import write_report

    print(write_report(options.folder, band_kind=options.band, level=options.level))
    return 0


def _run_study(options: argparse.Namespace) -> int:
    from cmab.studies.study import Study

    _import_all(options.modules)
    if options.address is not None and options.backend == "loky":
        raise ValueError("--address has no effect with --backend loky; use --backend dask or --backend ray")
    study = Study.load(options.file, accept_versions=options.accept_versions)
    with _kept(options.out), study.at(options.out) as folder:
        if damaged := folder.repair():
            print(f"cmab: {damaged} damaged pieces will be run again", file=sys.stderr)
        missing, total = len(folder.missing()), len(study.pieces)
        print(f"{study}: {missing} of {total} pieces to do", file=sys.stderr)
        # By default, use all workers of a cluster.
        default = 1 if options.backend == "loky" else -1
        n_jobs = default if options.jobs is None else options.jobs
        message, failed = "", None
        try:
            with backend(options.backend, options.address):
                folder.run(n_jobs=n_jobs, progress=True, part=options.part)
        except StudyFailed as error:
            failed = error
        except KeyboardInterrupt:
            left = len(folder.missing())
            message = f"interrupted with {left} pieces left; run the same command to continue"
        _finish(folder.identification_table(), options.out, "identifications.csv")
        _finish(folder.trial_table(), options.out, "trials.csv")
        _finish(folder.table(), options.out)
    if failed is not None:
        raise failed
    return _fail(message, INTERRUPTED) if message else 0


def _validate(options: argparse.Namespace) -> int:
    from cmab.studies.study import Study

    _import_all(options.modules)
    print(f"{Study.load(options.file)}: no errors found")
    return 0


def _list(options: argparse.Namespace) -> int:
    for group in _registry.GROUPS if options.group is None else (options.group,):
        known = _registry.entries(group)
        if known:
            print(f"{group}:")
        for name, entry in known.items():
            try:
                thing = entry.load()
            except Exception as error:  # any exception of an imported module
                print(f"  {name}: cannot be loaded ({error})")
                continue
            print(f"  {name}{_signature(thing)}\n      {_summary(thing)}")
    return 0


def _signature(thing: Any) -> str:
    """Return the parameters with their defaults, without types."""
    parameters = inspect.signature(thing).parameters.values()
    return (
        "("
        + ", ".join(str(p.replace(annotation=p.empty)).replace("=<factory>", "=...") for p in parameters)
        + ")"
    )


def _summary(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def _run(options: argparse.Namespace) -> int:
    """Run a demo or an experiment, and print and save the table of its rows.

    The function yields rows and texts. Texts before the first row are printed at once, later ones below the
    table.
    """
    if options.name is None:
        options.missing(f"NAME is required, one of: {', '.join(_registry.entries(options.group)) or 'none'}")
    function: Callable[..., Any] = _registry.load(options.group, options.name)
    parser = parser_of(function, f"cmab {options.word} {options.name}")
    own_out = inspect.signature(function).parameters.get("out")
    if own_out is None:
        parser.add_argument("--out", type=path_named, metavar="PATH", help="folder for the table as CSV")
    settings = {**vars(parser.parse_args(options.arguments))}
    if own_out is None:
        out = settings.pop("out")
    else:
        usual = getattr(function, "folder_for", lambda _: own_out.default)(settings)
        out = settings.setdefault("out", usual)
    minutes = getattr(function, "minutes", {}).get(settings.get("quick", False))
    with _kept(out):
        if minutes is not None:
            print(f"about {minutes:g} min on two cores", file=sys.stderr)
        return _play(function(**settings), out)


def _play(played: Iterator[tables.Row | str], out: Path | None) -> int:
    """Print and save the rows of a demo or an experiment, also the rows before an error or an interrupt."""
    rows: list[tables.Row] = []
    lines: list[str] = []
    try:
        for row in played:
            if not isinstance(row, str):
                rows.append(row)
                _note(row)
            elif rows:
                lines.append(row)  # below the table
            else:
                print(_line(row), flush=True)
    except KeyboardInterrupt:
        _finish(rows, out)
        kept = f"; the results so far are above{'' if out is None else f' and in {out}'}" if rows else ""
        more = "; run the same command to continue" if out is not None and (out / STORE).exists() else ""
        return _fail(f"interrupted{kept}{more}", INTERRUPTED)
    except StudyFailed:
        _finish(rows, out, lines=lines)
        raise
    except Exception:
        _finish(rows, None, lines=lines)
        raise
    _finish(rows, out, lines=lines)
    return 0


@contextlib.contextmanager
def _kept(out: Path | None) -> Iterator[None]:
    """Check the folder of results before a long run; after an error, remove it if it is new and empty."""
    is_new = out is not None and not out.exists()
    try:
        if out is not None:
            _check_output(out)
        yield
    except Exception as error:
        if out is not None and isinstance(error, OSError) and not out.is_dir():
            raise _BadOutput(
                f"the folder {out} disappeared while the command ran, and the stored results with it; run the"
                " command again with a folder that no one removes"
            ) from error
        if out is not None and is_new:
            with contextlib.suppress(OSError):  # the folder is not empty
                out.rmdir()
        raise


def _line(text: str) -> str:
    """Return a line as it is printed, wrapped to the width of the terminal if there is one."""
    safe = printable(text)
    return fitted(safe, shutil.get_terminal_size().columns) if sys.stdout.isatty() else safe


def _note(row: tables.Row) -> None:
    """Print a row to standard error if it is a log, which has no progress bar."""
    if not sys.stderr.isatty():
        cells = (f"{key}: {tables.shown(value)}" for key, value in row.items())
        print(printable("  ".join(cells)), file=sys.stderr)


def _finish(
    rows: Sequence[tables.Row], out: Path | None, name: str = "table.csv", *, lines: Sequence[str] = ()
) -> None:
    if rows:
        try:
            if out is not None:  # first, because printing may fail
                tables.write_csv(out / name, rows)
        finally:  # print the table even if the disk is full
            print(tables.text(rows, grouped=True), *map(_line, lines), sep="\n")
        if out is not None:
            print(_line(f"written to {out}: {', '.join(sorted(path.name for path in out.iterdir()))}"))


def _check_output(folder: Path) -> None:
    """Make the folder and write to it once, so that a long run does not fail at its end."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _BadOutput(
            f"--out must be a writable folder, got {folder}: {error.strerror}; name another folder"
        ) from None


if __name__ == "__main__":
    command()
