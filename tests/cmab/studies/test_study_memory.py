"""Changes that no file of code shows: those in memory, and those of data and of variables."""

import functools
import importlib
import importlib.machinery
import os
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from cmab import CUCB, Study
from cmab.studies import _live, _provenance, _registry
from oracles import TopK

MODULE = """
import os
from pathlib import Path
import numpy as np
from cmab import Environment, Feedback

LIFT = 0.0

def bias(extra=0.0, *, more=0.0):
    return LIFT + extra + more

class Base(Environment):
    tilt = 0.0
    def play(self, super_arm, rng):
        rng.random()
        return Feedback(super_arm, self.means[super_arm], reward=self.expected_reward(super_arm))
    def pull(self, arms, rng):
        return self.means[arms]
    def expected_reward(self, super_arm):
        return float(self.means[super_arm].sum()) + 0.0

class Lone(Base):
    n_arms = 3
    support = (-10.0, 10.0)
    def __init__(self, table=None):
        data = Path(__file__).with_name("lone_data.txt").read_text()
        hidden = "".join(["lone_", "hidden.txt"])
        more = Path(__file__).with_name(hidden).read_text()
        own = Path(table).read_text() if table else "0"
        variable = os.environ.get("LONE_LIFT", "0")
        lift = float(data) + float(more) + float(own) + float(variable) + bias() + self.tilt
        self.means = np.array([0.9, 0.5, 0.1]) + lift
        self.optimum = float(self.means.max())
        self.table = table
"""
SPECIFICATION = {
    "horizon": 12,
    "replications": 2,
    "instances": {
        "own": {"oracle": {"class": "TopK", "n_arms": 3, "k": 1}, "environment": {"class": "lone:Lone"}}
    },
    "learners": {"Random": {"class": "RandomPolicy", "support": [-20.0, 20.0]}},
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with a module of a single file."""
    place = tmp_path / "home"
    place.mkdir()
    (place / "lone.py").write_text(MODULE)
    (place / "lone_data.txt").write_text("0.0")
    (place / "lone_hidden.txt").write_text("0.0")
    (place / "table.txt").write_text("0.0")
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("LONE_LIFT", "0")
    anew()
    yield place
    sys.modules.pop("lone", None)


def anew(declaration=""):
    """Import the module as a new process does, with a declaration in the class."""
    sys.modules.pop("lone", None)
    importlib.invalidate_caches()
    lone = importlib.import_module("lone")
    if declaration:
        file = Path(lone.__file__)
        text = file.read_text()
        if declaration not in text:
            lines = textwrap.indent(declaration, "    ")
            file.write_text(text.replace("    n_arms = 3\n", f"    n_arms = 3\n{lines}\n"))
        sys.modules.pop("lone")
        lone = importlib.import_module("lone")
    return lone


def patched_method(home):
    lone = sys.modules["lone"]
    lone.Lone.expected_reward = lambda self, super_arm: float(self.means[super_arm].sum()) + 0.25


def patched_base(home):
    sys.modules["lone"].Base.expected_reward = lambda self, super_arm: (
        float(self.means[super_arm].sum()) + 0.25
    )


def patched_attribute(home):
    sys.modules["lone"].Base.tilt = 0.25


def new_attribute(home):
    sys.modules["lone"].Lone.tilt = 0.25


def patched_constant(home):
    sys.modules["lone"].LIFT = 0.25


def patched_function(home):
    sys.modules["lone"].bias = lambda: 0.25


def patched_default(home):
    sys.modules["lone"].bias.__defaults__ = (0.25,)


def patched_named_default(home):
    sys.modules["lone"].bias.__kwdefaults__ = {"more": 0.25}


def wrapped(home):
    lone = sys.modules["lone"]
    inner = lone.bias

    @functools.wraps(inner)
    def outer(*given, **named):
        return inner(*given, **named) + 0.25

    lone.bias = outer


def patched_code(home):
    def bias(extra=0.0, *, more=0.0):
        return extra + more + 0.25

    sys.modules["lone"].bias.__code__ = bias.__code__


def redefined(home):
    lone = sys.modules["lone"]
    lone.Lone = type("Lone", (lone.Lone,), {"tilt": 0.25, "__module__": "lone"})


def patched_closure(home, extra=0.25):
    sys.modules["lone"].bias = lambda: extra


NOTICED = {
    "a method": patched_method,
    "a method of a base": patched_base,
    "an attribute of a base": patched_attribute,
    "an attribute that the class had not": new_attribute,
    "a constant": patched_constant,
    "a function": patched_function,
    "a default": patched_default,
    "a default of a keyword": patched_named_default,
    "a wrapper": wrapped,
    "code": patched_code,
    "a class": redefined,
    "a closure": patched_closure,
    "data that the module names": lambda home: (home / "lone_data.txt").write_text("0.25"),
}
DECLARED = {
    "a variable": (
        'depends_on = ["env:LONE_LIFT"]',
        lambda home: os.environ.update(LONE_LIFT="0.25"),
    ),
    "data whose name is computed": (
        'depends_on = ["lone_hidden.txt"]',
        lambda home: (home / "lone_hidden.txt").write_text("0.25"),
    ),
    "a file that is a parameter": (
        "@property\ndef depends_on(self):\n    return [self.table] if self.table else []",
        lambda home: (home / "table.txt").write_text("0.25"),
    ),
}


def study(home, table=True, **changes):
    environment = {"class": "lone:Lone"} | ({"table": str(home / "table.txt")} if table else {})
    instance = SPECIFICATION["instances"]["own"] | {"environment": environment}
    return Study(SPECIFICATION | {"instances": {"own": instance}} | changes)


def numbers(made, folder):
    return {pair: (r.rewards.tolist(), r.optimum) for pair, r in made.results(folder).items()}


@pytest.mark.slow
@pytest.mark.parametrize("what", [*NOTICED, *DECLARED])
def test_a_change_is_played_anew(what, home, tmp_path):
    """The old folder then gives what an empty one gives. Without the change, the old results count again."""
    declaration, change = DECLARED.get(what, ("", NOTICED.get(what)))
    anew(declaration)
    study(home).run(tmp_path / "old")
    old = numbers(study(home), tmp_path / "old")
    assert study(home).missing(tmp_path / "old") == []
    files = {path: path.read_text() for path in home.glob("*.txt")}
    change(home)
    again = study(home)
    assert len(again.missing(tmp_path / "old")) == 2
    again.run(tmp_path / "old")
    again.run(tmp_path / "new")
    assert numbers(again, tmp_path / "old") == numbers(again, tmp_path / "new")
    if what != "a default":  # `bias` is called with it
        assert numbers(again, tmp_path / "new") != old
    # The same change in a process to come is the same code.
    anew()
    if what in NOTICED and what != "data that the module names":
        assert study(home).missing(tmp_path / "old") == []
        change(home)
        assert study(home).missing(tmp_path / "new") == []
    for path, text in files.items():
        path.write_text(text)
    os.environ["LONE_LIFT"] = "0"
    anew()
    assert study(home).missing(tmp_path / "old") == []


@pytest.mark.slow
@pytest.mark.parametrize("what", [*NOTICED, *DECLARED])
def test_a_change_while_it_runs(what, home, tmp_path, monkeypatch):
    """A study that was made before is refused; it is not played under the old key."""
    if what == "data that the module names":
        monkeypatch.setattr(_provenance, "_AGAIN_SECONDS", 0.0)
    declaration, change = DECLARED.get(what, ("", NOTICED.get(what)))
    anew(declaration)
    made = study(home)
    change(home)
    with pytest.raises(ValueError, match=r"must be created again.*changed since then: lone|must not be used"):
        made.run(tmp_path)


@pytest.mark.slow
def test_a_worker_without_the_change_refuses(home, tmp_path):
    patched_method(home)
    with pytest.raises(Exception, match=r"lone\.Lone\.expected_reward \(changed\)"):
        study(home).run(tmp_path, n_jobs=2)
    assert len(study(home).missing(tmp_path)) == 2


def test_a_class_of_a_notebook_under_a_registered_name(home, monkeypatch):
    lone = sys.modules["lone"]
    cell = type("Lone", (lone.Lone,), {"__module__": "__main__"})
    monkeypatch.setattr(lone, "Lone", cell)
    with pytest.raises(ValueError, match="got __main__"):
        study(home)


def test_a_class_of_this_library(home, tmp_path, monkeypatch):
    specification = SPECIFICATION | {"learners": {"CUCB": {"class": "CUCB", "support": [-20.0, 20.0]}}}
    Study(specification).run(tmp_path)
    monkeypatch.setattr(TopK, "solve", lambda self, means, rng: np.arange(self.k))
    assert len(Study(specification).missing(tmp_path)) == 2
    monkeypatch.undo()
    assert Study(specification).missing(tmp_path) == []
    assert len(Study(specification, accept_versions=True).missing(tmp_path)) == 0


def test_declarations_of_bases_objects_and_values(home, tmp_path):
    lone = anew('depends_on = ["env:LONE_LIFT"]')

    def missing(**attributes):
        kind = type("More", (lone.Lone,), {"__module__": "lone"} | attributes)
        lone.More = kind
        environment = {"environment": kind(), "oracle": TopK(3, 1)}
        return len(Study(SPECIFICATION | {"instances": {"own": environment}}).missing(tmp_path))

    kind = type("More", (lone.Lone,), {"__module__": "lone", "depends_on": (3, "value:a text")})
    lone.More = kind
    made = Study(SPECIFICATION | {"instances": {"own": {"environment": kind(), "oracle": TopK(3, 1)}}})
    declared = next(iter(made.origins.values())).code["declared"]
    assert set(declared) == {"lone.Lone: env:LONE_LIFT", "lone.More: 3", "lone.More: value:a text"}
    made.run(tmp_path)
    assert missing(depends_on=(3, "value:a text")) == 0
    assert missing(depends_on=(4, "value:a text")) == 2
    assert missing(depends_on=()) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('["env:LONE_NOWHERE"]', r"depends_on of lone\.Lone: env:LONE_NOWHERE .*is set, got 'LONE_NOWHERE'"),
        ('["nowhere.csv"]', r"depends_on of lone\.Lone: file:nowhere\.csv must name a readable file"),
        ('["."]', r"lone\.Lone: file:\. must name a readable file"),
        ('"lone_data.txt"', r"depends_on of lone\.Lone must be a list of entries, got 'lone_data.txt'"),
        ("[{}]", r"depends_on of lone\.Lone must hold paths of files"),
    ],
)
def test_wrong_declarations_name_the_entry(given, message, home):
    anew(f"depends_on = {given}")
    with pytest.raises(ValueError, match=message):
        study(home)


def test_a_variable_that_differs_in_a_worker_is_refused(home, monkeypatch):
    anew('depends_on = ["env:LONE_LIFT"]')
    code = next(iter(study(home).origins.values())).code
    monkeypatch.setenv("LONE_LIFT", "7")
    with pytest.raises(ValueError, match=r"lone\.Lone: env:LONE_LIFT \(declared\)"):
        _provenance.check_code(code)


def test_a_file_that_goes_away_is_named(home, tmp_path):
    anew('depends_on = ["lone_hidden.txt"]')
    made = study(home)
    (home / "lone_hidden.txt").unlink()
    with pytest.raises(ValueError, match=r"file:lone_hidden\.txt must name a readable file"):
        made.run(tmp_path)


@pytest.mark.slow
def test_nothing_of_this_library_differs_from_its_files():
    """A difference that is none would play old results again, and workers would refuse pieces."""
    for group in ("oracles", "instances", "policies", "explorers"):
        for name in _registry.entries(group):
            _registry.class_of(name, name)
    ours = [name for name in sys.modules if name.partition(".")[0] in {"cmab", "oracles", "instances"}]
    assert len(ours) > 100
    assert _live.changed(ours) == {}


def test_a_worker_compares_no_module_that_it_has_not_loaded(monkeypatch):
    place = "cmab.policies.hierarchical.HierarchicalCTS.mode"
    importlib.import_module("cmab.policies.hierarchical")
    assert _live.home_of(place) == "cmab.policies.hierarchical"
    monkeypatch.delitem(sys.modules, "cmab.policies.hierarchical")
    assert _live.home_of(place) is None
    assert _live.home_of("cmab.policies.no_function") == "cmab.policies"
    assert _live.home_of("no_package.thing") is None


def test_counters_and_caches_are_no_change(home, tmp_path):
    """What the module itself assigns while it runs, and what is empty at first."""
    text = (home / "lone.py").read_text()
    text += "\nclass Counting(Lone):\n    calls = 0\n    cache = {}\n    def play(self, super_arm, rng):\n"
    text += "        Counting.calls += 1\n        return Lone.play(self, super_arm, rng)\n"
    (home / "lone.py").write_text(text)
    lone = anew()
    lone.Counting.calls, lone.Counting.cache["key"] = 5, 1
    assert _live.changed(["lone"]) == {}


def test_arrays_in_the_place_of_numbers_are_compared(home):
    """Comparing a list of arrays raises, whoever put them there: in place by the module, or from outside."""
    text = "\nTABLE = [0, 0]\ndef fill(value):\n    TABLE[:] = [value, value]\n"
    (home / "lone.py").write_text((home / "lone.py").read_text() + text + "KEPT = [0, 0]\n")
    lone = anew()
    lone.fill(np.arange(3.0))
    assert _live.changed(["lone"]) == {}
    lone.KEPT[0] = np.arange(3.0)
    assert list(_live.changed(["lone"])) == ["lone.KEPT"]


# What is legal in a module, and is nothing that was changed in memory.
ODD = """
import abc, dataclasses, enum, functools, typing
from odd_base import KINDS, Registered, Tagged, logged, register

STATE = {"calls": 0}
COUNT = [0]
TEMPORARY = 3
def _make(): return 3
VALUE = _make() + TEMPORARY
del TEMPORARY, _make
register("odd")

class Private:
    __secret = 3
    __names = ("a",)
    def __helper(self): return self.__secret
    def get(self): return self.__helper()

class Labelled(Registered):
    x = 3
    def traced(self): return 3

class Marked(metaclass=Tagged):
    y = 3
    def f(self): return 1

class Colour(enum.Enum):
    RED = 1
    def __new__(cls, value):
        made = object.__new__(cls)
        made._value_ = value
        return made

class Level(enum.IntFlag):
    LOW = 1

class Row(typing.NamedTuple):
    a: int = 3
    def f(self): return self.a

class Shape(typing.Protocol):
    a: int = 3
    def f(self) -> int: ...

class Square(Shape):
    b = 3
    def f(self) -> int: return 3

class Abstract(abc.ABC):
    z = 3
    @abc.abstractmethod
    def f(self): ...

@dataclasses.dataclass(slots=True)
class Slotted:
    x: int = 3
    y: list = dataclasses.field(default_factory=list)
    def f(self): return self.x

@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    x: int = 3

class Any:
    def __getattr__(self, name): return self

class Angry:
    @property
    def __wrapped__(self): raise RuntimeError

class Holder:
    anything = Any()
    angry = Angry()
    items = [1, 2]
    @functools.cached_property
    def c(self): return 3
    @functools.singledispatchmethod
    def s(self, x): return 1
    @s.register
    def _(self, x: int): return 2
    def __class_getitem__(cls, i): return cls
    @logged
    def f(self): return 1

class Outer:
    class Inner:
        v = 3
        def g(self): return self.v
    alias = Inner
    for q in range(2): pass
Outer.Inner.w = 3

@functools.lru_cache
def cached(x, seen=[0]): return x

def remembering(x, seen={"a": 1}):
    seen[x] = 1

def default(a=1, *, b=2.5, c=(1, None)): return a

for _name in ("one", "two"):
    exec(f"def {_name}(): return 1")

def touch():
    cached(3)
    remembering(3)
    STATE["calls"] += 1
    COUNT[0] += 1
    Holder().c
    Holder.items.append(3)
    Holder.new = 3
    for name in ("p", "q"):
        setattr(Holder, "x" + name, 3)
    register("again")
"""
ODD_BASE = """
import functools
KINDS = {"first": 1}
class Tagged(type):
    def __new__(mcs, name, bases, names):
        made = super().__new__(mcs, name, bases, names)
        made.tag = name.lower()
        return made
class Registered:
    def __init_subclass__(cls):
        cls.label = cls.__name__.lower()
        cls.extra = lambda self: 3
        cls.traced = logged(cls.traced)
def logged(function):
    @functools.wraps(function)
    def inner(*given):
        return function(*given)
    return inner
def register(name):
    KINDS[name] = len(KINDS)
"""


@pytest.fixture
def odd(home):
    """Two modules with all that is legal and odd."""
    (home / "odd.py").write_text(ODD)
    (home / "odd_base.py").write_text(ODD_BASE)
    importlib.invalidate_caches()
    yield importlib.import_module("odd")
    for name in ("odd", "odd_base"):
        del sys.modules[name]


def test_what_is_legal_and_odd_is_no_change(odd):
    assert _live.changed(["odd", "odd_base"]) == {}
    odd.touch()
    assert _live.changed(["odd", "odd_base"]) == {}
    # From outside it is a change.
    odd.Private._Private__secret = 4
    odd.default.__kwdefaults__["b"] = 3.5
    found = _live.changed(["odd", "odd_base"])
    assert found.keys() == {"odd.Private._Private__secret", "odd.default"}


def test_code_that_a_loader_rewrites_is_not_compared(home):
    class Loader(importlib.machinery.SourceFileLoader):
        def source_to_code(self, data, path, *, _optimize=-1):
            return super().source_to_code(data.replace(b"0.0", b"0.5"), path, _optimize=_optimize)

    file = str(home / "lone.py")
    spec = importlib.util.spec_from_file_location("lone", file, loader=Loader("lone", file))
    sys.modules["lone"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.LIFT == 0.5
    assert _live.changed(["lone"]) == {}


WRITTEN = {
    "write_text": "OUT.write_text(text)",
    "open": "with open(OUT, 'a') as file: file.write(text)",
    "open of a path": "with OUT.open(mode='w') as file: file.write(text)",
    "numpy": "np.savetxt(OUT, np.zeros(len(text)))",
    "a default": "save(text)",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", WRITTEN)
def test_a_file_that_a_module_writes_is_its_result(how, home, tmp_path, monkeypatch):
    """Such a file is there in the second run, with another content; what the module reads still counts."""
    monkeypatch.setattr(_provenance, "_AGAIN_SECONDS", 0.0)
    text = MODULE.replace(
        "        rng.random()\n",
        f"        rng.random(); LOG[0] += 1; text = 'x' * LOG[0]\n        {WRITTEN[how]}\n",
    )
    text = text.replace(
        "class Base", "OUT = Path(__file__).parent / 'lone_results.csv'\nLOG = [0]\nclass Base"
    )
    text += "def save(text, path=OUT):\n    Path(path).write_text(text)\n"
    text += "if __name__ == '__main__':\n    print('lone_study.toml')\n"
    (home / "lone.py").write_text(text)
    anew()
    study(home).run(tmp_path)
    assert (home / "lone_results.csv").is_file()
    (home / "lone_study.toml").write_text("title = 'another'")
    assert study(home).missing(tmp_path) == []
    (home / "lone_data.txt").write_text("0.25")
    assert len(study(home).missing(tmp_path)) == 2


def test_objects_of_this_library_in_the_place_of_tables(home, tmp_path, monkeypatch):
    def made():
        oracle = TopK(3, 1)
        return Study(SPECIFICATION | {"learners": {"mine": CUCB(oracle, support=(-20.0, 20.0))}})

    made().run(tmp_path)
    assert made().missing(tmp_path) == []
    monkeypatch.setattr(CUCB, "initial_state", lambda self: None, raising=False)
    assert len(made().missing(tmp_path)) == 2
