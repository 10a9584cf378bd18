"""Run hostile studies in this process, watched by Python, and print what they did that they must not."""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

root, home, *allowed = sys.argv[1:]
sys.path[:0] = [root, home]
os.chdir(home)
# What libraries do when they are imported is their own affair.
import cmab.reports.report  # noqa: E402
import highspy  # noqa: E402, F401
import joblib  # noqa: E402, F401
import networkx as nx  # noqa: E402
import pulp  # noqa: E402, F401

import cmab.cli  # noqa: E402
import instances  # noqa: E402, F401
import oracles  # noqa: E402, F401
from cmab import Study  # noqa: E402
from cmab.plotting import pyplot  # noqa: E402

pyplot()
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
STARTS = (
    "subprocess.",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "socket.connect",
    "socket.bind",
)
STARTS += ("socket.getaddrinfo", "urllib", "webbrowser", "ftplib", "smtplib")
CHANGES = (
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.symlink",
    "os.link",
    "os.chmod",
    "os.chown",
    "os.truncate",
)
CHANGES += ("os.utime", "shutil.")
faults = []


def is_inside(path):
    return any(os.path.abspath(os.fsdecode(path)).startswith(place) for place in allowed)  # noqa: PTH100


def watch(event, arguments):
    """Python calls this before it opens, imports, starts or changes anything."""
    texts = [argument for argument in arguments if isinstance(argument, str | bytes)]
    if event == "open" and texts and not is_inside(texts[0]):
        mode, flags = arguments[1], arguments[2]
        writes = set(mode or "") & set("wax+") or (isinstance(flags, int) and flags & WRITES)
        if writes or "secret" in str(arguments[0]):
            faults.append((event, str(arguments)))
    elif (
        (event.startswith(CHANGES) and not all(map(is_inside, texts)))
        or event.startswith(STARTS)
        or (event == "import" and str(arguments[0]).startswith("canary"))
    ):
        faults.append((event, str(arguments)))


sys.addaudithook(watch)
if Path("specifications.json").exists():
    for given in json.loads(Path("specifications.json").read_text()):
        with contextlib.suppress(ValueError):
            Study(given, files=".").run("results")
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        for place in ("mailed", "mailed2"):
            cmab.cli.main(["report", place])
            with contextlib.suppress(ValueError):
                opened = Study.open(place)
                opened.missing(place), opened.table(place), opened.identification_table(place)
        cmab.cli.main(["validate", "evil.toml"])
        cmab.cli.main(["run", "evil.toml", "--out", "results"])
else:  # what it must see
    nx.write_edgelist(nx.path_graph(2), "evil.pth")
    subprocess.run(["true"])
    Path("made").mkdir()
    import canary_module  # noqa: F401
print(json.dumps(faults))
