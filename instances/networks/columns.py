"""Edge lists, CSV and matrices: the delimiter, the header, the columns of names, and directions."""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from cmab.campaign.files import DATE, NO_NAMES, STATED, clean, no_names_told
from cmab.run.tables import numbers_of
from cmab.validation import shown

# In the order in which they are tried: names contain commas and blanks more often than tabs and semicolons.
_DELIMITERS = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "blanks"}
# Number of lines from which the delimiter is found, and of lines that may be above a header.
_SHOWN, _ABOVE = 50, 10
# Largest number of columns of a header that a message lists, and of rows of a preview.
_SHOWN_CELLS, _PREVIEW = 10, 5
# Largest number of nodes in a first line, and number of digits of an integer that fits into 64 bits.
_MOST_NODES, _DIGITS = 10**9, 18
# Names of the two columns of ends; the names of the first line say the direction of an edge.
_ONE_WAY = {("from", "to"), ("tail", "head"), ("sender", "receiver"), ("sender", "recipient")}
_ONE_WAY |= {("follower", "followed"), ("follower", "followee"), ("src", "dst"), ("src", "dest")}
_ENDS = _ONE_WAY | {("source", "target"), ("start", "end"), ("node1", "node2"), ("name1", "name2")}
_ENDS |= {("id1", "id2"), ("person1", "person2"), ("persona", "personb"), ("namea", "nameb")}
_ENDS |= {("nodea", "nodeb"), ("parent", "child"), ("origin", "destination")}
# Single letters are titles only if no name has one letter.
_LETTERS = {("u", "v"), ("i", "j"), ("x", "y"), ("a", "b"), ("s", "t")}
# Words of titles, in the singular, and words that may be beside them.
_TITLE_WORDS = (
    "person people friend ego alter source target src dst dest destination origin from to sender receiver"
    " recipient name node vertex user username member actor respondent participant individual contact"
    " colleague coworker neighbour neighbor partner follower followee following followed acquaintance"
    " connection connected relation relationship tie employee mentor mentee student influencer influenced"
    " influence knows know likes who with supporter supported author coauthor adviser advisee citing"
    " cited caller callee buyer seller account profile character handle item tag hashtag entity tail head"
    " subject object giver nominee collaborator von nach quelle ziel freund origine cible ami"
    " origen destino nom nombre amigo"
)
_BESIDE_WORDS = "a b first second third other one two the your my of id ids number no nr label full s"
# Titles of columns of forms and programs that name no people.
_NO_END_WORDS = (
    "timestamp zeitstempel horodateur date time starttime completiontime endtime submittedat createdat joined"
    " joinedon email emailaddress consent id index row no nr number"
)
_TITLES, _BESIDE, _NO_ENDS = (
    frozenset(words.split()) for words in (_TITLE_WORDS, _BESIDE_WORDS, _NO_END_WORDS)
)
_MISSING = {"", "-", "?", ".", "na", "n/a", "nan", "none", "null", "#n/a", "missing"}
_DIRECTED = {"directed": True, "undirected": False}


