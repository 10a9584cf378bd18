"""The command ``cmab serve``: the local web page of campaigns."""

from __future__ import annotations

import argparse
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

#: The address of this computer that no other computer reaches.
_HERE = "127.0.0.1"


def serve(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], Iterator[str]]:
    """Serve the campaigns of a folder as a web page on this computer."""
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help="folder of campaigns, such as campaigns")
    add("--port", type=int, default=8765, metavar="N", help="port (8765; 0 takes a free one)")
    add("--name", action="append", default=[], metavar="HOST", help="name of a proxy before the page")
    add("--open", action="store_true", help="open the page in the browser")
    return run


def run(options: argparse.Namespace) -> Iterator[str]:
    """Yield the address of the page, and serve until the command is interrupted."""
    try:
        import uvicorn

        from cmab.campaign.page.store import Store
        from cmab.campaign.page.web import application
    except ImportError as error:
        raise ImportError(f'cmab serve needs further packages ({error}): pip install "cmab[serve]"') from None
    store = Store(options.folder)
    try:
        listening = socket.create_server((_HERE, options.port))
    except (OSError, OverflowError):
        raise ValueError(f"port {options.port} cannot be used; choose another with --port") from None
    port, key = listening.getsockname()[1], key_in(options.folder)
    app = application(store, key, port=port, hosts=[_HERE, "localhost", *options.name])
    address = f"http://{_HERE}:{port}/?key={key}"
    yield f"The page is at {address}"
    yield "Only this computer can open it. Ctrl-C ends it."
    if options.open:
        import webbrowser

        webbrowser.open(address)
    Thread(target=warm_up, daemon=True).start()
    config = uvicorn.Config(app, log_level="warning", server_header=False, lifespan="off", ws="none")
    uvicorn.Server(config).run(sockets=[listening])


def key_in(folder: Path) -> str:
    """Return the key of the page of a folder, the same after each start until its file is deleted."""
    file = folder / ".page-key"
    if not file.is_file():
        # The file is readable for its owner only from its first byte.
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as new:
            new.write(secrets.token_urlsafe(32))
        Path(new.name).replace(file)
    return file.read_text(encoding="utf-8")


# Small networks are solved by other functions than larger ones.
_NETWORK = "".join(f"P{at},P{(at + step) % 40}\n" for at in range(40) for step in (1, 3, 7))


def warm_up() -> None:
    """Play two rounds of a small campaign in a temporary folder, so that no reader waits later."""
    from cmab.campaign.files import Options
    from cmab.campaign.folder import create_folder
    from cmab.campaign.page import views
    from cmab.campaign.reports import Report
    from cmab.compiled import interpret

    with tempfile.TemporaryDirectory() as place, interpret(False):
        options = Options(title="x", network="network.csv", directed=False, k=1, seed=0)
        folder = create_folder(Path(place, "x"), options, {"network.csv": _NETWORK.encode()})
        for _ in range(2):
            of = folder.ask()
            views.card_of(folder, of.number)
            neighbour = views.known_people(folder, of)[0]
            folder.tell(of, Report(joined={neighbour: None}))
            views.state_of(folder)
        folder.close()
