"""Compilation before the first request, so that no reader waits for it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cmab.campaign.files import Options
from cmab.campaign.folder import create_folder
from cmab.campaign.reports import Report
from instances.serve import views
from instances.serve.store import Opened

# Small networks are solved by other functions than larger ones.
_NETWORK = "".join(f"P{at},P{(at + step) % 40}\n" for at in range(40) for step in (1, 3, 7))


def warm_up() -> None:
    """Play two rounds of a small campaign in a temporary folder, as the pages do."""
    with tempfile.TemporaryDirectory() as place:
        options = Options(title="x", network="network.csv", directed=False, k=1, seed=0)
        folder = create_folder(Path(place, "x"), options, {"network.csv": _NETWORK.encode()})
        opened = Opened("x", folder)
        for _ in range(2):
            of = folder.ask()
            views.card_of(opened, of)
            neighbour = views.known_people(opened, of)[0]
            folder.tell(Report(of.number, joined={neighbour: None}))
            views.state_of(opened)
        folder.close()
