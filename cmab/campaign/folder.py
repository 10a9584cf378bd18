"""A campaign in a folder: the network or the list, the options, and reports by people."""

from __future__ import annotations

import os
import shutil
import tempfile
import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cmab import Campaign
from cmab.campaign.files import FILE, Options, Problem, clean, problem_of, read_options, short, written
from cmab.campaign.reports import (
    Report,
    Round,
    UnreachableError,
    joined_ever,
    round_of,
    rounds_of,
    without_path,
)
from cmab.errors import ChangedLearnerError, NewerEventsError, NothingToUndoError, TicketError
from cmab.oracle import feedback_of
from cmab.validation import shown

#: The largest number of characters of a name.
_LONGEST_NAME = 500


class CampaignFolder:
    """A campaign in a folder, with names as people write them and rounds numbered from 1.

    The methods that act take the ``author`` of the event; by default, it is that of this object.

    Parameters
    ----------
    path : path-like
        The folder, which `create_folder` made.
    author : str
        The author of the events that this object adds.
    accept_changes : bool
        Whether changes of the network, the list or the options since the last use are accepted.
    is_new : bool
        Whether the folder may have no events yet; then the first one is written.
    problem : Problem, optional
        The problem of the files and options of this folder, if it is known. By default, the files are read.

    Raises
    ------
    ValueError
        If the folder has no campaign, or its files are not valid, or its events are missing.
    OSError
        If a file cannot be read or written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        author: str = "",
        accept_changes: bool = False,
        is_new: bool = False,
        problem: Problem | None = None,
    ) -> None:
        self.path, self._author = Path(path), signature(author)
        if not (self.path / FILE).is_file():
            raise ValueError(
                f"{self.path} must be the folder of a campaign, but has no file {FILE}; make one with"
                " `cmab campaign new`"
            )
        self.options = options = read_options(self.path)
        self.problem: Problem = problem_of(self.path, options) if problem is None else problem
        where = options.events if "://" in options.events else self.path / options.events
        if not is_new:
            _check_begun(where)
        try:
            self.campaign = Campaign(
                self.problem.oracle,
                where,
                rng=options.seed,
                support=(0.0, options.largest),
                accept_changes=accept_changes,
                author=self._author,
            )
        except ChangedLearnerError as error:
            raise ChangedLearnerError(error.where, error.changes, "--accept-changes") from None
        #: The events that the present block of `reading` has read, and whether there is such a block.
        self._history: list[dict[str, Any]] | None = None
        self._is_reading = False

    def __repr__(self) -> str:
        return f"CampaignFolder({str(self.path)!r})"

    def close(self) -> None:
        """Close the connection to the events; the next call opens it again."""
        self.campaign.close()

    @property
    def is_network(self) -> bool:
        """Whether people join along the ties of a network."""
        return self.options.is_network

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read the events at most once in a block, and again after each action of this object in it.

        The block sees the events of other processes as they are at its first reading. An action on these
        events raises `NewerEventsError` if other processes have added events since then. Only one thread may
        use the object during a block.
        """
        self._history, self._is_reading = None, True
        try:
            yield
        finally:
            self._history, self._is_reading = None, False

    def history(self) -> list[dict[str, Any]]:
        """Return all events, oldest first, as `Campaign.history` does."""
        if self._history is not None:
            return self._history
        found = self.campaign.history()
        if self._is_reading:
            self._history = found
        return found

    def rounds(self) -> list[Round]:
        """Return all rounds, oldest first."""
        return rounds_of(self.history(), is_network=self.is_network)

    def ask(
        self, without: Iterable[str] = (), *, instead_of: int | None = None, author: str | None = None
    ) -> Round:
        """Choose for a new round, without some names; cancel the round `instead_of` in the same step.

        Raises
        ------
        ValueError
            If a name is unknown, or too few names remain.
        """
        available = self._available(without)
        ticket = None if instead_of is None else round_of(self.rounds(), instead_of).ticket
        return self._round_with(self._of(author).ask(available=available, instead_of=ticket).number)

    def ask_best(
        self,
        without: Iterable[str] = (),
        *,
        is_learning: bool = False,
        is_new_only: bool = False,
        author: str | None = None,
    ) -> Round:
        """Choose the best names by the present estimates for a new round.

        Parameters
        ----------
        without : iterable of str
            The names that are left out.
        is_learning : bool
            Whether a draw from the posterior takes the place of the estimates, so that the page also learns.
        is_new_only : bool
            Whether only people count who have not joined before; in a network only.
        author : str, optional
            The author of the event.

        Raises
        ------
        ValueError
            If a name is unknown, or too few names remain.
        """
        labels, oracle, beliefs = self.problem.names.labels, self.problem.oracle, self.campaign.beliefs()
        rng = np.random.default_rng([self.options.seed or 0, len(self.history())])
        before = joined_ever(self.rounds()) if is_new_only else set()
        if before:
            oracle = self.problem.weighted([float(label not in before) for label in labels])
        listed = self._available([*without, *map(str, before)])
        flags = np.array([listed is None or label in listed for label in labels])
        means = beliefs.draw(rng) if is_learning else beliefs.means
        found = [labels[at] for at in oracle.solve_within(means, flags, rng).tolist()]
        return self._round_with(self._of(author).ask(names=found, note="" if is_learning else "best").number)

    def _round_with(self, ticket: int) -> Round:
        return next(of for of in self.rounds() if of.ticket == ticket)

    def _available(self, without: Iterable[str]) -> list[Hashable] | None:
        """Return the names that can be chosen, or None for all."""
        names = self.problem.names
        left_out = {*names.find_all(without)}
        if len(names.labels) - len(left_out) < self.options.k:
            raise ValueError(
                f"{self.options.k} of {len(names.labels)} names must remain to choose from, got"
                f" {len(left_out)} that are left out"
            )
        return [label for label in names.labels if label not in left_out] if left_out else None

    def change(self, **options: Any) -> CampaignFolder:
        """Write changed options, and return the campaign with them.

        Raises
        ------
        ValueError
            If an option is not valid; the options then remain as they were.
        """
        new = replace(self.options, **options)
        problem = self.problem if new.ties == self.options.ties else problem_of(self.path, new)
        text = (self.path / FILE).read_text(encoding="utf-8")
        (self.path / FILE).write_text(written(new), encoding="utf-8")
        try:
            self.close()
            return CampaignFolder(self.path, accept_changes=new.ties != self.options.ties, problem=problem)
        except ValueError:
            (self.path / FILE).write_text(text, encoding="utf-8")
            raise

    def tell(self, report: Report, *, author: str | None = None) -> Round:
        """Store a report; if the round was reported before, the report replaces the former one.

        Raises
        ------
        ValueError
            If the round was cancelled, or the report cannot be true.
        """
        of = round_of(self.rounds(), report.number)
        if of.state == "cancelled":
            raise ValueError(f"round {of.number} was cancelled; undo the cancellation before you report it")
        asked = self._asked(of, report)
        ticket, given = of.ticket, self._arguments(asked, report)
        try:
            if asked != of.names:
                if "joined" in given:  # raises the error of a report that cannot be true before the ask
                    entries = [self.problem.names.labels.index(name) for name in asked]
                    told = {name: value for name, value in given.items() if name != "reward"}
                    feedback_of(self.problem.oracle, np.array(entries, np.int64), **told)
                ticket = self._of(author).ask(names=asked, instead_of=ticket, note="report").number
            campaign = self._of(author)
            (campaign.correct if of.state == "reported" else campaign.tell)(ticket=ticket, **given)
        except (NewerEventsError, TicketError):
            raise
        except ValueError as error:
            raise ValueError(f"round {report.number}: {error}") from None
        return self.rounds()[report.number - 1]

    def cancel(self, number: int, *, author: str | None = None) -> None:
        """Close a round that was not played.

        Raises
        ------
        ValueError
            If the round does not wait for a report.
        """
        of = round_of(self.rounds(), number)
        if of.state != "waiting":
            raise ValueError(f"round {number} must wait for a report to be cancelled, but was {of.state}")
        self._of(author).cancel(of.ticket)

    def undo(self, *, author: str | None = None) -> dict[str, Any]:
        """Take back the last report, correction or cancellation, and return its event with the ``round``.

        A report of others than those who were chosen is taken back with the change of who was asked.

        Raises
        ------
        cmab.errors.NothingToUndoError
            If there is nothing to take back.
        """
        # This also reads the events of other processes, so that the last event is known.
        rounds = {ticket: of for of in self.rounds() for ticket in (of.ticket, *of.former)}
        try:
            event = self._of(author).undo()
        except NothingToUndoError:
            raise NothingToUndoError("there is no report, correction or cancellation to undo") from None
        of = rounds[event["ticket"]]
        if event["event"] == "tell" and of.note == "report":
            self.history()
            self._of(author).undo()
        return event | {"round": of.number}

    def _of(self, author: str | None) -> Campaign:
        """Return the campaign for an action of an author, after which the events are read again.

        If a block of `reading` has read the events, the action is refused if the campaign has newer events.
        """
        found, self._history = self._history, None
        by = self._author if author is None else signature(author)
        return self.campaign.signed(by, n_events=None if found is None else len(found))

    def _asked(self, of: Round, report: Report) -> tuple[Hashable, ...]:
        """Return the people that were really asked and came."""
        if not (report.absent or report.instead):
            return of.names
        if of.state == "reported":
            raise ValueError(
                f"who was asked in round {of.number} can change with its first report only; undo the report"
            )
        there = (*(name for name in of.names if name not in report.absent), *report.instead)
        if not there:
            raise ValueError(
                f"somebody must have been asked in round {of.number}; otherwise cancel the round"
            )
        return tuple(dict.fromkeys(there))

    def _arguments(self, asked: Sequence[Hashable], report: Report) -> dict[str, Any]:
        """Return the keywords of `Campaign.tell` for a report."""
        if self.problem.graph is None:
            return {"outcomes": report.results}
        if report.count is not None:
            least, most = len(asked), len(self.problem.names.labels)
            if not (least <= report.count <= most and report.count.is_integer()):
                raise ValueError(
                    f"the number of people that joined must include the {least} that were asked, so it is"
                    f" between {least} and {most}, got {report.count:g}"
                )
            return {"reward": float(report.count)}
        lost = without_path(self.problem.graph, asked, report.joined, report.unknown)
        if not lost:
            return {"joined": report.joined} | ({"unseen": report.unknown} if report.unknown else {})
        if not report.alone:
            raise UnreachableError(lost)
        # People whom nobody can have told: they are counted, and their ties are not observed.
        joined = {name: step for name, step in report.joined.items() if name not in lost}
        count = {} if report.unknown else {"reward": float(len({*asked, *report.joined}))}
        return {"joined": joined, "unseen": [*report.unknown, *lost], **count}


