"""The command ``cmab graph``."""

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from cmab.cli import main
from oracles.stores import conversion as convert
from oracles.stores import open_graph
from oracles.stores.command import progress_lines


def test_convert_and_check(tmp_path, capsys):
    (tmp_path / "g.csv").write_text("5,9\n9,5\n9,9\n5,9\n")
    out = str(tmp_path / "s")
    options = ["--relabel", "--duplicates", "first", "--self-loops", "drop"]
    assert main(["graph", "convert", str(tmp_path / "g.csv"), out, *options]) == 0
    shown = capsys.readouterr()
    assert shown.out == f"{out}: StoredGraph(n_nodes=2, n_arcs=2)\n" and "read: " in shown.err
    assert main(["graph", "check", out]) == 0
    assert "no errors found" in capsys.readouterr().out
    assert open_graph(out).label(1) == 9
    (tmp_path / "s" / "tails.bin").write_bytes(b"\0" * 8)
    assert main(["graph", "check", out]) == 1
    assert "must agree with its SHA-256" in capsys.readouterr().err


def test_errors_and_interruptions_are_one_sentence(tmp_path, capsys, monkeypatch):
    (tmp_path / "g").write_text("0 1\n1 ?\n")
    arguments = ["graph", "convert", str(tmp_path / "g"), str(tmp_path / "s")]
    assert main(arguments) == 1
    assert "line 2: must hold 2 ids" in capsys.readouterr().err.splitlines()[-1]
    (tmp_path / "g").write_text("0 1\n1 2\n")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(convert, "finish", interrupted)
    assert main(arguments) == 130
    assert "interrupted" in capsys.readouterr().err
    monkeypatch.undo()
    assert main(arguments) == 0


def test_progress_is_written_once_a_second():
    lines, now = [], [0.0]
    see = progress_lines(lines.append, lambda: now[0])
    for now[0], share in [(0.0, 0.1), (0.5, 0.12), (10.0, 0.2), (4000.0, 0.4)]:
        see("read", share)
    see("hash", 0.0)
    assert lines == ["read: 10 %", "read: 20 %", "read: 40 %", "hash: 0 %"]
