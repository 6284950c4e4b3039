"""A federated round of 64 clients: the simulator against the loop over clients, padded as published, in the same run.

    python benchmarks/bench_federated.py [--repeats 5] [--loop-clients 8]

The peer is `discreet.training.loop`: one client at a time, every title at 30 words and every history at 50 clicks, an
article encoded once within a client. Both sides compute the same aggregate at the published sizes (compared at the
start of each case), with the same number of threads, in turns; the median of the turns' ratios counts. The loop is
timed on some of the clients, evenly spread by the length of their histories, and scaled up.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

os.environ.setdefault(
    "OMP_WAIT_POLICY", "PASSIVE"
)  # threads that wait do not spin: other work on the machine counts less

import numpy as np
import torch

from discreet.models.features import ArticleTable
from discreet.models.model_registry import make_model
from discreet.training.clients import Clients, choose_clients
from discreet.training.draws import laplace, round_generator
from discreet.training.gradient_noise import client_laplace, summed_laplace_like
from discreet.training.loop import client_gradient
from discreet.training.network import Network
from discreet.training.objective import Objective, Parameters
from discreet.training.reduction import clip_coordinates, sum_clients
from discreet.training.samples import Samples
from discreet.training.simulator import client_gradients, summed_gradient
from federated_world import make_impressions, make_table, make_vector_table

CLIENTS = 64
BASIS = 3
CLIP, NOISE = 0.005, 0.015
MAX_MEMORY = 4.0
MAX_GROWTH = 1.25


def basis_interest(parameters, readers, randomness):  # type: ignore[no-untyped-def]
    """PrivateRec's interest: a noised mixture of basis vectors."""
    basis = parameters["basis"]
    weights = torch.relu(torch.softmax(readers @ basis.T / basis.shape[1] ** 0.5, dim=-1) + randomness)
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-6) @ basis


@dataclass
class Case:
    """A method on a model, and how many times faster than the loop its round is to be."""

    name: str
    model: str
    target: float
    private: bool = False
    clipped: bool = False

    def prepare(self, table: ArticleTable, clients: Clients) -> None:
        """Make the model and draw a round."""
        words = {} if self.model == "plm_nr" else {"train_words": False}
        self.table, self.clients = table, clients
        preset = "frozen" if self.model == "plm_nr" else "published"
        self.network = Network(make_model(self.model, preset, table, 0, **words))
        self.parameters = self.network.parameters()
        self.objective = Objective()
        if self.private:
            generator = torch.Generator().manual_seed(0)
            self.parameters["basis"] = torch.randn(BASIS, self.network.model.size, generator=generator)
            self.objective = Objective(basis_interest)
        self.samples = self.draw(1)

    def draw(self, round_: int) -> Samples:
        """The samples of a round, clients in the order of their histories' length."""
        samples = self.clients.draw(choose_clients(len(self.clients), CLIENTS, 0, round_), 0, round_)
        if self.private:
            samples = samples.with_masked_clicks(0.2).with_permuted_labels(0.9)
            samples = samples.with_randomness(laplace(samples.view_uniforms("attention", BASIS), 0.1))
        return samples

    def simulator(self, samples: Samples, noise: bool = True) -> Parameters:
        """The weighted sum of the clients' gradients (clipped, with noise), all at once."""
        arguments = (self.network, self.table, self.parameters, samples)
        weights = samples.counts.astype(np.float64)
        if not self.clipped:
            return summed_gradient(*arguments, weights, self.objective).gradient
        total = sum_clients(client_gradients(*arguments, self.objective), weights, clip_coordinates(CLIP)).gradient
        if noise:
            for name, value in summed_laplace_like(total, NOISE, weights, round_generator(0, 1, "noise")).items():
                total[name].add_(value)
        return total

    def loop(self, samples: Samples, noise: bool = True) -> Parameters:
        """The same, one client after the other."""
        total = {name: torch.zeros_like(value) for name, value in self.parameters.items()}
        generator = round_generator(0, 1, "noise")
        for position, weight in enumerate(samples.counts):
            own = samples.select(np.array([position]))
            gradient = client_gradient(self.network, self.table, self.parameters, own, self.objective).gradient
            drawn = client_laplace(gradient, NOISE, generator) if self.clipped and noise else {}
            for name, value in gradient.items():
                if self.clipped:
                    value.clamp_(-CLIP, CLIP)
                if name in drawn:
                    value.add_(drawn[name])
                total[name].add_(value, alpha=float(weight))
        return total


