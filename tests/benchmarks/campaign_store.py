"""Campaigns in SQLite and PostgreSQL: rounds in a second beside bare inserts.

Run: PYTHONPATH=.:tests/support python tests/benchmarks/campaign_store.py [SCALE]. A server of PostgreSQL is
started for the run. Bare durable inserts of rows of the same size by the driver, then rounds (two events
each) of one process, of four processes, and of one process in batches of 100. The numbers depend on the disk
and on other load, so compare those of one run.
"""

import itertools
import json
import multiprocessing
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import postgres_server

from cmab import CUCB, Campaign
from cmab.compiled import interpret
from oracles import TopK

COLUMNS = "campaign INT, number INT, kind TEXT, ticket INT, at FLOAT, body TEXT"
BODY = json.dumps({"arms": [1, 2, 3], "outcomes": [0.0, 1.0, 0.0]})


def learner():
    return CUCB(TopK(50, k=3))


def connected(where):
    """Return a connection of the driver that commits each statement, with an empty table, and its mark."""
    if where.startswith("postgresql"):
        import psycopg

        connection, mark = psycopg.connect(where.split("#")[0], autocommit=True), "%s"
    else:
        connection, mark = sqlite3.connect(f"{where}.bare", isolation_level=None), "?"
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    connection.execute("DROP TABLE IF EXISTS bare")
    connection.execute(f"CREATE TABLE bare ({COLUMNS}, PRIMARY KEY (campaign, number))")
    return connection, mark


def bare(connection, mark, numbers):
    """Make durable inserts with the driver alone."""
    statement = f"INSERT INTO bare VALUES ({', '.join([mark] * 6)})"
    for number in numbers:
        connection.execute(statement, (1, number, "tell", number, time.time(), BODY))


def play(campaign, rounds, batch=1):
    for _ in range(rounds // batch):
        if batch == 1:
            request = campaign.ask()
            campaign.tell(dict.fromkeys(request, 0.5), request)
        else:
            requests = campaign.ask_many(batch)
            campaign.tell_many([{"ticket": r, "outcomes": dict.fromkeys(r, 0.5)} for r in requests])


def work(where, jobs, done):
    """Play the rounds of each job in one process: their number, and the size of a batch."""
    campaign = Campaign(learner(), where)
    with interpret(False):  # compile now, and not during the measured rounds
        play(campaign, 10)
    done.put(0)
    while (job := jobs.get()) is not None:
        play(campaign, *job)
        done.put(0)


def rates(places, scale):
    """Measure in slices that alternate, so that other load of the machine affects all of them alike."""
    context, n, many = multiprocessing.get_context("spawn"), int(50 * scale), 100 * int(8 * scale + 1)
    for name, place in places.items():
        slices, done = {"one": (1, n, 1), "four": (4, n, 1), "batches": (1, many, 100)}, context.Queue()
        jobs, running = {}, []
        for what, (processes, *_) in slices.items():
            Campaign(learner(), place(what), rng=0).close()
            jobs[what] = [context.Queue() for _ in range(processes)]
            for queue in jobs[what]:
                running.append(context.Process(target=work, args=(place(what), queue, done)))
                running[-1].start()
                done.get()
        connection, mark = connected(place("bare"))
        seconds = dict.fromkeys(["bare", *slices], 0.0)
        for number in range(10):
            start = time.perf_counter()
            bare(connection, mark, range(2 * n * number, 2 * n * (number + 1)))
            seconds["bare"] += time.perf_counter() - start
            for what, (_, *job) in slices.items():
                start = time.perf_counter()
                for queue in jobs[what]:
                    queue.put(job)
                for _ in jobs[what]:
                    done.get()
                seconds[what] += time.perf_counter() - start
        for queue in itertools.chain(*jobs.values()):
            queue.put(None)
        for process in running:
            process.join()
        connection.close()
        alone, one, four = (10 * k * n / seconds[what] for what, k in (("bare", 2), ("one", 1), ("four", 4)))
        print(f"{name}, {alone:.0f} bare inserts/s. Rounds/s (two events each):")
        print(f"  one process {one:.0f} ({2 * one / alone:.2f} of bare), four {four:.0f}", end="")
        print(f" ({four / one:.2f} of one), in batches of 100 {10 * many / seconds['batches']:.0f}")


def main():
    server = postgres_server.Server().start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            places = {"SQLite": lambda name: str(Path(folder, f"{name}.db")), "PostgreSQL": server.url}
            rates(places, float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
    finally:
        server.remove()


if __name__ == "__main__":
    main()
