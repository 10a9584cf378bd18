"""The former names of classes and parameters: programs, files and studies may use them for one version."""

import pickle
import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pkgutil import resolve_name

import numpy as np
import pytest

import cmab
from cmab import CUCB, ArmStatistics, Campaign, Greedy, Session, Study
from cmab.namespaces import FORMER, INSTEAD, LEFT, REPLACED
from cmab.renamed import PARAMETERS, up_to_date
from cmab.saving._fingerprint import fingerprint
from cmab.studies._registry import class_of
from oracles import Assortment, RankedTopK, TopK

ORACLE = TopK(3, 1)
MAKERS = {
    "BruteForceReward": lambda kind: kind(2, [[0], [1]]),
    "Explored": lambda kind: kind(Greedy(ORACLE, prior_mean=0.1, prior_weight=1.0)),
    "HybridCUCB": lambda kind: kind(ORACLE, ArmStatistics.empty(3), bias=0.1),
    "MixtureGLR": lambda kind: kind(3, 1, delta=0.1),
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


FORMER_CALLS = {
    "AdaptiveTopKBudget": (lambda kind: kind(4, 2, budget=50), {"n_arms": 4, "k": 2, "budget": 50}),
    "MultiBanditUGapEb": (lambda kind: kind((2, 3), 1, budget=50), {"arms_per_bandit": [2, 3], "budget": 50}),
    "MultiBanditUGapEc": (lambda kind: kind((2, 3), 1, delta=0.1), {"arms_per_bandit": [2, 3], "delta": 0.1}),
}


@pytest.mark.parametrize("former", REPLACED)
def test_former_classes_make_the_class_with_a_parameter(former):
    call, kept = FORMER_CALLS[former]
    present = REPLACED[former].partition(":")[2]
    for kind in (getattr(cmab, former), class_of(former, "here")):
        with pytest.warns(DeprecationWarning, match=f"{former} is now {present}"):
            made = call(kind)
        assert type(made).__name__ == present
    assert former not in cmab.__all__
    # What a file of the former class says is what the object has.
    for name, value in up_to_date({"class": former, **kept}).items():
        mine = present if name == "class" else getattr(made, name)
        assert (list(mine) if isinstance(mine, tuple) else mine) == value


@pytest.mark.parametrize("former", REPLACED)
def test_former_classes_go_on_as_classes(former):
    call, kept = FORMER_CALLS[former]
    kind, present = getattr(cmab, former), resolve_name(REPLACED[former])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = call(kind)
    assert told[0].filename == __file__
    assert isinstance(made, kind) and issubclass(kind, present)
    plain = {
        "ESCB": lambda: present(ORACLE),
        "AdaptiveTopK": lambda: present(4, 2, delta=0.1, epsilon=0.1),
        "UGapEb": lambda: present(5, 1, budget=50),
        "UGapEc": lambda: present(5, 1, delta=0.1),
    }
    assert not isinstance(plain[present.__name__](), kind)

    class Own(kind):
        """A class of a user."""

    @dataclass(frozen=True, eq=False)
    class WithField(kind):
        """A dataclass of a user."""

        extra: int = 3

    with pytest.warns(DeprecationWarning, match=former):
        mine = call(Own)
    assert type(mine) is Own and vars(mine) == vars(made)
    # The defaults of a dataclass of the user are those of the former class.
    name, usual = {"AESCB": ("tolerance", None), "AdaptiveTopKBudget": ("delta", 0.01)}.get(former, ("", 0))
    others = {each.name: getattr(made, each.name) for each in fields(made) if each.name != name}
    given = WithField(**others, extra=4)
    assert getattr(given, name, usual) == usual and given.extra == 4
    # What pickles of the version before hold: the class, without arguments, and its former attributes.
    pickled = kind.__new__(kind)
    state = {key: value for key, value in vars(made).items() if key not in ("tolerance", "bandits", "n_arms")}
    pickled.__setstate__(state | {k: tuple(v) if isinstance(v, list) else v for k, v in kept.items()})
    assert type(pickled) is present and vars(pickled) | vars(made) == vars(pickled)
    assert repr(pickled) == repr(made)


def test_former_attributes_work():
    assert import_module("cmab.exploration.ugape_budget").UGapEb is cmab.UGapEb


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"class": "ESCB"}, {"class": "ESCB", "tolerance": 0.0}),
        ({"class": "RepairedInfluence", "seed": 3}, {"class": "RepairedInfluence", "rng": 3}),
        ({"class": []}, {"class": []}),
        ({"class": "MultiBanditUGapEc", "arms_per_bandit": "x"}, {"class": "UGapEc", "arms_per_bandit": "x"}),
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
