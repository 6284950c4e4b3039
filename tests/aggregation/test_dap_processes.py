"""Leader, helper and collector as processes on loopback: true sums, also with liars, dropouts and kills."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from dap_processes import PATIENCE, Deployment

from discreet.aggregation.aggregator_noise import noise_deviation
from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap import messages as m
from discreet.aggregation.dap.client import Client
from discreet.aggregation.dap.dap_sums import DapSums
from discreet.aggregation.dap.problems import encode_id
from discreet.aggregation.dap.transport import PeerError
from discreet.aggregation.sums import PlainSums
from discreet.errors import DiscreetError
from discreet.nodes.flower.certificates import write_certificates
from discreet.privacy.noise import SimulatedNoise

DEVICES, LIARS, DROPOUTS = 200, 10, 8
WINDOW = 600


def some_windows_ago() -> int:
    return int(time.time()) // WINDOW * WINDOW - 20 * WINDOW


@pytest.fixture
def deployed(tmp_path):
    made: list[Deployment] = []

    def deploy(**terms) -> Deployment:
        (tmp_path / str(len(made))).mkdir()
        made.append(Deployment(tmp_path / str(len(made)), start=some_windows_ago(), **terms))
        return made[-1]

    yield deploy
    for one in made:
        one.stop()


def device(deployment: Deployment, keys, number: int, acknowledged: list[int]) -> None:
    """One device: it makes its report, and sends it until it is acknowledged; a few lie, and a few vanish half-way."""
    task, client = deployment.task, Client(deployment.task)
    client._configs = keys
    values = np.zeros(task.length, np.int64)
    values[number % task.length] = 1
    body = client.report(0, Contribution.of(task, values))
    if LIARS <= number < LIARS + DROPOUTS:
        vanish(deployment, body, number)
        return
    if number < LIARS:
        body = lie(body, number)
    patiently(deployment, lambda: client.send(body))
    acknowledged.append(number)


def vanish(deployment: Deployment, body: bytes, number: int) -> None:
    """Send a part of a report, or nothing, and go."""
    if number % 2:
        path = f"/tasks/{encode_id(deployment.task.id)}/reports"
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {m.media_type(m.UploadRequest)}\r\n"
        with socket.create_connection(("127.0.0.1", deployment.ports["leader"])) as connection:
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:-7])


def lie(body: bytes, number: int) -> bytes:
    """A report whose shares are not what was proved, or that are of nobody."""
    report = m.UploadRequest.decode(body).reports[0]
    part = report.leader_encrypted_input_share if number % 2 else report.helper_encrypted_input_share
    payload = bytearray(part.payload)
    payload[number] ^= 1
    changed = m.HpkeCiphertext(part.config_id, part.enc, bytes(payload))
    parts = (
        (changed, report.helper_encrypted_input_share) if number % 2 else (report.leader_encrypted_input_share, changed)
    )
    return m.UploadRequest((m.Report(report.report_metadata, report.public_share, *parts),)).encode()


def patiently(deployment: Deployment, action):
    """Do something, again and again while nobody answers."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return action()
        except PeerError:
            assert time.monotonic() < deadline
            assert not deployment.given_up.wait(0.1)


def truth_of(numbers: list[int], length: int) -> list[int]:
    return np.bincount([number % length for number in numbers if number >= LIARS], minlength=length).tolist()


