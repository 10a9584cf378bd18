"""Campaigns in journal files, SQLite and PostgreSQL: rounds in a second, contention, and opening.

Run: PYTHONPATH=.:tests/support python tests/benchmarks/campaign_stores.py [PART ...] [--scale S]
[--folder FOLDER]. The parts are rates, features, work, contention and opening. Numbers by the clock depend
on the disk and on other load, so compare the rows of one run. `work` prints the processor time of a round in
batches of 20, in the process that writes it and in one that reads it. `contention` lets 8 processes write
10,000 events to each store, kills them at random, restarts the server of PostgreSQL midway, and checks that
no event is lost, doubled or reordered. `opening` writes 100,000 rounds to SQLite and opens them. The
scale multiplies the numbers of rounds and events.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path

import contended_campaigns
import numpy as np
import postgres_server
from cmab.campaigns.stores.addresses import store_of

from cmab import C2UCB, CUCB, Campaign, Context
from oracles import TopK

FEATURES = np.random.default_rng(0).random((300, 20)) / 10.0


def learner(has_features):
    """Return a small learner, or one of 300 items with 20 features."""
    return C2UCB(TopK(300, k=5), dimension=20) if has_features else CUCB(TopK(50, k=3))


def work(where, has_features, rounds, batch, ready, go):
    """Ask and tell in one process, from the moment at which all processes are ready."""
    campaign = Campaign(learner(has_features), where)
    context = Context(features=FEATURES) if has_features else None

    def play():
        requests = campaign.ask_many(batch, context)
        campaign.tell_many([{"ticket": r, "outcomes": dict.fromkeys(r, 0.5)} for r in requests])

    play()
    ready.put(1)
    go.wait()
    for _ in range(rounds // batch):
        play()


def rate(where, has_features, processes, rounds, batch=1):
    """Return the rounds in a second of several processes together."""
    context = multiprocessing.get_context("spawn")
    ready, go = context.Queue(), context.Event()
    Campaign(learner(has_features), where, rng=0).close()
    arguments = (where, has_features, rounds // processes, batch, ready, go)
    running = [context.Process(target=work, args=arguments) for _ in range(processes)]
    for process in running:
        process.start()
    for _ in running:
        ready.get()
    start = time.perf_counter()
    go.set()
    for process in running:
        process.join()
    return rounds / (time.perf_counter() - start)


def places(folder, server, name):
    """Yield the kind and the address of each store."""
    yield "journal", str(Path(folder, f"{name}.jsonl"))
    yield "SQLite", str(Path(folder, f"{name}.db"))
    if server is not None:
        yield "PostgreSQL", server.url(name)


def rates(folder, server, scale, has_features=False):
    """Print the rounds in a second."""
    rounds = int(scale * (400 if has_features else 1000))
    print(f"{'features 300 x 20' if has_features else 'no features'}: rounds in a second")
    for processes, batch in ((1, 1), (4, 1), (1, 20), (4, 20)):
        for kind, where in places(folder, server, f"rates{has_features}{processes}{batch}"):
            found = rate(where, has_features, processes, rounds, batch)
            print(f"{kind:<12} {processes} processes, batches of {batch:>2}: {found:8.0f}", flush=True)


def work_of(folder, server, scale):
    """Print the processor time of a round for its writer and for a reader."""
    rounds = 20 * int(50 * scale)
    for kind, where in places(folder, server, "work"):
        writer, reader = Campaign(learner(False), where, rng=0), Campaign(learner(False), where)
        spent = []
        for is_counted in (False, True):
            for campaign, n_batches in ((writer, rounds // 20 if is_counted else 2), (reader, 0)):
                start = time.process_time()
                for _ in range(n_batches):
                    requests = campaign.ask_many(20)
                    campaign.tell_many([{"ticket": r, "outcomes": dict.fromkeys(r, 0.5)} for r in requests])
                _ = campaign.pending
                spent.append(1000.0 * (time.process_time() - start) / rounds)
        print(f"{kind:<12} writer {spent[2]:.2f} ms, reader {spent[3]:.2f} ms of processor time a round")


def contention(folder, server, scale):
    """Print the time of 8 processes, of which some are killed."""

    def restart():
        server.stop()
        server.start()

    for kind, where in places(folder, server, "contended"):
        own = Path(folder, kind)
        own.mkdir()
        again = restart if kind == "PostgreSQL" else None
        seconds, killed = contended_campaigns.contend(
            where, int(10_000 * scale), own, kills=20, restart=again
        )
        events, writers = contended_campaigns.check(where, own)
        print(
            f"{kind:<12} {events:,} events by {writers} processes, {killed} killed,"
            f" {'server restarted, ' if again else ''}{seconds:.0f} s: none lost, doubled or reordered",
            flush=True,
        )


def opening(folder, server, scale):
    """Print the time to open many rounds, with and without a checkpoint, and that of a round."""
    rounds = int(100_000 * scale)
    where = str(Path(folder, "long.db"))
    Campaign(learner(False), where, rng=0).close()
    store, long = store_of(where), []
    for number in range(rounds):
        arms = [number % 50, (number + 1) % 50, (number + 2) % 50]
        long.append({"event": "ask", "ticket": number, "super_arm": arms})
        long.append({"event": "tell", "ticket": number, "arms": arms, "outcomes": [0.5, 1.0, 0.0]})
    with store.held():
        store.read()
        store.append(long)
    store.close()
    start = time.process_time()
    Campaign(learner(False), where).close()  # replays all events, and writes a checkpoint
    replayed = time.process_time() - start
    start, since = time.perf_counter(), time.process_time()
    campaign = Campaign(learner(False), where)
    opened, resumed = time.perf_counter() - start, time.process_time() - since
    spent = time.process_time()
    times = []
    for _ in range(200):
        start = time.perf_counter()
        request = campaign.ask()
        campaign.tell(dict.fromkeys(request, 0.5), request)
        times.append(1000.0 * (time.perf_counter() - start))
    spent = 1000.0 * (time.process_time() - spent) / len(times)
    print(
        f"SQLite, {rounds:,} rounds: opened in {opened:.2f} s; processor time {resumed:.2f} s with a"
        f" checkpoint, {replayed:.2f} s without; a round takes {np.median(times):.2f} ms (median),"
        f" {np.quantile(times, 0.9):.2f} ms (90 %), {spent:.2f} ms of processor time",
        flush=True,
    )


def main():
    """Run the chosen parts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["rates", "features", "work", "contention", "opening"])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--folder")
    options = parser.parse_args()
    has_server = postgres_server.programs() is not None
    server = postgres_server.Server().start() if has_server and options.parts != ["opening"] else None
    parts = {
        "rates": rates,
        "features": lambda *given: rates(*given, has_features=True),
        "work": work_of,
        "contention": contention,
        "opening": opening,
    }
    try:
        for part in options.parts:
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                parts[part](folder, server, options.scale)
    finally:
        if server is not None:
            server.remove()


if __name__ == "__main__":
    main()