class Preview(NamedTuple):
    """The columns of a file, its first rows, and the columns that have the names and the numbers of ties."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    people: tuple[str, ...]
    numbers: str | None = None


@dataclass(frozen=True)
class EdgeTable:
    """The edges of a file, before nodes are numbered and columns of numbers are interpreted.

    Parameters
    ----------
    file : Path
        The file of the edges.
    form : str
        The format of the file, such as "GraphML".
    ends : list of pairs
        The two names of each edge.
    places : list of str
        The place of each edge in the file, such as "line 3".
    columns : dict of str to list
        The further values of the edges, by name of the column.
    nodes : list
        The nodes that the file lists separately, in their order.
    directed : bool, optional
        Whether edges are directed; None if the file does not say so.
    why : str
        The reason for `directed`, as text of a message.
    one_way : list of bool, optional
        Which edges are directed, if only some are.
    n_nodes : int, optional
        The number of nodes in the first line, if there is one. Names are then node numbers.
    notes : list of str
        Further lines on how the file was read.
    preview : Preview, optional
        The first rows, if columns can be chosen.
    """

    file: Path
    form: str
    ends: list[tuple[Hashable, Hashable]]
    places: list[str]
    columns: dict[str, list[object]] = field(default_factory=dict)
    nodes: list[Hashable] = field(default_factory=list)
    directed: bool | None = None
    why: str = ""
    one_way: list[bool] | None = None
    n_nodes: int | None = None
    notes: list[str] = field(default_factory=list)
    preview: Preview | None = None


def number_of(value: object) -> float:
    """Return a cell as a number, as people write it, nan for other text or an unclear comma."""
    try:
        return float(value) if not isinstance(value, str) else numbers_of([value])[0]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def is_number(text: str) -> bool:
    """Return whether a text is an integer without leading zeros: 01 and 1 are different names."""
    return _is_id(text) and str(int(text)) == text


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS


class _Row(NamedTuple):
    line: int
    fields: list[str]
    mark: str = ""  # the first two characters, if the first is # or % without quotes


class _Cut(NamedTuple):
    """The lines of edges below a header, and the names of their columns."""

    names: list[str]
    rows: list[_Row]
    has_header: bool
    n_nodes: int | None
    notes: list[str]


def delimited(
    file: Path, text: str, header: bool | None, asked: tuple[str | None, str | None] = (None, None)
) -> EdgeTable:
    """Return the edges of a text with two names per line, and possibly further columns."""
    if STATED.match(text):
        text = f"#{text}"  # the line that states the separator is no edge
    delimiter = _delimiter(file, text)
    rows, comments = _lines(file, text, delimiter)
    if not rows:
        raise ValueError(f"{file} must hold at least one edge, got none")
    if header is None and asked == (None, None) and (matrix := _matrix(rows)):
        return _of_matrix(file, *matrix)
    for row, later in pairwise(rows):
        if later.line > row.line + 1 and _pair(later.fields):
            raise ValueError(
                f"{file}, line {later.line}: a second table must not follow an empty line; save the table of"
                " the ties alone, with the names of the people in it"
            )
    names, edges, has_header, n_nodes, notes = _cut(file, rows, header, delimiter)
    if comments:
        notes.insert(0, f"lines that begin with # or % are left out: {comments:,}")
    titles = {re.sub(r"[\W_]+", "", name.casefold()) for name in names}
    if has_header and asked == (None, None) and titles in ({"id", "name"}, {"id", "label"}):
        raise ValueError(f"{file} must have ties, one line for each, got a table of people only")
    first, second = _places_of_ends(file, names, edges, has_header, asked)
    edges = [_widened(row, len(names), first) for row in edges]
    refuse(_wrong_rows(file, edges, names, delimiter))
    is_form = any(_are_dates([row.fields[at] for row in edges]) for at in range(len(names)))
    further = _alike(names, first, second) if has_header and asked[1] is None else []
    ties, nodes, split, nameless = _ties(edges, first, [second, *further], names[second], is_form)
    if split:
        notes.append(f"cells with several names, of which each is a tie: {split:,}")
    notes += no_names_told(nameless)
    taken = {first, second, *further}
    columns: dict[str, list[object]] = {
        name: [row.fields[at] for row, _, _ in ties] for at, name in enumerate(names) if at not in taken
    }
    # Remove the empty columns that spreadsheets may write after the last column.
    columns = {name: cells for name, cells in columns.items() if not name.isdecimal() or any(cells)}
    ends = [(u, v) for _, u, v in ties]
    if is_form:
        ends, nodes, merged = _merged(ends, nodes)
        if merged:
            notes.append(f"names that differ in capitals only are one person: {', '.join(merged)}")
    if not has_header:
        _refuse_lists(file, columns, ends)
        if n_nodes is None and header is None and len(ends) > 1:
            notes += _doubts(ends)
    directed, why = _direction(text, columns, names[first] if has_header else "")
    # List the cells: an edge with a faulty number looks like a header and would otherwise be lost unnoticed.
    about = f"with the header {', '.join(names[:_SHOWN_CELLS])}" if has_header else "without a header"
    if n_nodes is not None:
        about = "after a line with the numbers of nodes and edges"
    people = tuple(names[at] for at in (first, second, *further))
    if has_header and {first, second} != {0, 1}:
        notes.insert(0, f"the names are those of the columns {', '.join(people)}")
    return EdgeTable(
        file=file,
        form=f"an edge list separated by {_DELIMITERS[delimiter]}, {about}",
        n_nodes=n_nodes,
        ends=[*ends],
        places=[f"line {row.line}" for row, _, _ in ties],
        columns=columns,
        nodes=[*nodes],
        directed=directed,
        why=why,
        one_way=_one_way(file, columns),
        notes=notes,
        preview=Preview(tuple(names), tuple(tuple(row.fields) for row in edges[:_PREVIEW]), people),
    )


# Lines and cells


def _delimiter(file: Path, text: str) -> str:
    """Return the delimiter that splits all of the first lines into the same number of columns, at least two.

    Lines with a single cell are nodes without ties and do not count, if they are less than half of the lines.
    """
    is_possible = {}
    for delimiter in _DELIMITERS:
        try:
            # Rows are read from the whole text, because its first lines may end within quotes.
            widths = [len(row.fields) for row in islice(_rows(file, text, delimiter), _SHOWN)]
        except ValueError:
            widths = []
        usual = Counter(width for width in widths if width >= 2).most_common(1)
        if usual:
            # Titles above the header have other widths.
            start = next(at for at, width in enumerate(widths) if width == usual[0][0])
            below = widths[min(start, _ABOVE) :]
            is_even = len({*below} - {1}) == 1 and 2 * below.count(1) < len(below)
            is_possible[delimiter] = is_even and 2 * start <= len(widths)
    for delimiter, is_even in is_possible.items():
        if is_even:
            return delimiter
    # Some line is faulty. Reading it will raise an error that names it.
    return next(iter(is_possible), " ")


def _lines(file: Path, text: str, delimiter: str) -> tuple[list[_Row], int]:
    """Return the lines that are no comments, and the number of comments.

    A line that begins with ``#`` or ``%`` is a comment, except if it looks like two names: no blank after
    the mark, as many cells as other lines, and not above them (or both cells begin with the mark).
    """
    rows = list(_rows(file, text, delimiter))
    width = max(Counter(len(row.fields) for row in rows if not row.mark).most_common(1), default=(2, 0))[0]
    kept: list[_Row] = []
    for row in rows:
        is_name = len(row.mark) == 2 and row.mark[1] not in " \t#%" and len(row.fields) == width > 1
        if not row.mark or (is_name and (kept or row.fields[1][:1] == row.mark[0])):
            kept.append(row)
    return kept, len(rows) - len(kept)


def _rows(file: Path, text: str, delimiter: str) -> Iterator[_Row]:
    lines, at = text.split("\n"), 0
    source: Iterable[str] = io.StringIO(text, newline="")
    if delimiter == " ":
        source = (re.sub(r"[ \t]+", " ", line.strip()) for line in lines)
    reader = csv.reader(source, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for fields in reader:
            cells = [cell.strip() for cell in fields]
            # Only the text tells whether a cell that begins with # has quotes.
            start, at = lines[at].lstrip() if at < len(lines) else "", reader.line_num
            if any(cells):
                yield _Row(reader.line_num, cells, start[:2] if start[:1] in ("#", "%") else "")
    except csv.Error as error:
        raise ValueError(f"{file}, line {reader.line_num}: must be columns, got {error}") from None


def _widened(row: _Row, width: int, first: int) -> _Row:
    """Return a row with one cell as a row of full width with one name."""
    if len(row.fields) > 1 or width < 2:
        return row
    return row._replace(fields=[row.fields[0] if at == first else "" for at in range(width)])


def _wrong_rows(file: Path, edges: list[_Row], names: Sequence[str], delimiter: str) -> list[str]:
    rule = "two names" if len(names) < 3 else f"{len(names)} cells, as the first line"
    form = "" if delimiter == " " else f", separated by {_DELIMITERS[delimiter]}"
    return [
        f"{file}, line {row.line}: a line must have {rule}{form}, got {shown('; '.join(row.fields[:5]))}"
        for row in edges
        if len(row.fields) != len(names) or len(names) < 2
    ]


def refuse(wrong: list[str]) -> None:
    """Raise ``ValueError`` with the first lines of a list of faults, if there are any."""
    if wrong:
        more = len(wrong) - _SHOWN_CELLS
        told = [f"there are {more:,} more such lines"] if more > 0 else []
        raise ValueError("\n".join([*wrong[:_SHOWN_CELLS], *told]))


# The header


def _cut(file: Path, rows: list[_Row], header: bool | None, delimiter: str) -> _Cut:
    """Return the edges without the lines above them, and the names of the columns."""
    n_nodes = _size_of(rows) if header is None else None
    if n_nodes is not None:
        return _Cut(["1", "2"], rows[1:], False, n_nodes, [])
    above, notes = _lines_above(rows, header), list[str]()
    if above:
        titles = "; ".join(" ".join(filter(None, row.fields)) for row in rows[:above])
        notes, rows = [f"left out above the header: {titles}"], rows[above:]
    has_header = _is_header(rows) if header is None else header
    first, edges = rows[0].fields, rows[1:] if has_header else rows
    if edges and sum(map(bool, first)) < 2:
        refuse(_wrong_rows(file, [rows[0]._replace(fields=[*filter(None, first)])], ["", ""], delimiter))
    if not edges:
        raise ValueError(f"{file} must hold at least one edge, got a header and no more")
    names = [f"{at + 1}" for at in range(len(first))]
    if has_header:
        # A column without a name, or with the name of an earlier column, is named by its number.
        names = [
            name if name and first.index(name) == at else f"{name} {at + 1}".lstrip()
            for at, name in enumerate(first)
        ]
    return _Cut(names, edges, has_header, None, notes)


def _size_of(rows: Sequence[_Row]) -> int | None:
    """Return the number of nodes, if the first line has it and the number of lines below it."""
    fields = rows[0].fields
    if len(rows) < 2 or len(fields) != 2 or fields[1] != str(len(rows) - 1) or not _is_id(fields[0]):
        return None
    below, size = [cell for row in rows[1:] for cell in row.fields[:2]], int(fields[0])
    return size if size <= _MOST_NODES and all(_is_id(cell) and int(cell) < size for cell in below) else None


def _lines_above(rows: Sequence[_Row], header: bool | None) -> int:
    """Return the number of lines with one cell above a header."""
    for at, row in enumerate(rows[: _ABOVE + 1]):
        if sum(map(bool, row.fields)) >= 2:
            return at if at and (header or (header is None and _is_header(rows[at:]))) else 0
    return 0


def _is_header(rows: Sequence[_Row]) -> bool:
    """Return whether the first line is a header.

    It is, if it has a known pair of words, or text above a column of numbers or dates, or the title of a
    column of people, and no other line has its names.
    """
    first = rows[0].fields
    below = [row.fields for row in rows[1 : _SHOWN + 1] if len(row.fields) > 1]
    if _pair(first):
        return True
    for at, cell in enumerate(first):
        cells = [row[at] for row in below if at < len(row)]
        if not cell or len(cells) < len(below) or not math.isnan(number_of(cell)) or DATE.fullmatch(cell):
            continue
        given = [other for other in cells if other.casefold() not in _MISSING]
        if given and (_are_dates(given) or not any(math.isnan(number_of(other)) for other in given)):
            return True
    others = {cell.casefold() for row in rows[1:] for cell in row.fields[: len(first)]}
    words = [cell.casefold() for cell in first if cell]
    if not below or len(words) < 2 or not others.isdisjoint(words):
        return False
    ends = [cell for row in below for cell in row[:2]]
    if (*words[:2],) in _LETTERS:
        return all(len(cell) > 1 and not is_number(cell) for cell in ends)
    bare = [re.sub(r"(\d|[\W_][ab])$", "", word) for word in words[:2]]
    if bare[0] == bare[1] != words[0]:  # such as V1 and V2, if no name is V3
        return not any(re.fullmatch(re.escape(bare[0]) + r"\W?\w{0,3}", cell.casefold()) for cell in ends)
    return any(map(_is_title, first))


def _is_title(cell: str) -> bool:
    """Return whether a cell is the title of a column of people, such as "Ego", or a question."""
    if cell.endswith(("?", ":")):
        return True
    words = re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cell).casefold())
    kinds = [word in _TITLES or word.removesuffix("s") in _TITLES for word in words]
    return any(kinds) and all(kind or word in _BESIDE for kind, word in zip(kinds, words, strict=True))


def _are_dates(cells: Sequence[str]) -> bool:
    given = [cell for cell in cells if cell]
    return bool(given) and all(map(DATE.fullmatch, given))


def _pair(titles: Sequence[str]) -> tuple[int, int] | None:
    """Return the places of the first known pair of titles."""
    words = [_word(title) for title in titles]
    found = ((words.index(one), words.index(two)) for one, two in _ENDS if one in words and two in words)
    return min(found, default=None)


def _word(cell: str) -> str:
    """Return the distinctive part of a column's name: ``From_Node_ID`` gives ``from``."""
    plain = re.sub(r"[\W_]+", "", cell.lower())
    return re.sub(r"(node|user|person)?(id|name|label)?$", "", plain) or plain


