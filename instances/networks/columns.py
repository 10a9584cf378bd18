"""Tables of ties: the columns of names, several names in a cell, directions, and matrices."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from cmab.campaign.files import clean, is_name
from instances.networks.sheets import (
    DELIMITERS,
    KONECT,
    ONE_WAY,
    SHOWN_CELLS,
    SOFT,
    Preview,
    Row,
    Sheet,
    are_dates,
    bare_of,
    cut,
    has_text,
    is_number,
    is_title,
    left_out_told,
    listed,
    number_of,
    pair_of,
    refuse,
    rows_of,
    sharing,
    word,
    wrong_row,
)

# Largest number of nodes in a first line.
_MOST_NODES = 10**9
# Marks between several names that no name has.
_HARD = re.compile(r"[;\n]")
# A name and a list of names, but no time of day such as 9:08.
_LISTS = re.compile(r"[^:;,\t|]+:(\D[^:;\t|]*)?")
# Marks in a matrix of no tie and of a tie, besides numbers.
_NO_TIE, _TIE = {"", "-", "no", "nein", "false"}, {"x", "yes", "ja", "true"}


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
    one_way : bool or list of bool, optional
        Whether edges are directed, or which ones; None if the file does not say so.
    why : str
        The reason for `one_way`, as text of a message.
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
    one_way: bool | list[bool] | None = None
    why: str = ""
    n_nodes: int | None = None
    notes: list[str] = field(default_factory=list)
    preview: Preview | None = None


def delimited(
    file: Path,
    text: str,
    header: bool | None,
    asked: tuple[str | None, str | None] = (None, None),
    delimiter: str | None = None,
) -> EdgeTable:
    """Return the edges of a text with two names per line, and possibly further columns."""
    konect = KONECT.match(text)
    if konect and konect[1] == "bip":
        raise ValueError(
            f"{file} must have ties of one kind of people, got ties of two kinds (KONECT bip), whose numbers"
            " overlap; write names that differ"
        )
    lines = filter(str.strip, text.split("\n"))
    if delimiter is None and "," in text and all(map(_LISTS.fullmatch, lines)):
        delimiter, text = ":", text.replace(",", ";")  # "Ann: Bob, Cy"
    delimiter, rows, notes = rows_of(file, text, delimiter)
    n_nodes = None
    if header is None and asked == (None, None):
        if matrix := _matrix(file, rows):
            return matrix
        n_nodes = _size_of(rows)
    sheet = cut(file, rows[n_nodes is not None :], delimiter, notes, False if n_nodes else header)
    names, has_header, notes = sheet.titles, sheet.has_header, sheet.notes
    if konect and not has_header:
        names[2:4] = ["weight", "time"][: len(names) - 2]
    n_texts = sum(has_text(sheet.cells(at)) for at in range(len(names)))
    if has_header and asked == (None, None) and (n_texts, len(names)) == (1, 2):
        raise ValueError(f"{file} must have ties, one line for each, got a table of people only")
    first, second = _places_of_ends(file, sheet, asked)
    width = len(names)
    edges = [  # a line with one cell is a name without ties
        row if row.fields[1:] else row._replace(fields=[row.fields[0] * (at == first) for at in range(width)])
        for row in sheet.rows
    ]
    refuse([wrong_row(file, row, width, delimiter) for row in edges if len(row.fields) != width])
    is_form = any(are_dates(sheet.cells(at)) for at in range(len(names)))
    if not is_form:
        _fill_down(edges, first, notes)
    further = _alike(sheet, first, second) if has_header and asked[1] is None else []
    ties, nodes = _ties(edges, first, [second, *further], names[second], is_form, notes)
    taken = {first, second, *further}
    columns: dict[str, list[object]] = {
        name: [row.fields[at] for row, _, _ in ties] for at, name in enumerate(names) if at not in taken
    }
    # Remove the empty columns that spreadsheets may write after the last column.
    columns = {name: cells for name, cells in columns.items() if not name.isdecimal() or any(cells)}
    written_as = _written_as((name for pair in (*(tie[1:] for tie in ties), nodes) for name in pair), notes)
    ends = [(written_as[u], written_as[v]) for _, u, v in ties]
    if not has_header:
        _refuse_lists(file, columns, ends)
        if n_nodes is None and header is None and len(ends) > 1:
            notes += _doubts(ends)
    one_way, why = _direction(file, text, columns, names[first] if has_header else "")
    # List the titles: a tie with a faulty number looks like titles and would otherwise be lost unnoticed.
    about = f"with the titles {', '.join(names[:SHOWN_CELLS])}" if has_header else "without titles"
    if n_nodes is not None:
        about = "after a line with the numbers of names and ties"
    people = tuple(names[at] for at in (first, second, *further))
    if {first, second} != {0, 1}:
        notes.insert(0, f"the names are those of the columns {', '.join(people)}")
    return EdgeTable(
        file=file,
        form=f"a list of ties {DELIMITERS[delimiter]}, {about}",
        n_nodes=n_nodes,
        ends=[*ends],
        places=[f"line {row.line}" for row, _, _ in ties],
        columns=columns,
        nodes=[written_as[name] for name in nodes],
        one_way=one_way,
        why=why,
        notes=notes,
        preview=sheet.preview(people),
    )


# The columns of names


def _places_of_ends(file: Path, sheet: Sheet, asked: tuple[str | None, str | None]) -> tuple[int, int]:
    """Return the places of the two columns of names.

    They are those asked for, a known pair, or two columns that share names, or else the first two. Columns
    with titles such as "Friend" and questions are preferred, if there are two, to others that may have names.
    """
    names = sheet.titles
    unknown = [name for name in asked if name is not None and name not in names]
    if unknown:
        raise ValueError(f"{file} must have a column {unknown[0]!r}, got {', '.join(names[:SHOWN_CELLS])}")
    may_be, pair = sheet.candidates(2), (pair_of(names) if sheet.has_header else None) or ()
    titled = [at for at in may_be if sheet.has_header and is_title(names[at])]
    among = titled if len(titled) > 1 else may_be
    shared = () if pair or len(among) < 3 else sharing(sheet, among)
    one, other = (None if name is None else names.index(name) for name in asked)
    order = (*pair, *shared, *among, *may_be, *range(len(names)), 1)
    rest = [at for at in order if at not in (one, other)]
    first = rest[0] if one is None else one
    second = next((at for at in rest if at != first), 1) if other is None else other
    return first, second


def _alike(sheet: Sheet, first: int, second: int) -> list[int]:
    """Return the further columns of a title that is repeated or left out, such as "Friend 2", "Friend 3"."""
    bare = [bare_of(title) for title in sheet.titles]
    if not bare[second] or bare[second] == bare[first]:
        return []
    found: list[int] = []
    for at, name in enumerate(bare):
        is_next = not name and at == max([second, *found]) + 1 and at in sheet.candidates(2)
        if at != second and (name == bare[second] or is_next):
            found.append(at)
    return found


def _fill_down(edges: Sequence[Row], first: int, notes: list[str]) -> None:
    """Fill the empty names below a name, as merged cells have them: each name is only in its first line."""
    given = [row.fields[first] for row in edges]
    names = [*filter(None, given)]
    if given[0] and len({*names}) == len(names) and 3 * (len(given) - len(names)) >= len(given):
        for above, row in pairwise(edges):
            row.fields[first] = row.fields[first] or above.fields[first]
        empty = [row.line for row, name in zip(edges, given, strict=True) if not name]
        notes.append(f"empty first names are those above, as in merged cells: line {listed(empty)}")


def _ties(
    edges: Sequence[Row], first: int, others: Sequence[int], title: str, is_form: bool, notes: list[str]
) -> tuple[list[tuple[Row, str, str]], list[str]]:
    """Return the ties and the names without ties; note cells with several names, and lines without a name.

    A cell of the second column has several names between semicolons or line ends. It has them also between
    commas or words such as "and", if these are not in the first column and the file is a form, the title is a
    plural, or a part is a name elsewhere.
    """
    known = {row.fields[first] for row in edges}
    listed = (SOFT.split(row.fields[at]) for row in edges for at in others)
    is_soft = not any(map(SOFT.search, known)) and (
        is_form
        or title.casefold().rstrip("?: ").endswith("s")
        or any(part.strip() in known for parts in listed for part in parts if len(parts) > 1)
    )
    marks = SOFT if is_soft else _HARD
    ties, nodes, split, nameless, empty = [], [], 0, dict[str, None](), list[int]()
    for row in edges:
        name, cells = clean(row.fields[first]), [marks.split(row.fields[at]) for at in others]
        found = [part for parts in cells for part in map(clean, parts) if part]
        named = [part for part in found if is_name(part)]
        split += sum(len([*filter(str.strip, parts)]) > 1 for parts in cells)
        nameless |= dict.fromkeys(part for part in (name, *found) if not is_name(part))
        is_alone = is_form or len(others) > 1 or not any(row.fields[:first] + row.fields[first + 1 :])
        if not name or not (named or found or is_alone):
            empty.append(row.line)
        elif name not in nameless:
            ties += [(row, name, part) for part in named]
            nodes += [name] * (not named)
    if split:
        notes.append(f"cells with several names, of which each is a tie: {split:,}")
    notes += left_out_told(nameless, empty)
    return ties, nodes


def _written_as(names: Iterable[str], notes: list[str]) -> dict[str, str]:
    """Return one spelling of each name, with capitals and small letters if possible; note other ones."""
    kept: dict[str, str] = {}
    names = dict.fromkeys(names)
    for name in sorted(names, key=lambda name: name.isupper() or name.islower()):
        kept.setdefault(name.casefold(), name)
    new = {name: kept[name.casefold()] for name in names}
    if changed := [f"{name} and {other}" for name, other in new.items() if name != other]:
        notes.append(f"names that differ in capitals only are one person: {listed(changed)}")
    return new


def _refuse_lists(file: Path, columns: dict[str, list[object]], ends: Sequence[tuple[str, str]]) -> None:
    """Raise ``ValueError`` if a further column has the names of nodes: the file is an adjacency list."""
    known = {name for pair in ends for name in pair}
    for name, cells in columns.items():
        given = [cell for cell in cells if isinstance(cell, str) and cell and math.isnan(number_of(cell))]
        if given and 2 * sum(cell in known for cell in given) > len(cells):
            raise ValueError(
                f"{file} must have two names in a line, but column {name} has names, too, as in a list of"
                " neighbours; write one line for each tie, or lists such as Ann: Bob, Cy"
            )


def _doubts(ends: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line on a first tie with names that are in no other line: it may be a header."""
    is_known = not {*ends[0]}.isdisjoint(name for pair in ends[1:] for name in pair)
    if is_known or all(map(is_number, ends[0])):
        return []
    u, v = ends[0]
    return [f"the first line, {u} and {v}, is read as a tie, and not as titles of columns"]


