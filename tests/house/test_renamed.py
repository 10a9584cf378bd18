"""The former names of classes and parameters: programs, files and studies may use them for one version."""

import pickle
import re
import warnings
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pkgutil import resolve_name

import numpy as np
import pytest

import cmab
from cmab import CUCB, ArmStatistics, Campaign, Greedy, Session, Study
from cmab.namespaces import FORMER, INSTEAD, LEFT
from cmab.renamed import PARAMETERS, up_to_date
from cmab.saving._fingerprint import fingerprint
from cmab.studies._registry import class_of
from oracles import Assortment, RankedTopK, TopK

ORACLE = TopK(3, 1)
MAKERS = {
    "BruteForceReward": lambda kind: kind(2, [[0], [1]]),
    "Explored": lambda kind: kind(Greedy(ORACLE, prior_mean=0.1, prior_weight=1.0)),
    "HybridCUCB": lambda kind: kind(ORACLE, ArmStatistics.empty(3), bias=0.1),
    "OffPolicyValue": lambda kind: kind(0.5, (0.0, 1.0), 0.95, "ips", 10, 10.0, 1.0, 0.0),
    "Restarting": lambda kind: kind(CUCB(ORACLE), 0.5, is_proven=False),
    "UniformlyRandom": lambda kind: kind(ORACLE),
    "Windowed": lambda kind: kind(CUCB(ORACLE), 5),
}
POLICIES = [name for name in FORMER if name not in ("BruteForceReward", "OffPolicyValue")]


@contextmanager
def first_version(former):
    """Give a class its former name, so that files are written as by the version before."""
    kind = resolve_name(FORMER[former])
    present, kind.__name__, kind.__qualname__ = kind.__name__, former, former
    try:
        yield kind
    finally:
        kind.__name__ = kind.__qualname__ = present


@pytest.mark.parametrize("former", FORMER)
def test_former_names_are_the_classes(former):
    kind = resolve_name(FORMER[former])
    package = import_module(kind.__module__.partition(".")[0])
    assert former not in package.__all__
    for home in (package, import_module(kind.__module__)):
        with pytest.warns(DeprecationWarning, match=f"{former} is now called {kind.__name__}"):
            assert getattr(home, former) is kind


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"class": "ESCB"}, {"class": "ESCB", "tolerance": 0.0}),
        ({"class": "RepairedInfluence", "seed": 3}, {"class": "RepairedInfluence", "rng": 3}),
        ({"class": []}, {"class": []}),
    ],
)
def test_files_of_the_version_before_are_read(written, read):
    """Parameters that a class had not yet have their default; of damaged files nothing is assumed."""
    assert up_to_date({"oracle": written}) == {"oracle": read}


@pytest.mark.parametrize("name", INSTEAD)
def test_classes_that_left_a_namespace_are_found_with_a_warning(name):
    kind, (module, _, _) = resolve_name(LEFT[name]), LEFT[name].partition(":")
    namespace = import_module(".".join(module.split(".")[:2]))
    for home in (cmab, namespace):
        assert not {name, f"_{name}"} & set(home.__all__)
        with pytest.warns(DeprecationWarning, match=f"{name} has left the namespace; use .* from {module};"):
            assert getattr(home, name) is kind
    with pytest.warns(DeprecationWarning, match="has left"):
        assert class_of(name, "here") is kind


@pytest.mark.parametrize("name", [*FORMER, *LEFT])
def test_imports_of_a_former_name_warn_once_and_name_a_class_of_the_namespaces(name):
    place = {**FORMER, **LEFT}[name]
    module, _, present = place.partition(":")
    package = module.partition(".")[0]
    own = resolve_name(place).__module__ if name in FORMER else ".".join(module.split(".")[:2])
    for home in (package, own):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found: dict[str, object] = {}
            exec(f"from {home} import {name}", found)  # two lookups of the name
        assert found[name] is resolve_name(place)
        assert [one.category for one in warned] == [DeprecationWarning]
        text, public = str(warned[0].message), import_module(package).__all__
        assert any(re.search(rf"\b(called|use|,|or) {one}\b", text) for one in public), text
        if present in LEFT:
            assert f"use {INSTEAD[present]}, or import {present} from {module};" in text


def test_classes_that_left_have_a_replacement_in_the_namespaces():
    assert set(INSTEAD) == set(LEFT)
    for text in INSTEAD.values():
        assert set(text.replace(" or ", ", ").split(", ")) <= set(cmab.__all__)