def signature(author: str) -> str | None:
    """Return the author as events contain it, or None without an author."""
    plain = "".join(letter for letter in clean(author) if letter.isprintable())
    return plain[:200] or None


def _check_begun(where: str | Path) -> None:
    """Raise ``ValueError`` if the events are missing, so that no other campaign begins in their place."""
    from cmab.campaign.store import Store

    store = Store(where)
    is_there = store.exists()
    store.close()
    if not is_there:
        raise ValueError(
            f"{store.where} must have the events of the campaign, got none; restore a backup, or make a new"
            " campaign"
        )


def check_names(labels: Iterable[Hashable]) -> None:
    """Raise ``ValueError`` unless the names of a new campaign are short texts without control characters."""
    for label in labels:
        text = str(label)
        is_plain = text.isprintable() or all(unicodedata.category(each) not in ("Cc", "Cs") for each in text)
        if len(text) > _LONGEST_NAME or not is_plain:
            raise ValueError(
                f"a name must have at most {_LONGEST_NAME} characters and no control characters, got"
                f" {shown(short(text))}"
            )


def create_folder(
    path: str | os.PathLike[str], options: Options, files: Mapping[str, bytes], *, author: str = ""
) -> CampaignFolder:
    """Make the folder of a new campaign, completely or not at all.

    Parameters
    ----------
    path : path-like
        The folder, which must be new or empty.
    options : Options
        The options.
    files : mapping of str to bytes
        The contents of the files that the options name.
    author : str
        The author of the first event.

    Returns
    -------
    CampaignFolder
        The opened campaign.

    Raises
    ------
    ValueError
        If the folder is not empty, or a file is not valid.
    OSError
        If the folder cannot be written.
    """
    folder = Path(path)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} must be a new or an empty folder; choose another name")
    for name in files:
        if Path(name).name != name or name.startswith(".") or name in (FILE, options.events):
            raise ValueError(
                f"the file must have a plain name that differs from {FILE} and {options.events}, got"
                f" {shown(name)}; rename it"
            )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as place:
        new = Path(place, "folder")
        new.mkdir()
        for name, data in files.items():
            (new / name).write_bytes(data)
        (new / FILE).write_text(written(options), encoding="utf-8")
        made = CampaignFolder(new, author=author, is_new=True)
        made.close()
        check_names(made.problem.names.labels)
        with suppress(FileNotFoundError):
            folder.rmdir()
        shutil.move(new, folder)
    return CampaignFolder(folder, author=author, problem=made.problem)


def title_of(folder: Path) -> str:
    """Return the title of a new campaign, from the name of its folder."""
    return folder.resolve().name.replace("-", " ").replace("_", " ").strip().capitalize() or "Campaign"
