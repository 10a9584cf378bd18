"""The rounds of a journal, read without a learner: for counting, plotting and learning offline."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Any, overload

import numpy as np

from cmab.campaigns._fold import rewritten
from cmab.campaigns._names import Names, read
from cmab.campaigns.journal import Event, events
from cmab.context import Context
from cmab.feedback import Feedback
from cmab.oracle import Oracle
from cmab.statistics import ArmStatistics


@dataclass(frozen=True, eq=False)
class LoggedRound:
    """One ticket of a campaign, as it stands after all corrections.

    Attributes
    ----------
    number : int
        Of the ticket.
    state : {"told", "pending", "cancelled"}
        What became of it.
    names : tuple
        What was played: the super arm.
    outcomes : dict
        Outcome of each base arm that was seen, by name; sums of them where `pulls` is not 1.
    reward : float
        The reward that was told, nan if there was none.
    propensity : float or None
        Probability with which the policy chose `names`, where it can give it.
    context : Context or None
        What was known of the round: rows by `Log.choices` (``available``) and `Log.arms` (``features``,
        ``values``), as far as there were any then.
    pulls : int
        Outcomes of each arm that were asked for; 1 but for explorers.
    asked, told : datetime or None
        When (UTC); by the clock of the machine that wrote, which may have gone backwards.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CUCB, Campaign, read_journal
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "campaign.jsonl")
    ...     request = Campaign(CUCB(TopK(5, k=2)), path, rng=0).ask()
    ...     row = read_journal(path)[0]
    >>> row.state, row.names, row.outcomes, row.propensity
    ('pending', (0, 1), {}, None)
    """

    number: int
    state: str
    names: tuple[Hashable, ...]
    outcomes: dict[Hashable, float]
    reward: float
    propensity: float | None
    context: Context | None
    pulls: int
    asked: datetime
    told: datetime | None


class Log(Sequence[LoggedRound]):
    """The rounds of a journal, in the order in which they were asked for; `read_journal` makes it.

    Parameters
    ----------
    events : list of dict
        The lines, as `cmab.campaigns.journal.events` gives them.

    Attributes
    ----------
    choices, arms : list
        Names of what super arms consist of, and of the base arms.
    versions : list of dict
        Versions of ``cmab`` and ``numpy`` that the campaign was gone on with, oldest first.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CUCB, Campaign, read_journal
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "campaign.jsonl")
    ...     campaign = Campaign(CUCB(TopK(5, k=2)), path, rng=0)
    ...     campaign.tell({0: 1.0, 1: 0.0}, campaign.ask(), reward=1.0)
    ...     log = read_journal(path)
    >>> log, log[0].names, log[0].outcomes
    (Log(rounds=1, told=1, arms=5), (0, 1), {0: 1.0, 1: 0.0})
    """

    def __init__(self, events: list[Event]) -> None:
        self.choices: list[Hashable] = []
        self.arms: list[Hashable] = []
        self.versions: list[dict[str, str]] = []
        asked: dict[int, Event] = {}
        told: dict[int, Event] = {}
        cancelled = set()
        undone, corrected = rewritten(events)
        for line, event in enumerate(events, 1):
            kind = event["event"]
            if line in undone or kind in ("correct", "undo"):
                continue
            if kind in ("campaign", "changed"):
                self.choices += map(read, event["choices"])
                self.arms += map(read, event["names"])
                self.versions += [event["versions"]] if event["versions"] not in self.versions[-1:] else []
            elif kind == "ask":
                asked[event["ticket"]] = event
            elif kind == "tell":
                told[event["ticket"]] = corrected.get(line, event)
            else:
                cancelled.add(event["ticket"])
        self._rounds = [self._round(event, told.get(number), cancelled) for number, event in asked.items()]

    def __repr__(self) -> str:
        told = sum(row.state == "told" for row in self)
        return f"Log(rounds={len(self)}, told={told}, arms={len(self.arms)})"

    def __len__(self) -> int:
        return len(self._rounds)

    def __iter__(self) -> Iterator[LoggedRound]:
        return iter(self._rounds)

    @overload
    def __getitem__(self, index: int) -> LoggedRound: ...
    @overload
    def __getitem__(self, index: slice) -> list[LoggedRound]: ...
    def __getitem__(self, index: int | slice) -> LoggedRound | list[LoggedRound]:
        return self._rounds[index]

    def statistics(self, oracle: Oracle) -> ArmStatistics:
        """Return what the told rounds say of the base arms of an oracle, matched by name.

        Outcomes of arms that the oracle does not have are left out. The outcomes are taken in in the order in
        which the rounds were asked for; a learner took them in as they were told, so that its means may
        differ in the last place.

        Parameters
        ----------
        oracle : Oracle
            The family of super arms; its `arm_labels` are the names.

        Raises
        ------
        ValueError
            If a round has sums of several outcomes (campaigns of explorers), or a part of a cluster only.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from cmab import CUCB, Campaign, clcb, read_journal
        >>> from oracles import TopK
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "campaign.jsonl")
        ...     campaign = Campaign(CUCB(TopK(3, k=2)), path, rng=0)
        ...     campaign.tell({0: 1.0, 1: 0.0}, campaign.ask())
        ...     seen = read_journal(path).statistics(TopK(3, k=1))
        >>> seen.counts, seen.means
        (array([1, 1, 0]), array([1., 0., 0.]))
        """
        names = Names("base arms", oracle.arm_labels(), oracle.is_undirected)
        seen = ArmStatistics.empty(oracle.n_arms, oracle.clusters)
        for row in self:
            if row.state != "told":
                continue
            if row.pulls != 1:
                raise ValueError(
                    f"rounds must have one outcome an arm, got {row.pulls} of ticket {row.number}"
                )
            forms = {names.form_of(name): outcome for name, outcome in row.outcomes.items()}
            known = {names.number[name]: outcome for name, outcome in forms.items() if name in names.number}
            seen.update(Feedback([*known], [*known.values()]))
        return seen

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each round, and the attributes of `LoggedRound` as columns.

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install pandas; the rows do not") from None
        return pandas.DataFrame([vars(row) for row in self], columns=list(LoggedRound.__annotations__))

    def _round(self, asked: Event, told: Event | None, cancelled: set[int]) -> LoggedRound:
        outcomes: dict[Hashable, float] = {}
        if told is not None:
            names = [self.arms[place] for place in told["arms"]]
            outcomes = dict(zip(names, told["outcomes"], strict=True))
        parts = {name: np.array(part) for name, part in asked.get("context", {}).items()}
        gone = "cancelled" if asked["ticket"] in cancelled else "pending"
        return LoggedRound(
            number=asked["ticket"],
            state=gone if told is None else "told",
            names=tuple(self.choices[place] for place in asked["super_arm"]),
            outcomes=outcomes,
            reward=float("nan") if told is None else told.get("reward", float("nan")),
            propensity=asked.get("propensity"),
            context=Context(**parts) if parts else None,
            pulls=asked.get("pulls", 1),
            asked=datetime.fromisoformat(asked["at"]),
            told=None if told is None else datetime.fromisoformat(told["at"]),
        )


def read_journal(path: str | os.PathLike[str]) -> Log:
    """Return the rounds of a campaign's journal, by name, with what was undone and corrected put right.

    Nothing is locked or written, and no learner is needed: the journal of a campaign that runs may be read.

    Parameters
    ----------
    path : str or path-like
        The file of a `Campaign`.

    Raises
    ------
    ValueError
        If a line is damaged, or the file is none of a campaign, such as an empty one.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CTS, Campaign, read_journal
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "campaign.jsonl")
    ...     request = Campaign(CTS(TopK(5, k=2)), path, rng=0).ask()
    ...     [(row.number, row.state) for row in read_journal(path)]
    [(0, 'pending')]
    """
    return Log(events(path))
