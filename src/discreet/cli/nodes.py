"""`discreet nodes`: machines that train or share together over Flower."""

from __future__ import annotations

import math
import shlex
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import AsJson, parse_epsilons, print_json, say
from discreet.errors import DiscreetError, InputError
from discreet.plugins import load_only, named_plugins
from discreet.progress import notice

if TYPE_CHECKING:
    from discreet.data.public_catalogue import PublicCatalogue
    from discreet.nodes.configuration import Noise

app = typer.Typer(help="Machines that train or share together over Flower.", no_args_is_help=True)

Data = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="What the nodes host: a news data set, or ratings or purchases (vendors)."),
]
Deployment = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a deployment.")]
NodeFolder = Annotated[Path, typer.Argument(metavar="NODE_FOLDER", help="A node's folder, such as FOLDER/node-2.")]
Out = Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of the deployment.")]
MaxEpsilon = Annotated[
    str | None,
    typer.Option(
        help="The largest total ε that readers may be charged; inf accepts what guarantees nothing.",
        show_default="10; inf with --simulated-noise",
    ),
]
SimulatedNoise = Annotated[
    bool, typer.Option("--simulated-noise", help="Noise from seeds, for experiments: it protects nobody.")
]
Starting = Annotated[float, typer.Option(min=1, help="How many seconds a process may take to start.")]
CATALOGUE = "catalogue.csv"
_LOOK = 1.0
_STARTING = 300.0


