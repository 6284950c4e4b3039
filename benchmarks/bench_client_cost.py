"""Time of a client at FedNewsRec's published sizes (2.52 million parameters), by its number of samples.

    python benchmarks/bench_client_cost.py [--clients 64] [--only 1,2,4] [--threads 2]

Processor time counts other work on the machine little; time of the clock means something on a quiet machine only, and
there says what the threads are worth. Where gradients are only added (`summed`), clients share articles and words;
where each is clipped, each has a backward pass of its own. The peer is simra/FedNewsRec's client, timed on two cores.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from discreet.models.model_registry import make_model
from discreet.training.clients import Clients
from discreet.training.network import Network
from discreet.training.reduction import clip_coordinates, sum_clients
from discreet.training.simulator import SummedGradient, client_gradients, summed_gradient
from federated_world import make_impressions, make_table

PEER = {1: 0.38, 2: 0.63, 4: 0.80}
"""Seconds of a client of simra/FedNewsRec, by its samples."""


def clipped_gradient(*given: Any) -> SummedGradient:
    """Each client's gradient by itself, clipped, and their sum."""
    *arguments, weights = given
    return sum_clients(client_gradients(*arguments), weights, clip_coordinates(0.005))


def main() -> None:
    """Print a line for each number of samples."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="1,2,4", help="numbers of samples a client has, separated by commas")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    clients, table = Clients.from_impressions(make_impressions(5_000)), make_table()
    network = Network(make_model("fednewsrec", "published", table, 0, train_words=False))
    parameters, weights = network.parameters(), np.ones(options.clients)
    print(f"{options.clients} clients a round, {sum(value.numel() for value in parameters.values()):,} parameters")
    for count in map(int, options.only.split(",")):
        chosen = np.flatnonzero(clients.sample_counts == count)[: options.clients]
        samples = clients.draw(chosen, 0, 1)
        arguments = (network, table, parameters, samples)
        own = weights[: len(chosen)]
        ways: dict[str, Callable[..., object]] = {"summed": summed_gradient, "clipped": clipped_gradient}
        for name, work in ways.items():
            clocks, processors = [], []
            for _ in range(options.repeats):
                clock, processor = time.perf_counter(), time.process_time()
                work(*arguments, own)
                clocks.append((time.perf_counter() - clock) / len(chosen))
                processors.append((time.process_time() - processor) / len(chosen))
            clock, processor = statistics.median(clocks), statistics.median(processors)
            ratio = f"; {PEER[count] / clock:.1f} times the peer by the clock" if count in PEER else ""
            print(
                f"{count} samples, {name}: {processor * 1000:.0f} ms of processor time a client,"
                f" {clock * 1000:.0f} ms of the clock{ratio}",
                flush=True,
            )


if __name__ == "__main__":
    main()
