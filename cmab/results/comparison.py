"""What `compare` found: learners or explorers on one environment, ranked and tested."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from cmab.arrays import IntArray
from cmab.intervals import Band
from cmab.results._comparison_files import read, write
from cmab.results._rankings import BEST, EQUAL, TIED, UNTESTED, VERDICT, folded, matrix
from cmab.results.identification import Identification
from cmab.results.simulation import Simulation
from cmab.results.tables import Row, frame_of, is_missing, latex, text
from cmab.validation import shown

Result = TypeVar("Result", Simulation, Identification)


class Rows(list[Row]):
    """Rows that a terminal and a notebook show as a table."""

    def __repr__(self) -> str:
        return text(self, grouped=True) if self else "[]"

    def _repr_html_(self) -> str:
        from cmab.results._html import table

        return table(self)


class Table(str):
    """A text that a terminal shows as it is, also without `print`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, eq=False)
class Comparison(ABC, Generic[Result]):
    """What `compare` found: a `PolicyComparison`, or an `ExplorerComparison`.

    Attributes
    ----------
    results : dict of str to Simulation or Identification
        The result of each, by name; ``comparison["CUCB"]`` is short for ``comparison.results["CUCB"]``.
    environment : str
        What they were compared on.
    replications : dict of str to IntArray
        Which replications each has, in the order of its result: those of an unfinished study may differ, and
        only those that both have are paired.

    Examples
    --------
    >>> from cmab import LUCB1, compare
    >>> from instances import BernoulliArms
    >>> arms = BernoulliArms([0.2, 0.9, 0.5])
    >>> found = compare({"LUCB": LUCB1(3, 1, delta=0.1)}, arms, replications=2, rng=0)
    >>> found.best, found["LUCB"].arms
    ('LUCB', [array([1]), array([1])])
    """

    #: The classes of comparisons by what a file calls them.
    _kinds: ClassVar[dict[str, type[Comparison[Any]]]] = {}
    _kind: ClassVar[str] = ""

    results: dict[str, Result]
    environment: str = ""
    replications: dict[str, IntArray] = field(default_factory=dict, repr=False)

    @property
    def kind(self) -> str:
        """What is compared: ``"learners"`` or ``"explorers"``."""
        return self._kind

    def __init_subclass__(cls, kind: str = "", **named: object) -> None:
        super().__init_subclass__(**named)
        if kind:
            cls._kind, cls._kinds[kind] = kind, cls

    def __post_init__(self) -> None:
        if not self.results:
            raise ValueError("results must hold a learner at least, got none")
        numbers = {name: np.arange(len(found.seconds)) for name, found in self.results.items()}
        object.__setattr__(self, "replications", numbers | self.replications)

    def __getitem__(self, name: str) -> Result:
        if name not in self.results:
            raise KeyError(f"name must be one of {', '.join(map(repr, self.results))}, got {name!r}")
        return self.results[name]

    @abstractmethod
    def rows(self, *, level: float = 0.95, band_kind: Band = "t") -> Rows:
        """Return a row of numbers for each, the best first, with intervals of `level`."""

    @abstractmethod
    def tests(self, *, level: float = 0.95) -> Rows:
        """Return a row for each pair: its difference with an interval of `level`, and a paired test.

        ``p (Holm)`` is corrected for all pairs, so that the chance of a single false "yes" under "differ at
        5 %" is at most 5 %. A dash stands where there is nothing to test: below two common replications, or
        where all differences are equal.
        """

    def matrix(self) -> Rows:
        """Return the tests as a matrix: by how much a row has more than a column, ``*`` where they differ.

        Columns are numbered as the rows, the best one first. Where runs were cut off only the sign is known;
        where errors are compared there are two counts: where only the row's was wrong, only the column's.
        """
        return Rows(matrix(self._named(), self.tests(), self._pair))

    @abstractmethod
    def plot(self, ax: Any = None, *, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw what is compared, write it to `path` if that is given, and return the matplotlib axes."""

    @property
    def best(self) -> str:
        """The name of the one that did best."""
        return str(next(iter(self.rows()[0].values())))

    @property
    def tied(self) -> list[str]:
        """The names of those whom the tests cannot tell from the best one."""
        return self._named(TIED, EQUAL)

    def table(self, *, level: float = 0.95) -> Table:
        """Return a table to print, the best first, and a sentence on who is best."""
        rows, _ = self._shown(level)
        return Table(f"{self._title()}\n\n{text(rows, grouped=True)}\n\n{self.headline}")

    @property
    def headline(self) -> str:
        """A sentence: who is best, and who cannot be told from it."""
        ties, untested = ", ".join(self.tied), ", ".join(self._named(UNTESTED))
        more = f" Not distinguishable from it: {ties} ({self._test()}, Holm, 5 %)." if ties else ""
        more += f" Not tested against it: {untested}." if untested else ""
        return f"Best: {self.best}.{more}"

    def to_frame(self, *, level: float = 0.95) -> Any:
        """Return the rows as a ``pandas.DataFrame``, in full precision.

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        return frame_of(self.rows(level=level), "rows()")

    def to_html(self, *, level: float = 0.95, band_kind: Band = "t", caption: str = "") -> str:
        """Return the table for a page; the best, and who may be, in bold."""
        from cmab.results._html import table

        rows, bold = self._shown(level, band_kind)
        return table(rows, caption, bold=bold)

    def to_markdown(self, *, level: float = 0.95) -> str:
        """Return the table for Markdown."""
        return text(self._shown(level)[0], grouped=True, form="github")

    def to_latex(self, *, level: float = 0.95, caption: str = "") -> str:
        """Return the table for LaTeX and its package booktabs; the best, and who may be, in bold."""
        rows, bold = self._shown(level)
        return latex(rows, caption=caption, bold=bold)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all but the learners' final states to a file, an archive of numpy without pickle.

        Raises
        ------
        OSError
            If it cannot be written; what was there stays.
        """
        write(Path(path), self._kind, self.results, self._said())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Comparison[Any]:
        """Return what `save` wrote.

        Raises
        ------
        ValueError
            If the file holds anything else, or is damaged.
        """
        kind, results, said = read(Path(path))
        said["replications"] = {name: np.array(each, np.int64) for name, each in said["replications"].items()}
        return Comparison._kinds[kind](results, **said)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.results)}. {self.headline})"

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from cmab.results._html import escape

        return f"{self.to_html(caption=self._title())}<p>{escape(self.headline)}</p>"

    def _named(self, *verdicts: str) -> list[str]:
        """Return of whom the tests say so, or all, the best first."""
        rows = [row for row in self.rows() if not verdicts or row.get(VERDICT) in verdicts]
        return [str(next(iter(row.values()))) for row in rows]

    def _shown(self, level: float, band_kind: Band = "t") -> tuple[list[Row], list[int]]:
        """Return the rows of the table, and the numbers of those that are best or may be."""
        rows = self._columns(self.rows(level=level, band_kind=band_kind))
        bold = [number for number, row in enumerate(rows) if row.get(VERDICT) in (BEST, TIED, EQUAL)]
        return folded(rows, level), bold

    def _said(self) -> dict[str, Any]:
        """Return what a file keeps beside the results."""
        numbers = {name: those.tolist() for name, those in self.replications.items()}
        return {"environment": self.environment, "replications": numbers}

    @abstractmethod
    def _title(self) -> str:
        """Return what stands above the table."""

    @property
    @abstractmethod
    def _pair(self) -> tuple[str, str]:
        """The columns of the tests that name two, the one with less first."""

    @abstractmethod
    def _test(self) -> str:
        """Return by which tests two are told apart."""

    def _columns(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows without what is the same for all, and said in the title."""
        alike = len({row["replications"] for row in rows}) == 1
        unsaid = {"replications"} if alike else set()
        # What nobody has is left out: an unknown regret, errors that nobody judged.
        if "regret" in rows[0]:  # whose interval says as much
            unsaid |= {name for name in rows[0] if name.startswith(("reward a round, ", "cost a round, "))}
        unsaid |= {name for name in rows[0] if all(is_missing(row.get(name)) for row in rows)}
        return [{name: value for name, value in row.items() if name not in unsaid} for row in rows]

    def _runs(self) -> str:
        """Return what the title says of replications and environment."""
        runs = {len(those) for those in self.replications.values()}
        counted = f"{min(runs):,}" if len(runs) == 1 else f"{min(runs):,} to {max(runs):,}"
        place = f" on {shown(_Plain(self.environment))}" if self.environment else ""
        return f"{counted} replication{'' if runs == {1} else 's'}{place}"


class _Plain(str):
    """A text that is shown without quotes."""

    __slots__ = ()
    __repr__ = str.__str__
