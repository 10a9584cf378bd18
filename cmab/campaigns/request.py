"""What a campaign hands out."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from cmab.ticket import Ticket


@dataclass(frozen=True, eq=False)
class Request:
    """What `Campaign.ask` hands out: play `names`, then tell what was seen under this `number`.

    Attributes
    ----------
    number : int
        Counts the calls of `ask` of all processes, from 0.
    names : tuple
        What to play: people, edges, pairs. From an `Explorer`: the base arms to sample.
    ticket : Ticket
        The same by numbers.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CUCB, Campaign
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     campaign = Campaign(CUCB(TopK(5, k=2)), pathlib.Path(folder, "campaign.jsonl"), rng=0)
    ...     campaign.ask()
    Request(number=0, names=(0, 1))
    """

    number: int
    names: tuple[Hashable, ...]
    ticket: Ticket

    def __repr__(self) -> str:
        return f"Request(number={self.number}, names={self.names!r})"

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
