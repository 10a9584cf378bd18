"""Several processes write to one campaign, are killed, and lose their server: nothing is lost or doubled."""

import contended_campaigns
import postgres_server
import pytest


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 5])
def test_processes_that_are_killed_lose_and_double_nothing(where, batch, tmp_path):
    _, killed = contended_campaigns.contend(where, 300, tmp_path, n_writers=4, batch=batch, kills=4)
    n_events, n_writers = contended_campaigns.check(where, tmp_path)
    assert n_events >= 300
    assert killed >= 1
    assert n_writers >= 2


@pytest.mark.slow
@pytest.mark.parametrize("how", ["SIGQUIT", "SIGINT"])
def test_writers_go_on_after_the_server_was_restarted(how, tmp_path):
    import signal

    pytest.importorskip("psycopg")
    if postgres_server.programs() is None:
        pytest.skip("no PostgreSQL server: install the package postgresql")
    own = postgres_server.Server().start()
    try:

        def restart():
            own.stop(getattr(signal, how))
            own.start()

        contended_campaigns.contend(own.url("all"), 300, tmp_path, n_writers=4, restart=restart)
        assert contended_campaigns.check(own.url("all"), tmp_path)[0] >= 300
    finally:
        own.remove()
