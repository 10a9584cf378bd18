"""The cache of compiled code: nobody else's, and nothing but what was written."""

import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from places import ROOT

from cmab.compiled import _code_cache, _kernels
from cmab.compiled._code_cache import first_own_folder, may_write, module_folder, sole_writer

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
posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")


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
from cmab.kernels import kernel
from numba.extending import register_jitable

class Steps(enum.IntEnum):
    ONE = {0}

theirs = sys.modules[__name__]  # a circle
STEP, STEPS, PAIR = {0}, np.full(3, {0}), (1, ({0},))

@kernel
def inner(x):
    return x + {0}

@kernel
def outer(x):
    return inner(x)

@register_jitable
def inlined(x):
    return x + {0}

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
from theirs import PAIR, STEP, STEPS, closing, inlined, inner, outer

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
@kernel
def of_inlined(x): return inlined(x)

rules = (of_chain, of_part, of_module, of_constant, of_array, of_tuple, of_closure, of_class, of_inlined)
print(*(rule(0) for rule in rules), sum(sum(rule.stats.cache_hits.values()) for rule in rules))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mine.py", "_kernels_mine.py"])
def test_what_a_rule_takes_from_other_files_is_part_of_it(tmp_path, name):
    """numba looks at the file of a function alone, and would play on with the old helpers and constants."""
    (tmp_path / name).write_text(TAKING)
    for step, hits in ((1, 0), (1, 9), (2, 0), (2, 9)):
        (tmp_path / "theirs.py").write_text(TAKEN.format(step))
        found = run_in(tmp_path, f"import {name[:-3]}")
        assert found == [str(step * times) for times in (1, 1, 2, 1, 1, 1, 1, 1, 1)] + [str(hits)]


def damages(content):
    """Yield what power cuts, full disks, bad memory and mistakes leave of a file."""
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 4
    yield from (b"", content[: len(content) // 2], bytes(flipped))


def as_a_pipe(path):
    path.unlink()
    os.mkfifo(path)


def as_a_folder(path):
    path.unlink()
    path.mkdir()


def as_a_circle(path):
    path.unlink()
    path.symlink_to(path.name)


@posix
@pytest.mark.parametrize(
    "damage", [as_a_pipe, as_a_folder, as_a_circle, lambda path: path.write_text("[" * 100_000)]
)
@pytest.mark.parametrize("name", ["seal.json", "f.nbi"])
def test_what_is_no_sealed_file_empties_the_folder(tmp_path, monkeypatch, name, damage):
    """Reading a pipe waits for ever, and JSON may be nested too deep."""
    monkeypatch.setattr(_code_cache, "cache_folder", lambda: str(tmp_path))
    folder = tmp_path / "module"
    folder.mkdir()
    (folder / "f.nbi").write_text("code")
    _code_cache.seal(folder)
    assert module_folder.__wrapped__("module") == str(folder)
    assert (folder / "f.nbi").read_text() == "code"
    damage(folder / name)
    assert module_folder.__wrapped__("module") == str(folder)
    assert not list(folder.iterdir())


@posix
def test_a_process_that_keeps_the_lock_is_waited_for_once(tmp_path, monkeypatch):
    """By a clock of our own. What it may be writing is left alone; once it is gone, all is as before."""
    import fcntl

    now = 0.0

    def sleep(seconds):
        nonlocal now
        now += seconds

    monkeypatch.setattr(_code_cache, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    monkeypatch.setattr(_code_cache, "cache_folder", lambda: str(tmp_path))
    (tmp_path / "module").mkdir()
    written = tmp_path / "module" / "f.nbi"
    written.write_text("not sealed yet")
    with (tmp_path / "lock").open("w") as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        for _ in range(20):
            with sole_writer():
                assert not may_write()
            assert module_folder.__wrapped__("module") == ""
        assert 30.0 <= now < 31.0
    assert written.exists()
    with sole_writer():
        assert may_write()
    assert module_folder.__wrapped__("module")
    assert not written.exists()


def test_threads_leave_numbas_own_setting_as_it_was(tmp_path, monkeypatch):
    """Each waits for another to come in between: one after the other they find the user's folder again."""
    entered, first = threading.Semaphore(0), []

    def slow(function):
        entered.release()
        if not first:
            first.append(function)
            for _ in range(2):
                entered.acquire(timeout=0.05)
        return SimpleNamespace(cache_path=tmp_path)

    monkeypatch.setattr(_kernels, "_Kept", slow)
    monkeypatch.setattr(_kernels._config, "CACHE_DIR", "the user's")
    with ThreadPoolExecutor(2) as pool:
        for name in "ab":
            pool.submit(_kernels._keep, SimpleNamespace(py_func=name), str(tmp_path / name))
    assert _kernels._config.CACHE_DIR == "the user's"


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
        with pytest.warns(RuntimeWarning, match=f"{refused.name} belongs to another user or can be written"):
            assert first_own_folder([refused]) == ""
        assert first_own_folder([refused, own]) == str(own)
    monkeypatch.setattr(_code_cache.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(RuntimeWarning, match="own belongs"):
        assert first_own_folder([own]) == ""
    (tmp_path / "file").touch()
    assert first_own_folder([tmp_path / "file" / "below"]) == ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc", "seal.json"])
def test_damaged_caches_are_built_anew(project, kind):
    """Whole processes: right numbers, no crash, and the cache serves again afterwards."""
    use(project)
    path = next((project / "cache").rglob(kind))
    for damaged in damages(path.read_bytes()):
        path.write_bytes(damaged)
        use(project)
        assert path.read_bytes() != damaged
    assert use(project) == 2


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_no_error(project):
    """A file in place of the folder; a disk without room, which shows before or while code is written."""
    (project / "cache").touch()
    assert use(project) == 0
    (project / "cache").unlink()
    full = f"import cmab.compiled._code_cache as cache\ncache._ROOM = 2**80\n{USE}"
    small = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n{USE}"
    for code in (full, small) if os.name == "posix" else (full,):
        assert use(project, code) == 0
    assert [use(project) for _ in range(2)] == [0, 2]


@pytest.mark.slow
@posix
def test_processes_that_compile_at_once_leave_a_sound_cache(project):
    """Each compiles another version of the same function, whose files numba would give the same name."""
    kinds = ["float32", "float64", "int64", "int32"]
    code = "import numpy as np, mine\nprint(mine.twice_total(np.arange(5, dtype=np.{0})))"
    code += "\nprint(sum(mine.twice_total.stats.cache_hits.values()))"
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda kind: run_in(project, code.format(kind)), kinds))
    assert [float(words[0]) for words in found] == [20.0] * 4
    assert [float(word) for kind in kinds for word in run_in(project, code.format(kind))] == [20.0, 1.0] * 4
