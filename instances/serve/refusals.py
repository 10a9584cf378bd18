"""Refusals of requests, with the status of HTTP and a sentence for the reader."""

from __future__ import annotations


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


def shown_error(error: Exception) -> str:
    """Return the sentence of an error as it is shown on the page."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