# The two columns of names


def _places_of_ends(
    file: Path,
    names: Sequence[str],
    edges: Sequence[_Row],
    has_header: bool,
    asked: tuple[str | None, str | None],
) -> tuple[int, int]:
    """Return the places of the two columns of names: those asked for, a known pair, or the first two.

    Columns of dates, running numbers, and those with titles such as "Timestamp" do not count, if two remain.
    """
    unknown = [name for name in asked if name is not None and name not in names]
    if unknown:
        raise ValueError(f"{file} must have a column {unknown[0]!r}, got {', '.join(names[:_SHOWN_CELLS])}")
    places = [*range(len(names))]
    for at, name in enumerate(names):
        cells = [row.fields[at] for row in edges if at < len(row.fields)]
        is_known = has_header and re.sub(r"[\W_]+", "", name.casefold()) in _NO_ENDS
        if (is_known or _are_running(cells, edges[0]) or _are_dates(cells)) and len(places) > 2:
            places.remove(at)
    pair = _pair(names) if has_header else None
    one, other = (None if name is None else names.index(name) for name in asked)
    rest = [at for at in (*(pair or ()), *places, *range(len(names)), 1) if at not in (one, other)]
    first = rest[0] if one is None else one
    second = next((at for at in rest if at != first), 1) if other is None else other
    return first, second


