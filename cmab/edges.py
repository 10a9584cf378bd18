"""Edge lists as text, with the names of two nodes and an optional number per line."""

from __future__ import annotations

from collections.abc import Sequence

from cmab.validation import shown

#: Pairs of a line number and the fields of the line.
Rows = Sequence[tuple[int, list[str]]]
_DIGITS = 18


def rows_of(text: str) -> Rows:
    """Return the lines of a text, without empty lines and comments, which begin with ``#``.

    A byte order mark at the beginning is ignored.

    Parameters
    ----------
    text : str
        The content of a file.

    Examples
    --------
    >>> from cmab.edges import rows_of
    >>> rows_of("# friends" + chr(10) + "anna bob 0.5" + chr(10))
    [(2, ['anna', 'bob', '0.5'])]
    """
    # Not `splitlines`, which also splits at form feeds and similar characters, even within comments.
    rows = [(number, line.split()) for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1)]
    return [(number, fields) for number, fields in rows if fields and not fields[0].startswith("#")]


def n_columns(rows: Rows, where: str, content: str) -> int:
    """Return the number of columns, which must be 2 or 3 and the same in all lines.

    Parameters
    ----------
    rows : sequence of tuple
        The lines, as `rows_of` returns them.
    where, content : str
        The name of the file and the required content of a line, for error messages.

    Raises
    ------
    ValueError
        If there are no lines, or lines have different or invalid numbers of columns.

    Examples
    --------
    >>> from cmab.edges import n_columns
    >>> n_columns([(1, ["anna", "bob"])], "friends.txt", "two names")
    2
    """
    if not rows:
        raise ValueError(f"{where} must hold at least one edge, got none")
    columns = len(rows[0][1])
    for number, fields in rows:
        if len(fields) not in (2, 3) or len(fields) != columns:
            raise ValueError(f"{where}, line {number}: must hold {content}, got {shown(fields[:5])}")
    return columns


def is_id(text: str) -> bool:
    """Return whether a text is an integer in ``[0, 10**18)`` in ASCII decimal digits.

    Parameters
    ----------
    text : str
        A field of a line.

    Examples
    --------
    >>> from cmab.edges import is_id
    >>> is_id("07"), is_id("-1")
    (True, False)
    """
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS


def is_number(text: str) -> bool:
    """Return whether a text is an integer in ``[0, 10**18)`` without leading zeros, as Python prints it.

    The texts 01 and 1 are different names of nodes.

    Parameters
    ----------
    text : str
        A field of a line.

    Examples
    --------
    >>> from cmab.edges import is_number
    >>> is_number("7"), is_number("07")
    (True, False)
    """
    return is_id(text) and str(int(text)) == text
