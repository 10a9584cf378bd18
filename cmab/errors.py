"""The errors of campaigns.

A call that raises one of them has changed nothing. Only after an ``OSError``, which is a store that does not
answer, it may have been stored all the same: repeat it with its key.
"""

from __future__ import annotations


class TicketError(ValueError):
    """The ticket cannot take this call; the subclasses tell why."""


class UnknownTicketError(TicketError):
    """The campaign never issued this ticket."""


class ClosedTicketError(TicketError):
    """The ticket was cancelled. `Campaign.undo` takes back the last cancellation."""


class SameReportError(TicketError):
    """The ticket was reported before with the same content, so that nothing is left to do."""


class OtherReportError(TicketError):
    """The ticket was reported before, with other content. `Campaign.correct` replaces the report."""


class UsedKeyError(ValueError):
    """The key belongs to another call, for example to the report of another ticket."""


class ChangedLearnerError(ValueError):
    """The names or the parameters of the learner differ from those of the campaign.

    Parameters
    ----------
    where : str
        The address of the campaign.
    changes : str
        The differences.
    """

    def __init__(self, where: str, changes: str) -> None:
        self.where, self.changes = where, changes
        super().__init__(
            f"{where} must be a campaign of this learner, got other names or parameters: {changes}. To"
            " continue with the present names and parameters, pass accept_changes=True: the statistics are"
            " matched by name"
        )


class NothingToUndoError(ValueError):
    """The campaign has no report, correction or cancellation that could be undone."""


class NewerEventsError(ValueError):
    """Other processes have added events that could be undone and were not read, so nothing was undone."""


class DamagedStoreError(ValueError):
    """The store has contents that no campaign has written, or lacks events. Restore a backup."""


class OtherVersionError(ValueError):
    """Another version of `cmab` has written the campaign, in another format. The campaign is not damaged."""


class StoreUnreachableError(OSError):
    """The database does not answer, or refuses. Its message is the reason."""


class StoreTimeoutError(TimeoutError):
    """The store was busy or locked all the time, by other programs or by another call of this process."""
