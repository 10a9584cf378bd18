"""A campaign in a folder: the network or the list, the options, and reports by people."""

from __future__ import annotations

import getpass
import os
import shutil
import tempfile
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cmab import Campaign
from cmab.campaign.files import (
    EVENTS,
    FILE,
    Options,
    Problem,
    problem_of,
    read_options,
    short,
    value_of,
    written,
)
from cmab.campaign.reports import (
    BEST,
    NEW_ONLY,
    Report,
    Round,
    UnreachableError,
    not_new,
    round_of,
    rounds_of,
    without_path,
)
from cmab.errors import NothingToUndoError
from cmab.validation import shown

#: The largest number of characters of a name.
_LONGEST_NAME = 500


class CampaignFolder:
    """A campaign in a folder, with names as people write them and rounds numbered from 1.

    Parameters
    ----------
    path : path-like
        The folder, which `create_folder` made.
    problem : Problem, optional
        The problem of the files and options of this folder, for a new campaign and after a change, which is
        accepted. If it is omitted, the files are read, and the events must exist.

    Raises
    ------
    ValueError
        If the folder has no campaign, or its files are not valid.
    OSError
        If a file cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str], *, problem: Problem | None = None) -> None:
        self.path = Path(path)
        if not (self.path / FILE).is_file():
            raise ValueError(f"{self.path} must be the folder of a campaign, but has no file {FILE}")
        self.options = options = read_options(self.path)
        self.problem: Problem = problem_of(self.path, options) if problem is None else problem
        where = self.path / EVENTS
        if problem is None and not (where.is_file() and where.stat().st_size):
            raise ValueError(f"{where} must have the events of the campaign, got none; restore a backup")
        self.campaign = Campaign(
            self.problem.oracle,
            where,
            rng=options.seed,
            support=(0.0, options.largest),
            accept_changes=problem is not None,
            author=_user(),
        )
        #: The events that were read last.
        self._history: list[dict[str, Any]] = []

    def __repr__(self) -> str:
        return f"CampaignFolder({str(self.path)!r})"

    def close(self) -> None:
        """Close the connection to the events; the next call opens it again."""
        self.campaign.close()

    @property
    def is_network(self) -> bool:
        """Whether people join along the ties of a network."""
        return self.options.is_network

    def history(self) -> list[dict[str, Any]]:
        """Return all events, oldest first, as `Campaign.history` does."""
        if len(self._history) != self.campaign.n_events:
            self._history = self.campaign.history()
        return self._history

    def rounds(self) -> list[Round]:
        """Return all rounds, oldest first."""
        return rounds_of(self.history(), is_network=self.is_network)

    def ask(
        self,
        without: Iterable[str] = (),
        *,
        is_best: bool = False,
        is_new_only: bool = False,
        instead_of: int | None = None,
        kept: Sequence[Hashable] = (),
    ) -> Round:
        """Choose for a new round.

        Parameters
        ----------
        without : iterable of str
            The names that are left out.
        is_best : bool
            Whether the choice is the best one by the present estimates, instead of one that also learns.
        is_new_only : bool
            Whether only people count who join for the first time; in a network only.
        instead_of : int, optional
            The number of a round that waits and is cancelled in the same step.
        kept : sequence of hashable
            The names, all but one, that stay in the round.

        Raises
        ------
        ValueError
            If a name is unknown, or too few names remain.
        """
        old = None if instead_of is None else round_of(self.rounds(), instead_of)
        left_out = self.problem.names.find_all(without)
        labels, out = self.problem.names.labels, {*left_out}
        available = [label for label in labels if label not in out] if out else None
        ticket, found = None if old is None else old.ticket, None
        before = not_new(self.rounds(), but=old) if is_new_only else set()
        oracle = self.problem.oracle_without(before)
        gone = len(labels) - len({*labels} - out - before)
        if len(labels) - gone < self.options.k:
            raise ValueError(
                f"{self.options.k} of {len(labels)} names must remain to choose from, got {gone} that are"
                f" left out{' or are not new' if before else ''}"
            )
        if is_best or is_new_only or kept:
            beliefs = self.campaign.beliefs()
            # The best choice is that of the state of the campaign, which has the same random numbers.
            rng = np.random.default_rng(0 if is_best else [self.options.seed or 0, len(self.history())])
            means = beliefs.means if is_best else beliefs.draw(rng)
            flags = np.array([label not in before and label not in out for label in labels])
            chosen = oracle.solve_within(means, flags, rng)
            if kept:
                fixed = [labels.index(name) for name in kept]
                others = [at for at in chosen.tolist() if at not in fixed]
                value = {at: value_of(oracle, np.array([*fixed, at]), means) for at in others}
                chosen = np.array([*fixed, max(others, key=value.__getitem__)])
            found = [labels[at] for at in chosen.tolist()]
        note = "; ".join([BEST] * is_best + [NEW_ONLY] * is_new_only)
        new = self.campaign.ask(names=found, available=available, instead_of=ticket, note=note)
        return next(of for of in self.rounds() if of.ticket == new.number)

    def leave_out(self, number: int, name: str) -> Round:
        """Choose another name in place of one of a round that waits, as the round was chosen."""
        old, gone = round_of(self.rounds(), number), self.problem.names.find(name)
        if gone not in old.names:
            raise ValueError(f"{name} must be in round {number} to be left out")
        return self.ask(
            [*map(str, old.left_out), name],
            is_best=old.is_best,
            is_new_only=old.is_new_only,
            instead_of=number,
            kept=[each for each in old.names if each != gone],
        )

    def change(self, **options: Any) -> CampaignFolder:
        """Write changed options, and return the campaign with them.

        Raises
        ------
        ValueError
            If an option is not valid, or a report needs a tie that would be gone.
        """
        new = replace(self.options, **options)
        is_same = new.ties == self.options.ties
        problem = self.problem if is_same else problem_of(self.path, new)
        if not is_same:
            self._check_reports(problem)
        if is_same:
            title = f"title: {self.options.title} → {new.title}" if "title" in options else ""
            self.campaign.note("; ".join(filter(None, [title, "notes" if "notes" in options else ""])))
        self.close()
        file = self.path / FILE
        former = file.read_bytes()
        file.write_text(written(new), encoding="utf-8")
        try:
            return CampaignFolder(self.path, problem=problem)
        except BaseException:
            file.write_bytes(former)
            raise

    def _check_reports(self, problem: Problem) -> None:
        """Raise ``ValueError`` if a round has people that another network lacks or does not reach."""
        assert problem.graph is not None
        known = {*problem.names.labels}
        for of in self.rounds():
            people = {*of.planned, *of.names, *(of.joined or {}), *of.unknown}
            lost = [*(people - known)] if of.state in ("reported", "waiting") else []
            if of.state == "reported" and not lost:
                lost = without_path(problem.graph, of.names, {*(of.joined or {})} - {*of.alone}, of.unknown)
            if lost:
                raise ValueError(
                    f"round {of.number} needs the tie, because of {lost[0]}; correct its report first"
                )

    def tell(self, report: Report) -> Round:
        """Store a report; if the round was reported before, the report replaces the former one.

        Raises
        ------
        ValueError
            If the round was cancelled, or the report cannot be true.
        """
        of = round_of(self.rounds(), report.number)
        if of.state == "cancelled":
            raise ValueError(f"round {of.number} was cancelled; undo the cancellation before you report it")
        asked = of.names if report.asked is None else tuple(report.asked)
        if not asked:
            raise ValueError(
                f"somebody must have been asked and have come in round {of.number}; otherwise cancel the"
                " round, from which nothing can be learned"
            )
        given = self._arguments(asked, report)
        if {*asked} != {*of.planned}:
            given["played"] = asked
        act = self.campaign.tell if of.state == "waiting" else self.campaign.correct
        try:
            act(ticket=of.ticket, **given)
        except ValueError as error:
            raise ValueError(f"round {report.number}: {error}") from None
        return self.rounds()[report.number - 1]

    def cancel(self, number: int) -> None:
        """Close a round that was not played, or leave out a reported one, so that nothing is learned from it.

        The numbers of the other rounds stay. A round that was left out can be reported again.

        Raises
        ------
        ValueError
            If the round was cancelled or left out before.
        """
        of = round_of(self.rounds(), number)
        if of.state in ("cancelled", "left out"):
            raise ValueError(f"round {number} was {of.state} before")
        if of.state == "waiting":
            self.campaign.cancel(of.ticket)
        else:
            self.campaign.correct({}, of.ticket)

    def undo(self) -> dict[str, Any]:
        """Take back the last report, correction or cancellation, and return its event with the ``round``.

        Raises
        ------
        cmab.errors.NothingToUndoError
            If there is nothing to take back.
        """
        # This also reads the events of other processes, so that the last event is known.
        rounds = {ticket: of for of in self.rounds() for ticket in (of.ticket, *of.former)}
        try:
            event = self.campaign.undo()
        except NothingToUndoError:
            raise NothingToUndoError("there is no report, correction or cancellation to undo") from None
        return event | {"round": rounds[event["ticket"]].number}

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


def _user() -> str | None:
    """Return the name of the user of this process, or None."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as in some containers
        return None


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
    path: str | os.PathLike[str], options: Options, files: Mapping[str, bytes]
) -> CampaignFolder:
    """Make the folder of a new campaign, completely or not at all, and return the opened campaign.

    The folder must be new or empty. `files` has the contents of the files that the options name.
    """
    folder = Path(path)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} must be a new or an empty folder; choose another name")
    for name in files:
        if Path(name).name != name or name.startswith(".") or name in (FILE, EVENTS):
            raise ValueError(
                f"the file must have a plain name that differs from {FILE} and {EVENTS}, got"
                f" {shown(name)}; rename it"
            )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as place:
        new = Path(place, "folder")
        new.mkdir()
        for name, data in files.items():
            (new / name).write_bytes(data)
        (new / FILE).write_text(written(options), encoding="utf-8")
        problem = problem_of(new, options)
        check_names(problem.names.labels)
        CampaignFolder(new, problem=problem).close()
        with suppress(FileNotFoundError):
            folder.rmdir()
        shutil.move(new, folder)
    return CampaignFolder(folder, problem=problem)
