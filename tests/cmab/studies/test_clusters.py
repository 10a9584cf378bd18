"""A study on a local Dask and a local Ray cluster gives the numbers of one process."""

import logging
import sys

import pytest

from cmab import Study
from cmab.cli import main
from cmab.studies._workers import backend
from tests.cmab.studies.test_study import TEXT, numbers, results_come_one_by_one

EXPLORER = """
[explorers.SAR]
class = "SAR"
k = 1
budget = 300
"""
PIECES = 2 * 4 * 3

# What the packages of the clusters warn about is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(TEXT.format(replications=3) + EXPLORER)
    return path


@pytest.fixture(scope="module")
def expected(file):
    """What one process gets."""
    Study.load(file).run(file.parent / "alone")
    assert len(numbers(file.parent / "alone")) == PIECES
    return numbers(file.parent / "alone")


@pytest.mark.slow
def test_dask(file, expected, tmp_path, capsys):
    """By its address, and with two threads a worker, which must not share an oracle."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        arguments = ["run", str(file), "--out", str(tmp_path), "--backend", "dask"]
        assert main([*arguments, "--address", cluster.scheduler_address]) == 0
    assert numbers(tmp_path) == expected
    assert f"{PIECES} of {PIECES} pieces to do" in capsys.readouterr().err


@pytest.mark.slow
def test_ray(file, expected, tmp_path, caplog):
    pytest.importorskip("ray")
    caplog.set_level(logging.ERROR)
    with backend("ray"):
        Study.load(file).run(tmp_path, n_jobs=-1)
        assert sorted(results_come_one_by_one(tmp_path / "used")) == list(range(8))
    assert numbers(tmp_path) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("name", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_package_is_named(name, package, file, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["run", str(file), "--out", str(tmp_path), "--backend", name]) == 1
    assert f"needs the extra cmab[{name}]" in capsys.readouterr().err


@pytest.mark.slow
def test_an_address_without_a_cluster(file, tmp_path, capsys):
    pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    arguments = ["run", str(file), "--out", str(tmp_path), "--backend", "dask"]
    with dask.config.set({"distributed.comm.timeouts.connect": "300ms"}):
        assert main([*arguments, "--address", "tcp://127.0.0.1:9"]) == 1
    assert "127.0.0.1:9" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9"])
def test_an_address_without_a_ray_cluster(address, file, tmp_path, capsys):
    """At once: Ray itself would try for many minutes."""
    pytest.importorskip("ray")
    arguments = ["run", str(file), "--out", str(tmp_path), "--backend", "ray"]
    assert main([*arguments, "--address", address]) == 1
    assert f"no cluster answers at {address}" in capsys.readouterr().err
