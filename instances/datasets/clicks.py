"""Logs of clicks, and click probabilities."""

from __future__ import annotations

import csv
import io
from typing import Literal

import numpy as np

from cmab import Log, read_open_bandit
from cmab.arrays import FloatArray
from cmab.validation import one_of
from instances.datasets.sources import DATASETS, AnyPath, whole

Campaign = Literal["men", "women", "all"]
Logger = Literal["random", "thompson"]
# The names of the two rules in the package.
_FOLDERS: dict[Logger, str] = {"random": "random", "thompson": "bts"}


def open_bandit(campaign: Campaign = "men", logger: Logger = "random", *, file: AnyPath | None = None) -> Log:
    """Return a log of the Open Bandit data: per round an item, its position and whether it was clicked.

    Parameters
    ----------
    campaign : {"men", "women", "all"}
        The campaign, with 34, 46 or 80 items.
    logger : {"random", "thompson"}
        The rule that chose the items: uniformly at random, or Bernoulli Thompson sampling.
    file : str or path-like, optional
        The wheel of ``obp``, or the CSV file. If omitted, `DataSet.read` searches for it.

    Returns
    -------
    Log
        The log, as `read_open_bandit` returns it. The names of items are their numbers.

    Raises
    ------
    ValueError
        If `campaign` or `logger` is not one of the values above, or if the file is not a log.
    FileNotFoundError
        If the file is not found; the error says how to get it.

    Examples
    --------
    >>> from instances.datasets import DATASETS, open_bandit
    >>> try:
    ...     log = open_bandit("men")
    ... except FileNotFoundError as error:  # names the wheel to download
    ...     log = None
    """
    one_of("campaign", campaign, ("men", "women", "all"))
    one_of("logger", logger, ("random", "thompson"))
    with whole("open-bandit", file):
        return _log(f"{_FOLDERS[logger]}/{campaign}/{campaign}.csv", file)


def _log(member: str, file: AnyPath | None) -> Log:
    header, *rows = list(
        csv.reader(io.StringIO(DATASETS["open-bandit"].read(member, file).decode("utf-8-sig")))
    )
    if not {"item_id", "position", "click", "propensity_score"} <= set(header):
        raise ValueError(
            f"file must be a log with item_id, position, click and propensity_score, got {header[:6]}"
        )
    columns: dict[str, list[int] | list[float] | list[str]] = {}
    for name, *cells in zip(header, *rows, strict=True):
        if name in ("item_id", "position", "click"):
            columns[name] = [int(float(cell)) for cell in cells]
        elif name == "propensity_score" or name.startswith("user-item_affinity_"):
            columns[name] = [float(cell) for cell in cells]
        elif name:  # the first column has no name and numbers the rows
            columns[name] = list(cells)
    return read_open_bandit(columns)


def streaming_chances(*, file: AnyPath | None = None) -> FloatArray:
    """Return the probabilities with which users of a music service stream a displayed playlist.

    Parameters
    ----------
    file : str or path-like, optional
        ``deezer_attraction.csv.gz``. If omitted, `DataSet.read` searches for it.

    Returns
    -------
    FloatArray, shape (n_users, n_playlists)
        Probabilities in (0, 1). User i represents the i-th segment of users.

    Raises
    ------
    ValueError
        If the file is damaged or another file.
    FileNotFoundError
        If the file is not found.

    Examples
    --------
    >>> from instances import CascadeModel
    >>> from instances.datasets import streaming_chances
    >>> from oracles import RankedTopK
    >>> try:
    ...     chances = streaming_chances().mean(axis=0)
    ... except FileNotFoundError:
    ...     chances = [0.02, 0.01, 0.005]
    >>> carousel = CascadeModel(chances, RankedTopK(len(chances), k=3))
    """
    with whole("deezer", file):
        text = DATASETS["deezer"].read("deezer_attraction.csv.gz", file).decode()
        rows = [[float(cell) for cell in row[1:]] for row in csv.reader(io.StringIO(text)) if row]
        chances: FloatArray = np.array(rows, np.float64)
        if chances.ndim != 2 or not (chances.size and ((chances > 0.0) & (chances < 1.0)).all()):
            raise ValueError("file must have probabilities in (0, 1), got none or others")
    return chances