def _are_running(cells: Sequence[str], first: _Row) -> bool:
    """Return whether a column counts the lines of people with other names."""
    if len(cells) < 3 or cells[0] not in ("0", "1") or all(map(is_number, first.fields)):
        return False
    return list(cells) == [str(int(cells[0]) + row) for row in range(len(cells))]


def _alike(names: Sequence[str], first: int, second: int) -> list[int]:
    """Return the further columns of a title that is repeated, such as "Friend 2" beside "Friend 1"."""
    bare = [re.sub(r"[\W\d_]+$", "", name.casefold()) for name in names]
    if not bare[second] or bare[second] == bare[first]:
        return []
    return [at for at, name in enumerate(bare) if name == bare[second] and at != second]


def _ties(
    edges: Sequence[_Row], first: int, others: Sequence[int], title: str, is_form: bool
) -> tuple[list[tuple[_Row, str, str]], list[str], int, dict[str, None]]:
    """Return the ties, the names without ties, the number of cells with several names, and cells of no name.

    A cell of the second column has several names between semicolons or line ends, or between commas if the
    first column has no comma and the file is a form, the title is a plural, or a part is a name elsewhere.
    """
    known = {row.fields[first] for row in edges}
    listed = [row.fields[at].split(",") for row in edges for at in others if "," in row.fields[at]]
    commas = not any("," in name for name in known) and (
        is_form
        or title.casefold().rstrip("?: ").endswith("s")
        or any(part.strip() in known for parts in listed for part in parts)
    )
    marks = re.compile(r"[;\n,]" if commas else r"[;\n]")
    ties, nodes, split, nameless = [], [], 0, dict[str, None]()
    for row in edges:
        name, given = row.fields[first], [row.fields[at] for at in others if row.fields[at]]
        is_alone = is_form or len(others) > 1 or not any(row.fields[:first] + row.fields[first + 1 :])
        gone = [cell for cell in (name, *given) if cell.casefold() in NO_NAMES]
        nameless |= dict.fromkeys(gone)
        given = [cell for cell in given if cell not in gone]
        if name in gone:
            continue
        if name and not given and (is_alone or gone):
            nodes.append(clean(name))
            continue
        for cell in given or [""]:
            parts = [part for part in map(clean, marks.split(cell)) if part] if marks.search(cell) else [cell]
            split += len(parts) > 1
            ties += [(row, clean(name), clean(part)) for part in parts]
    return ties, nodes, split, nameless


