"""Logs of tables: both forms, all kinds of tables, and bad rows by their numbers."""

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from cmab import CUCB, Campaign, read_campaign, read_log, read_open_bandit
from oracles import TopK

LONG = {
    "visit": ["b", "a", "b", "a", "c"],
    "rank": [2, 1, 1, 2, 1],
    "item": ["007", "x", "y", "007", "x"],
    "click": [1.0, 0.5, 0.0, None, 1.0],
    "paid": [3.0, None, 3.0, None, 2.5],
    "p": [0.25, 0.125, 0.25, 0.125, 0.5],
    "at": [0.5, 0.25, 0.5, 0.25, 0.5],
    "up_to": [0.25, 0.25, 0.5, 0.125, 0.5],
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
    "up_to_1": [0.5, 0.25, 0.5],
    "up_to_2": [0.25, 0.125, None],
    "user": ["old", "new", "old"],
}
OF_LONG = {
    "names": "item", "round": "visit", "position": "rank", "outcome": "click", "reward": "paid",
    "propensity": "p", "by_position": "at", "by_prefix": "up_to", "facts": ["user"],
}  # fmt: skip
OF_WIDE = {
    "names": ["one", "two"], "outcome": ["click_1", "click_2"], "reward": "paid", "propensity": "p",
    "by_position": ["at_1", "at_2"], "by_prefix": ["up_to_1", "up_to_2"], "facts": ["user"],
}  # fmt: skip


def as_pandas(table, path):
    return pytest.importorskip("pandas").DataFrame(table)


def as_typed_pandas(table, path):
    return pytest.importorskip("pandas").DataFrame(table).convert_dtypes()


def as_polars(table, path):
    return pytest.importorskip("polars").DataFrame(table)


def as_parquet(table, path):
    pytest.importorskip("polars").DataFrame(table).write_parquet(path / "log.parquet")
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


KINDS = [lambda table, path: table, as_pandas, as_typed_pandas, as_polars, as_parquet, as_csv, as_gzip]
IDS = ["mapping", "pandas", "typed pandas", "polars", "parquet", "csv", "gzip"]


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
@pytest.mark.parametrize(("table", "how", "order"), [(LONG, OF_LONG, [0, 1, 2]), (WIDE, OF_WIDE, [0, 1, 2])])
def test_every_kind_of_table_holds_the_same_log(kind, table, how, order, tmp_path):
    log = read_log(kind(table, tmp_path), **how)
    assert [log[i].names for i in order] == [("y", "007"), ("x", "007"), ("x",)]
    assert [log[i].outcomes for i in order] == [{"y": 0.0, "007": 1.0}, {"x": 0.5}, {"x": 1.0}]
    assert np.array_equal([log[i].reward for i in order], [3.0, math.nan, 2.5], equal_nan=True)
    assert [log[i].propensity for i in order] == [0.25, 0.125, 0.5]
    assert [log[i].by_position for i in order] == [(0.5, 0.5), (0.25, 0.25), (0.5,)]
    assert [log[i].by_prefix for i in order] == [(0.5, 0.25), (0.25, 0.125), (0.5,)]
    assert [log[i].facts for i in order] == [{"user": "old"}, {"user": "new"}, {"user": "old"}]
    assert repr(log) == "Log(rounds=3, told=3, arms=3)"
    assert log.arms == log.choices == ["y", "007", "x"]
    seen = log.statistics(TopK(2, 1).named(["x", "007"]))
    assert seen.counts.tolist() == [2, 1]
    assert seen.means.tolist() == [0.75, 1.0]


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_whole_numbers_stay_names(kind, tmp_path):
    table = {"a": [3, 1, 2], "b": [1, None, 10], "q": [1, 0, 1], "r": [0, None, 1]}
    log = read_log(kind(table, tmp_path), ["a", "b"], outcome=["q", "r"])
    assert [row.names for row in log] == [(3, 1), (1,), (2, 10)]
    assert all(type(name) is int for row in log for name in row.names)


def test_the_last_prefix_is_the_propensity_and_rows_are_rounds():
    log = read_log({"item": ["x", "x"], "up": [0.5, None]}, "item", by_prefix="up")
    assert [(row.number, row.propensity, row.by_prefix) for row in log] == [(0, 0.5, (0.5,)), (1, None, None)]


