"""A numba whose inside has changed gives a slower start and never an error."""

from types import SimpleNamespace

import pytest
from numba import float64, njit
from numba.core import caching, serialize
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import nrt

from cmab.compiled import _kernels

# Each takes or gives something else than today's does; what numba itself calls stays fit for that.
CHANGED = {
    "the cache is made with more": (caching.FunctionCache, "__init__", lambda self, function, more: None),
    "the cache keeps its place elsewhere": (caching.FunctionCache, "__init__", lambda self, function: None),
    "files are named by a method": (caching.CacheImpl, "filename_base", lambda self, more: "name"),
    "loading takes more": (caching.Cache, "_load_overload", lambda self, signature, target, more: None),
    "saving takes more": (caching.Cache, "_save_overload", lambda self, signature, result, more: None),
    "loading gives something else": (caching.Cache, "_load_overload", lambda *_: None),
    "pickling takes more": (serialize, "dumps", lambda thing, more: b""),
    "setting up takes more": (nrt, "rtsys", SimpleNamespace(initialize=lambda context, more: None)),
    "setting up is elsewhere": (nrt, "rtsys", None),
    "ending compilation takes more": (Dispatcher, "disable_compile", lambda self, value, more: None),
}


def double(x):
    """Return twice x."""
    return 2.0 * x


def half(x: float) -> float:
    """Return half of x, without references counted."""
    return 0.5 * x


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Have compiled code kept in a folder of its own, as code of ours is: compiled when it is first used."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_kernels, "_PACKAGES", (*_kernels._PACKAGES, __name__.partition(".")[0]))
    _kernels._cache_folder.cache_clear()
    yield tmp_path
    _kernels._cache_folder.cache_clear()


def answers():
    """Return what kernels of each kind answer, called from Python and from other kernels."""
    typed = _kernels.typed_kernel(float64(float64))(double)
    part, borrowing = _kernels.part(double), _kernels.kernel(_kernels.borrows(half))

    @njit
    def both(x):
        return part(typed(x))

    return [typed(1.0), typed(2), part(3.0), borrowing(6.0), both(1.0)]


RIGHT = [2.0, 4.0, 6.0, 3.0, 4.0]


def test_this_numba_keeps_what_it_compiled(folder):
    assert answers() == RIGHT
    assert len(list(folder.rglob("*.checked"))) >= 2


@pytest.mark.parametrize("name", CHANGED)
def test_another_numba_is_only_slower(name, folder, monkeypatch):
    owner, attribute, changed = CHANGED[name]
    monkeypatch.setattr(owner, attribute, changed, raising=False)
    for _ in range(2):  # kept by the first, or not; read by the second, or not
        assert answers() == RIGHT


@pytest.mark.parametrize("option", ["_nrt", "no_cfunc_wrapper", "no_cpython_wrapper"])
def test_an_option_that_is_gone_is_left_out(option, monkeypatch):
    known = _kernels._knows.__wrapped__
    monkeypatch.setattr(_kernels, "_knows", lambda asked: asked != option and known(asked))
    assert answers() == RIGHT


def test_calls_with_more_are_understood_or_not_answered(folder):
    """numba calls what is put into its place: `compile`, and loading and saving of its cache."""
    typed = _kernels.typed_kernel(float64(float64))(double)
    assert typed._cache.load_overload((float64,), typed.targetctx, "more") is None
    assert typed._cache.save_overload((float64,), None, more=1) is None
    assert typed.compile((float64,), "more") is typed
    assert typed(1.0) == 2.0


def test_a_dispatcher_whose_compile_cannot_be_replaced(monkeypatch):
    fixed = property(lambda self: lambda signature: njit(double).compile(signature))
    monkeypatch.setattr(Dispatcher, "compile", fixed)
    plain = _kernels.kernel(double)
    assert not _kernels._waits(plain, float64(float64))