def _merged(
    ends: Sequence[tuple[str, str]], nodes: Sequence[str]
) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Return the names in the capitals of their first line, and the names that were changed."""
    kept: dict[str, str] = {}
    for name in (name for names in (*ends, nodes) for name in names):
        kept.setdefault(name.casefold(), name)
    other = {name for pair in ends for name in pair if kept[name.casefold()] != name}
    found = [f"{name} and {kept[name.casefold()]}" for name in sorted(other)]
    pairs = [(kept[u.casefold()], kept[v.casefold()]) for u, v in ends]
    return pairs, [kept[name.casefold()] for name in nodes], found


def _refuse_lists(file: Path, columns: dict[str, list[object]], ends: Sequence[tuple[str, str]]) -> None:
    """Raise ``ValueError`` if a further column has the names of nodes: the file is an adjacency list."""
    known = {name for pair in ends for name in pair}
    for name, cells in columns.items():
        given = [cell for cell in cells if isinstance(cell, str) and cell and math.isnan(number_of(cell))]
        if given and 2 * sum(cell in known for cell in given) > len(cells):
            raise ValueError(
                f"{file} must have two names in a line, but column {name} has names, too, as in a list of"
                " neighbours; write one line for each tie, or save lists separated by blanks as .adjlist"
            )


def _doubts(ends: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line on a first tie with names that are in no other line: it may be a header."""
    is_known = not {*ends[0]}.isdisjoint(name for pair in ends[1:] for name in pair)
    if is_known or all(map(is_number, ends[0])):
        return []
    u, v = ends[0]
    return [f"the first line, {u} and {v}, is a tie; if it has the names of the columns, use --header"]


