"""A PostgreSQL server in a temporary folder, which ends with the process that started it."""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

PLACES = "/usr/lib/postgresql/*/bin"


def programs():
    """Return the folder with the programs of the server, or None."""
    found = sorted(Path("/").glob(PLACES.lstrip("/")), key=lambda path: path.parent.name)
    on_path = shutil.which("initdb")
    found += [Path(on_path).resolve().parent] if on_path else []
    return next((path for path in reversed(found) if (path / "initdb").exists()), None)


def _end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG: SIGQUIT stops the server at once


class Server:
    """A server that listens on a socket in its own folder only."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="cmab-pg-", dir="/tmp"))
        self.programs, self.process, self.own = programs(), None, {}
        if os.geteuid() == 0:  # initdb refuses root
            user = next(one for one in ("postgres", "nobody") if one in {u.pw_name for u in pwd.getpwall()})
            found = pwd.getpwnam(user)
            os.chown(self.folder, found.pw_uid, found.pw_gid)
            self.own = {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
        command = [self.programs / "initdb", "-D", self.data, "-U", "cmab", "-A", "trust", "-E", "UTF8"]
        command += ["--no-sync", "--locale=C"]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, **self.own)

    @property
    def data(self):
        return self.folder / "data"

    def url(self, name="", database="postgres"):
        return f"postgresql://cmab@/{database}?host={self.folder}#{name}"

    def start(self):
        command = [self.programs / "postgres", "-D", self.data, "-k", self.folder, "-h", ""]
        self.log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            command,
            cwd=self.folder,
            stdout=self.log,
            stderr=self.log,
            preexec_fn=_end_with_parent,
            process_group=0,
            **self.own,
        )
        ready = [self.programs / "pg_isready", "-q", "-h", self.folder, "-U", "cmab"]
        until = time.monotonic() + 120
        while subprocess.run(ready).returncode:
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.05)
        return self

    def stop(self, how=signal.SIGQUIT):
        """Stop at once (SIGQUIT, as after a crash) or after taking back transactions (SIGINT)."""
        self.process.send_signal(how)
        self.process.wait()
        self.log.close()

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder)
