"""The one door to numba.

A module named ``_kernels_*.py`` holds compiled functions: arrays (and a ``Generator``, for kernels that
cover a whole run) in, arrays out. Such modules are imported inside the functions that call them, so that
``import cmab`` neither loads numba nor compiles anything.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numba.cpython.hashing
import numpy as np
from llvmlite import ir
from numba import extending
from numba.core import caching as numba_caching
from numba.core.runtime import nrt

Function = TypeVar("Function", bound=Callable[..., object])

_PACKAGES = ("cmab", "oracles", "instances")
_config: Any = numba.config
_caching: Any = numba_caching
_runtime: Any = nrt.rtsys
_njit: Any = numba.njit
_intrinsic: Any = extending.intrinsic
types: Any = numba.types
IS_COMPILING = not _config.DISABLE_JIT
# Division by zero gives inf or nan as in numpy: the check for it would keep loops from being vectorised.
_OPTIONS = {"nogil": True, "error_model": "numpy"}


def kernel(function: Function) -> Function:
    """Compile `function` with numba, cached on disk where that is possible.

    The interpreter lock is released while a kernel runs. With ``NUMBA_DISABLE_JIT=1`` the function comes
    back as it is.
    """
    return _compiled(function)


def _calling(context: Any, address: Any) -> Any:
    """Say how compiled code calls the C function at an address: no arguments, a 64-bit integer back."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.inttoptr(arguments[0], function.as_pointer()), [])

    return types.int64(types.int64), generate


call_address: Any = _intrinsic(_calling)


def _prefetching(context: Any, array: Any, index: Any) -> Any:
    """Say how compiled code asks for the cache line of an entry: to be read, and used for a while."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        hints = [ir.Constant(ir.IntType(32), hint) for hint in (0, 3, 1)]
        kinds = [address.type, *(hint.type for hint in hints)]
        function = ir.FunctionType(ir.VoidType(), kinds)
        builder.call(
            builder.module.declare_intrinsic("llvm.prefetch", kinds[:1], function), [address, *hints]
        )
        return context.get_dummy_value()

    return types.void(array, index), generate


def _nothing(array: Any, index: int) -> None:
    """Stand in for `prefetch` where nothing is compiled."""


prefetch: Any = _intrinsic(_prefetching) if IS_COMPILING else _nothing
"""Have ``array[index]`` brought into the cache without waiting; an index beyond the end does no harm."""


def typed_kernel(signature: Any) -> Callable[[Function], Function]:
    """Return a decorator that compiles at once for one fixed signature.

    Only such a function can be handed to another kernel without that one being compiled anew.
    """
    return lambda function: _compiled(function, signature)


def _compiled(function: Function, *signature: Any) -> Function:
    if not IS_COMPILING:
        return _wrapping(function)
    # Only our own kernels use this folder: the setting is put back, for the user's functions are his.
    previous = _config.CACHE_DIR
    _config.CACHE_DIR = _cache_folder() or previous
    try:
        compiled = _njit(**_OPTIONS)(function)
        # What belongs to no module, as code that a program executes, could not be linked again.
        if function.__module__ in sys.modules:
            with suppress(RuntimeError):  # numba found no place to write a cache to
                compiled._cache = _quick_cache(function)
        if signature:
            compiled.compile(*signature)
            compiled.disable_compile()
    finally:
        _config.CACHE_DIR = previous
    return cast(Function, compiled)


def _quick_cache(function: Function) -> Any:
    """Return numba's cache on disk, read without getting ready to compile.

    Before it reads, numba's own cache sets up all that compiling needs, scipy's linear algebra among it:
    0.2 s in every process. What is compiled already links to the run-time system only (and, had it hash
    tables, to the hash secret, which the import of ``hashing`` provides); compiling brings the rest.
    """
    cache: Any = _caching.FunctionCache(function)

    def load_overload(signature: Any, target: Any) -> Any:
        _runtime.initialize(target)
        with cache._guard_against_spurious_io_errors():
            return cache._load_overload(signature, target)

    cache.load_overload = load_overload
    return cache


def _wrapping(function: Function) -> Function:
    """Return `function` with numpy's scalar arithmetic as silent as compiled arithmetic."""

    @functools.wraps(function)
    def quiet(*args: object) -> object:
        with np.errstate(all="ignore"):
            return function(*args)

    return quiet  # type: ignore[return-value]


@functools.cache
def _cache_folder() -> str:
    """Return a folder named by the content of all kernels, or "" for numba's own choice.

    numba notices a change in a function's own file only; a kernel that calls one in another module would
    go on with its old code.
    """
    if os.environ.get("NUMBA_CACHE_DIR"):
        return str(Path(os.environ["NUMBA_CACHE_DIR"]) / f"cmab-{_content_hash()}")
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = (Path(base) if base else Path.home() / ".cache") / "cmab" / f"kernels-{_content_hash()}"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return ""
    return str(folder) if os.access(folder, os.W_OK) else ""


def _content_hash() -> str:
    root = Path(__file__).resolve().parent.parent
    files = sorted(path for package in _PACKAGES for path in (root / package).rglob("_kernels*.py"))
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
