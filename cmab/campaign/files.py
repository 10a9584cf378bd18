"""The files of a campaign in a folder: names as people type them, tables, the options, and the problem."""

from __future__ import annotations

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
from cmab.validation import bare, meant, real, shown

if TYPE_CHECKING:
    from oracles import DirectedGraph

Found = TypeVar("Found")
#: The largest number of groups of names that a line shows.
_MOST_ALIKE = 20
#: Among more names than this, no misspelled ones are looked for; a few pairs are shown in any case.
_MANY, _FEW = 5_000, 5
#: The number of characters of a name in a message.
_LONGEST = 60


def clean(text: str) -> str:
    """Return a text without repeated blanks and invisible characters, in the composed form of Unicode.

    Examples
    --------
    >>> from cmab.campaign.files import clean
    >>> clean("  Anna   Meyer ")
    'Anna Meyer'
    """
    if not text.isascii():
        text = re.sub(r"[\u200b\u2060\ufeff]", "", unicodedata.normalize("NFC", text))
    return " ".join(text.split())


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
        words = re.findall(r"\w+", bare(name))
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
#: A number of which nothing shows whether its point or comma marks decimals or thousands.
_UNCLEAR = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
#: A date, as people and spreadsheets write it.
DATE = re.compile(
    r"""(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})
        |\d{1,2}\.?[ -](jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?[ -](\d{4}|\d{2}))
        ([ T,]+\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(\ ?([ap]\.?m|vorm|nachm)\.?)?)?
        (\ ?(GMT|UTC|Z|MES?Z|[CEW]ES?T|[CEMP][SD]T|BST)?([+-]\d{1,2}(:?\d{2})?)?)?""",
    re.IGNORECASE | re.VERBOSE,
)
#: Cells that are no names, in lower case; the first ones say that there is nobody.
NOBODY = {"-", "--", ".", "n/a", "#n/a", "nobody", "no one", "none", "keine", "keiner", "niemand"}
NOBODY |= {"personne", "nadie"}
_OTHERS = (
    "?|??|everybody|everyone|all|all of them|unknown|idk|i don't know|i don’t know|i do not know|don't know"
    "|don’t know|not sure|alle|jeder|unbekannt|weiss nicht|weiss ich nicht|ich weiss nicht|keine ahnung"
    "|tout le monde|je ne sais pas|todos|no sé"
)
_NO_NAMES = NOBODY.union(_OTHERS.split("|"))


def is_name(text: str) -> bool:
    """Return whether a cell is a name, and not a word such as nobody or everybody."""
    return _NO_NAMES.isdisjoint((text.casefold(), text.casefold().rstrip(".! ")))


def number_in(text: str) -> float:
    """Return the number that a text means; a decimal comma is allowed.

    Raises
    ------
    ValueError
        If the text is not a number, has a percent sign, or its point or comma may mark decimals or thousands.
    """
    if "%" in text:
        raise ValueError(f"enter a number such as 50, without a percent sign, got {short(text)}")
    if _UNCLEAR.fullmatch(text.strip()):
        whole, _, part = text.strip().replace(",", ".").partition(".")
        raise ValueError(f"{text.strip()} is not clear; write {whole}{part} or {whole}.{part.rstrip('0')}0")
    (found,) = numbers_of([text])
    if found != found and text.strip().casefold() != "nan":
        raise ValueError(f"must be a number, got {short(text)}")
    return found


#: The files of the options and of the events in the folder of a campaign.
FILE, EVENTS = "campaign.json", "events.sqlite"
#: The options on how the file of a network is read.
_READING = ("directed", "from_column", "to_column", "header")


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
        Whether a tie goes one way only. If omitted, the file decides, or else ties go both ways.
    from_column, to_column : str, optional
        The columns of the network with the two names of a tie. If omitted, they are found.
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
    preview : instances.networks.sheets.Preview, optional
        The first rows of the file of the network.
    """

    options: Options
    names: Names
    oracle: Oracle
    graph: DirectedGraph | None = None
    told: tuple[str, ...] = ()
    preview: Any = None

    @cached_property
    def size(self) -> str:
        """The numbers of names, and of pairs of people with a tie in one direction or both, in words."""
        n = len(self.names.labels)
        if self.graph is None:
            return f"{n:,} item{'s' * (n != 1)}"
        ends = np.sort([self.graph.tails, self.graph.heads], axis=0).T
        pairs = len(np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0))
        return f"{n:,} people, {pairs:,} pair{'s' * (pairs != 1)} who know each other"

    def oracle_without(self, people: Collection[str]) -> Oracle:
        """Return the oracle of the network in which some people do not count."""
        from oracles import InfluenceMaximization

        if not people or self.graph is None:
            return self.oracle
        weights = [float(label not in people) for label in self.names.labels]
        return InfluenceMaximization(self.graph, k=self.options.k, node_weights=weights)


def value_of(oracle: Oracle, choice: IntArray, means: FloatArray, key: int = 0) -> float:
    """Return the expected result of a choice if the means are true.

    In a network, all choices have the same random numbers, which depend on the key.
    """
    from oracles import InfluenceMaximization
    from oracles.influence.spread import estimated_spread

    if not isinstance(oracle, InfluenceMaximization):
        return float(means[choice].sum())
    weights = oracle.node_weights
    return estimated_spread(oracle.graph, means, choice, _CASCADES, key=key, node_weights=weights)[0]


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
    from instances.networks.formats import form_of
    from instances.networks.network import text_of
    from instances.networks.sheets import names_in
    from oracles import TopK

    file = folder / options.names
    _, text, delimiter, notes = text_of(file)
    if form := form_of(file, text):
        raise ValueError(f"{file} must be a list of names, got {form}, which has people who know each other")
    names, told = names_in(file, text, delimiter)
    oracle = TopK(len(names), k=options.k).named(names)
    return Problem(options, Names(names), oracle, told=(*notes, *told, *alike_in_words(names)))


def _of_network(folder: Path, options: Options) -> Problem:
    from instances.networks.network import read_network
    from oracles import DirectedGraph, InfluenceMaximization

    assert options.network is not None
    how: dict[str, Any] = {name: getattr(options, name) for name in _READING}
    # Probabilities are learned.
    network = read_network(folder / options.network, ties_only=True, default_directed=False, **how)
    file = network.graph
    arcs = list(zip(file.tails.tolist(), file.heads.tolist(), strict=True))
    number = {str(file.label(node)): node for node in range(file.n_nodes)}
    for tie in options.ties:
        u, v = (number.setdefault(name, len(number)) for name in tie)
        arcs += [(u, v)] if network.directed else [(u, v), (v, u)]
    if not arcs:
        raise ValueError(f"{options.network} must have a tie between two people, got none")
    graph = DirectedGraph(*zip(*arcs, strict=True), n_nodes=len(number), labels=list(number))
    oracle = InfluenceMaximization(graph, k=options.k)
    return Problem(options, Names(number), oracle, graph, network.told, network.preview)
