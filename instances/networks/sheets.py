"""Tables of ties and lists of names: separators, titles, columns of names, and lines left out."""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from cmab.campaign.files import DATE, clean, is_name
from cmab.run.tables import numbers_of
from cmab.validation import shown

# In the order in which they are tried: names contain commas and blanks more often than tabs and semicolons.
# Characters that are in no text leave lines whole, and separate the cells of workbooks.
_WHOLE, BOOK = "\x1f", "\x1e"
DELIMITERS = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "blanks", ":": "a colon"}
DELIMITERS = {mark: f"separated by {name}" for mark, name in DELIMITERS.items()} | {BOOK: "in a workbook"}
# The first line of a spreadsheet that states the separator, and that of KONECT.
_STATED, KONECT = re.compile(r"sep=([\t;,|])\s*?(\n|$)", re.IGNORECASE), re.compile(r"%\s*(sym|asym|bip)\b")
# Number of lines that show separators, and kinds of columns, and largest number of lines above a header.
_SHOWN, _SAMPLE, _ABOVE = 50, 1000, 10
# Largest number of names of a list, of columns that a message lists, and of rows of a preview.
_MOST_NAMES, SHOWN_CELLS, _PREVIEW = 100_000, 10, 5
# Number of digits of an integer that fits into 64 bits.
_DIGITS = 18
# Names of the two columns of ends; the names of the first line say the direction of an edge.
ONE_WAY = {("from", "to"), ("tail", "head"), ("sender", "receiver"), ("sender", "recipient"), ("von", "an")}
ONE_WAY |= {("follower", "followed"), ("follower", "followee"), ("src", "dst"), ("src", "dest")}
_ENDS = ONE_WAY | {("source", "target"), ("start", "end"), ("node1", "node2"), ("name1", "name2")}
_ENDS |= {("id1", "id2"), ("person1", "person2"), ("persona", "personb"), ("namea", "nameb")}
_ENDS |= {("nodea", "nodeb"), ("parent", "child"), ("origin", "destination"), ("first", "second")}
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
    " subject object giver nominee nominator nominated nomination collaborator informant child playmate pupil"
    " patient case reporter reported staff works customer referred chief left right"
    " von nach quelle ziel freund freundin freunde bekannte kennt wer mit kollege kollegin mitarbeiter"
    " mitarbeiterin absender empfänger schüler schülerin teilnehmer teilnehmerin kontakt vorname kunde kundin"
    " nachbar nachbarin nominierender nominierter origine cible ami origen destino nom nombre amigo"
)
_BESIDE_WORDS = (
    "a b first second third other one two the your my of by id ids number no nr label full s best beste"
    " bester wem dein deine"
)
# Titles of columns of forms and programs that name no people, and those of the names of a list.
_NO_END_WORDS = (
    "timestamp zeitstempel horodateur date time starttime completiontime endtime submittedat createdat joined"
    " joinedon email emailaddress consent id index row no nr number"
)
_LIST_WORDS = (
    "name names person people who item items offer offers product products artikel produkt produkte angebot"
    " label id"
)
_TITLES, _BESIDE, _NO_ENDS, _LIST_TITLES = (
    frozenset(words.split()) for words in (_TITLE_WORDS, _BESIDE_WORDS, _NO_END_WORDS, _LIST_WORDS)
)
# Titles of the two parts of a name, in two columns side by side.
_FIRST_NAMES = {"firstname", "givenname", "vorname", "prénom", "prenom"}
_LAST_NAMES = {"lastname", "surname", "familyname", "nachname", "familienname", "name", "nom"}
_TOTALS = {"total", "totals", "sum", "summe", "gesamt", "insgesamt", "gesamtsumme", "somme", "suma"}
# Answers that are no names, and cells without a number.
_ANSWERS = {"yes", "no", "ja", "nein", "oui", "non", "true", "false", "anonymous", "anonym"}
_MISSING = {"", "-", "?", ".", "na", "n/a", "nan", "none", "null", "#n/a", "missing"}
# Marks between several names in a cell. Some names have commas or such words.
SOFT = re.compile(r"[;\n,]|\s(?:and|und|&|/)\s")


