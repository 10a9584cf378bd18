"""Campaigns in forked processes, for `test_campaigns`: killed at random moments, or two on one journal."""

import json
import os
import random
import signal
import struct
import sys
import time
from dataclasses import dataclass

import numpy as np

from cmab import Campaign, IndexPolicy
from oracles import TopK


@dataclass(frozen=True, eq=False)
class Noisy(IndexPolicy):
    def indices(self, stats, rng):
        return stats.means + rng.random(len(stats.means)) / np.sqrt(stats.counts + 1.0)


def campaign(path):
    return Campaign(Noisy(TopK(6, k=2)), path, rng=1)


def serve(path, rounds, pipe):
    """Tell round after round, and say so on the pipe each time after `tell` has returned."""
    running = campaign(path)
    for _ in range(rounds):
        request = running.ask()
        running.tell({name: float(request.number % 2) for name in request.names}, request)
        os.write(pipe, struct.pack("q", request.number))
    return running


def forked(path, rounds, pipe):
    process = os.fork()
    if process == 0:
        serve(path, rounds, pipe)
        os._exit(0)
    return process


def numbers(pipe, writer):
    os.close(writer)
    with os.fdopen(pipe, "rb") as file:
        data = file.read()
    return [number for (number,) in struct.iter_unpack("q", data[: len(data) // 8 * 8])]


def kill(path, times):
    """Kill as many processes, one after the other on one journal."""
    said, killed, chance = [], 0, random.Random(3)
    for _ in range(times):
        reader, writer = os.pipe()
        process = forked(path, 10**9, writer)
        # Some moments after some rounds, however slow the machine is.
        said += [struct.unpack("q", os.read(reader, 8))[0] for _ in range(chance.randrange(5))]
        time.sleep(chance.uniform(0.0, 0.01))
        os.kill(process, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(process, 0)[1])
        said += numbers(reader, writer)
    history = campaign(path).history()
    told = {event["ticket"] for event in history if event["event"] == "tell"}
    return {"lost": sorted(set(said) - told), "killed": killed, "told": len(said)}


def share(path, rounds):
    """Let two processes tell at once, and compare what they remember with a replay."""
    reader, writer = os.pipe()
    campaign(path)
    process = forked(path, rounds, writer)
    running = serve(path, rounds, writer)
    os.waitpid(process, 0)
    told = sorted(numbers(reader, writer))
    states = [one.session.state.means.tolist() for one in (running, campaign(path))]
    return {"told": told, "states": states, "replayed": campaign(path).session.state.means.tolist()}


if __name__ == "__main__":
    which, path, count = sys.argv[1:]
    print(json.dumps({"kill": kill, "share": share}[which](path, int(count))))
