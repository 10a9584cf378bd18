"""Names as people type them."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable

from cmab.validation import meant, shown

#: The number of characters of a name in a message.
_LONGEST = 60


def clean(text: str) -> str:
    """Return a text without repeated blanks, in the composed form of Unicode.

    Examples
    --------
    >>> from instances.campaigns.names import clean
    >>> clean("  Anna   Meyer ")
    'Anna Meyer'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def short(text: str) -> str:
    """Return a text as it is shown in a message, cut after 60 characters."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


class Names:
    """The names of a campaign, which are found as people type them.

    Blanks and capitals make no difference, unless two names differ in them only.

    Parameters
    ----------
    labels : iterable of hashable
        The names of the network or the list, in order.

    Raises
    ------
    ValueError
        If two names are shown as the same text.

    Examples
    --------
    >>> from instances.campaigns.names import Names
    >>> Names(["Anna Meyer", "Bob"]).find(" anna meyer")
    'Anna Meyer'
    """

    def __init__(self, labels: Iterable[Hashable]) -> None:
        self.labels = list(labels)
        self._exact: dict[str, Hashable] = {}
        self._loose: dict[str, Hashable | None] = {}
        for label in self.labels:
            text = str(label)
            if text in self._exact:
                raise ValueError(f"names must differ from each other, got {shown(text)} twice")
            self._exact[text] = label
        for text, label in self._exact.items():
            loose = _loose(text)
            # Two names that differ only in blanks or capitals are found only as they are written.
            self._loose[loose] = None if loose in self._loose else label

    def __contains__(self, text: str) -> bool:
        return text in self._exact or self._loose.get(_loose(text)) is not None

    def find(self, text: str) -> Hashable:
        """Return the name that a text means.

        Raises
        ------
        ValueError
            If the name is unknown; the message has the most similar name.
        """
        if text in self._exact:
            return self._exact[text]
        found = self._loose.get(_loose(text))
        if found is None:
            if not text.strip():
                raise ValueError("a name must not be empty")
            raise ValueError(f"{shown(short(text))} is not a name of this campaign{meant(text, self._exact)}")
        return found

    def find_all(self, texts: Iterable[str]) -> list[Hashable]:
        """Return the names that these texts mean, each once.

        Raises
        ------
        ValueError
            If a name is unknown.
        """
        return list(dict.fromkeys(map(self.find, texts)))


def _loose(text: str) -> str:
    return clean(text).casefold()
