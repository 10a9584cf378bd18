"""The places in which the tests of campaigns keep their events."""

import itertools

import postgres_server
import pytest

_NUMBERS = itertools.count()


def start():
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    if postgres_server.programs() is None:
        pytest.skip("no PostgreSQL server: install the package postgresql")
    own = postgres_server.Server().start()
    yield own
    own.remove()


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server of this test session."""
    yield from start()


@pytest.fixture
def own_server():
    """A PostgreSQL server of one test, which may stop it."""
    yield from start()


@pytest.fixture
def path(tmp_path):
    """A SQLite file that does not exist yet."""
    return tmp_path / "campaign.db"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def where(request, tmp_path):
    """The address of a campaign that does not exist yet."""
    if request.param == "postgresql":
        return request.getfixturevalue("server").url(f"test {next(_NUMBERS)}")
    return str(tmp_path / "campaign.db")
