"""The way to numba: caching that notices edits, fall-backs, and the same answers without compilation."""

import importlib
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from places import ROOT
from scipy.special import gammaln

from cmab.bounds.beta import beta_quantile, log_gamma
from cmab.compiled import interpret, kernel, keyed_uniforms
from cmab.selection import renew_top_k, top_k

TOP = """
import numpy as np
from oracles import TopK
print(TopK(6, 2).solve(np.array([0.1, 0.9, 0.5, 0.9, 0.2, 0.3]), np.random.default_rng(0)))
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


def test_gamma_functions_have_the_same_bits_in_both_forms():
    """The compiled ``math.lgamma`` has other last digits than that of Python."""
    z = np.concatenate([10.0 ** np.linspace(-300, 15, 400), np.linspace(0.01, 30.0, 1000)])
    shapes = np.random.default_rng(0).uniform(0.1, 12.0, (1000, 2))
    forms = []
    for interpreted in (True, False):
        with interpret(interpreted):
            quantiles = [beta_quantile(p, a, b) for a, b in shapes for p in (0.1, 0.9)]
            forms.append(([log_gamma(x) for x in z], quantiles))
    assert forms[0] == forms[1]
    np.testing.assert_allclose(forms[0][0], gammaln(z), rtol=1e-14, atol=1e-14)


@pytest.mark.slow
def test_the_same_answers_without_compilation():
    assert run(TOP, NUMBA_DISABLE_JIT="1") == run(TOP) == "[1 3]"


@kernel
def divide(x, out, rng):
    out[0] += 1.0
    return rng.random() / x


def test_an_interpreted_call_that_raises_is_repeated_in_compiled_code():
    out, rng = np.zeros(1), np.random.default_rng(0)
    assert divide(0.0, out, rng) == np.inf
    assert out[0] == 1.0
    assert rng.random() == np.random.default_rng(0).random(2)[1]


COUNTED = """
from numba.core import event
import networkx as nx; import numpy as np
from cmab import CUCB, Feedback, Session
from oracles import InfluenceMaximization, TopK
with event.install_recorder("numba:compile") as seen:
    session = Session(CUCB(TopK(100, 10)), rng=0)
    ticket = session.ask()
    session.tell(Feedback(ticket, [1.0] * 10), ticket)
    session.ask()
    print(len(seen.buffer) // 2, end=" ")
    graph = nx.barabasi_albert_graph(300, 3, seed=0).to_directed()
    means = np.full(graph.number_of_edges(), 0.05)
    InfluenceMaximization(graph, k=5).solve(means, np.random.default_rng(0))
    print(len(seen.buffer) // 2)
"""


def test_the_first_calls_compile_few_functions(tmp_path):
    decision, influence = map(int, run(COUNTED, XDG_CACHE_HOME=str(tmp_path)).split())
    assert decision == 0
    assert influence <= 10


@kernel
def double(values):
    for i in range(len(values)):
        values[i] *= 2.0


def test_a_settled_function_keeps_what_a_call_in_another_thread_reads():
    double(np.ones(10**6))  # so many that it is compiled at once
    assert double.overloads and double.is_interpreted is None and callable(double.settle)


@pytest.mark.slow
def test_an_edit_in_another_module_is_noticed(tmp_path):
    """numba's own cache would go on with the old helper."""
    helper, caller = "helper", "caller"
    for package in ("cmab", "oracles"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    source = "from cmab.compiled import kernel\n@kernel\ndef helper(x):\n    return x + {}\n"
    (tmp_path / "cmab" / f"{caller}.py").write_text(
        f"from cmab.compiled import kernel\nfrom cmab.{helper} import helper\n"
        "@kernel\ndef call(x):\n    return helper(x)\n"
    )
    code = (
        f"from cmab.compiled import interpret; from cmab.{caller} import call\n"
        "with interpret(False): print(call(10), sum(call.stats.cache_hits.values()))"
    )
    # Python notices another size at once, but a later time only after a second.
    for addend, hits in ((1, 0), (1, 1), (20, 0), (20, 1)):
        (tmp_path / "cmab" / f"{helper}.py").write_text(source.format(addend))
        found = run(code, cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert found == f"{10 + addend} {hits}"


def compiled_functions():
    """Yield every compiled function of ours with its module's names."""
    tops = [ROOT / top for top in ("cmab", "oracles", "instances")]
    for path in sorted(path for top in tops for path in top.rglob("*.py") if "_kernel\n" in path.read_text()):
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for thing in vars(module).values():
            if hasattr(thing, "py_func") and thing.__module__ == module.__name__:
                yield thing, vars(module)


MAKERS = {"empty", "zeros", "ones", "full", "copy", "concatenate", "arange", "argsort"}


def is_lean(dispatcher):
    return dispatcher.targetoptions.get("_nrt") is False


def test_lean_kernels_and_what_they_call_make_no_array():
    """References are not counted there: an array that it made, or was returned, would never be freed."""
    lean = [pair for pair in compiled_functions() if is_lean(pair[0])]
    assert len(lean) > 100
    for dispatcher, names in lean:
        called = dispatcher.py_func.__code__.co_names
        others = [names[name].py_func for name in called if hasattr(names.get(name), "py_func")]
        for function in (dispatcher.py_func, *others):
            assert not MAKERS & set(function.__code__.co_names), (dispatcher, function)
