"""The files of a campaign in a folder: names as people type them, tables, the options, and the problem."""

from __future__ import annotations

import csv
import json
import os
import re
import unicodedata
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import Oracle
from cmab.run.tables import numbers_of
from cmab.validation import meant, real, shown

if TYPE_CHECKING:
    from oracles import DirectedGraph

Found = TypeVar("Found")
#: The first line of a spreadsheet that states the separator.
STATED = re.compile(r"sep=([\t;,|])\s*$", re.MULTILINE | re.IGNORECASE)
#: The largest number of groups of names that a line shows.
_MOST_ALIKE = 20
#: Among more names than this, no misspelled ones are looked for; a few pairs are shown in any case.
_MANY, _FEW = 5_000, 5
#: The number of characters of a name in a message.
_LONGEST = 60


def clean(text: str) -> str:
    """Return a text without repeated blanks, in the composed form of Unicode.

    Examples
    --------
    >>> from cmab.campaign.files import clean
    >>> clean("  Anna   Meyer ")
    'Anna Meyer'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def short(text: str) -> str:
    """Return a text as it is shown in a message, cut after 60 characters."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def alike_in_words(names: Iterable[Hashable]) -> list[str]:
    """Return a line on names that differ in accents, capitals, marks, the order of words or a letter, if any.

    Examples
    --------
    >>> from cmab.campaign.files import alike_in_words
    >>> alike_in_words(["Ann Lee", "lee, ann", "John", "Jon"])
    ['names that look alike and may be one: Ann Lee and lee, ann; Jon and John']
    """
    groups: dict[str, list[str]] = {}
    for name in map(str, names):
        parts = unicodedata.normalize("NFKD", name).casefold()
        words = re.findall(r"\w+", "".join(part for part in parts if not unicodedata.combining(part)))
        if not any(map(str.isdecimal, words)):  # (1, 2) and (2, 1) are different places
            words.sort()
        groups.setdefault(" ".join(words), []).append(name)
    found = [" and ".join(group) for key, group in groups.items() if key and len(group) > 1]
    found += _misspelled({key: group[0] for key, group in groups.items()})
    more = f"; and {len(found) - _MOST_ALIKE:,} more" if len(found) > _MOST_ALIKE else ""
    return [f"names that look alike and may be one: {'; '.join(found[:_MOST_ALIKE])}{more}"] if found else []


