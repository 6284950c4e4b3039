"""`discreet vendors helper`: the second aggregator of vendors that sum by two; and how a command starts one itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import say
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.aggregation.split_sum import AskHelper

_SAYS = "helper at "
_ENDING = 10.0


def helper(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", exists=True, help="Folder with helper.key and the vendors' roster.json.")
    ],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 0,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", exists=True, help="For https: the certificate.")
    ] = None,
    certificate_key: Annotated[
        Path | None, typer.Option(metavar="FILE", exists=True, help="For https: its private key.")
    ] = None,
) -> None:
    """Run the helper of vendors that share over two aggregators, until Ctrl-C.

    It sees nothing of what vendors give, keeps nothing, and answers only when all vendors of its roster are in a sum.
    It protects them as long as it does not collude with the server that asks ('discreet vendors share').

    Example: discreet vendors helper deployment --host 0.0.0.0 --port 9400
    """
    if (certificate is None) != (certificate_key is None):
        raise DiscreetError("https needs both --certificate and --certificate-key")
    from discreet.nodes.helper_folder import open_helper
    from discreet.serving.addresses import listen, url_of
    from discreet.serving.split_helper_app import run_split_helper

    opened = open_helper(folder)
    listener = listen(host, port)
    address = url_of(listener)
    say(f"{_SAYS}{address.replace('http', 'https', 1) if certificate else address}")
    sys.stdout.flush()
    run_split_helper(opened, listener, certificate, certificate_key)


@contextmanager
def local_helper(deployment: Path, own_process: bool) -> Iterator[AskHelper]:
    """A helper for vendors on one machine: in this process, or in one of its own, which ends with the block.

    Raises:
        DiscreetError: it does not start.
    """
    from discreet.nodes import helper_at
    from discreet.nodes.helper_folder import open_helper, write_local_helper

    folder = write_local_helper(deployment)
    if not own_process:
        yield open_helper(folder).answer
        return
    command = [sys.executable, "-m", "discreet", "vendors", "helper", str(folder)]
    with (folder / "helper.log").open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        said = process.stdout.readline() if process.stdout is not None else ""
        if not said.startswith(_SAYS):
            raise DiscreetError(f"{folder}: the helper has not started; see {folder / 'helper.log'}")
        yield helper_at(said.removeprefix(_SAYS).strip())
    finally:
        process.terminate()
        try:
            process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