def _size_of(rows: Sequence[Row]) -> int | None:
    """Return the number of nodes, if the first line has it and the number of lines below it."""
    fields = rows[0].fields
    if len(rows) < 2 or len(fields) != 2 or fields[1] != str(len(rows) - 1) or not is_number(fields[0]):
        return None
    below, size = [cell for row in rows[1:] for cell in row.fields[:2]], int(fields[0])
    return (
        size if size <= _MOST_NODES and all(is_number(cell) and int(cell) < size for cell in below) else None
    )


# Directions


def _direction(
    file: Path, text: str, columns: dict[str, list[object]], first: str
) -> tuple[bool | list[bool] | None, str]:
    """Return which ties go one way by a comment (SNAP, KONECT), a column (Gephi) or a title, and why."""
    if konect := KONECT.match(text):
        return konect[1] == "asym", "its first line states it"
    top = "\n".join(text.split("\n", 9)[:9])
    if stated := re.search(r"^#.*?\b(un)?directed\b", top, re.IGNORECASE | re.MULTILINE):
        return not stated[1], "a comment in the first lines states it"
    for name, values in columns.items():
        kinds = [str(value).casefold() for value in values]
        if word(name) == "type" and not {*kinds}.isdisjoint(("directed", "undirected")):
            if other := sorted({*kinds} - {"directed", "undirected"}):
                raise ValueError(
                    f"{file}: column {name} must have Directed or Undirected in each line, got"
                    f" {other[0] or 'nothing'}; fill it, or delete the column"
                )
            return [kind == "directed" for kind in kinds], f"the column {name!r} states it"
    if word(first) in {one for one, _ in ONE_WAY}:
        return True, f"a title is {first!r}"
    return None, ""


