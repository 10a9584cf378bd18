"""Logs of clicks, and probabilities of clicks."""

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
# What the package calls the two rules.
_FOLDERS: dict[Logger, str] = {"random": "random", "thompson": "bts"}


def open_bandit(campaign: Campaign = "men", logger: Logger = "random", *, file: AnyPath | None = None) -> Log:
    """Return a log of the Open Bandit data: an item, its position and whether it was clicked, a round.

    Parameters
    ----------
    campaign : {"men", "women", "all"}
        Which items: 34, 46 or 80.
    logger : {"random", "thompson"}
        The rule that chose: uniform, or Bernoulli Thompson sampling.
    file : str or path-like, optional
        The wheel of ``obp``, or the CSV file; looked for as in `DataSet.read` if left out.

    Returns
    -------
    Log
        As `read_open_bandit` makes it: items are called by their numbers.

    Raises
    ------
    ValueError
        If an argument is none of these, or the file is no log.
    FileNotFoundError
        If there is no file; the error says how to get it.

    Examples
    --------
    >>> from instances.datasets import DATASETS, open_bandit
    >>> try:
    ...     log = open_bandit("men")
    ... except FileNotFoundError as error:  # says which wheel to download
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
            f"file must be a log with item_id, position, click, propensity_score, got {header[:6]}"
        )
    columns: dict[str, list[int] | list[float] | list[str]] = {}
    for name, *cells in zip(header, *rows, strict=True):
        if name in ("item_id", "position", "click"):
            columns[name] = [int(float(cell)) for cell in cells]
        elif name == "propensity_score" or name.startswith("user-item_affinity_"):
            columns[name] = [float(cell) for cell in cells]
        elif name:  # the first column numbers the rows
            columns[name] = list(cells)
    return read_open_bandit(columns)


def streaming_chances(*, file: AnyPath | None = None) -> FloatArray:
    """Return with which probability users of a music service stream a playlist that is shown to them.

    Parameters
    ----------
    file : str or path-like, optional
        ``deezer_attraction.csv.gz``; looked for as in `DataSet.read` if left out.

    Returns
    -------
    FloatArray, shape (n_users, n_playlists)
        In (0, 1); the first user is that of the first segment.

    Raises
    ------
    ValueError
        If the file is damaged or another one.
    FileNotFoundError
        If there is no file.

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
            raise ValueError("probabilities must be in (0, 1), got others, or none")
    return chances
