"""The error of a call on a state that other processes have changed."""

from __future__ import annotations


class NewerEventsError(ValueError):
    """Another process has added events since the caller read them, so that the call was not made.

    Parameters
    ----------
    where : str
        The path or the URL of the campaign.
    expected, found : int
        The number of events that the caller has read, and the present number.
    """

    def __init__(self, where: str, expected: int, found: int) -> None:
        super().__init__(
            f"{where} must have the {expected:,} events that were read before, got {found:,}; read them again"
        )
