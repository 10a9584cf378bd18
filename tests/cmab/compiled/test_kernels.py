"""The way to numba: caching that notices edits, fall-backs, and the same answers without compilation."""

import ctypes
import importlib
import os
import shutil
import signal
import subprocess
import sys
from typing import get_args, get_origin

import numpy as np
import pytest
from cases import POLICIES
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numba.core.cpu import CPUTargetOptions
from places import ROOT

from cmab.compiled import _kernels
from cmab.compiled._kernels import borrows, kernel
from cmab.compiled._kernels_random import keyed_uniforms
from cmab.compiled._kernels_select import renew_top_k, top_k

TOP = """
import numpy as np
from oracles import TopK
print(TopK(6, 2).solve(np.array([0.1, 0.9, 0.5, 0.9, 0.2, 0.3]), np.random.default_rng(0)))
"""

# Every enrolled policy on two distributions, by what it plays.
RUNS = """
import sys, warnings
warnings.simplefilter("error")
sys.path[:0] = ["tests", "tests/support"]
import numpy as np
from cases import POLICIES
from cmab import simulate
from instances import BernoulliArms, GaussianArms, SemiBandit
from oracles import TopK
for sense in ("max", "min"):
    oracle = TopK(8, 3, sense=sense)
    for arms in (BernoulliArms(np.linspace(0.1, 0.9, 8)), GaussianArms(np.linspace(0.1, 0.9, 8), 0.3)):
        for case in POLICIES:
            result = simulate(case.make(oracle), SemiBandit(arms, oracle), 150, checkpoints=[50, 150], rng=3)
            print(sense, case.name, result.path, result.expected_rewards.round(9).tolist())
"""


RULE = """
import numpy as np
from cmab.kernels import solve_kernel

@solve_kernel
def best(means, integers, reals, out):
    out[0] = np.argmax(means)
    return 1

print(best(np.array([0.1, 0.9]), np.empty(0, np.int64), np.empty(0), np.empty(1, np.int64)))
"""


def run(code, cwd=ROOT, **environment):
    clean = {
        k: v for k, v in os.environ.items() if k not in ("NUMBA_DISABLE_JIT", "NUMBA_CACHE_DIR", "PYTHONPATH")
    }
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={**clean, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@given(arrays(float, st.integers(1, 40), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0])), st.data())
def test_top_k_is_a_stable_sort(values, data):
    k = data.draw(st.integers(0, len(values)))
    chosen = np.empty(k, np.int64)
    top_k(values, k, chosen)
    assert np.array_equal(chosen, np.sort(np.argsort(-values, kind="stable")[:k]))


@given(
    arrays(float, st.integers(1, 300), elements=st.sampled_from([-np.inf, 0.0, 0.25, 0.5, 1.0])), st.data()
)
def test_any_choice_is_renewed_to_the_best(values, data):
    m = len(values)
    k = data.draw(st.integers(1, m))
    best = np.sort(np.random.default_rng(data.draw(st.integers(0, 2**32))).permutation(m)[:k])
    renew_top_k(values, k, best)
    assert np.array_equal(best, np.sort(np.argsort(-values, kind="stable")[:k]))


def test_a_choice_is_renewed_round_after_round():
    """Values that drift, jump, tie and all change, in increasing and in random order of index."""
    rng = np.random.default_rng(0)
    for m, k in ((100, 10), (129, 1), (700, 60), (64, 63)):
        values, best = rng.random(m), np.arange(k)
        for t in range(300):
            values[rng.integers(m, size=3)] += rng.normal(size=3)
            if t % 50 == 0:
                values = np.sort(rng.random(m)) if t % 100 else rng.integers(3, size=m).astype(float)
            renew_top_k(values, k, best)
            assert np.array_equal(best, np.sort(np.argsort(-values, kind="stable")[:k])), (m, k, t)