@pytest.mark.parametrize("epsilon", [100.0, 0.5], ids=["without noise", "with noise"])
@pytest.mark.long
def test_two_hundred_devices_with_liars_dropouts_and_a_killed_helper(epsilon, deployed):
    deployment = deployed(epsilon=epsilon, length=8)
    task = deployment.task
    deployment.start("helper")
    deployment.start("leader")
    acknowledged: list[int] = []
    keys = Client(task).configs()
    with ThreadPoolExecutor(8) as pool, deployment.giving_up():
        running = [pool.submit(device, deployment, keys, number, acknowledged) for number in range(DEVICES)]
        deployment.wait_for(lambda: len(acknowledged) > DEVICES // 4, "a quarter of the reports")
        deployment.kill("helper")
        deployment.wait_for(lambda: len(acknowledged) > DEVICES // 2, "half of the reports, without a helper")
        deployment.start("helper")
        for one in running:
            one.result()
    assert len(acknowledged) == DEVICES - DROPOUTS
    sums = DapSums(deployment.collector())
    found = patiently(deployment, lambda: sums.collect(task, 0))
    truth = truth_of(acknowledged, task.length)
    assert found.contributions == DEVICES - DROPOUTS - LIARS
    away = np.abs(found.values - truth)
    assert away.max() <= (0 if epsilon == 100 else 20 * noise_deviation(task))
    collect = "aggregate collect task.json --window 0 --key collector.key --token-file collector.token"
    again = subprocess.run(
        [sys.executable, "-m", "discreet", *collect.split()],
        cwd=deployment.folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[-1] == " ".join(map(str, found.values.tolist())), "the same noise again"
    assert "publisher and one aggregator" in again.stdout
    if epsilon == 100:  # the simulator gives the same for the same contributions
        plain = PlainSums(SimulatedNoise(1))
        for number in acknowledged:
            if number >= LIARS:
                values = np.zeros(task.length, np.int64)
                values[number % task.length] = 1
                plain.contribute(task, 0, Contribution.of(task, values))
        assert plain.collect(task, 0).values.tolist() == found.values.tolist()


@pytest.mark.slow
def test_random_kills_of_both_under_load(deployed):
    """Devices go on sending, and the collector asking, while one of the two is killed again and again."""
    deployment = deployed(epsilon=0.5)
    task, chance = deployment.task, random.Random(7)
    for role in ("helper", "leader"):
        deployment.start(role)
    windows, each = 3, 60
    kept = [0] * windows
    collected: dict[int, list[tuple[int | None, list[int]]]] = {window: [] for window in range(windows)}
    stop, keys = deployment.given_up, Client(task).configs()

    def devices(first: int) -> None:
        client = Client(task)
        client._configs = keys
        for number in range(first, windows * each, 3):
            body = client.report(number % windows, Contribution.of(task, [1, 0, 0]))
            patiently(deployment, lambda body=body: client.send(body))
            kept[number % windows] += 1

    def collector() -> None:
        sums = DapSums(deployment.collector())
        while not stop.is_set():
            for window in range(windows):
                if kept[window] == each:
                    try:
                        found = sums.collect(task, window)
                    except PeerError:
                        continue
                    collected[window].append((found.contributions, found.values.tolist()))
            time.sleep(0.05)

    with ThreadPoolExecutor(4) as pool, deployment.giving_up():
        running = [pool.submit(devices, first) for first in range(3)] + [pool.submit(collector)]
        for _ in range(6):
            time.sleep(chance.uniform(0.05, 0.8))
            role = chance.choice(["leader", "helper"])
            deployment.kill(role)
            deployment.start(role)
        deployment.wait_for(lambda: all(len(found) >= 2 for found in collected.values()), "all windows, twice")
        stop.set()
        for one in running:
            one.result()
    assert kept == [each] * windows
    for found in collected.values():
        assert all(one == found[0] for one in found), "another sum for the same window"
        contributions, values = found[0]
        assert contributions == each
        assert np.abs(np.array(values) - [each, 0, 0]).max() < 20 * noise_deviation(task)


@pytest.mark.long
def test_tls_and_tokens(deployed, tmp_path: Path):
    write_certificates(tmp_path / "tls", ["localhost", "127.0.0.1"])
    extra = f'certificate = "{tmp_path}/tls/server.crt"\ncertificate_key = "{tmp_path}/tls/server.key"'
    authorities = tmp_path / "tls" / "ca.crt"
    deployment = deployed(scheme="https", extra={"helper": extra, "leader": f'{extra}\nauthorities = "{authorities}"'})
    for role in ("helper", "leader"):
        deployment.start(role)
    task = deployment.task
    sums = DapSums(deployment.collector(authorities), authorities)
    for values in ([1, 0, 0], [0, 1, 0]):
        sums.contribute(task, 0, Contribution.of(task, values))
    assert sums.collect(task, 0).values.tolist() == [1, 1, 0]
    with pytest.raises(PeerError, match="SSLCertVerificationError"):
        DapSums().contribute(task, 0, Contribution.of(task, values))
    (deployment.folder / "collector.token").write_text("another-token-of-somebody\n")
    with pytest.raises(DiscreetError, match="401"):
        deployment.collector(authorities).collect(task, 0)