def test_a_misspelt_name_is_not_found():
    for home in (cmab, import_module("cmab.policies.windowed")):
        with pytest.raises(AttributeError, match="no attribute 'Windowd'"):
            home.Windowd  # noqa: B018


@pytest.mark.parametrize("former", FORMER)
@pytest.mark.filterwarnings("ignore:.*is now called:DeprecationWarning")
def test_pickles_of_the_former_name_load(former):
    with first_version(former) as kind:
        data = pickle.dumps(MAKERS[former](kind))
    assert former.encode() in data
    assert type(pickle.loads(data)) is kind


@pytest.mark.parametrize("former", POLICIES)
def test_sessions_and_journals_of_the_former_name_open(former, tmp_path):
    with first_version(former) as kind:
        policy = MAKERS[former](kind)
        session = Session(policy, rng=1)
        session.save(tmp_path / "session")
        Campaign(policy, tmp_path / "journal", rng=1).ask()
    assert f'"class":"{former}"' in (tmp_path / "journal").read_text()
    again = Session.load(tmp_path / "session", policy)
    np.testing.assert_array_equal(again.ask().super_arm, session.ask().super_arm)
    assert Campaign(policy, tmp_path / "journal").pending == (0,)


def test_studies_find_what_was_played_under_the_former_name(tmp_path):
    def study(name, factor):
        environment = {
            "class": "SemiBandit",
            "oracle": "$oracle",
            "arms": {"class": "BernoulliArms", "means": [0.5, 0.1]},
        }
        instance = {"oracle": {"class": "TopK", "n_arms": 2, "k": 1}, "environment": environment}
        learners = {"one": {"class": name}, "two": {"class": "GaussianCTS", factor: 1.5}}
        return Study({"horizon": 5, "instances": {"two": instance}, "learners": learners})

    with pytest.warns(DeprecationWarning, match="is now|in place of") as warned:
        study("UniformlyRandom", "factor").run(tmp_path)
    said = {str(one.message).partition(";")[0] for one in warned}
    assert said == {
        "UniformlyRandom is now called RandomPolicy",
        "GaussianCTS: write variance_factor in place of factor, which will be removed in the next version",
    }
    assert not study("RandomPolicy", "variance_factor").missing(tmp_path)


SHOP = Assortment([1.0, 0.5, 0.8], 2)
NEEDED = {
    "C2UCB": {"oracle": ORACLE, "dimension": 1},
    "CombLinTS": {"oracle": ORACLE, "dimension": 1},
    "ContextualMNLTS": {"oracle": SHOP, "features": np.eye(3)},
    "ContextualMNLUCB": {"oracle": SHOP, "features": np.eye(3)},
    "LogisticTS": {"oracle": ORACLE, "dimension": 1},
    "MNLUCB": {"oracle": SHOP},
    "PBMUCB": {"oracle": RankedTopK(2, 2), "examination": 0.5},
}
VALUES = {"rewards": (0.0, 2.0), "group": [0, 1, 1], "mode": "mean"}


@pytest.mark.parametrize(
    ("name", "present", "former"),
    [(name, present, former) for name, own in PARAMETERS.items() for present, former in own.items()],
)
def test_former_parameters_work(name, present, former):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of classes that have left the namespace
        kind, value = class_of(name, "here"), VALUES.get(former, 1.5)
    needed = NEEDED.get(name, {"oracle": ORACLE})
    policy = kind(**needed, **{present: value})
    with pytest.warns(DeprecationWarning, match=f"{name}: write {present} in place of {former}"):
        again = kind(**needed, **{former: value})
    with pytest.warns(DeprecationWarning, match=f"{name}: `{former}` is now `{present}`"):
        assert getattr(again, former) == getattr(policy, present) == value
    assert repr(again) == repr(policy)
    with pytest.raises(TypeError, match=f"{name} must have one of {present}"):
        kind(**needed, **{former: value, present: value})
    with pytest.warns(DeprecationWarning, match=f"{name}: write {present}"):
        assert repr(replace(kind(**needed), **{former: value})) == repr(policy)
    # What the version before wrote has the former names.
    described = fingerprint(policy)["policy"]
    written = {former if key == present else key: part for key, part in described.items()}
    assert up_to_date(written) == described
    pickled = object.__new__(kind)
    pickled.__setstate__({former if key == present else key: part for key, part in vars(policy).items()})
    assert repr(pickled) == repr(policy)