def spread_clients(samples: Samples, count: int) -> Samples:
    """`count` clients whose histories are spread evenly by length."""
    clicks = np.bincount(samples.view_client[samples.history_view], minlength=len(samples.clients))
    order = np.argsort(clicks, kind="stable")
    step = len(order) / count
    return samples.select(np.sort(order[(np.arange(count) * step + step / 2).astype(int)]))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock and of the processors."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def error(found: Parameters, expected: Parameters) -> float:
    """Relative error of the whole gradient."""
    difference = sum(float((found[n] - expected[n]).double().square().sum()) for n in expected)
    return float((difference / sum(float(v.double().square().sum()) for v in expected.values())) ** 0.5)


def measure(case: Case, repeats: int, loop_clients: int) -> bool:
    """Time one case and print its line; whether it meets its target."""
    part = spread_clients(case.samples, loop_clients)
    scale = CLIENTS / loop_clients
    found = error(case.simulator(part, noise=False), case.loop(part, noise=False))  # also warms both up
    loops, simulators = [], []
    for _ in range(repeats):
        loops.append(tuple(scale * seconds for seconds in timed(lambda: case.loop(part))))
        simulators.append(timed(lambda: case.simulator(case.samples)))
    loop, fast = (statistics.median(clock for clock, _ in rows) for rows in (loops, simulators))
    ratio, ratio_cpu = (
        statistics.median(slow[i] / quick[i] for slow, quick in zip(loops, simulators, strict=True)) for i in (0, 1)
    )
    print(
        f"{case.name:<32}{loop:9.2f} s{fast:10.2f} s{ratio:9.1f}{ratio_cpu:9.1f}{case.target:9.1f}"
        f"{found:11.0e}  {'ok' if ratio >= case.target and found < 1e-4 else 'MISSED'}",
        flush=True,
    )
    return ratio >= case.target and found < 1e-4


def measure_growth(case: Case, rounds: int) -> bool:
    """Whole rounds (choosing, drawing, gradient) with ever more readers, in turns; time of a sample counts."""
    sizes = (1_000, 10_000, 50_000)
    worlds = {size: Clients.from_impressions(make_impressions(size)) for size in sizes}
    times: dict[int, list[float]] = {size: [] for size in sizes}
    for round_ in range(rounds + 1):
        for size, clients in worlds.items():
            case.clients = clients
            start = time.perf_counter()
            samples = case.draw(round_)
            case.simulator(samples)
            if round_:
                times[size].append((time.perf_counter() - start) / len(samples))
    medians = {size: statistics.median(values) * 1000 for size, values in times.items()}
    growth = medians[sizes[-1]] / medians[sizes[0]]
    line = ", ".join(f"{size:,}: {value:.2f} ms" for size, value in medians.items())
    print(f"\nround with ever more readers, time of a sample: {line}; growth {growth:.2f} (at most {MAX_GROWTH})")
    return growth <= MAX_GROWTH


def main() -> int:
    """Run all cases; 0 if every target is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--loop-clients", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    clients = Clients.from_impressions(make_impressions(5_000))
    words, vectors = make_table(), make_vector_table()
    cases = [
        Case("FedRec, NRMS", "nrms", 3.0),
        Case("PrivateRec, NRMS", "nrms", 3.0, private=True),
        Case("FedNewsRec", "fednewsrec", 1.5, clipped=True),
        Case("FedRec, PLM-NR head", "plm_nr", 3.0),
        Case("PrivateRec, PLM-NR head", "plm_nr", 3.0, private=True),
        Case("FedNewsRec, PLM-NR head", "plm_nr", 2.0, clipped=True),
    ]
    print(
        f"{CLIENTS} clients a round, {options.threads} threads, median of {options.repeats}; "
        f"the loop timed on {options.loop_clients} clients and scaled up\n\n"
        f"{'':<32}{'loop':>11}{'simulator':>12}{'ratio':>9}{'of CPU':>9}{'target':>9}{'error':>11}"
    )
    met = []
    chosen = [case for case in cases if options.only in case.name]
    for case in chosen:
        case.prepare(vectors if case.model == "plm_nr" else words, clients)
        met.append(measure(case, options.repeats, options.loop_clients))
    met.append(measure_growth(chosen[-1], 2 * options.repeats))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory: {memory:.2f} GB (at most {MAX_MEMORY:.0f})")
    met.append(memory <= MAX_MEMORY)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
