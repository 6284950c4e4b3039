"""What one client's gradient tells the server, at a claimed ε of 0.01 and 1 (PrivateRec, Algorithm 3).

    python examples/see_the_leak.py            # a generated news world
    python examples/see_the_leak.py DATA       # a folder in MIND's layout

First the titles, from the gradient of the word vectors (NRMS); then the reader's vector, from the gradient of the basis
(PLM-NR over frozen text vectors). Every update is made by the functions that training calls, on the untrained model.
"""

import argparse
from pathlib import Path

import torch

from discreet.audits.leak.title_leak import title_leak
from discreet.audits.leak.vector_leak import vector_leak
from discreet.data.open import open_news
from discreet.data.synthetic import news_world
from discreet.methods.method import TrainingTask


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Read clicked titles off one client's gradient.")
    parser.add_argument("data", nargs="?", type=Path, help="a folder in MIND's layout; default a generated world")
    parser.add_argument("--readers", type=int, default=40)
    options = parser.parse_args()
    torch.set_num_threads(1)
    task = TrainingTask(open_news(options.data) if options.data else news_world(200, seed=0), "hashed")

    print("claimed ε  updates  reached history  unmasked titles whole  history whole  history named  precision")
    for epsilon in (0.01, 1.0):
        for rounds in (1, 10):
            found = title_leak(task, epsilon, readers=options.readers, rounds=rounds)
            print(
                f"{epsilon:9g}  {rounds:7d}  {found.reached:15.3f}  {found.unmasked_recall:21.3f}"
                f"  {found.recall:13.3f}  {found.named:13.3f}  {found.precision:9.3f}"
            )
    print(f"\n{found.titles} different titles in the catalogue, {found.readers} readers\n")

    print("claimed ε  tells of the reader  median |cosine|  mean |cosine|  above 0.999")
    for epsilon in (0.01, 1.0):
        vector = vector_leak(task, epsilon, readers=options.readers)
        print(
            f"{epsilon:9g}  {vector.reached:19.3f}  {vector.median:15.4f}  {vector.cosine:13.4f}  {vector.exact:11.3f}"
        )


if __name__ == "__main__":
    main()
