"""The commands of the page on production, with which two workers share a campaign in PostgreSQL."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT


def blocks():
    page = (ROOT / "docs" / "how-to" / "production.md").read_text(encoding="utf-8")
    section = page.partition("## Two workers on PostgreSQL")[2].partition("\n## ")[0]
    (code,) = re.findall(r"^```\{code-block\} python\n(.*?)^```$", section, re.M | re.S)
    return code, re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S)


@pytest.mark.slow
def test_two_workers_share_a_campaign_by_the_commands_of_the_page(server, tmp_path):
    code, (_, making, running) = blocks()
    (tmp_path / "worker.py").write_text(code)
    statements = re.findall(r'psql -c "(.*)"', making)
    assert len(statements) == 2
    psql = [server.programs / "psql", "-h", server.folder, "-U", "cmab", "postgres", "-c"]
    for statement in statements:
        # The server of the tests has this user already.
        subprocess.run(
            [*psql, statement.replace("USER cmab ", "USER worker ").replace("OWNER cmab", "OWNER worker")],
            check=True,
        )
    url = "postgresql://cmab:change-me@127.0.0.1/decisions#shop"
    assert url in running
    own = f"postgresql://worker:change-me@/decisions?host={server.folder}#shop"
    commands = running.replace(url, own).replace("python ", f"{sys.executable} ")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CMAB_QUIET": "1"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=Path(tmp_path),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "40 rounds"
    assert "change-me" not in done.stdout
    assert "rounds reported: 40" in done.stdout
