"""Logs of rounds, for tables, plots and offline learning."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, overload

from cmab.campaign.names import Names
from cmab.feedback import Context, Feedback
from cmab.oracle import Oracle
from cmab.run.tables import frame_of, write_csv
from cmab.statistics import ArmStatistics
from cmab.validation import integer, listed, real, shown, vector

_WHOLE = ("number", "state", "reward", "propensity", "pulls", "asked", "told")
#: Attributes that are lists, and the prefixes of their columns.
_LISTS = {"names": "chosen", "by_position": "by_position"}


def rows_of(rounds: Iterable[Any], arms: Iterable[Hashable]) -> list[dict[str, Any]]:
    """Return a row for each outcome, and one row without an arm for each round without outcomes.

    All rows have the same columns. A name that is a tuple, such as a tie, has one column for each part.
    """
    listed = list(rounds)
    parts = max((len(name) for name in arms if isinstance(name, tuple)), default=0)
    heads = [f"arm_{i + 1}" for i in range(parts)] or ["arm"]
    facts = list(dict.fromkeys(fact for row in listed for fact in row.facts))
    wide = {
        (name, i): f"{head}_{i + 1}"
        for name, head in _LISTS.items()
        for i in range(max((len(getattr(row, name) or ()) for row in listed), default=0))
    }
    return [
        {
            **{name: getattr(row, name) for name in _WHOLE},
            **{head: written(_cell_of(getattr(row, name), i)) for (name, i), head in wide.items()},
            **{f"facts.{fact}": row.facts.get(fact) for fact in facts},
            **{head: _cell_of(arm if isinstance(arm, tuple) else (arm,), i) for i, head in enumerate(heads)},
            "outcome": outcome,
        }
        for row in listed
        for arm, outcome in (row.outcomes.items() or [((), None)])
    ]


def _cell_of(cells: Sequence[Any] | None, i: int) -> Any:
    return cells[i] if cells is not None and i < len(cells) else None


def written(name: Any) -> Any:
    """Return a name as text for people: a tie by its two ends."""
    return " – ".join(map(str, name)) if isinstance(name, tuple) else name


@dataclass(frozen=True, eq=False)
class LoggedRound:
    """One logged round: the final state of a campaign's ticket, or one round of a table.

    Attributes
    ----------
    number : int
        The number of the ticket. For a table: the index of the round, from 0.
    state : {"told", "pending", "cancelled"}
        Whether the ticket was reported, is pending or was cancelled.
    names : tuple
        The super arm that was played. If positions matter, the entries are in the order of their positions.
    outcomes : dict
        The outcome of each observed base arm, by name. If `pulls` is not 1, the sum of its outcomes.
    reward : float
        The reported reward; nan without a report.
    propensity : float or None
        The probability with which the policy chose `names`; None if it is unknown.
    context : Context or None
        The context of the round. The rows of ``available`` are ordered as `Log.choices`, those of
        ``features`` and ``values`` as `Log.arms`. Entries that were added later have rows of zeros.
    pulls : int
        The number of outcomes requested for each arm; different from 1 only for explorers.
    asked, told : datetime or None
        The times of the request and of the report in UTC, by the clock of the machine that wrote them; None
        if unknown. Clocks can be set back, so the times of different rounds may decrease.
    by_position : tuple of float or None
        The probability with which each entry of `names` was chosen for its position.
    facts : dict
        Further properties of the round from a table, known before the choice, by column name.

    Raises
    ------
    ValueError
        If a probability is outside [0, 1].

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CUCB, Campaign, read_campaign
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "campaign.db")
    ...     request = Campaign(CUCB(TopK(5, k=2)), path, rng=0).ask()
    ...     row = read_campaign(path)[0]
    >>> row.state, row.names, row.outcomes, row.propensity
    ('pending', (0, 1), {}, None)
    """

    number: int
    state: str
    names: tuple[Hashable, ...]
    outcomes: dict[Hashable, float]
    reward: float = math.nan
    propensity: float | None = None
    context: Context | None = None
    pulls: int = 1
    asked: datetime | None = None
    told: datetime | None = None
    by_position: tuple[float, ...] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Logs can have 1e5 rounds. The full validation takes microseconds, so only unusual values need it.
        for name, low in (("number", 0), ("pulls", 1)):
            value = getattr(self, name)
            if type(value) is not int or value < low:
                object.__setattr__(self, name, integer(name, value, low))
        reward: object = self.reward
        if not isinstance(reward, float) or math.isinf(reward):  # nan: unknown
            real("reward", reward)
        if self.propensity is not None and not _are_chances((self.propensity,)):
            real("propensity", self.propensity, 0.0, 1.0)
        if self.by_position is not None and not _are_chances(self.by_position):
            vector("by_position", self.by_position, low=0.0, high=1.0)

    def before(self) -> LoggedRound:
        """Return the round before the choice: only its number, context and facts."""
        return LoggedRound(self.number, "pending", (), {}, context=self.context, facts=self.facts)


def _are_chances(values: object) -> bool:
    """Return whether `values` is a tuple of floats in [0, 1]; other types need the full validation."""
    return type(values) is tuple and all(type(value) is float and 0.0 <= value <= 1.0 for value in values)


class Log(Sequence[LoggedRound]):
    """A sequence of logged rounds, in the order of their requests.

    `read_campaign` reads a log from the store of a campaign, `read_log` from a table.

    Parameters
    ----------
    rounds : iterable of LoggedRound
        The rounds.
    choices, arms : list, optional
        The names of the entries of super arms, and of the base arms. By default these are the names in the
        rounds, in order of first appearance. The rows of contexts are in these orders.
    versions : list of dict
        The versions of ``cmab`` and ``numpy`` that the campaign was run with, oldest first.

    Raises
    ------
    TypeError
        If a round is not a `LoggedRound`.
    ValueError
        If a round contains a name that is not in `choices` or `arms`.

    Examples
    --------
    >>> from cmab import Log, LoggedRound
    >>> log = Log([LoggedRound(0, "told", ("tea", "cola"), {"tea": 1.0, "cola": 0.0}, propensity=0.5)])
    >>> log, log.choices, log[0].outcomes
    (Log(rounds=1, told=1, arms=2), ['tea', 'cola'], {'tea': 1.0, 'cola': 0.0})
    """

    def __init__(
        self,
        rounds: Iterable[LoggedRound],
        *,
        choices: Sequence[Hashable] | None = None,
        arms: Sequence[Hashable] | None = None,
        versions: Sequence[dict[str, str]] = (),
    ) -> None:
        self._rounds = listed("rounds", rounds, "LoggedRound")
        for row in self._rounds:
            if not isinstance(row, LoggedRound):
                raise TypeError(f"rounds must be LoggedRound, got {shown(row)}")
        self.choices = _known("choices", choices, (row.names for row in self._rounds))
        self.arms = _known("arms", arms, (row.outcomes for row in self._rounds))
        self.versions = listed("versions", versions, "dict")
        if not all(isinstance(version, dict) for version in self.versions):
            raise ValueError(f"versions must hold dicts, got {shown(versions)}")

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
        """Return the statistics of the base arms of an oracle from the reported rounds, matched by name.

        Outcomes of arms that the oracle does not have are left out. The rounds are processed in the order of
        their requests. A learner processed them in the order of the reports, so its means may differ by
        rounding.

        Parameters
        ----------
        oracle : Oracle
            The oracle, which names the base arms.

        Raises
        ------
        ValueError
            If a round has sums of several outcomes, as in campaigns of explorers.
        """
        names = Names("base arms", oracle._arm_labels(), getattr(oracle, "is_undirected", False))
        seen = ArmStatistics.empty(oracle.n_arms)
        for row in self:
            if row.state != "told":
                continue
            if row.pulls != 1:
                raise ValueError(
                    f"rounds must have one outcome per arm, got {row.pulls} of ticket {row.number}"
                )
            seen.update(outcomes_of(row, names))
        return seen

    def rows(self) -> list[dict[str, Any]]:
        """Return the log as a flat table with one row for each outcome.

        A round without outcomes has one row.

        Returns
        -------
        list of dict
            Dictionaries with the same columns: ``number``, ``state``, ``reward``, ``propensity``, ``pulls``,
            ``asked`` and ``told`` of the round; ``chosen_1``, ``chosen_2``, ... for the entries of its super
            arm; ``by_position_1``, ... and ``facts.x`` if a table has them; ``arm`` and its
            ``outcome``. If arms are tuples, such as ties, ``arm_1``, ``arm_2``, ... replace ``arm``. Contexts
            are left out: see `LoggedRound.context`.
        """
        return rows_of(self, self.arms)

    def to_frame(self) -> Any:
        """Return the `rows` as a ``pandas.DataFrame``.

        Raises
        ------
        ImportError
            If pandas is not installed. The extra ``frames`` installs it; `to_csv` and `rows` do not need it.
        """
        return frame_of(self.rows(), self._columns())

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the `rows` to a CSV file in UTF-8 with a header; unknown values become empty cells.

        Parameters
        ----------
        path : str or path-like
            The file. An existing file is replaced.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        rows = [{name: _cell(value) for name, value in row.items()} for row in self.rows()]
        write_csv(path, rows, self._columns())

    def _columns(self) -> list[str]:
        """Return the columns of `rows`, also for an empty log."""
        return list(rows_of(self._rounds or [LoggedRound(0, "pending", (), {})], self.arms)[0])


def _cell(value: Any) -> Any:
    """Return the form of a value in a CSV file."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return value.isoformat(timespec="milliseconds") if isinstance(value, datetime) else value


def outcomes_of(row: LoggedRound, names: Names) -> Feedback:
    """Return feedback with the outcomes of the base arms of a round that have one of these names."""
    forms = {names.form_of(name): outcome for name, outcome in row.outcomes.items()}
    known = {names.number[name]: outcome for name, outcome in forms.items() if name in names.number}
    return Feedback([*known], [*known.values()])


def _known(what: str, given: Sequence[Hashable] | None, used: Iterable[Iterable[Hashable]]) -> list[Hashable]:
    """Return the given names, which must include all used names; by default, the used names."""
    found = dict.fromkeys(name for names in used for name in names)
    if given is None:
        return list(found)
    entries: Iterable[Any] = given
    named = listed(what, entries, "names")
    if unnamed := [name for name in named if not isinstance(name, Hashable)]:
        raise ValueError(f"{what} must hold names, got {shown(unnamed[0])}")
    if missing := found.keys() - set(named):
        raise ValueError(f"{what} must hold all names of the rounds, but {shown(missing.pop())} is missing")
    return named