def test_features_are_of_all_arms_in_the_order_given():
    table = {"item": ["b", "a"], "fa": [1.0, 2.0], "fb": [3.0, 4.0], "user": [0.5, 0.25]}
    log = read_log(table, "item", features={"a": ["fa", "user"], "b": ["fb", "user"]})
    assert log.arms == ["a", "b"]
    assert log[0].context.features.tolist() == [[1.0, 0.5], [3.0, 0.5]]
    assert log[1].context.features.tolist() == [[2.0, 0.25], [4.0, 0.25]]
    with pytest.raises(ValueError, match=r"features must have columns for each name.*lacks \['b'\]"):
        read_log(table, "item", features={"a": ["fa"]})


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
    (
        LONG,
        OF_LONG | {"propensity": "paid"},
        r"'paid' must contain finite numbers in \[0, 1\].*3.0 in rows 1, 3, 5",
    ),
    (LONG, OF_LONG | {"reward": "rank"}, r"'rank' must be the same in all rows.*in rows 3, 1"),
    (LONG, OF_LONG | {"facts": ["rank"]}, r"'rank' must be the same"),
    (LONG, OF_LONG | {"position": "paid"}, r"'paid' must have different numbers in the rows.*rows 1, 3"),
    (LONG, OF_LONG | {"round": None}, "position must be None if round is None"),
    (LONG, OF_LONG | {"names": "user", "facts": ()}, r"names of a round must differ.*'old'.*rows 3, 1"),
    (LONG, OF_LONG | {"names": "click"}, r"'click' must contain strings, whole numbers.*0.5 in row 2"),
    (LONG, OF_LONG | {"round": "click"}, r"'click' must identify the round.*row 4"),
    (WIDE, OF_WIDE | {"names": ["two", "one"]}, r"names must be given for all entries.*in row 3"),
    (WIDE | {"click_2": [1.0, None, 0.0]}, OF_WIDE, r"outcome must be empty .* got 0.0 in row 3"),
    (WIDE | {"at_2": [0.5, 0.25, 0.5]}, OF_WIDE, r"by_position must be empty .* got 0.5 in row 3"),
    (WIDE | {"up_to_2": [0.25, 0.125, 0.5]}, OF_WIDE, r"by_prefix must be empty .* got 0.5 in row 3"),
    (LONG | {"item": ["007", "x", "y", None, "x"], "click": [1.0] * 5}, OF_LONG, r"empty .* rows 2, 4"),
    (WIDE | {"p": [0.25, 0.12, 0.5]}, OF_WIDE, r"last value of by_prefix, got 0.12 and 0.125 in row 2"),
    (LONG | {"p": [0.25, 0.125, 0.25, 0.125, 0.4]}, OF_LONG, r"got 0.4 and 0.5 in row 5"),
    (WIDE, OF_WIDE | {"outcome": "click_1"}, r"outcome must have 2 column"),
    (WIDE, OF_WIDE | {"round": "user"}, r"round and position must be None"),
    ({"a": ["x"], "b": []}, {"names": "a"}, "equally long"),
    ({"a": [True]}, {"names": "b"}, "names must be a column"),
    ({"a": ["x"], "y": [math.inf]}, {"names": "a", "outcome": "y"}, "inf in row 1"),
    (
        {"a": ["x"]},
        {"names": "a", "features": {"x": ["a"], "y": []}},
        "features must have at least one column",
    ),
    ({"a": ["x"]}, {"names": "a", "features": {"x": "a", "y": ["a", "a"]}}, "same number of columns"),
    ({"a": ["x"], "y": [10**400]}, {"names": "a", "outcome": "y"}, "finite numbers, got 1000.*in row 1"),
    ({"a": ["x"]}, {"names": []}, "names must have at least one column"),
    ({"a": ["x"], "f": [None]}, {"names": "a", "features": {"x": ["f"]}}, "is empty in row 1"),
    ({"a": list("xxxxxxx"), "y": ["no"] * 7}, {"names": "a", "outcome": "y"}, "4, 5 and 2 more"),
    ("log.xlsx", {"names": "a"}, "must end in"),
    by=lambda table, how: read_log(table, **how),
)


def test_open_bandit_rows(tmp_path):
    text = (
        ",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,"
        "user-item_affinity_1,user-item_affinity_10,user-item_affinity_2\n"
        "0,2019-11-24 00:00:13.004101+00:00,10,3,0,0.25,cef3390e,0.0,1.0,10.0,2.0\n"
    )
    # Eleven items, of which this file has four columns: a number is the place in the order of the numbers.
    (tmp_path / "men.csv").write_text(text.replace(",10,3,0", ",3,3,0").replace("affinity_10", "affinity_3"))
    log = read_open_bandit(tmp_path / "men.csv")
    assert (log[0].names, log[0].outcomes, log[0].reward, log[0].propensity) == ((3,), {3: 0.0}, 0.0, 0.25)
    assert log[0].facts == {"position": 3, "user_feature_0": "cef3390e"}
    assert log[0].context.features.ravel().tolist() == [0.0, 1.0, 2.0, 10.0]
    assert log[0].asked.year == 2019
    with pytest.raises(ValueError, match="must be a column"):
        read_open_bandit({"item_id": [1], "click": [0]})


def test_affinities_are_of_the_items_whose_numbers_they_have():
    table = {"item_id": [2, 0], "position": [3, 1], "click": [0, 1], "propensity_score": [0.5, 0.5]}
    affinities = {"user-item_affinity_2": [3.0, 4.0], "user-item_affinity_0": [1.0, 2.0]}
    log = read_open_bandit(table | affinities | {"user-item_affinity_x": [9.0, 9.0]})
    assert log.arms == [0, 2]
    assert log[0].context.features.tolist() == [[1.0], [3.0]]
    with pytest.raises(ValueError, match=r"lacks \[1\]"):
        read_open_bandit(table | {"item_id": [2, 1]} | affinities)


def test_times_are_in_utc_or_refused_by_row():
    table = {"item_id": [1, 0], "position": [3, 1], "click": [0, 1], "propensity_score": [0.5, 0.5]}
    log = read_open_bandit(table | {"timestamp": ["2019-11-24 09:00:00+09:00", "2019-11-24 00:00:00"]})
    assert log[0].asked == log[1].asked
    assert {row.asked.utcoffset().total_seconds() for row in log} == {0.0}
    for bad in ("yesterday", 7):
        with pytest.raises(ValueError, match=r"'timestamp' must contain times.* in row 2"):
            read_open_bandit(table | {"timestamp": ["2019-11-24", bad]})
