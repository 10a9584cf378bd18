"""The requests that campaigns return."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from cmab.feedback import Ticket


@dataclass(frozen=True, eq=False)
class Request:
    """The answer of `Campaign.ask`: play `names`, then report the feedback under this `number`.

    Attributes
    ----------
    number : int
        The number of the request, from 0. All processes that use the journal share the count.
    names : tuple
        The names of the entries to play, for example people, edges or pairs. For an `Explorer`: the names of
        the base arms to sample.
    ticket : Ticket
        The ticket of the session, which has the same entries by number.

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