class Preview(NamedTuple):
    """The columns of a file, its first rows, and the columns that have the names of ties."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    people: tuple[str, ...] = ()


def number_of(value: object) -> float:
    """Return a cell as a number, as people write it, nan for other text or an unclear comma."""
    try:
        return float(value) if not isinstance(value, str) else numbers_of([value])[0]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def is_number(text: str) -> bool:
    """Return whether a text is an integer without leading zeros: 01 and 1 are different names."""
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS and str(int(text)) == text


class Row(NamedTuple):
    """The cells of a line."""

    line: int
    fields: list[str]
    mark: str = ""  # the first two characters, if the first is # or % without quotes
    is_apart: bool = False  # whether an empty line is above

    def cell(self, at: int) -> str:
        """Return a cell, which is empty if the line is too short."""
        return self.fields[at] if at < len(self.fields) else ""


class Sheet(NamedTuple):
    """The rows of a table below its header, the titles of its columns, and notes on what was left out."""

    titles: list[str]
    rows: list[Row]
    has_header: bool
    delimiter: str
    notes: list[str]

    def cells(self, at: int) -> list[str]:
        """Return the cells of a column that are not empty."""
        return [cell for row in self.rows[:_SAMPLE] if (cell := row.cell(at))]

    def preview(self, people: tuple[str, ...] = ()) -> Preview:
        """Return the titles and the first rows."""
        rows = (tuple(row.cell(at) for at in range(len(self.titles))) for row in self.rows[:_PREVIEW])
        return Preview(tuple(self.titles), tuple(rows), people)

    def candidates(self, least: int) -> list[int]:
        """Return the columns that may have names: at least so many, if the table has so many columns.

        Columns of dates or marks, empty ones and those with titles such as "Timestamp" do not count, and, if
        enough others remain, those of numbers, addresses of mail and answers such as "yes".
        """
        kinds = [
            _kind(title if self.has_header else "", self.cells(at)) for at, title in enumerate(self.titles)
        ]
        levels = ([at for at, kind in enumerate(kinds) if kind <= level] for level in range(3))
        return next((found for found in levels if len(found) >= least), [*range(len(kinds))])


def _kind(title: str, cells: Sequence[str]) -> int:
    """Return 0 for a column of names, 1 for numbers, addresses and answers, 2 for a column without names."""
    if plain(title) in _NO_ENDS or are_dates(cells) or not any(re.search(r"\w", cell) for cell in cells):
        return 2
    is_aside = all(re.fullmatch(r"\S+@\S+", cell) or cell.casefold() in _ANSWERS for cell in cells)
    return int(is_aside or not has_text(cells))


def has_text(cells: Sequence[object]) -> bool:
    """Return whether a cell is no number."""
    return any(math.isnan(number_of(cell)) for cell in cells)


def sheet_of(
    file: Path, text: str, *, header: bool | None = None, delimiter: str | None = None, is_list: bool = False
) -> Sheet:
    """Return the table of a text. In a list, which has one name a line, a line may be a name as a whole."""
    delimiter, rows, notes = rows_of(file, text, delimiter, is_list)
    return cut(file, rows, delimiter, notes, header, is_list)


def names_in(file: Path, text: str, delimiter: str | None = None) -> tuple[list[str], list[str]]:
    r"""Return the names of a list, and lines on how it was read.

    A table has the names in a column such as ``name``, or else in the first one that may have names. A list
    has a name on each line, or all names on one line. Comments begin with ``#``.

    Raises
    ------
    ValueError
        If there is no name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from instances.networks.sheets import names_in
    >>> names_in(Path("a.csv"), 'cost;name\n2;"Meyer, Anna"\n3;Bob')[0]
    ['Meyer, Anna', 'Bob']
    >>> names_in(Path("a.csv"), "Tea, green\nMilk")[0]
    ['Tea, green', 'Milk']
    """
    sheet = sheet_of(file, text, delimiter=delimiter, is_list=True)
    if len(sheet.rows) == 1 and not sheet.has_header:
        line = sheet.rows[0]
        sheet = sheet._replace(titles=["1"], rows=[line._replace(fields=[x]) for x in line.fields if x])
    names, rows, notes, may_be = sheet.titles, sheet.rows, sheet.notes, sheet.candidates(1)
    if (sheet.has_header and pair_of(names)) or sharing(sheet, may_be):
        raise ValueError(
            f"{file} must have one name in a line, got two columns of names, as those of people who know each"
            " other"
        )
    # Programs write no blank after a comma, so these commas are those of names such as "Meyer, Anna".
    is_typed = sheet.delimiter == "," and len(may_be) == len(names) > 1 and not re.search(r",(?! )", text)
    if not sheet.has_header and (is_typed or any(len(row.fields) != len(names) for row in rows)):
        return names_in(file, text, _WHOLE)
    at = next((at for at in may_be if names[at].casefold() in _LIST_TITLES), may_be[0])
    cells = [clean(row.cell(at)) for row in rows]
    found = Counter(name for name in cells if name and is_name(name))
    if not 0 < len(found) <= _MOST_NAMES:
        raise ValueError(f"{file} must have 1 to {_MOST_NAMES:,} names, got {len(found):,}")
    if len(names) > 1:
        notes.append(f"the names are those of the column {names[at]}")
    if repeated := [name for name, times in found.items() if times > 1]:
        notes.append(f"read once, although it is in several lines: {listed(repeated)}")
    nameless = dict.fromkeys(name for name in cells if name and not is_name(name))
    empty = [row.line for row, name in zip(rows, cells, strict=True) if not name]
    return [*found], [*notes, *left_out_told(nameless, empty)]


def left_out_told(cells: Iterable[str], lines: Sequence[int]) -> list[str]:
    """Return lines on the cells that are no names and the lines without a name, if there are any."""
    told = [f"left out, because they are no names: {', '.join(cells)}"] if cells else []
    return told + ([f"left out, because a name is empty: line {listed(lines)}"] if lines else [])


def listed(found: Sequence[object]) -> str:
    """Return the first names or numbers, and the number of further ones."""
    more = f" and {len(found) - SHOWN_CELLS:,} more" if len(found) > SHOWN_CELLS else ""
    return ", ".join(map(str, found[:SHOWN_CELLS])) + more


# Lines and cells


def rows_of(
    file: Path, text: str, delimiter: str | None, is_list: bool = False
) -> tuple[str, list[Row], list[str]]:
    """Return the separator, the lines that are no comments, and a note on comments."""
    if stated := _STATED.match(text):
        text = "\n" + text.partition("\n")[2]
        delimiter = delimiter or stated[1]
    delimiter = delimiter or _delimiter(file, text, is_list)
    rows, comments = _lines(file, text, delimiter)
    if not rows:
        raise ValueError(f"{file} must have {'a name' if is_list else 'a tie of two names'}, got none")
    notes = [f"lines that begin with # or % are left out: {comments:,}"] if comments else []
    last = [cell for cell in rows[-1].fields if cell]
    if len(rows) > 1 < len(last) and last[0].casefold().rstrip(": ") in _TOTALS and not has_text(last[1:]):
        notes.append(f"left out at the end: {'; '.join(last)}")
        rows.pop()
    return delimiter, rows, notes


def _delimiter(file: Path, text: str, is_list: bool) -> str:
    """Return the delimiter that splits all of the first lines into the same number of columns, at least two.

    Lines with a single cell are nodes without ties and do not count, if they are less than half of the lines.
    The delimiter that does so from the first line on is preferred, because titles may be above the header,
    and blanks last.
    """
    possible: list[str] = []
    starts: dict[str, int] = {}
    for delimiter in "\t;,|" if is_list else "\t;,| ":
        try:
            # Rows are read from the whole text, because its first lines may end within quotes.
            widths = [len(row.fields) for row in islice(_rows(file, text, delimiter), _SHOWN)]
        except ValueError:
            widths = []
        usual = Counter(width for width in widths if width >= 2).most_common(1)
        if usual:
            possible.append(delimiter)
            start = next(at for at, width in enumerate(widths) if width == usual[0][0])
            below = widths[min(start, _ABOVE) :]
            if len({*below} - {1}) == 1 and 2 * below.count(1) < len(below) and 2 * start <= len(widths):
                starts[delimiter] = _SHOWN if delimiter == " " else start
    # If all fail, some line is faulty. Reading it will raise an error that names it.
    return min(starts, key=starts.__getitem__, default=_WHOLE if is_list else [*possible, " "][0])


def _lines(file: Path, text: str, delimiter: str) -> tuple[list[Row], int]:
    """Return the lines that are no comments, and the number of comments.

    A line that begins with ``#`` or ``%`` is a comment, except if it looks like two names: no blank after
    the mark, as many cells as other lines, and not above them (or both cells begin with the mark). A single
    word such as ``#tag`` is a name in a list.
    """
    rows = list(_rows(file, text, delimiter))
    width = max(Counter(len(row.fields) for row in rows if not row.mark).most_common(1), default=(2, 0))[0]
    kept: list[Row] = []
    for row in rows:
        if delimiter == _WHOLE:
            is_name = " " not in row.fields[0]
        else:
            is_name = len(row.fields) == width > 1 and (bool(kept) or row.fields[1][:1] == row.mark[:1])
        if not row.mark or (is_name and row.mark[1:] not in ("", " ", "\t", "#", "%")):
            kept.append(row)
    return kept, len(rows) - len(kept)


def _rows(file: Path, text: str, delimiter: str) -> Iterator[Row]:
    lines, at, is_apart = text.split("\n"), 0, False
    source: Iterable[str] = io.StringIO(text, newline="")
    if delimiter == " ":
        source = (re.sub(r"[ \t]+", " ", line.strip()) for line in lines)
    reader = csv.reader(source, delimiter=delimiter, skipinitialspace=True, strict=delimiter != _WHOLE)
    try:
        for fields in reader:
            cells = [cell.strip() for cell in fields]
            # Only the text tells whether a cell that begins with # has quotes.
            start, line, at = lines[at].lstrip() if at < len(lines) else "", at + 1, reader.line_num
            if any(cells):
                yield Row(line, cells, start[:2] if start[:1] in ("#", "%") else "", is_apart)
            is_apart = not any(cells)
    except csv.Error as error:
        raise ValueError(f"{file}, line {reader.line_num}: must be columns, got {error}") from None


def wrong_row(file: Path, row: Row, width: int, delimiter: str) -> str:
    """Return the message on a line with too few or too many cells."""
    rule = "two names" if width < 3 else f"{width} cells, as the first line"
    form = "" if delimiter == " " else f", {DELIMITERS[delimiter]}"
    return f"{file}, line {row.line}: a line must have {rule}{form}, got {shown('; '.join(row.fields[:5]))}"


def refuse(wrong: list[str]) -> None:
    """Raise ``ValueError`` with the first lines of a list of faults, if there are any."""
    if wrong:
        more = len(wrong) - SHOWN_CELLS
        told = [f"there are {more:,} more such lines"] if more > 0 else []
        raise ValueError("\n".join([*wrong[:SHOWN_CELLS], *told]))


# The header


def cut(
    file: Path, rows: list[Row], delimiter: str, notes: list[str], header: bool | None, is_list: bool = False
) -> Sheet:
    """Return the table without the lines above it, its header where it is repeated, and a total below."""
    if above := _lines_above(rows, header, is_list):
        texts = "; ".join(" ".join(filter(None, row.fields)) for row in rows[:above])
        notes, rows = [*notes, f"left out above the header: {texts}"], rows[above:]
    has_header = _is_header(rows, is_list) if header is None else header
    first = rows[0].fields
    for at, row in enumerate(rows[1:], 1):
        if row.is_apart and len(row.fields) > 1 and _is_header(rows[at : at + _SHOWN], is_list):
            raise ValueError(
                f"{file}, line {row.line}: a second table must not follow an empty line; keep the table of"
                " the names or ties alone"
            )
    for at in range(len(first) - 2, -1, -1) if has_header else ():
        one, two = plain(first[at]), plain(first[at + 1])
        is_name, is_turned = (a in _FIRST_NAMES and b in _LAST_NAMES for a, b in ((one, two), (two, one)))
        for row in rows if is_name or is_turned else ():  # first and last names are one column
            row.fields[at : at + 2] = [" ".join(row.fields[at : at + 2][:: 1 if is_name else -1]).strip()]
    edges = [row for row in rows if row.fields != first] if has_header else rows
    is_narrow = sum(map(bool, first)) < 2
    if not is_list and is_narrow and (delimiter == " " or all(len(row.fields) < 2 for row in rows)):
        raise ValueError(
            f"{file} must have two names in a line, for the two people of a tie, got one column; names alone"
            " are a list of items without ties"
        )
    if not is_list and is_narrow:
        given = rows[0]._replace(fields=[*filter(None, first)])
        raise ValueError(wrong_row(file, given, 2, delimiter))
    if not edges:
        raise ValueError(f"{file} must hold at least one line below the titles, got no more than a header")
    titles = [f"{at + 1}" for at in range(len(first))]
    if has_header:
        # A column without a name, or with the name of an earlier column, is named by its number.
        titles = [
            name if name and first.index(name) == at else f"{name} {at + 1}".lstrip()
            for at, name in enumerate(first)
        ]
    return Sheet(titles, edges, has_header, delimiter, notes)


def _lines_above(rows: Sequence[Row], header: bool | None, is_list: bool) -> int:
    """Return the number of lines above a header: of one cell or fewer cells, or above an empty line."""
    widest = 1
    for at, row in enumerate(rows[: _ABOVE + 1]):
        if (width := sum(map(bool, row.fields))) < 2:
            continue
        is_header = header is not False and _is_header(rows[at : at + _SHOWN], is_list)
        if widest < 2 and at and (header or is_header):
            return at
        is_sure = row.is_apart or width > widest or all(map(is_title, filter(None, row.fields)))
        if is_sure and at and is_header and not _is_header(rows[:_SHOWN], is_list):
            return at
        widest = max(widest, width)
    return 0


def _is_header(rows: Sequence[Row], is_list: bool = False) -> bool:
    """Return whether the first line is a header.

    It is, if it has a known pair of words, or text above a column of numbers or dates, or the title of a
    column of people, and no other line has its names. In a list, it is if it has a word such as "name".
    """
    first = rows[0].fields
    others = [row.fields for row in rows[1:] if row.fields != first]  # the header may be repeated
    below = [fields for fields in others[:_SHOWN] if len(fields) > 1 or is_list]
    if pair_of(first) or (is_list and any(cell.casefold() in _LIST_TITLES for cell in first)):
        return True
    for at, cell in enumerate(first):
        cells = [row[at] for row in below if at < len(row)]
        if not cell or len(cells) < len(below) or not math.isnan(number_of(cell)) or DATE.fullmatch(cell):
            continue
        given = [other for other in cells if other.casefold() not in _MISSING]
        if given and (are_dates(given) or not has_text(given)):
            return True
    words = [cell.casefold() for cell in first if cell]
    if is_list or not below or len(words) < 2:
        return False
    if any(cell.casefold() in words for fields in others for cell in fields[: len(first)]):
        return False
    ends = [cell for row in below for cell in row[:2]]
    if (*words[:2],) in _LETTERS:
        return all(len(cell) > 1 and not is_number(cell) for cell in ends)
    bare = [re.sub(r"(\d|[\W_][ab])$", "", word) for word in words[:2]]
    if bare[0] == bare[1] != words[0]:  # such as V1 and V2, if no name is V3
        return not any(re.fullmatch(re.escape(bare[0]) + r"\W?\w{0,3}", cell.casefold()) for cell in ends)
    return any(map(is_title, first))


def is_title(cell: str) -> bool:
    """Return whether a cell is the title of a column of people, such as "Ego", or a question."""
    if cell.endswith(("?", ":")):
        return True
    words = re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cell).casefold())
    kinds = [word in _TITLES or word.removesuffix("s") in _TITLES for word in words]
    return any(kinds) and all(kind or word in _BESIDE for kind, word in zip(kinds, words, strict=True))


def are_dates(cells: Sequence[str]) -> bool:
    """Return whether the cells are dates, and some are not empty."""
    given = [cell for cell in cells if cell]
    return bool(given) and all(map(DATE.fullmatch, given))


def pair_of(titles: Sequence[str]) -> tuple[int, int] | None:
    """Return the places of the first known pair of titles."""
    words = [word(title) for title in titles]
    found = ((words.index(one), words.index(two)) for one, two in _ENDS if one in words and two in words)
    return min(found, default=None)


def word(cell: str) -> str:
    """Return the distinctive part of a column's name: ``From_Node_ID`` gives ``from``."""
    return re.sub(r"(node|user|person)?(id|name|label)?$", "", plain(cell)) or plain(cell)


def plain(title: str) -> str:
    """Return the letters and digits of a title, in small letters."""
    return re.sub(r"[\W_]+", "", title.casefold())


def sharing(sheet: Sheet, places: Sequence[int]) -> tuple[int, ...]:
    """Return the first two columns of text that share names, with different titles if they have any."""
    texts = [at for at in places if has_text(sheet.cells(at))]
    parts = {
        at: {
            clean(part).casefold() for row in sheet.rows for part in SOFT.split(row.cell(at)) if part.strip()
        }
        for at in texts
    }
    bare = {at: bare_of(sheet.titles[at]) or sheet.titles[at] for at in texts}
    for at, one in enumerate(texts[: None if sheet.has_header else 1]):
        for two in texts[at + 1 :]:
            if bare[one] != bare[two] and not parts[one].isdisjoint(parts[two]):
                return one, two
    return ()


def bare_of(title: str) -> str:
    """Return a title without words and numbers that count: "friend" for "1. Friend", "Second friend"."""
    counted = r"\b([a-e]|1st|2nd|3rd|first|second|third|fourth|fifth|erste[rs]?|zweite[rs]?|dritte[rs]?)\b"
    return plain(re.sub(rf"{counted}|\d", " ", title.casefold().replace("_", " ")))