# Matrices


def _matrix(file: Path, rows: Sequence[Row]) -> EdgeTable | None:
    """Return the ties of a matrix with names above and beside it, or of 0 and 1.

    A form may have a column for each person, such as "Friends [Ann]", and a row for each answer.
    """
    rows = rows[next((at for at, row in enumerate(rows) if sum(map(bool, row.fields)) > 1), 0) :]
    first, below, width = rows[0].fields, rows[1:], len(rows[0].fields)
    if not 3 <= len(rows) <= width + 1 or any(len(row.fields) != width for row in rows):
        return None
    # The last column of text has the names, if it has not the numbers that are the names above.
    texts = [at for at in range(width) if any(math.isnan(_tie_in(row.fields[at])) for row in below)]
    start = 1 if first[1:] == [row.fields[0] for row in below] else max(texts, default=-1) + 1
    names = [re.sub(r".*\[(.+)\]$", r"\1", title) for title in first[start:]]
    beside = [row.fields[start - 1] for row in below] if start else names
    if not start and len(first) == len(rows):
        names = beside = [str(at + 1) for at in range(width)]
        below = rows
    values = [[*map(_tie_in, row.fields[start:])] for row in below]
    is_plain = {value for row in values for value in row} <= {0.0, 1.0} and not pair_of(first)
    is_square = len(below) == len(names) and not any(row[at] for at, row in enumerate(values))
    is_roster = len(names) > 1 and (
        {*beside} <= {*names} or all(title.endswith("]") for title in first[start:])
    )
    if not (is_plain and (is_roster if start else is_square)) and (not start or names != beside):
        return None
    found = [
        (row.line, one, other, value)
        for one, row, numbers in zip(beside, below, values, strict=True)
        for other, value in zip(names, numbers, strict=True)
        if value
    ]
    return EdgeTable(
        file=file,
        form=f"a matrix of {len(below):,} rows, in which a number other than 0 is a tie",
        ends=[(one, other) for _, one, other, _ in found],
        places=[f"line {line}, column {other}" for line, _, other, _ in found],
        columns={} if is_plain else {"weight": [value for *_, value in found]},
        nodes=[*dict.fromkeys([*names, *beside])],
    )


def _tie_in(cell: str) -> float:
    """Return the number in a cell of a matrix, in which a mark is 1, and an empty cell or a dash is 0."""
    word = cell.casefold()
    return 0.0 if word in _NO_TIE else 1.0 if word in _TIE else number_of(cell)
