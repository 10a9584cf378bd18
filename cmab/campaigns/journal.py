"""The events of campaigns, without a learner."""

from __future__ import annotations

import os

from cmab.campaigns._schema import Event
from cmab.campaigns.stores.addresses import store_of


def events(where: str | os.PathLike[str]) -> list[Event]:
    """Return the events of a campaign, oldest first; the first event describes the campaign.

    Events identify the entries of super arms, and base arms, by their places in the lists of names in the
    first event. Events of kind ``"changed"`` extend these lists. The function neither locks nor writes the
    file or the database.

    Parameters
    ----------
    where : str or path-like
        The path or the URL of a `cmab.Campaign`.

    Raises
    ------
    ValueError
        If a line is damaged or cannot follow the lines before it, or if there is no campaign (for example,
        if the file is empty).
    OSError
        If the file or the database cannot be read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CUCB, Campaign
    >>> from cmab.campaigns.journal import events
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "campaign.jsonl")
    ...     request = Campaign(CUCB(TopK(5, k=2)), path, rng=0).ask()
    ...     [event["event"] for event in events(path)]
    ['campaign', 'ask']
    """
    store = store_of(where)
    found = store.all_events()
    if not found:
        raise ValueError(f"{store.where} must be the journal of a campaign, got no complete line")
    return found
