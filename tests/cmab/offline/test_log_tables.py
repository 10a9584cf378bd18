"""Logs of tables: both forms, all kinds of tables, and bad rows by their numbers."""

import gzip
import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from refusals import refused

from cmab import CUCB, Campaign, read_campaign, read_log
from oracles import TopK

LONG = {
    "visit": ["b", "a", "b", "a", "c"],
    "rank": [2, 1, 1, 2, 1],
    "item": ["007", "x", "y", "007", "x"],
    "click": [1.0, 0.5, 0.0, None, 1.0],
    "paid": [3.0, None, 3.0, None, 2.5],
    "p": [0.25, 0.125, 0.25, 0.125, 0.5],
    "at": [0.5, 0.25, 0.5, 0.25, 0.5],
    "user": ["old", "new", "old", "new", "old"],
}
WIDE = {
    "one": ["y", "x", "x"],
    "two": ["007", "007", None],
    "click_1": [0.0, 0.5, 1.0],
    "click_2": [1.0, None, None],
    "paid": [3.0, None, 2.5],
    "p": [0.25, 0.125, 0.5],
    "at_1": [0.5, 0.25, 0.5],
    "at_2": [0.5, 0.25, None],
    "user": ["old", "new", "old"],
}
OF_LONG = {
    "names": "item", "round": "visit", "position": "rank", "outcome": "click", "reward": "paid",
    "propensity": "p", "by_position": "at", "facts": ["user"],
}  # fmt: skip
OF_WIDE = {
    "names": ["one", "two"], "outcome": ["click_1", "click_2"], "reward": "paid", "propensity": "p",
    "by_position": ["at_1", "at_2"], "facts": ["user"],
}  # fmt: skip


def as_parquet(table, path):
    pl.DataFrame(table).write_parquet(path / "log.parquet")
    return path / "log.parquet"


def as_csv(table, path):
    rows = [["" if cell is None else str(cell) for cell in row] for row in zip(*table.values(), strict=True)]
    lines = [",".join(row) for row in [list(table), *rows]]
    (path / "log.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path / "log.csv")


def as_gzip(table, path):
    packed = path / "log.csv.gz"
    packed.write_bytes(gzip.compress(Path(as_csv(table, path)).read_bytes()))
    return packed


KINDS = {
    "mapping": lambda table, path: table,
    "pandas": lambda table, path: pd.DataFrame(table),
    "typed pandas": lambda table, path: pd.DataFrame(table).convert_dtypes(),
    "polars": lambda table, path: pl.DataFrame(table),
    "parquet": as_parquet,
    "csv": as_csv,
    "gzip": as_gzip,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("table", "how"), [(LONG, OF_LONG), (WIDE, OF_WIDE)])
def test_every_kind_of_table_holds_the_same_log(kind, table, how, tmp_path):
    log = read_log(KINDS[kind](table, tmp_path), **how)
    assert [row.names for row in log] == [("y", "007"), ("x", "007"), ("x",)]
    assert [row.outcomes for row in log] == [{"y": 0.0, "007": 1.0}, {"x": 0.5}, {"x": 1.0}]
    assert np.array_equal([row.reward for row in log], [3.0, math.nan, 2.5], equal_nan=True)
    assert [row.propensity for row in log] == [0.25, 0.125, 0.5]
    assert [row.by_position for row in log] == [(0.5, 0.5), (0.25, 0.25), (0.5,)]
    assert [row.facts for row in log] == [{"user": "old"}, {"user": "new"}, {"user": "old"}]
    assert repr(log) == "Log(rounds=3, told=3, arms=3)"
    assert log.arms == log.choices == ["y", "007", "x"]
    seen = log.statistics(TopK(2, 1).named(["x", "007"]))
    assert seen.counts.tolist() == [2, 1]
    assert seen.means.tolist() == [0.75, 1.0]


@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers_stay_names(kind, tmp_path):
    table = {"a": [3, 1, 2], "b": [1, None, 10], "q": [1, 0, 1], "r": [0, None, 1]}
    log = read_log(KINDS[kind](table, tmp_path), ["a", "b"], outcome=["q", "r"])
    assert [row.names for row in log] == [(3, 1), (1,), (2, 10)]
    assert all(type(name) is int for row in log for name in row.names)


def test_a_journal_by_way_of_a_frame_is_the_same_log(tmp_path):
    """Round trip: a campaign's rounds as a table, one row a base arm that was seen."""
    path, rng = tmp_path / "journal.db", np.random.default_rng(0)
    campaign = Campaign(CUCB(TopK(5, 2).named(list("abcde"))), path, rng=0)
    for _ in range(20):
        request = campaign.ask()
        campaign.tell({name: float(rng.random()) for name in request}, request)
    log = read_campaign(path)
    pairs = [(row.number, name, row.outcomes[name]) for row in log for name in row.names]
    round_, item, outcome = map(list, zip(*pairs, strict=True))
    again = read_log({"t": round_, "i": item, "x": outcome}, "i", round="t", outcome="x")
    oracle = campaign.policy.oracle
    assert [(row.names, row.outcomes) for row in again] == [(row.names, row.outcomes) for row in log]
    assert np.array_equal(again.statistics(oracle).means, log.statistics(oracle).means)
    assert np.array_equal(again.statistics(oracle).means, campaign.state.means)


test_bad_rows_are_named = refused(
    (LONG, OF_LONG | {"outcome": "clik"}, r"outcome must be a column.*did you mean 'click'"),
    (LONG, OF_LONG | {"outcome": "user"}, r"'user' must contain finite numbers.*'old' in rows 1, 2, 3, 4, 5"),
    (LONG, OF_LONG | {"propensity": "paid"}, r"'paid' must contain finite numbers in \[0, 1\].*rows 1, 3, 5"),
    (LONG, OF_LONG | {"reward": "rank"}, r"'rank' must be the same in all rows.*in rows 3, 1"),
    (LONG, OF_LONG | {"position": "paid"}, r"'paid' must have different numbers in the rows.*rows 1, 3"),
    (LONG, OF_LONG | {"round": None}, "position if round is None"),
    (LONG, OF_LONG | {"names": "user", "facts": ()}, r"names of a round must differ.*'old'.*rows 3, 1"),
    (LONG, OF_LONG | {"names": "click"}, r"'click' must contain strings, whole numbers.*0.5 in row 2"),
    (WIDE, OF_WIDE | {"names": ["two", "one"]}, r"names must be given for all entries.*in row 3"),
    (WIDE | {"click_2": [1.0, None, 0.0]}, OF_WIDE, r"outcome must be empty .* in row 3"),
    (LONG | {"item": ["007", "x", "y", None, "x"], "click": [1.0] * 5}, OF_LONG, r"empty .* rows 2, 4"),
    (WIDE, OF_WIDE | {"outcome": "click_1"}, r"outcome must have 2 column"),
    (WIDE, OF_WIDE | {"round": "user"}, r"round and position must be None"),
    ({"a": ["x"], "b": []}, {"names": "a"}, "equally long"),
    ({"a": ["x"], "y": [10**400]}, {"names": "a", "outcome": "y"}, "finite numbers, got 1000.*in row 1"),
    by=lambda table, how: read_log(table, **how),
)
