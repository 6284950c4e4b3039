"""Processor time of a client at FedNewsRec's published sizes (2.52 million parameters), by its number of samples.

    python benchmarks/bench_client_cost.py [--clients 64] [--only 1,2,4]

Time is that of one processor, in one thread, so that other work on the machine counts little. Where gradients are only
added (`summed`), clients share articles; where each is clipped, each has a backward pass of its own.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import torch

from discreet.models.model_registry import make_model
from discreet.training.clients import Clients
from discreet.training.network import Network
from discreet.training.reduction import clip_coordinates, sum_clients
from discreet.training.simulator import client_gradients, summed_gradient
from federated_world import make_impressions, make_table


def main() -> None:
    """Print a line for each number of samples."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="1,2,4", help="numbers of samples a client has, separated by commas")
    options = parser.parse_args()
    torch.set_num_threads(1)
    clients, table = Clients.from_impressions(make_impressions(5_000)), make_table()
    network = Network(make_model("fednewsrec", "published", table, 0, train_words=False))
    parameters, weights = network.parameters(), np.ones(options.clients)
    print(f"{options.clients} clients a round, {sum(value.numel() for value in parameters.values()):,} parameters")
    for count in map(int, options.only.split(",")):
        chosen = np.flatnonzero(clients.sample_counts == count)[: options.clients]
        samples = clients.draw(chosen, 0, 1)
        arguments = (network, table, parameters, samples)
        times: dict[str, list[float]] = {"summed": [], "clipped": []}
        for _ in range(options.repeats):
            start = time.process_time()
            summed_gradient(*arguments, weights[: len(chosen)])
            middle = time.process_time()
            sum_clients(client_gradients(*arguments), weights[: len(chosen)], clip_coordinates(0.005))
            times["summed"].append((middle - start) / len(chosen))
            times["clipped"].append((time.process_time() - middle) / len(chosen))
        line = ", ".join(f"{how} {statistics.median(values) * 1000:.0f} ms" for how, values in times.items())
        print(f"{count} samples: {line} a client", flush=True)


if __name__ == "__main__":
    main()
