"""Copies of campaigns in new folders, also with their events in another place."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from instances.campaigns.folder import CampaignFolder
from instances.campaigns.options import FILE, read_options, written


def copy_folder(source: Path, to: Path, *, events: str | None = None) -> CampaignFolder:
    """Copy a campaign to a new folder, completely or not at all, and return the copy.

    Parameters
    ----------
    source, to : Path
        The folder of the campaign, and the new folder.
    events : str, optional
        The file or the database for the events of the copy; by default the same as in the source.

    Raises
    ------
    ValueError
        If the source has no campaign, or the new folder exists.
    """
    old = CampaignFolder(source)
    if to.exists():
        raise ValueError(f"{to} must be a new folder, but exists; choose another name")
    if events is not None and Path(events).suffix != Path(old.options.events).suffix:
        raise ValueError(f"events must be of the same kind as {old.options.events}, got {events}")
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=".copy-") as place:
        new = Path(place, "folder")
        new.mkdir()
        options = replace(read_options(source), events=events or old.options.events)
        for name in (options.network, options.names, options.costs):
            if name is not None:
                shutil.copyfile(source / name, new / name)
        shutil.copyfile(source / old.options.events, new / options.events)
        (new / FILE).write_text(written(options), encoding="utf-8")
        CampaignFolder(new)
        shutil.move(new, to)
    return CampaignFolder(to)
