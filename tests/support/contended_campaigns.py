"""Processes that write to one campaign at once, and are killed at random; for tests and benchmarks.

Run: python contended_campaigns.py WHERE EVENTS TOLD BATCH WRITERS. The process waits until so many writers
are ready. It then asks and tells until the campaign has so many events, and writes the number of each round
whose `tell` has returned to the file TOLD.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from cmab import CUCB, Campaign, Feedback
from cmab.campaign.store import Store
from oracles import TopK


def learner():
    return CUCB(TopK(20, k=2))


def work(where, n_events, told, batch, n_writers):
    """Ask and tell until the campaign has `n_events` events; note what was acknowledged."""
    name = str(os.getpid())
    campaign = Campaign(learner(), where, author=name)
    Path(f"{told}.{name}").touch()
    while len(list(Path(told).parent.glob("told.txt.*"))) < n_writers:
        time.sleep(0.02)
    with Path(told).open("ab", buffering=0) as file:
        while campaign.n_events < n_events:
            requests = campaign.ask_many(batch) if batch > 1 else [campaign.ask()]
            reports = [{"ticket": r, "outcomes": dict.fromkeys(r, r.number % 2 / 1)} for r in requests]
            if batch > 1:
                campaign.tell_many(reports)
            else:
                campaign.tell(reports[0]["outcomes"], requests[0])
            # One short write is never torn.
            file.write("".join(f"{r.number} {name}\n" for r in requests).encode())


def contend(where, n_events, folder, *, n_writers=4, batch=1, kills=0, restart=None, seed=0):
    """Let processes write until there are `n_events` events; kill some of them, and call `restart` midway.

    Returns the seconds that it took and the number of processes that were killed.
    """
    chance, told = random.Random(seed), Path(folder, "told.txt")
    Campaign(learner(), where, rng=0).close()
    command = [sys.executable, __file__, where, *map(str, (n_events, told, batch, n_writers))]
    start = time.perf_counter()
    running = [subprocess.Popen(command) for _ in range(n_writers)]
    killed, restarted = 0, False
    watched = Campaign(learner(), where)
    while any(process.poll() is None for process in running):
        time.sleep(chance.uniform(0.05, 0.3))
        assert all(process.poll() in (None, 0, -signal.SIGKILL) for process in running)
        if restart is not None and not restarted and watched.n_events > n_events / 2:
            restart()
            restarted = True
        if killed < kills and told.exists():
            place = chance.randrange(n_writers)
            if running[place].poll() is None:
                running[place].kill()
                running[place].wait()
                killed += 1
                running[place] = subprocess.Popen(command)
    watched.close()
    assert restart is None or restarted
    return time.perf_counter() - start, killed


def check(where, folder):
    """Assert that no event was lost, doubled or reordered; return the numbers of events and of writers."""
    store = Store(where)
    assert store.first() is not None
    found = list(store.read())
    told = Counter(event.ticket for event in found if event.kind == "tell")
    asked = [event.ticket for event in found if event.kind == "ask"]
    assert asked == list(range(len(asked)))
    assert set(told.values()) <= {1}
    by = {event.ticket: event.author for event in found if event.kind == "tell"}
    rows = [line.split() for line in Path(folder, "told.txt").read_text().splitlines()]
    assert len({number for number, _ in rows}) == len(rows)
    assert all(by[int(number)] == name for number, name in rows)
    state = learner().initial_state()
    for event in found:
        if event.kind == "tell":
            state.update(Feedback(event.body["arms"], event.body["outcomes"]))
    opened = Campaign(learner(), where).state
    assert opened.counts.tolist() == state.counts.tolist()
    assert opened.means.tolist() == state.means.tolist()
    return len(found), len({name for _, name in rows})


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
