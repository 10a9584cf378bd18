"""Copies of campaigns from one store to another."""

from __future__ import annotations

import os

from cmab.campaigns.stores.addresses import store_of


def copy_campaign(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Copy all events of a campaign to a new campaign in a file or a database.

    The events are copied unchanged, with their times and checksums, and are checked before. The source can be
    in use; events that it gets later are not copied. To move a campaign, first stop all its processes.

    Parameters
    ----------
    source, target : str or path-like
        The paths or the URLs of the campaigns, as in `Campaign`. The target must not contain events.

    Returns
    -------
    int
        The number of copied events.

    Raises
    ------
    ValueError
        If the source is damaged or is not a campaign, or if the target contains events.
    OSError
        If the source cannot be read or the target cannot be written. The target then has no events. It has
        none either if the process is killed, so the copy can be repeated.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CUCB, Campaign, copy_campaign
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, database = pathlib.Path(folder, "campaign.jsonl"), pathlib.Path(folder, "campaign.db")
    ...     request = Campaign(CUCB(TopK(5, k=2)), file, rng=0).ask()
    ...     copied = copy_campaign(file, database)
    ...     copied, Campaign(CUCB(TopK(5, k=2)), database).pending
    (2, (0,))
    """
    old, new = store_of(source), store_of(target)
    lines = old.all_lines()
    if not lines:
        raise ValueError(f"{old.where} must be the journal of a campaign, got no complete line")
    try:
        with new.held(create=True):
            if new.read():
                raise ValueError(
                    f"target must be a new campaign, got {new.where}, which contains {new.n_read} events"
                )
            new.adopt(lines)
    finally:
        new.close()
    return len(lines)
