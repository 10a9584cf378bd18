"""The campaigns of a served folder, opened once and used by one request at a time."""

from __future__ import annotations

import io
import re
import threading
import unicodedata
import zipfile
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

from cmab.campaign.files import EVENTS, FILE, Options, read_options
from cmab.campaign.folder import CampaignFolder, create_folder
from cmab.campaign.reports import Round

Found = TypeVar("Found")
#: The largest size of an unpacked workbook.
_MOST_UNPACKED = 2**26
_LONGEST_TITLE = 100
#: The folders of an absolute path.
_FOLDERS = re.compile(r"(?<![\w/.<:])/(?:[^/\s'\"<>,;:]+/)+")
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?")


class Opened:
    """An opened campaign with its name in addresses, a lock, and results for its present events."""

    def __init__(self, slug: str, folder: CampaignFolder) -> None:
        self.slug, self.folder, self.lock = slug, folder, threading.RLock()
        self._version, self._kept = -1, dict[Hashable, Any]()

    @property
    def version(self) -> int:
        """The number of events, which changes with each of them."""
        return self.folder.campaign.n_events

    @property
    def rounds(self) -> list[Round]:
        """All rounds."""
        return self.kept(CampaignFolder.rounds)

    def kept(self, compute: Callable[..., Found], *given: Hashable) -> Found:
        """Return ``compute(folder, *given)``, computed at most once for each number of events."""
        if self._version != (version := self.version):
            self._version, self._kept = version, {}
        if (compute, *given) not in self._kept:
            self._kept[compute, *given] = compute(self.folder, *given)
        found: Found = self._kept[compute, *given]
        return found


class Store:
    """The campaigns in the subfolders of a folder, which is made if it does not exist."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._lock = threading.Lock()
        self._opened: dict[str, Opened] = {}
        if (root.exists() and not root.is_dir()) or (root / FILE).is_file():
            raise ValueError(f"{root} must be a folder of campaigns, got a file or one campaign")
        root.mkdir(parents=True, exist_ok=True)

    def without_folder(self, text: str) -> str:
        """Return a sentence without the folders of this machine, which its reader need not know."""
        return _FOLDERS.sub("", text.replace(str(self.root), ""))

    def slugs(self) -> list[str]:
        """Return the names of all campaigns in addresses, sorted."""
        paths = [path for path in sorted(self.root.iterdir()) if _SLUG.fullmatch(path.name)]
        return [path.name for path in paths if not path.is_symlink() and (path / FILE).is_file()]

    def titles(self) -> dict[str, str]:
        """Return the titles of all campaigns by their names in addresses; a damaged one has this name."""
        found = {slug: slug for slug in self.slugs()}
        for slug in found:
            with suppress(ValueError, OSError):
                found[slug] = read_options(self.root / slug).title
        return found

    def check_title(self, title: str, slug: str = "") -> None:
        """Raise ``ValueError`` unless a title is short and printable, and no campaign but `slug` has it."""
        if not (0 < len(title) <= _LONGEST_TITLE and title.isprintable()):
            raise ValueError(f"the title must have 1 to {_LONGEST_TITLE} printable characters")
        others = [other for at, other in self.titles().items() if at != slug]
        if title.casefold() in map(str.casefold, others):
            raise ValueError(f"another campaign has the title {title}; choose another title")

    @contextmanager
    def held(self, slug: str) -> Iterator[Opened]:
        """Hold a campaign for one request, as a context manager.

        Raises
        ------
        HTTPException
            If there is no such campaign.
        """
        with self._lock:
            if slug not in self._opened:
                # The name must be one of those that the page lists, so it cannot lead out of the folder.
                if slug not in self.slugs():
                    raise HTTPException(404, "There is no such campaign.")
                self._opened[slug] = Opened(slug, CampaignFolder(self.root / slug))
            opened = self._opened[slug]
        with opened.lock:
            yield opened

    def create(self, options: Options, files: Mapping[str, bytes]) -> str:
        """Make a campaign, whose title and files were checked, and return its name in addresses."""
        folder = create_folder(_free(self.root, slug_of(options.title)), options, files)
        with self._lock:
            self._opened[folder.path.name] = Opened(folder.path.name, folder)
        return folder.path.name

    def delete(self, slug: str) -> str:
        """Move a campaign to the folder of deleted ones, and return the name of its folder there."""
        with self._lock:
            self._opened.pop(slug).folder.close()
            deleted = self.root / ".deleted"
            deleted.mkdir(exist_ok=True)
            place = (self.root / slug).rename(_free(deleted, slug))
        return f".deleted/{place.name}"


def _free(place: Path, slug: str) -> Path:
    """Return the path of a new file in a folder, with a name that begins with `slug`."""
    names = (f"{slug[:40]}-{number}" if number > 1 else slug for number in count(1))
    return next(place / name for name in names if not (place / name).exists())


def slug_of(title: str) -> str:
    """Return a title as a part of an address.

    Examples
    --------
    >>> from cmab.campaign.page.store import slug_of
    >>> slug_of("Été 2026: the first!")
    'ete-2026-the-first'
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = "-".join(re.findall(r"[a-z0-9]+", plain))[:40].strip("-")
    return slug or "campaign"


def check_unpacked(data: bytes) -> None:
    """Raise ``ValueError`` if a file is compressed, or a workbook is too large when it is unpacked."""
    if data.startswith(b"\x1f\x8b"):
        raise ValueError("the file must not be compressed; unpack it first")
    if data.startswith(b"PK"):
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(data)) as book:
            if sum(part.file_size for part in book.infolist()) > _MOST_UNPACKED:
                raise ValueError(
                    f"the workbook must not be larger than {_MOST_UNPACKED // 2**20} MB unpacked"
                )


def file_name(given: str) -> str:
    """Return the name under which an uploaded file is stored: its own name, if that is plain.

    Examples
    --------
    >>> from cmab.campaign.page.store import file_name
    >>> file_name("Our friends.CSV"), file_name("../.x?.gml"), file_name("events.sqlite")
    ('Our friends.csv', 'network.gml', 'network.sqlite')
    """
    last = re.split(r"[/\\]", given)[-1]
    found = re.search(r"(?:\.[A-Za-z0-9]{1,8}){1,2}$", last)
    stem, ending = (last[: found.start()], found.group().lower()) if found else (last, ".csv")
    is_plain = re.fullmatch(r"\w[\w ()+.-]{0,80}", stem) and last.lower() not in (FILE, EVENTS)
    return f"{stem if is_plain else 'network'}{ending}"