def _misspelled(names: Mapping[str, str]) -> list[str]:
    """Return the pairs that differ in one inner letter, such as John and Jon, or Meyer and Meier.

    A letter that differs must be in a name of five or more. If many names differ so, they are codes.
    """
    if len(names) > _MANY:
        return []
    pairs, masked = dict[str, None](), dict[str, str]()
    for key, name in names.items():
        for at in range(1, len(key) - 1) if not re.search(r"\d", key) else ():
            shorter = key[:at] + key[at + 1 :]
            if shorter in names:
                pairs[f"{names[shorter]} and {name}"] = None
            other = masked.setdefault(f"{key[:at]}*{key[at + 1 :]}", name) if len(key) > 4 else name
            if other != name:
                pairs[f"{other} and {name}"] = None
    return [*pairs] if len(pairs) <= max(_FEW, len(names) // 20) else []


class Names:
    """The names of a campaign, which are found as people type them.

    Blanks and capitals make no difference, unless two names differ in them only.

    Parameters
    ----------
    labels : iterable of str
        The different names of the network or the list, in order.

    Examples
    --------
    >>> from cmab.campaign.files import Names
    >>> Names(["Anna Meyer", "Bob"]).find(" anna meyer")
    'Anna Meyer'
    """

    def __init__(self, labels: Iterable[str]) -> None:
        self.labels = list(labels)
        self.number = {label: at for at, label in enumerate(self.labels)}
        self._loose: dict[str, str | None] = {}
        for label in self.labels:
            loose = clean(label).casefold()
            # Two names that differ only in blanks or capitals are found only as they are written.
            self._loose[loose] = None if loose in self._loose else label

    def _found(self, text: str) -> str | None:
        return text if text in self.number else self._loose.get(clean(text).casefold())

    def __contains__(self, text: str) -> bool:
        return self._found(text) is not None

    def find(self, text: str) -> str:
        """Return the name that a text means.

        Raises
        ------
        ValueError
            If the name is unknown; the message has the most similar name.
        """
        found = self._found(text)
        if found is None:
            raise ValueError(f"{shown(short(text))} is not a name of this campaign{meant(text, self.number)}")
        return found

    def find_all(self, texts: Iterable[str]) -> list[str]:
        """Return the names that these texts mean, each once.

        Raises
        ------
        ValueError
            If names are unknown; the message has a line for each of them.
        """
        texts = list(dict.fromkeys(texts))
        errors = list[str]()
        found = list(filter(None, (noted(errors, self.find, text) for text in texts)))
        if errors:
            raise ValueError("\n".join(errors))
        return list(dict.fromkeys(found))


def noted(errors: list[str], call: Callable[..., Found], *given: Any) -> Found | None:
    """Return the result of a call, or None after its ``ValueError``, whose message is added to `errors`."""
    try:
        return call(*given)
    except ValueError as error:
        errors.append(str(error))
        return None


#: The number of cascades for the expected result of a choice.
_CASCADES = 300
#: The largest number of names of a list.
_MOST_NAMES = 100_000
_NAME_HEADERS = ("name", "names", "person", "people", "who", "item", "items", "label", "id")
#: A date, as people and spreadsheets write it.
DATE = re.compile(
    r"""(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))
        ([ T,]+\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(\ ?[ap]\.?m\.?)?)?
        (\ ?(GMT|UTC|Z|CES?T|E[SD]T)?([+-]\d{1,2}(:?\d{2})?)?)?""",
    re.IGNORECASE | re.VERBOSE,
)
#: Cells that are no names, in lower case.
NO_NAMES = {
    "nobody",
    "no one",
    "none",
    "-",
    "--",
    "?",
    ".",
    "n/a",
    "#n/a",
    "keine",
    "niemand",
    "personne",
    "nadie",
}


def names_in(text: str) -> tuple[list[str], list[str]]:
    r"""Return the names of a list, and lines on the cells that were left out.

    A table has the names in the column ``name``, or else in the first one that does more than number the
    lines. Its cells are between tabs, if the first line has one, or else between commas, semicolons or bars,
    whichever is most frequent there. A list has a name on each line, or all names on one line. Lines that
    begin with ``#`` are comments.

    Raises
    ------
    ValueError
        If there is no name, or a name is repeated or empty; the message has the line.

    Examples
    --------
    >>> from cmab.campaign.files import names_in
    >>> names_in('cost;name\n2;"Meyer, Anna"\n3;Bob')[0], names_in("Tea, green\nMilk")[0]
    (['Meyer, Anna', 'Bob'], ['Tea, green', 'Milk'])
    """
    stated = STATED.match(text)
    text = text[stated.end() :] if stated else text
    first = text.strip().partition("\n")[0]
    separator = stated[1] if stated else "\t" if "\t" in first else max(";,|", key=first.count)
    lines = ["", *text.split("\n")]
    reader = csv.reader(lines[1:], delimiter=separator, skipinitialspace=True)
    rows = [(reader.line_num, list(map(clean, row))) for row in reader]
    rows = [(line, row) for line, row in rows if any(row) and not lines[line].lstrip().startswith("#")]
    titles = [cell.casefold() for cell in rows[0][1]] if rows else []
    at = next((titles.index(word) for word in _NAME_HEADERS if word in titles), None)
    is_table = at is not None or len({len(row) for _, row in rows}) == 1
    if len(rows) == 1 and at is None:
        rows = [(rows[0][0], [cell]) for cell in rows[0][1]]
    elif not is_table:
        rows = [(line, [clean(lines[line])]) for line, _ in rows]
    table, column = [row for _, row in rows[0 if at is None else 1 :]], at or 0
    if is_table and [row[column : column + 1] for row in table] == [[f"{n + 1}"] for n in range(len(table))]:
        has_text = (all(re.search(r"[^\W\d]", cell) for cell in cells) for cells in zip(*table, strict=False))
        column = next((number for number, is_text in enumerate(has_text) if is_text), column)
    found: dict[str, int] = {}
    wrong, nameless = list[str](), dict[str, None]()
    last = rows[0][0] if rows else 0
    for line, row in rows[0 if at is None else 1 :]:
        name = row[column] if len(row) > column else ""
        if (
            len(titles) > 1
            and at is not None
            and not any(map(clean, lines[last + 1 : line]))
            and line > last + 1
        ):
            raise ValueError(
                f"line {line}: a second table must not follow an empty line; keep one table in a file, or"
                " delete the empty line"
            )
        last = line
        if name.casefold() in NO_NAMES:
            nameless[name] = None
        elif not name:
            wrong.append(f"line {line}: a name must not be empty")
        elif name in found:
            wrong.append(f"line {line}: {name} must be listed once, but line {found[name]} has it, too")
        found.setdefault(name, line)
    if wrong:
        raise ValueError("\n".join(wrong[:20]))
    names = [name for name in found if name not in nameless]
    if not 0 < len(names) <= _MOST_NAMES:
        raise ValueError(f"the list must have 1 to {_MOST_NAMES:,} names, got {len(names):,}")
    is_cut = at != column and len(table[0]) > 1
    told = [f"only column {column + 1} of {len(table[0])} was read"] if is_cut else []
    return names, [*told, *no_names_told(nameless)]


def no_names_told(cells: Collection[str]) -> list[str]:
    """Return a line on the cells that are no names, if there are any."""
    return [f"left out, because they are no names: {', '.join(cells)}"] if cells else []


def number_in(text: str) -> float:
    """Return the number that a text means; a decimal comma is allowed.

    Raises
    ------
    ValueError
        If the text is not a number, or its comma may mark decimals or thousands.
    """
    (found,) = numbers_of([text])
    if found != found and text.strip().casefold() != "nan":
        raise ValueError(f"must be a number, got {short(text)}")
    return found


#: The files of the options and of the events in the folder of a campaign.
FILE, EVENTS = "campaign.json", "events.sqlite"
#: The options on how the file of a network is read.
_READING = ("directed", "from_column", "to_column", "weight_column", "header")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a campaign; every option except the network or the list has a default.

    Parameters
    ----------
    title : str
        The title of the campaign.
    network, names : str, optional
        The file of the network, or the file of the list of names, in the folder. Exactly one is given.
    directed : bool, optional
        Whether a tie goes one way only. If omitted, the file decides.
    from_column, to_column, weight_column : str, optional
        The columns of the network with the two names and the weight of a tie. If omitted, they are found.
    header : bool, optional
        Whether the first line of the network has the names of the columns. If omitted, this is detected.
    k : int
        How many are chosen in a round.
    largest : float
        The largest result of an item of a list.
    notes : str
        Notes for people.
    ties : tuple of tuple of str
        Ties that the file of the network does not have, each with two names.
    seed : int, optional
        The seed of the random numbers.

    Raises
    ------
    ValueError
        If the largest result is not a positive number.

    Examples
    --------
    >>> from cmab.campaign.files import Options
    >>> Options(title="Spring", network="friends.csv", k=3).k
    3
    """

    title: str
    network: str | None = None
    directed: bool | None = None
    from_column: str | None = None
    to_column: str | None = None
    weight_column: str | None = None
    header: bool | None = None
    names: str | None = None
    k: int = 1
    largest: float = 1.0
    notes: str = ""
    ties: tuple[tuple[str, str], ...] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        real("largest", self.largest, 0.0, inside=True)


def read_options(folder: Path) -> Options:
    """Return the options of a folder, or raise ``ValueError`` if the file has none of this version."""
    file = folder / FILE
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        return Options(**table | {"ties": tuple(map(tuple, table["ties"]))})
    except (ValueError, TypeError, KeyError):
        raise ValueError(
            f"{file} must have the options of a campaign as this version writes them; restore a backup"
        ) from None


def write_options(folder: Path, options: Options) -> None:
    """Write the options into their file."""
    (folder / FILE).write_text(json.dumps(asdict(options), indent=1), encoding="utf-8")


@dataclass(frozen=True, eq=False)
class Problem:
    """The names and the oracle of a campaign.

    Parameters
    ----------
    options : Options
        The options of the campaign.
    names : Names
        The names of the people or of the items.
    oracle : Oracle
        The family of choices.
    graph : DirectedGraph, optional
        The network, if there is one.
    told : tuple of str
        One line each about how the network or the list was read.
    preview : instances.networks.columns.Preview, optional
        The first rows of the file of the network.
    """

    options: Options
    names: Names
    oracle: Oracle
    graph: DirectedGraph | None = None
    told: tuple[str, ...] = ()
    preview: Any = None

    @cached_property
    def n_ties(self) -> int:
        """The number of pairs of people with a tie in one direction or both."""
        if self.graph is None:
            return 0
        return len(np.unique(np.sort([self.graph.tails, self.graph.heads], axis=0).T, axis=0))

    def oracle_without(self, people: Collection[str]) -> Oracle:
        """Return the oracle of the network in which some people do not count."""
        from oracles import InfluenceMaximization

        if not people or self.graph is None:
            return self.oracle
        weights = [float(label not in people) for label in self.names.labels]
        return InfluenceMaximization(self.graph, k=self.options.k, node_weights=weights)


def value_of(oracle: Oracle, choice: IntArray, means: FloatArray) -> float:
    """Return the expected result of a choice if the means are true."""
    spread: Any = getattr(oracle, "spread", None)
    if spread is None:
        return float(means[choice].sum())
    return float(spread(choice, means, cascades=_CASCADES)[0])


def problem_of(folder: Path, options: Options) -> Problem:
    """Return the problem of a folder.

    Raises
    ------
    ValueError
        If a file is not valid, or does not fit the options.
    OSError
        If a file cannot be read.
    """
    try:
        return _of_list(folder, options) if options.network is None else _of_network(folder, options)
    except ValueError as error:  # a new campaign is made in a temporary folder, which the user does not know
        raise ValueError(str(error).replace(f"{folder}{os.sep}", "")) from None


def _of_list(folder: Path, options: Options) -> Problem:
    assert options.names is not None
    from instances.networks.network import text_of
    from oracles import TopK

    file = folder / options.names
    _, text, _ = text_of(file)
    try:
        names, told = names_in(text)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    oracle = TopK(len(names), k=options.k).named(names)
    return Problem(options, Names(names), oracle, told=(*told, *alike_in_words(names)))


def _of_network(folder: Path, options: Options) -> Problem:
    from instances.networks.network import read_network
    from oracles import DirectedGraph, InfluenceMaximization

    assert options.network is not None
    how: dict[str, Any] = {name: getattr(options, name) for name in _READING}
    network = read_network(folder / options.network, **how)
    file = network.graph
    arcs = list(zip(file.tails.tolist(), file.heads.tolist(), strict=True))
    number = {str(file.label(node)): node for node in range(file.n_nodes)}
    for tie in options.ties:
        u, v = (number.setdefault(name, len(number)) for name in tie)
        arcs += [(u, v)] if network.directed else [(u, v), (v, u)]
    if not arcs:
        raise ValueError(f"{options.network} must have a tie between two people, got none")
    # The learner does not use the probabilities of the file.
    graph = DirectedGraph(*zip(*arcs, strict=True), n_nodes=len(number), labels=list(number))
    oracle = InfluenceMaximization(graph, k=options.k)
    return Problem(options, Names(number), oracle, graph, network.told, network.preview)
