"""Copies of campaigns in new folders, also with their events in another place."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from cmab import copy_campaign
from instances.campaigns.folder import CampaignFolder, events_of
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
    if "://" in old.options.events and events is None:
        raise ValueError(
            f"the events of the copy need a place of their own (--events), not {old.options.events}"
        )
    if to.exists():
        raise ValueError(f"{to} must be a new folder, but exists; choose another name")
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=".copy-") as place:
        new = Path(place, "folder")
        new.mkdir()
        options = replace(read_options(source), events=events or old.options.events)
        for name in (options.network, options.names, options.costs):
            if name is not None:
                shutil.copyfile(source / name, new / name)
        copy_campaign(events_of(source, old.options), events_of(new, options))
        (new / FILE).write_text(written(options), encoding="utf-8")
        CampaignFolder(new).close()
        shutil.move(new, to)
    return CampaignFolder(to)
