"""The command ``cmab serve``: the local web page of campaigns."""

from __future__ import annotations

import argparse
import getpass
import ipaddress
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

Lines = Iterator[str]
_EXAMPLES = """examples:
  cmab serve campaigns                                open a page for you alone on this computer
  cmab serve campaigns --users users.toml --add-user ann
  cmab serve campaigns --users users.toml             ask for a name and a password"""


def serve(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], Lines]:
    """Serve the campaigns of a folder as a local web page."""
    parser.epilog, parser.formatter_class = _EXAMPLES, argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help="folder of campaigns")
    add("--port", type=int, default=8765, metavar="N", help="port (8765; 0 takes a free one)")
    add("--users", type=Path, metavar="FILE", help="users with passwords")
    add("--add-user", metavar="NAME", help="add a user to the file of --users and end")
    add("--host", default="127.0.0.1", metavar="ADDRESS", help="address (127.0.0.1)")
    add("--name", action="append", default=[], metavar="HOST", help="further name of the host")
    add("--certificate", type=Path, metavar="FILE", help="certificate, for other computers")
    add("--key", type=Path, metavar="FILE", help="key of the certificate")
    add("--open", action="store_true", help="open the page in the browser")
    return run


def run(options: argparse.Namespace) -> Lines:
    """Yield the address of the page, and serve until the command is interrupted."""
    if options.add_user is not None:
        yield _add_user(options)
        return
    _check(options)
    try:
        import uvicorn

        from cmab.campaign.page.access import Access, read_users
        from cmab.campaign.page.store import Store
        from cmab.campaign.page.web import application
    except ImportError as error:
        raise ImportError(f'cmab serve needs further packages ({error}): pip install "cmab[serve]"') from None
    users: Path | None = options.users
    if users is not None:
        read_users(users)
    store = Store(options.folder)
    yield "Preparing the page. This takes up to a few minutes after an installation, and a moment later on."
    warm_up()
    listening = _bound(options.host, options.port)
    port = listening.getsockname()[1]
    key = None if users is not None else key_in(options.folder)
    access = Access(
        users, owner=user() or "owner", port=port, token=key, is_secure=options.certificate is not None
    )
    app = application(store, access, hosts=hosts_of(options.host, port, options.name))
    scheme = "http" if options.certificate is None else "https"
    address = f"{scheme}://{options.host}:{port}/"
    if users is None:
        address += f"?token={access.token}"
    yield f"The page is at {address}"
    yield "Only this computer can open it. Ctrl-C ends it." if users is None else "Ctrl-C ends it."
    if options.open:
        import webbrowser

        webbrowser.open(address)
    config = uvicorn.Config(
        app,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=100,
        lifespan="off",
        ws="none",
        ssl_certfile=options.certificate,
        ssl_keyfile=options.key,
    )
    uvicorn.Server(config).run(sockets=[listening])


def key_in(folder: Path) -> str:
    """Return the key of the page of a folder, the same after each start until its file is deleted."""
    from cmab.campaign.page.access import write_privately

    file = folder / ".page-key"
    if not file.is_file():
        write_privately(file, secrets.token_urlsafe(32))
    return file.read_text(encoding="utf-8")


# Small networks are solved by other functions than larger ones.
_NETWORK = "".join(f"P{at},P{(at + step) % 40}\n" for at in range(40) for step in (1, 3, 7))


def warm_up() -> None:
    """Play two rounds of a small campaign in a temporary folder, so that no reader waits later."""
    from cmab.campaign.files import Options
    from cmab.campaign.folder import create_folder
    from cmab.campaign.page import views
    from cmab.campaign.page.store import Opened
    from cmab.campaign.reports import Report
    from cmab.compiled import interpret

    with tempfile.TemporaryDirectory() as place, interpret(False):
        options = Options(title="x", network="network.csv", directed=False, k=1, seed=0)
        folder = create_folder(Path(place, "x"), options, {"network.csv": _NETWORK.encode()})
        opened = Opened("x", folder)
        for _ in range(2):
            of = folder.ask()
            views.card_of(opened, of)
            neighbour = views.known_people(opened, of)[0]
            folder.tell(Report(of.number, joined={neighbour: None}))
            views.state_of(opened)
        folder.close()


def user() -> str:
    """Return the name of the user of this process, or nothing."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the user of the process has no name
        return ""


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that its port is known."""
    try:
        return socket.create_server((host, port))
    except OSError as error:
        raise OSError(
            error.errno, f"port {port} of {host} cannot be used; choose another with --port"
        ) from None


def hosts_of(host: str, port: int, names: list[str]) -> set[str]:
    """Return the accepted values of the header ``Host``."""
    found = {host, *names, *(["localhost"] if _is_loopback(host) else [])}
    return {f"{name}:{port}".lower() for name in found} | {name.lower() for name in names}


def _check(options: argparse.Namespace) -> None:
    """Raise ``ValueError`` if the options would open the page to strangers."""
    if not 0 <= options.port <= 65_535:
        raise ValueError(f"--port must be a number from 0 to 65535, got {options.port}")
    if (options.certificate is None) != (options.key is None):
        raise ValueError("--certificate and --key must be given together")
    if not _is_loopback(options.host) and (options.users is None or options.certificate is None):
        raise ValueError(
            f"--host {options.host} lets other computers in, so it needs --users, --certificate and --key"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.IPv4Address(host).is_loopback
    except ValueError:
        raise ValueError(f"--host must be an address such as 127.0.0.1, got {host}") from None


def _add_user(options: argparse.Namespace) -> str:
    from cmab.campaign.page.access import add_user

    if options.users is None:
        raise ValueError("--add-user needs the file of the users (--users FILE)")
    try:
        password = getpass.getpass(f"Password of {options.add_user}: ")
        again = getpass.getpass("The same password again: ")
    except EOFError:
        raise ValueError("the password must be typed in a terminal, got no input") from None
    if password != again:
        raise ValueError("the two passwords must be the same")
    add_user(options.users, options.add_user, password)
    return f"{options.users}: {options.add_user} was added"
