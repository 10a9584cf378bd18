"""Refusals of requests, with the status of HTTP and a sentence for the reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from instances.serve.store import Store


#: The error of a campaign in a list of campaigns.
DAMAGED = "Its files are damaged. Open it in the terminal to see the reason."


class Refusal(Exception):
    """A request that is refused.

    Parameters
    ----------
    status : int
        The status of HTTP.
    message : str
        The sentence for the reader.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def shown_error(error: Exception, store: Store) -> str:
    """Return the sentence of an error as it is shown on the page, without folders of this machine."""
    if isinstance(error, UnicodeError):
        return "The text has characters that are not valid Unicode."
    text = store.without_folder(str(error))
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
