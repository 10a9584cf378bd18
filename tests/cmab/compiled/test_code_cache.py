"""The cache of compiled code: nobody else's, and nothing but what was written."""

import os
import pickle
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from places import ROOT

from cmab.compiled import _code_cache
from cmab.compiled._code_cache import CheckedFile, first_own_folder

KERNELS = """
import numpy as np
from cmab.compiled._kernels import kernel

@kernel
def total(values):
    found = 0.0
    for value in values:
        found += value
    return found

@kernel
def twice_total(values):
    return 2.0 * total(values)
"""
USE = """
import warnings
warnings.simplefilter("error")
import numpy as np
from mine import total, twice_total
print(twice_total(np.arange(5.0)), int(total(np.arange(4))))
print(sum(sum(kernel.stats.cache_hits.values()) for kernel in (twice_total, total)))
"""
# Each internal of numba that the cache uses, taken away after numba itself was imported.
CHANGED = """
import importlib, sys
from unittest import mock
import numba, numpy as np
import numba.core.runtime.nrt as nrt
from numba.core import caching, serialize
import mine

changes = [
    (caching, "FunctionCache", None),
    (caching.FunctionCache, "__init__", lambda self: None),
    (caching.Cache, "_load_overload", None),
    (caching.Cache, "_save_overload", None),
    (caching.Cache, "_index_key", None),
    (caching.CacheImpl, "filename_base", 0),
    (caching.CompileResultCacheImpl, "rebuild", None),
    (caching.CompileResultCacheImpl, "reduce", None),
    (caching.UserProvidedCacheLocator, "get_source_stamp", None),
    (serialize, "dumps", None),
    (nrt, "rtsys", None),
    (numba.config, "CACHE_DIR", None),
]
for owner, name, value in changes:
    for _ in range(2):
        with mock.patch.object(owner, name, value):
            importlib.reload(mine)
            assert mine.twice_total(np.arange(5.0)) == 20.0, name
for module in ("numba.core.caching", "numba.core.serialize"):
    with mock.patch.dict(sys.modules, {module: None}):
        importlib.reload(mine)
        assert mine.twice_total(np.arange(5.0)) == 20.0, module
print("20.0 6 0")
"""
posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")


class Bomb:
    """Unpickled, it creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "mine.py").write_text(KERNELS)
    return tmp_path


def run_in(folder, code):
    """Return the words that a process of its own prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(folder / "cache")}
    environment.pop("NUMBA_DISABLE_JIT", None)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def use(project, code=USE):
    """Run the kernels in a process of its own; return how many came from the cache."""
    *numbers, hits = run_in(project, code)
    assert numbers == ["20.0", "6"]
    return int(hits)


