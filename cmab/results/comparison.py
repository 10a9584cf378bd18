"""The result of `compare`: learners or explorers on one environment, ranked and tested."""

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
    """Rows that are shown as a table in a terminal and in a notebook."""

    def __repr__(self) -> str:
        return text(self, grouped=True) if self else "[]"

    def _repr_html_(self) -> str:
        from cmab.results._html import table

        return table(self)


class Table(str):
    """A text that an interactive session shows without quotes, also without `print`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, eq=False)
class Comparison(ABC, Generic[Result]):
    """The result of `compare`: a `PolicyComparison` or an `ExplorerComparison`.

    Attributes
    ----------
    results : dict of str to Simulation or Identification
        The result of each learner or explorer by name; ``comparison["CUCB"]`` is short for
        ``comparison.results["CUCB"]``.
    environment : str
        A description of the environment.
    replications : dict of str to IntArray
        The replication numbers of each result, in its order. In an unfinished study they may differ between
        learners; tests use only the replications that both have.

    Examples
    --------
    >>> from cmab import LUCB1, compare
    >>> from instances import BernoulliArms
    >>> arms = BernoulliArms([0.2, 0.9, 0.5])
    >>> found = compare({"LUCB": LUCB1(3, 1, delta=0.1)}, arms, replications=2, rng=0)
    >>> found.best, found["LUCB"].arms
    ('LUCB', [array([1]), array([1])])
    """

    #: The classes of comparisons by the kind that a file names.
    _kinds: ClassVar[dict[str, type[Comparison[Any]]]] = {}
    _kind: ClassVar[str] = ""

    results: dict[str, Result]
    environment: str = ""
    replications: dict[str, IntArray] = field(default_factory=dict, repr=False)

    @property
    def kind(self) -> str:
        """The kind of the compared objects: ``"learners"`` or ``"explorers"``."""
        return self._kind

    def __init_subclass__(cls, kind: str = "", **named: object) -> None:
        super().__init_subclass__(**named)
        if kind:
            cls._kind, cls._kinds[kind] = kind, cls

    def __post_init__(self) -> None:
        if not self.results:
            raise ValueError("results must not be empty, got {}; pass at least one result")
        numbers = {name: np.arange(len(found.seconds)) for name, found in self.results.items()}
        object.__setattr__(self, "replications", numbers | self.replications)

    def __getitem__(self, name: str) -> Result:
        if name not in self.results:
            raise KeyError(f"name must be one of {', '.join(map(repr, self.results))}, got {name!r}")
        return self.results[name]

    @abstractmethod
    def rows(self, *, level: float = 0.95, band_kind: Band = "t") -> Rows:
        """Return a row of numbers for each learner or explorer, the best first, with intervals at `level`."""

    @abstractmethod
    def tests(self, *, level: float = 0.95) -> Rows:
        """Return a row for each pair: the difference, its interval at `level` and a paired test.

        The p-values in ``p (Holm)`` are corrected for all pairs, so that the probability of any false "yes"
        under "differ at 5 %" is at most 5 %. A dash means that a pair has fewer than two common replications
        or that all its differences are equal.
        """

    def matrix(self) -> Rows:
        """Return the tests as a matrix of differences, row minus column, with ``*`` if they are significant.

        Columns are numbered like the rows, the best first. If runs were cut off, a cell has only the sign. If
        errors are compared, a cell has two counts: replications in which only the row is wrong, and
        replications in which only the column is wrong.
        """
        return Rows(matrix(self._named(), self.tests(), self._pair))

    @abstractmethod
    def plot(self, ax: Any = None, *, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw the comparison, write the picture to `path` if it is given, and return the matplotlib axes."""

    @property
    def best(self) -> str:
        """The name of the best learner or explorer."""
        return str(next(iter(self.rows()[0].values())))

    @property
    def tied(self) -> list[str]:
        """The names that the tests do not distinguish from the best one."""
        return self._named(TIED, EQUAL)

    def table(self, *, level: float = 0.95) -> Table:
        """Return a table to print, the best first, and the sentence `headline`."""
        rows, _ = self._shown(level)
        return Table(f"{self._title()}\n\n{text(rows, grouped=True)}\n\n{self.headline}")

    @property
    def headline(self) -> str:
        """A sentence that names the best one and the ones that are not distinguishable from it."""
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
        """Return the table as HTML; the best one and the ones not distinguishable from it are bold."""
        from cmab.results._html import table

        rows, bold = self._shown(level, band_kind)
        return table(rows, caption, bold=bold)

    def to_markdown(self, *, level: float = 0.95) -> str:
        """Return the table as Markdown."""
        return text(self._shown(level)[0], grouped=True, form="github")

    def to_latex(self, *, level: float = 0.95, caption: str = "") -> str:
        """Return the table as LaTeX (package booktabs); the best and those not distinguishable are bold."""
        rows, bold = self._shown(level)
        return latex(rows, caption=caption, bold=bold)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the final states and certificates to a numpy archive without pickle.

        Raises
        ------
        OSError
            If the file cannot be written. An existing file then stays unchanged.
        """
        write(Path(path), self._kind, self.results, self._said())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Comparison[Any]:
        """Return the comparison that `save` wrote.

        Raises
        ------
        ValueError
            If `save` did not write the file, or if the file is damaged.
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
        """Return the names with one of these verdicts, or all names, the best first."""
        rows = [row for row in self.rows() if not verdicts or row.get(VERDICT) in verdicts]
        return [str(next(iter(row.values()))) for row in rows]

    def _shown(self, level: float, band_kind: Band = "t") -> tuple[list[Row], list[int]]:
        """Return the rows of the table and the numbers of the rows in bold."""
        rows = self._columns(self.rows(level=level, band_kind=band_kind))
        bold = [number for number, row in enumerate(rows) if row.get(VERDICT) in (BEST, TIED, EQUAL)]
        return folded(rows, level), bold

    def _said(self) -> dict[str, Any]:
        """Return the values that a file keeps in addition to the results."""
        numbers = {name: those.tolist() for name, those in self.replications.items()}
        return {"environment": self.environment, "replications": numbers}

    @abstractmethod
    def _title(self) -> str:
        """Return the title above the table."""

    @property
    @abstractmethod
    def _pair(self) -> tuple[str, str]:
        """The two columns of the tests that name a pair, the one with the smaller value first."""

    @abstractmethod
    def _test(self) -> str:
        """Return the names of the tests between pairs."""

    def _columns(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows without columns that are equal in all rows, empty, or implied by others."""
        alike = len({row["replications"] for row in rows}) == 1
        unsaid = {"replications"} if alike else set()
        # Columns without any value are left out, such as unknown regret.
        if "regret" in rows[0]:  # whose interval gives the same information as the interval of the reward
            unsaid |= {name for name in rows[0] if name.startswith(("reward a round, ", "cost a round, "))}
        unsaid |= {name for name in rows[0] if all(is_missing(row.get(name)) for row in rows)}
        return [{name: value for name, value in row.items() if name not in unsaid} for row in rows]

    def _runs(self) -> str:
        """Return the part of the title on replications and the environment."""
        runs = {len(those) for those in self.replications.values()}
        counted = f"{min(runs):,}" if len(runs) == 1 else f"{min(runs):,} to {max(runs):,}"
        place = f" on {shown(_Plain(self.environment))}" if self.environment else ""
        return f"{counted} replication{'' if runs == {1} else 's'}{place}"


class _Plain(str):
    """A text with a repr without quotes."""

    __slots__ = ()
    __repr__ = str.__str__