# Directions


def _direction(text: str, columns: dict[str, list[object]], first: str) -> tuple[bool | None, str]:
    """Return the direction that the file gives, by a comment (SNAP), a column (Gephi) or its header."""
    comments = [line.lower() for line in text.split("\n", 9)[:9] if line.startswith("#")]
    for word, is_directed in _DIRECTED.items():
        if any(re.search(rf"\b{word}\b", line) for line in comments):
            return is_directed, "a comment in the first lines states it"
    for name, values in columns.items():
        kinds = {str(value).lower() for value in values}
        if _word(name) == "type" and len(kinds) == 1 and kinds <= set(_DIRECTED):
            return _DIRECTED[kinds.pop()], f"the column {name!r} states it"
    if _word(first) in {one for one, _ in _ONE_WAY}:
        return True, f"the header has a column {first!r}"
    return None, ""


def _one_way(file: Path, columns: dict[str, list[object]]) -> list[bool] | None:
    """Return which edges go one way by a column of Gephi's, if only some do."""
    for name, values in columns.items():
        kinds = [str(value).casefold() for value in values]
        if _word(name) == "type" and len({*kinds}) > 1 and not {*kinds}.isdisjoint(_DIRECTED):
            other = {str(value) or "nothing" for value in values if str(value).casefold() not in _DIRECTED}
            if other:
                raise ValueError(
                    f"{file}: column {name} must have Directed or Undirected in each line, got"
                    f" {', '.join(sorted(other)[:3])}; fill it, or delete the column"
                )
            return [_DIRECTED[kind] for kind in kinds]
    return None


# Matrices


def _matrix(rows: Sequence[_Row]) -> tuple[list[str], list[tuple[int, list[str]]]] | None:
    """Return the names and the lines of a square matrix with names above and beside it, or of 0 and 1."""
    first = rows[0].fields
    if not 3 <= len(rows) <= len(first) + 1:
        return None
    cells = [(row.line, row.fields) for row in rows[1:]]
    if len(first) == len(rows) and [row[0] for _, row in cells] == first[1:]:
        names, cells = first[1:], [(line, row[1:]) for line, row in cells]
    elif len(first) + 1 == len(rows) >= 4 and not _pair(first):
        names = first
    elif len(first) == len(rows):
        names, cells = [str(at + 1) for at in range(len(rows))], [(row.line, row.fields) for row in rows]
    else:
        return None
    if any(
        len(row) != len(names) or any(cell and math.isnan(number_of(cell)) for cell in row)
        for _, row in cells
    ):
        return None
    is_plain = all({*row} <= {"0", "1"} and row[at] == "0" for at, (_, row) in enumerate(cells))
    return (names, cells) if is_plain or names == first[1:] else None


def _of_matrix(file: Path, names: list[str], cells: list[tuple[int, list[str]]]) -> EdgeTable:
    found = [
        (line, one, other, cell)
        for one, (line, row) in zip(names, cells, strict=True)
        for other, cell in zip(names, row, strict=True)
        if cell and number_of(cell)
    ]
    values: list[object] = [cell for *_, cell in found]
    return EdgeTable(
        file=file,
        form=f"a matrix of {len(names):,} rows, in which a number other than 0 is a tie",
        ends=[(one, other) for _, one, other, _ in found],
        places=[f"line {line}, column {other}" for line, _, other, _ in found],
        columns={} if {*values} <= {"1"} else {"weight": values},
        nodes=[*names],
    )
