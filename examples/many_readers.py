"""What private training would reach with a million readers: the noise of a million on the updates of those there are.

    python examples/many_readers.py world --readers 1000000 --epsilon 1,3,5,10 --seeds 3

The noise that `dp_fedavg` adds to the sum of all updates does not grow with the readers; the sum does. So with N
readers instead of n the noise on the mean update is n/N times as large. This trains on the readers of DATA with noise
on the mean as if N took part in each round. It shows the effect of the noise alone: the updates are still those of n
readers, and more readers would tell more. The budget is what N readers would be charged. To the readers of DATA
themselves nothing is promised: their noise is too small.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from torch import Tensor

from discreet.data.open import open_with_train
from discreet.experiments.ranking_comparison import measure
from discreet.methods.dp_fedavg import DPFedAvg
from discreet.methods.method import TrainingTask
from discreet.privacy.distributed_gaussian import DistributedGaussian
from discreet.progress import shown, track
from discreet.training.parties import Parties


@dataclass(frozen=True, kw_only=True)
class AsIfMore(DPFedAvg):
    """DP-FedAvg with the noise on the mean that it would have with 1/`share` times as many readers."""

    share: float = 1.0

    def lattice(self, parameters: Mapping[str, Tensor], parties: Parties) -> DistributedGaussian:
        """Less noise on the sum of fewer updates."""
        return replace(super().lattice(parameters, parties), multiplier=self.multiplier * self.share)


def main() -> None:
    """Print the AUC for each ε, with the standard error over seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--readers", type=int, default=1_000_000, help="as if so many took part in each round")
    parser.add_argument("--epsilon", default="1,3,5,10")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--text", default="auto")
    options = parser.parse_args()
    task = TrainingTask(open_with_train(options.data), options.text)
    here = len(DPFedAvg().setup(task, 0).clients)
    print(f"updates of {here:,} readers, noise on the mean as of {options.readers:,}")
    for epsilon in map(float, options.epsilon.split(",")):
        method = AsIfMore(epsilon=epsilon, share=here / options.readers)
        with shown():
            runs = [
                measure(task, method, method.train(task, seed), task.data.splits[options.split], seed).metrics
                for seed in track(range(options.seeds), f"ε = {epsilon:g}")
            ]
        aucs = np.array([run["auc"].mean() for run in runs])
        error = aucs.std(ddof=1) / np.sqrt(len(aucs)) if len(aucs) > 1 else float("nan")
        print(f"ε = {epsilon:g}: AUC {aucs.mean():.4f} ± {error:.4f} over {len(aucs)} seeds")


if __name__ == "__main__":
    main()