def test_keyed_uniforms_are_uniform_and_independent():
    """Moments over 400 keys x 500 arms, 6 standard errors each: false alarms below 1e-7."""
    table = np.array([keyed_uniforms(key, np.arange(500)) for key in range(400)])
    n = table.size
    assert 0 <= table.min() < table.max() < 1
    assert abs(table.mean() - 1 / 2) < 6 * np.sqrt(1 / 12 / n)
    assert abs((table**2).mean() - 1 / 3) < 6 * np.sqrt(4 / 45 / n)
    centred = table - 0.5
    for neighbour in (np.roll(centred, 1, axis=0), np.roll(centred, 1, axis=1)):
        assert abs((centred * neighbour).mean()) < 6 / 12 / np.sqrt(n)


@pytest.mark.slow
def test_rules_of_executed_code_work_in_a_second_process(tmp_path):
    """They have a file, as snippets of a page do, but no module that the disk cache could link them to."""
    (tmp_path / "page.md").write_text(RULE)
    code = f"import pathlib; page = pathlib.Path({str(tmp_path / 'page.md')!r})\n"
    code += "exec(compile(page.read_text(), str(page), 'exec'), {})"
    assert [run(code, XDG_CACHE_HOME=str(tmp_path)) for _ in range(2)] == ["1", "1"]


@pytest.mark.slow
def test_the_same_answers_without_compilation():
    assert run(TOP, NUMBA_DISABLE_JIT="1") == run(TOP) == "[1 3]"


@pytest.mark.slow
def test_the_same_runs_without_compilation():
    interpreted, compiled = run(RUNS, NUMBA_DISABLE_JIT="1"), run(RUNS)
    assert interpreted == compiled
    assert len(compiled.splitlines()) == 4 * len(POLICIES)


@pytest.mark.slow
def test_later_processes_do_not_get_ready_to_compile():
    """What is compiled is read without numba's set-up, and a kernel compiled afterwards does without harm."""
    loaded = "import sys\nprint('scipy.linalg' in sys.modules)\n"
    fresh = """
import numba
@numba.njit
def twice(values):
    return 2 * values[np.argsort(values)]
print(twice(np.array([2.0, 1.0])), TopK(3, 1).solve(np.array([0.0, 1.0, 0.5]), np.random.default_rng(0)))
"""
    assert run(TOP) == "[1 3]"
    assert run(TOP + loaded + fresh + loaded).split("\n") == ["[1 3]", "False", "[2. 4.] [1]", "True"]


@pytest.mark.slow
def test_no_home_directory_is_no_obstacle():
    assert run(TOP, HOME="/dev/null/nowhere", XDG_CACHE_HOME="") == "[1 3]"