@app.command()
def write(
    data: Data,
    out: Out,
    nodes: Annotated[int, typer.Option(help="How many nodes; node k of N hosts the part k/N of the data.")] = 4,
    max_epsilon: MaxEpsilon = None,
    simulated_noise: SimulatedNoise = False,
    tls: Annotated[bool, typer.Option("--tls", help="Encrypt connections, and let in only nodes with keys.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a deployment for trying out, with all of its nodes on this machine.

    For news it also writes FOLDER/catalogue.csv, which the server trains with. The nodes may run methods and models of
    the modules that 'discreet --plugin MODULE' names.

    Example: discreet nodes write world --nodes 4 --out deployment
    """
    from discreet.nodes.flower.flower_configuration import write_deployment

    _check_data(data)
    epsilon, noise = _one_epsilon(max_epsilon, simulated_noise), _noise(simulated_noise)
    catalogue = None if _is_vendors(data) else _public_catalogue(data)
    write_deployment(out, data, nodes, max_epsilon=epsilon, noise=noise, plugins=named_plugins(), tls=tls)
    if catalogue is not None:
        catalogue.write(out / CATALOGUE)
    if as_json:
        print_json({"deployment": str(out), "nodes": list(range(1, nodes + 1))})
        return
    say(f"{nodes} nodes: {out}")
    say(f"Start them: {shlex.join(('discreet', 'nodes', 'start', str(out)))}")


@app.command()
def new(
    number: Annotated[int, typer.Argument(min=1, help="The node's number, agreed with the others.")],
    data: Data,
    out: Out,
    part: Annotated[
        str | None, typer.Option(metavar="K/N", help="Host only this part of the data, such as 2/4.")
    ] = None,
    max_epsilon: MaxEpsilon = None,
    simulated_noise: SimulatedNoise = False,
    as_json: AsJson = False,
) -> None:
    """Write one node, on its own machine, and print its public key for everybody's roster.

    The node may run methods and models of the modules that 'discreet --plugin MODULE' names, and of no others.

    Example: discreet nodes new 2 my-readers --out deployment
    """
    from discreet.nodes.configuration import NodeSettings, is_part, write_node
    from discreet.nodes.flower.flower_configuration import write_keys

    _check_data(data)
    if part is not None and not is_part(part):
        raise DiscreetError(f"--part is such as 2/4, the second of four parts, not '{part}'")
    folder = out / f"node-{number}"
    epsilon, noise = _one_epsilon(max_epsilon, simulated_noise), _noise(simulated_noise)
    public = write_node(
        NodeSettings(folder, number, data.resolve(), part, epsilon, noise, plugins=tuple(named_plugins()))
    )
    write_keys(folder)
    if as_json:
        print_json({"node": number, "folder": str(folder), "public_key": public.hex()})
        return
    say(f"Node {number}: {folder}")
    say(f'For everybody\'s roster.json: "{number}": "{public.hex()}"')
    say(f"For the server: {folder / 'flower.pub'}")


@app.command()
def host(node_folder: NodeFolder) -> None:
    """Run a node's host, which keeps its data and answers the relay, until Ctrl-C.

    Example: discreet nodes host deployment/node-2
    """
    import logging
    from threading import Event

    from discreet.edge.jobs import open_job_for
    from discreet.edge.node.host import Host
    from discreet.edge.node.schedule import on_schedule
    from discreet.nodes.configuration import read_node
    from discreet.nodes.host_socket import serve_host

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    settings = read_node(node_folder)
    load_only(settings.plugins)
    _check_data(settings.data)
    answer = Host(settings.identity(), settings.roster(), open_job_for(settings), settings.helper()).answer
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    notice(f"node {settings.number} hosts {settings.data} ({settings.part or 'all of it'}), {settings.noise} noise")
    serve_host(settings.socket, on_schedule(answer), stop)


@app.command()
def run(
    node_folder: NodeFolder,
    superlink: Annotated[str, typer.Option(metavar="HOST:PORT", help="The server's address.")],
    root_certificates: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The server's ca.crt, from its operator; without it nothing is encrypted."),
    ] = None,
    starting: Starting = _STARTING,
) -> None:
    """Run one node, on its own machine: host and SuperNode, until Ctrl-C.

    Example: discreet nodes run deployment/node-2 --superlink server.example:9092 --root-certificates ca.crt
    """
    from discreet.nodes.configuration import read_node
    from discreet.nodes.flower.deployment import SuperLink
    from discreet.nodes.flower.node_processes import NodeProcesses
    from discreet.nodes.flower.processes import require_flower

    require_flower()
    settings = read_node(node_folder)
    settings.roster()
    if root_certificates is not None and not root_certificates.is_file():
        raise InputError(root_certificates, "is not there; it comes from the server's operator")
    certificate = root_certificates.resolve() if root_certificates else None
    link = SuperLink(superlink, certificate, node_folder / "flower")
    node = NodeProcesses(settings, link, node_folder / "logs", authenticated=certificate is not None)
    _stop_by_signal()
    try:
        node.start()
        node.wait(time.monotonic() + starting)
        say(f"Node {settings.number} is registered at {superlink}. Ctrl-C ends it. Logs: {node_folder / 'logs'}")
        _keep(node.revive)
    finally:
        node.stop()


@app.command()
def server(
    folder: Deployment,
    address: Annotated[str, typer.Option(metavar="HOST:PORT", help="The name and port that nodes will connect to.")],
    starting: Starting = _STARTING,
) -> None:
    """Run the server of a deployment on several machines, until Ctrl-C.

    Makes FOLDER/tls at the first start; nodes need a copy of FOLDER/tls/ca.crt. Lets in the SuperNodes whose public
    keys are in FOLDER/keys, and sums over the nodes in FOLDER/roster.json.

    Example: discreet nodes server deployment --address server.example:9092
    """
    from discreet.nodes.configuration import read_roster
    from discreet.nodes.flower.certificates import write_certificates
    from discreet.nodes.flower.processes import require_flower
    from discreet.nodes.flower.server_processes import ServerProcesses

    require_flower()
    host, sign, port = address.rpartition(":")
    if not sign or not port.isdecimal():
        raise DiscreetError(f"--address is such as server.example:9092, not '{address}'")
    roster, keys = read_roster(folder / "roster.json"), sorted((folder / "keys").glob("*.pub"))
    if len(keys) != len(roster):
        raise InputError(folder / "keys", f"has {len(keys)} public keys (flower.pub) for {len(roster)} nodes")
    if not (folder / "tls").exists():
        write_certificates(folder / "tls", [host])
    processes = ServerProcesses(folder, address)
    _stop_by_signal()
    try:
        processes.start()
        processes.wait(starting)
        processes.register(keys)
        say(f"The server is at {address}, for {len(keys)} nodes. Ctrl-C ends it. Logs: {folder / 'logs'}")
        say(f"Nodes: discreet nodes run NODE_FOLDER --superlink {address} --root-certificates ca.crt")
        say(f"Train over them, with your articles: {_training(folder, 'CATALOGUE.csv')}")

        def nothing_to_revive() -> list[str]:
            processes.check()
            return []

        _keep(nothing_to_revive)
    finally:
        processes.stop()


@app.command()
def start(folder: Deployment, starting: Starting = _STARTING) -> None:
    """Start a deployment on this machine, server and all nodes, until Ctrl-C.

    Example: discreet nodes start deployment
    """
    from discreet.nodes.flower.loopback import Loopback

    _stop_by_signal()
    with Loopback(folder, starting=starting) as deployment:
        names = ", ".join(str(node) for node in deployment.nodes)
        say(f"Nodes {names} are registered at {deployment.superlink.address}. Ctrl-C ends all. Logs: {folder / 'logs'}")
        say(f"In another terminal: {next_command(folder)}")
        _keep(deployment.revive)


@app.command("list")
def list_nodes(
    folder: Deployment,
    timeout: Annotated[float, typer.Option(min=1, help="How many seconds a node may take to answer.")] = 30.0,
    as_json: AsJson = False,
) -> None:
    """Ask all nodes of a running deployment, and say which answer.

    Example: discreet nodes list deployment
    """
    from discreet.nodes.configuration import read_roster
    from discreet.nodes.flower.deployment import SuperLink, submit

    roster = read_roster(folder / "roster.json")
    link = SuperLink.of(folder)
    once = {"times": 1, "timeout": timeout}
    (answered,) = submit("discreet.nodes.flower.node_probe:probe", once, link, alone=False)
    if as_json:
        nodes = [{"node": node, "answers": node in answered["nodes"]} for node in roster]
        print_json({"superlink": link.address, "nodes": nodes, "seconds": answered["seconds"]})
        return
    for node in roster:
        say(f"node {node}  {'answers' if node in answered['nodes'] else 'does not answer'}")
    say(f"{len(answered['nodes'])} of {len(roster)} in {answered['seconds']:.1f} s.")


def next_command(folder: Path) -> str:
    """What to do with a deployment that was started, by the data of its first node.

    For news the command works as it is; vendors put the list of items and the scale that they agreed on in its place.
    """
    from discreet.nodes.configuration import node_folders, read_node

    data = read_node(next(iter(node_folders(folder).values()))).data
    if _is_vendors(data):
        agreed = ["--catalogue", "items.txt", "--scale", "0.5,5"]  # what the vendors have agreed on
        command = ["discreet", "vendors", "share", *agreed, "--epsilon", "5"]
        return shlex.join((*command, "--engine", "flower", "--superlink", str(folder)))
    return _training(folder, str(folder / CATALOGUE))


def _is_vendors(data: Path) -> bool:
    from discreet.data.formats.data_format import PurchasesFormat, RatingsFormat
    from discreet.data.formats.format_registry import recognise

    return isinstance(recognise(data), RatingsFormat | PurchasesFormat)


def _public_catalogue(data: Path) -> PublicCatalogue:
    from discreet.data.open import open_with_train
    from discreet.data.public_catalogue import PublicCatalogue

    return PublicCatalogue.of(open_with_train(data))


def _training(folder: Path, catalogue: str) -> str:
    command = [
        "discreet",
        "train",
        catalogue,
        "--method",
        "dp_fedavg",
        "--engine",
        "flower",
        "--superlink",
        str(folder),
    ]
    return shlex.join((*command, "--out", "run-over-nodes"))


def _keep(revive: Callable[[], list[str]]) -> None:
    """Go on until interrupted, starting again what ends by itself."""
    try:
        while True:
            time.sleep(_LOOK)
            for name in revive():
                notice(f"{name} has ended, and is started again")
    except KeyboardInterrupt:
        say("Stopped.")


def _stop_by_signal() -> None:
    """Let SIGTERM end a command as Ctrl-C does, so that nothing is left running."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def _check_data(data: Path) -> None:
    if not data.exists():
        raise InputError(data, "is not there")


def _one_epsilon(text: str | None, simulated: bool) -> float:
    """The limit that was asked for; a trial with noise that protects nobody has none."""
    if text is None:
        return math.inf if simulated else 10.0
    epsilons = parse_epsilons(text, "--max-epsilon")
    if len(epsilons) != 1:
        raise DiscreetError(f"--max-epsilon takes one positive number or inf, not '{text}'")
    return epsilons[0]


def _noise(simulated: bool) -> Noise:
    return "simulated" if simulated else "secure"