TAKEN = """
import enum
import sys
import numpy as np
from cmab.kernels import kernel, part

class Steps(enum.IntEnum):
    ONE = {0}

theirs = sys.modules[__name__]  # a circle
STEP, STEPS, PAIR = {0}, np.full(3, {0}), (1, ({0},))

@part
def inner(x):
    return x + {0}

@kernel
def outer(x):
    return inner(x)

def defaulting(y={0}):
    @kernel
    def added(x):
        return x + y
    return added

closing = defaulting()
"""
TAKING = """
import numpy as np
import theirs
from cmab.kernels import kernel
from theirs import PAIR, STEP, STEPS, closing, inner, outer

@kernel
def of_chain(x): return outer(x)
@kernel
def of_part(x): return inner(x)
@kernel
def of_module(x): return theirs.outer(x) + theirs.STEP
@kernel
def of_constant(x): return x + STEP
@kernel
def of_array(x): return x + STEPS[1]
@kernel
def of_tuple(x): return x + PAIR[1][0]
@kernel
def of_closure(x): return closing(x)
@kernel
def of_class(x): return x + theirs.Steps.ONE

rules = (of_chain, of_part, of_module, of_constant, of_array, of_tuple, of_closure, of_class)
print(*(rule(0) for rule in rules), sum(sum(rule.stats.cache_hits.values()) for rule in rules))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mine.py", "_kernels_mine.py"])
def test_what_a_rule_takes_from_other_files_is_part_of_it(tmp_path, name):
    """numba looks at the file of a function alone, and would play on with the old helpers and constants."""
    (tmp_path / name).write_text(TAKING)
    for step, hits in ((1, 0), (1, 8), (2, 0), (2, 8)):
        (tmp_path / "theirs.py").write_text(TAKEN.format(step))
        found = run_in(tmp_path, f"import {name[:-3]}")
        assert found == [str(step * times) for times in (1, 1, 2, 1, 1, 1, 1, 1)] + [str(hits)]


def files_of(project):
    return sorted(path for path in (project / "cache").rglob("*") if path.is_file())


def damages(content, rng):
    """Yield what power cuts, full disks, bad memory and mistakes leave of a file."""
    yield b""
    yield bytes(len(content))
    yield content[:32]
    yield content + b"\0"
    yield content[32:]
    yield rng.bytes(len(content))
    for _ in range(40):
        flipped = bytearray(content)
        for place in rng.integers(len(content), size=rng.integers(1, 4)):
            flipped[place] ^= 1 << rng.integers(8)
        yield bytes(flipped)
        start, end = sorted(rng.integers(len(content), size=2))
        yield content[:start] + bytes(end - start) + content[end:]
        yield content[: rng.integers(len(content))]
        yield content[:start] + content[end:]


def test_damaged_entries_are_misses(tmp_path):
    """No damage is unpickled, and the next version written heals the file."""
    file = CheckedFile(tmp_path / "f.checked", ("stamp", 1), pickle.dumps)
    value = {"code": np.random.default_rng(0).bytes(3000)}
    file.save("key", value)
    file.save("other", 2)
    assert (file.load("key"), file.load("other"), file.load("none")) == (value, 2, None)
    content = (tmp_path / "f.checked").read_bytes()
    for damaged in damages(content, np.random.default_rng(1)):
        (tmp_path / "f.checked").write_bytes(damaged)
        assert damaged == content or file.load("key") is None
    file.save("key", value)
    assert file.load("key") == value
    assert [path.name for path in tmp_path.iterdir()] == ["f.checked"]


def test_a_file_counts_only_in_its_place_and_for_its_source(tmp_path):
    first, path = CheckedFile(tmp_path / "f.checked", "stamp", pickle.dumps), tmp_path / "g.checked"
    first.save("key", 1)
    shutil.copy(tmp_path / "f.checked", path)
    assert CheckedFile(path, "stamp", pickle.dumps).load("key") is None
    assert CheckedFile(tmp_path / "f.checked", "edited", pickle.dumps).load("key") is None
    assert first.load("key") == 1


def test_what_cannot_be_written_or_read_is_no_error(tmp_path):
    (tmp_path / "f.checked").mkdir()
    for path in (tmp_path / "missing" / "f.checked", tmp_path / "f.checked"):
        file = CheckedFile(path, "stamp", pickle.dumps)
        file.save("key", 1)
        file.flush()
        assert file.load("key") is None
    file.save("key", lambda: None)  # no pickle of it
    assert [path.name for path in tmp_path.iterdir()] == ["f.checked"]


@posix
def test_files_of_others_are_not_unpickled(tmp_path, monkeypatch):
    """Even with the right checksum: writable by others, behind a link, another owner's, a pipe."""
    path, ran = tmp_path / "f.checked", tmp_path / "ran"
    file = CheckedFile(path, "stamp", pickle.dumps)
    file.save("key", Bomb(ran))
    for mode in (0o666, 0o620, 0o602):
        path.chmod(mode)
        assert file.load("key") is None
    path.chmod(0o600)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to("elsewhere")
    assert file.load("key") is None
    path.unlink()
    os.mkfifo(path)
    assert file.load("key") is None
    path.unlink()
    (tmp_path / "elsewhere").rename(path)
    with monkeypatch.context() as patch:
        patch.setattr(_code_cache.os, "geteuid", lambda: os.getuid() + 1)
        assert file.load("key") is None
    assert not ran.exists()
    file.load("key")
    assert ran.exists()  # the bomb is one


@posix
def test_folders_of_others_are_refused(tmp_path, monkeypatch):
    own, link, other = tmp_path / "a" / "own", tmp_path / "link", tmp_path / "other"
    assert first_own_folder([own]) == str(own)
    own.chmod(0o755)
    assert first_own_folder([own]) == str(own)
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    link.symlink_to(own)
    other.mkdir()
    other.chmod(0o777)
    for refused in (link, other):
        with pytest.warns(RuntimeWarning, match=f"{refused.name} belongs to somebody else or can be written"):
            assert first_own_folder([refused]) == ""
        assert first_own_folder([refused, own]) == str(own)
    monkeypatch.setattr(_code_cache.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(RuntimeWarning, match="own belongs"):
        assert first_own_folder([own]) == ""
    (tmp_path / "file").touch()
    assert first_own_folder([tmp_path / "file" / "below"]) == ""


@pytest.mark.slow
def test_damaged_caches_are_built_anew(project):
    """Whole processes: right numbers, no crash, and the cache serves again afterwards."""
    use(project)
    assert use(project) == 2
    files = files_of(project)
    assert len(files) == 2
    contents = [path.read_bytes() for path in files]
    flipped = [bytearray(content) for content in contents]
    for content in flipped:
        content[len(content) // 2] ^= 4
    for kind in ([flipped[0], contents[0]], [b"", flipped[1]]):
        for path, content in zip(files, kind, strict=True):
            path.write_bytes(content)
        assert use(project) == 0
        assert use(project) == 2
    if os.name == "posix":
        assert {stat.S_IMODE(path.stat().st_mode) for path in files_of(project)} == {0o600}
        assert stat.S_IMODE(next((project / "cache").iterdir()).stat().st_mode) == 0o700


@pytest.mark.slow
def test_a_numba_that_changed_is_only_slower(project):
    use(project)
    use(project, CHANGED)
    assert use(project) == 2