@pytest.mark.slow
def test_an_edit_in_another_module_is_noticed(tmp_path):
    """numba's own cache would go on with the old helper."""
    for package in ("cmab", "oracles"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    helper = tmp_path / "cmab" / "_kernels_helper.py"
    caller = tmp_path / "cmab" / "_kernels_caller.py"
    source = (
        "from cmab.compiled._kernels import kernel\n@kernel\ndef helper(x: int) -> int:\n    return x + {}\n"
    )
    caller.write_text(
        "from cmab.compiled._kernels import kernel\nfrom cmab._kernels_helper import helper\n"
        "@kernel\ndef call(x: int) -> int:\n    return helper(x)\n"
    )
    code = "from cmab._kernels_caller import call; print(call(10))"
    for addend in (1, 2):
        helper.write_text(source.format(addend))
        assert run(code, cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache")) == str(10 + addend)
    assert len(list((tmp_path / "cache" / "cmab").iterdir())) == 2


def compiled_functions():
    """Yield every compiled function of ours with its module's names."""
    tops = [ROOT / top for top in ("cmab", "oracles", "instances")]
    for path in sorted(path for top in tops for path in top.rglob("_kernels*.py")):
        if path.name != "_kernels.py":
            module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
            for thing in vars(module).values():
                function = getattr(thing, "py_func", thing)
                if getattr(function, "__module__", "") == module.__name__ and callable(function):
                    yield function, vars(module)


MAKERS = {"empty", "zeros", "ones", "full", "copy", "concatenate", "arange", "argsort"}


def parts(function):
    """Return the types that a function returns: those in a tuple one by one."""
    returned = function.__annotations__["return"]
    return get_args(returned) if get_origin(returned) is tuple else [returned]


def test_who_borrows_makes_and_gets_no_array():
    """References are not counted there: an array that it made, or was returned, would never be freed."""
    scalars, seen = {None, int, float, bool, np.uint64}, 0
    for function, names in compiled_functions():
        if not getattr(function, "borrows", False):
            continue
        seen += 1
        assert scalars.issuperset(parts(function)), function
        called = function.__code__.co_names
        assert not MAKERS & set(called), function
        for name in called:
            other = getattr(names.get(name), "py_func", None)
            if other is not None:
                assert scalars.issuperset(parts(other)), (function, other)
    assert seen > 30


def test_who_returns_an_array_cannot_borrow():
    def double(values: np.ndarray) -> np.ndarray:
        return 2.0 * values

    def doubles(values: np.ndarray) -> tuple[np.ndarray, int]:
        return 2.0 * values, 2

    for function in (double, doubles):
        with pytest.raises(TypeError, match=f"{function.__name__} must return a scalar"):
            borrows(function)


@pytest.mark.slow
def test_who_borrows_can_call_nothing_that_returns_an_array():
    """What was compiled before as well: its array would never be freed."""

    @kernel
    def zeros(n):
        return np.zeros(n)

    @kernel
    def pair(n):
        return np.zeros(n), n

    @kernel
    @borrows
    def length(values) -> int:
        return len(values)

    @kernel
    @borrows
    def first(n) -> float:
        return zeros(n)[0]

    @kernel
    @borrows
    def second(n) -> float:
        return pair(n)[0][0]

    @kernel
    @borrows
    def sound(values) -> int:
        return length(values[1:])

    assert zeros(2)[0] == pair(2)[0][0] == 0.0
    for function, name in ((first, "zeros"), (second, "pair")):
        for _ in range(2):
            with pytest.raises(TypeError, match=f"can call nothing that returns an array, got .'{name}'"):
                function(2)
    assert sound(np.ones(3)) == 2


def test_a_numba_that_always_counts_is_only_slower(monkeypatch):
    owner = next(cls for cls in CPUTargetOptions.__mro__ if "_nrt" in vars(cls))
    monkeypatch.delattr(owner, "_nrt")
    _kernels._knows.cache_clear()

    def total(values: np.ndarray) -> float:
        return values.sum()

    try:
        assert kernel(borrows(total))(np.ones(3)) == 3.0
    finally:
        _kernels._knows.cache_clear()


@kernel
def one_array(send, number: int) -> np.ndarray:
    send(number)
    return np.zeros(2)


@kernel
def two_arrays(send, number: int) -> tuple[np.ndarray, np.ndarray]:
    send(number)
    return np.zeros(2), np.ones(2)


@kernel
def without_annotation(send, number):
    send(number)
    return np.zeros(2), 1


@kernel
def a_number(send, number: int) -> int:
    send(number)
    return 1


@pytest.mark.skipif(sys.platform == "win32", reason="raise is called in the C library of the process")
@pytest.mark.parametrize("function", [one_array, two_arrays, without_annotation, a_number])
def test_ctrl_c_during_a_kernel_is_a_keyboard_interrupt(function):
    """Arrays of a returned tuple are made in Python code, where the interrupt takes effect first."""
    send = ctypes.CDLL(None)["raise"]
    send.argtypes, send.restype = [ctypes.c_int], ctypes.c_int
    function(send, 0)  # signal 0 is none
    with pytest.raises(KeyboardInterrupt):
        function(send, int(signal.SIGINT))
    function(send, 0)
