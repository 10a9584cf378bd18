"""A campaign in a folder: the network or the list, the options, and reports by people."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cmab import Campaign
from cmab.arrays import FloatArray, IntArray
from cmab.campaign.files import (
    EVENTS,
    Options,
    Problem,
    problem_of,
    read_options,
    short,
    value_of,
    write_options,
)
from cmab.campaign.reports import (
    BEST,
    NEW_ONLY,
    Report,
    Round,
    UnreachableError,
    not_new,
    rounds_of,
    without_path,
)
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
        The problem of the files and options of this folder, for a new campaign. If it is omitted, the files
        are read, and the events must exist.

    Raises
    ------
    ValueError
        If the folder has no events, or its files are not valid.
    OSError
        If a file cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str], *, problem: Problem | None = None) -> None:
        self.path, where = Path(path), Path(path, EVENTS)
        if problem is None and not (where.is_file() and where.stat().st_size):
            raise ValueError(f"{where} must have the events of the campaign, got none; restore a backup")
        self.problem = problem_of(self.path, read_options(self.path)) if problem is None else problem
        self.campaign = self._opened(self.problem)
        #: The events that were read last.
        self._history: list[dict[str, Any]] = []

    def _opened(self, problem: Problem) -> Campaign:
        support, seed = (0.0, problem.options.largest), problem.options.seed
        return Campaign(problem.oracle, self.path / EVENTS, rng=seed, support=support, accept_changes=True)

    def close(self) -> None:
        """Close the connection to the events; the next call opens it again."""
        self.campaign.close()

    @property
    def options(self) -> Options:
        """The options of the campaign."""
        return self.problem.options

    @property
    def is_network(self) -> bool:
        """Whether people join along the ties of a network."""
        return self.problem.graph is not None

    def history(self) -> list[dict[str, Any]]:
        """Return all events, oldest first, as `Campaign.history` does."""
        if len(self._history) != self.campaign.n_events:
            self._history = self.campaign.history()
        return self._history

    def rounds(self) -> list[Round]:
        """Return all rounds, oldest first."""
        return rounds_of(self.history())

    def best(
        self, out: Collection[str] = (), known: Collection[str] = (), means: FloatArray | None = None
    ) -> IntArray:
        """Return the numbers of the names in the best choice.

        Parameters
        ----------
        out : collection of str
            The names that are left out.
        known : collection of str
            The people who do not count.
        means : FloatArray, optional
            The means that the choice is best for; by default the present estimates.
        """
        means = self.campaign.beliefs().means if means is None else means
        flags = np.array([label not in out for label in self.problem.names.labels])
        # The same random numbers each time, so that equally good choices do not alternate.
        return self.problem.oracle_without(known).solve_within(means, flags, np.random.default_rng(0))

    def ask(self, without: Iterable[str] = (), *, is_best: bool = False, is_new_only: bool = False) -> Round:
        """Choose for a new round.

        Parameters
        ----------
        without : iterable of str
            The names that are left out.
        is_best : bool
            Whether the choice is the best one by the present estimates, instead of one that also learns.
        is_new_only : bool
            Whether only people count who join for the first time; in a network only.

        Raises
        ------
        ValueError
            If a name is unknown, or too few names remain.
        """
        return self._choose(self.problem.names.find_all(without), is_best=is_best, is_new_only=is_new_only)

    def leave_out(self, old: Round, name: str) -> Round:
        """Choose another name in place of one of a round that waits, as the round was chosen."""
        gone = self.problem.names.find(name)
        if gone not in old.names:
            raise ValueError(f"{name} must be in round {old.number} to be left out")
        out = [*old.left_out, gone]
        return self._choose(out, is_best=old.is_best, is_new_only=old.is_new_only, old=old)

    def _choose(self, out: list[str], *, is_best: bool, is_new_only: bool, old: Round | None = None) -> Round:
        """Choose for a new round, or other names in place of those of an old one that are out."""
        names, k, found = self.problem.names, self.options.k, None
        known = not_new(self.rounds(), but=old) if is_new_only else set()
        gone = known.union(out)
        if len(names.labels) - len(gone) < k:
            raise ValueError(
                f"{k} of {len(names.labels)} names must remain to choose from, got {len(gone)} that are left"
                f" out{' or are not new' if known else ''}"
            )
        if is_best or is_new_only or old is not None:
            rng = np.random.default_rng([self.options.seed or 0, len(self.history())])
            beliefs = self.campaign.beliefs()
            means = beliefs.means if is_best else beliefs.draw(rng)
            chosen = self.best(gone, known, means).tolist()
            if old is not None:
                oracle = self.problem.oracle_without(known)
                kept = [names.number[name] for name in old.names if name not in out]
                others = [[*kept, at] for at in chosen if at not in kept]
                chosen = max(others, key=lambda some: value_of(oracle, np.array(some), means))
            found = [names.labels[at] for at in chosen]
        new = self.campaign.ask(
            names=found,
            available=[label for label in names.labels if label not in out] if out else None,
            instead_of=None if old is None else old.ticket,
            note="; ".join([BEST] * is_best + [NEW_ONLY] * is_new_only),
        )
        return next(of for of in self.rounds() if of.ticket == new.number)

    def change(self, **options: Any) -> None:
        """Change some options: the title, the notes or the ties.

        Raises
        ------
        ValueError
            If a report needs a tie that would be gone.
        """
        new = replace(self.options, **options)
        if new.ties != self.options.ties:
            problem = problem_of(self.path, new)
            self._check_reports(problem)
            self.close()
            self.campaign, self.problem = self._opened(problem), problem
        else:
            title = [f"title: {self.options.title} → {new.title}"] if "title" in options else []
            self.campaign.note("; ".join([*title, *(["notes"] if "notes" in options else [])]))
            self.problem = replace(self.problem, options=new)
        write_options(self.path, new)

    def _check_reports(self, problem: Problem) -> None:
        """Raise ``ValueError`` if another network lacks people of the events, or paths to them."""
        assert problem.graph is not None
        for row in self.history():
            for name in (*row.get("names", ()), *row.get("joined", ()), *row.get("unseen", ())):
                if name not in problem.names.number:
                    raise ValueError(f"{name} was chosen or reported, so the tie must stay")
        for of in self.rounds():
            told = {*(of.joined or {})} - {*of.alone} if of.state == "reported" else ()
            if lost := without_path(problem.graph, of.names, told, of.unknown):
                raise ValueError(
                    f"round {of.number} needs the tie, because of {lost[0]}; correct its report first"
                )

    def tell(self, of: Round, report: Report) -> Round:
        """Store the report of a round; if it was reported before, the report replaces the former one.

        Raises
        ------
        ValueError
            If the report cannot be true.
        """
        asked = of.names if report.asked is None else tuple(report.asked)
        if not asked:
            raise ValueError(
                f"somebody must have been asked and have come in round {of.number}; otherwise leave the"
                " round out, from which nothing can be learned"
            )
        given = self._arguments(asked, report)
        if {*asked} != {*of.planned}:
            given["played"] = asked
        act = self.campaign.tell if of.state == "waiting" else self.campaign.correct
        try:
            act(ticket=of.ticket, **given)
        except ValueError as error:
            why = str(error)
            if any(report.joined.values()):  # names and paths are right
                why = (
                    "the numbers after the names do not fit each other: 1 is for people whom one of those"
                    " asked told, 2 for those whom one with 1 told, and so on; correct them, or leave them"
                    " out"
                )
            raise ValueError(f"round {of.number}: {why}") from None
        return self.rounds()[of.number - 1]

    def cancel(self, of: Round) -> None:
        """Leave out a round that was not played, or was reported by accident: nothing is learned from it.

        The numbers of the other rounds stay. A round that was left out can be reported at any time.
        """
        act = self.campaign.tell if of.state == "waiting" else self.campaign.correct
        act({}, of.ticket)

    def _arguments(self, asked: Sequence[str], report: Report) -> dict[str, Any]:
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


def check_names(labels: Iterable[str]) -> None:
    """Raise ``ValueError`` unless the names of a new campaign are short texts without control characters."""
    for text in labels:
        if len(text) > _LONGEST_NAME or re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", text):
            raise ValueError(
                f"a name must have at most {_LONGEST_NAME} characters and no control characters, got"
                f" {shown(short(text))}"
            )


def create_folder(
    path: str | os.PathLike[str], options: Options, files: Mapping[str, bytes]
) -> CampaignFolder:
    """Make a new campaign in an empty folder, completely or not at all, and return the opened campaign.

    If the folder does not exist, it is made. `files` has the contents of the files that the options name.
    """
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"{folder} must be a new or an empty folder; choose another name")
    try:
        for name, data in files.items():
            (folder / name).write_bytes(data)
        problem = problem_of(folder, options)
        check_names(problem.names.labels)
        made = CampaignFolder(folder, problem=problem)
        write_options(folder, options)  # at the end: without this file, the folder is no campaign
    except BaseException:
        shutil.rmtree(folder)
        raise
    return made
