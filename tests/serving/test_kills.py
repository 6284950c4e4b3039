"""Servers, workers, the helper and the database are killed at random under load: no sum twice, nothing lost, no double.

Devices send reports and an administrator articles, each again until it is acknowledged. Collectors ask both servers for
every window, again and again. Everything runs on while processes are killed with SIGKILL and started again.
"""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
from postgres_cluster import running_cluster
from scaled_site import TOKEN, ScaledSite

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.transport import PeerError
from discreet.errors import DiscreetError


class Load:
    """What devices, an administrator and collectors do, and what they were answered."""

    def __init__(self, site, windows, each):
        self.site, self.windows, self.each = site, windows, each
        self.acknowledged, self.listed = [0] * windows, []
        self.collected = {window: [] for window in range(windows)}
        self.keys, self.stop, self._lock = site.keys(), site.deployment.given_up, threading.Lock()
        self.refused = []

    def devices(self, first, step):
        client, chance = self.site.client(self.keys), random.Random(first)
        peers = [self.site.peer(number) for number in range(len(self.site.servers))]
        for number in range(first, self.windows * self.each, step):
            window = number // self.each
            body = client.report(window, Contribution.of(self.site.task, np.eye(8, dtype=np.int64)[number % 8]))
            while not self.stop.is_set():
                client._leader = chance.choice(peers)
                try:
                    client.send(body)
                    break
                except PeerError:
                    time.sleep(0.05)
                except DiscreetError as error:
                    self.refused.append(str(error))
                    break
            with self._lock:
                self.acknowledged[window] += 1

    def administrator(self, count):
        for number in range(count):
            article = [{"id": f"K{number}", "title": f"killed {number} times", "category": "c"}]
            while not self.stop.is_set():
                url = f"{self.site.urls[number % len(self.site.urls)]}/v1/admin/articles"
                try:
                    headers = {"Authorization": f"Bearer {TOKEN}"}
                    if httpx.put(url, json=article, headers=headers, timeout=20).status_code == 202:
                        self.listed.append(f"K{number}")
                        break
                except httpx.TransportError:
                    pass
                time.sleep(0.05)

    def collectors(self, number):
        collector = self.site.collector(number)
        while not self.stop.is_set():
            for window in range(self.windows):
                if self.acknowledged[window] == self.each and not self.stop.is_set():
                    try:
                        found = collector.collect(self.site.task, window)
                    except PeerError:
                        continue
                    self.collected[window].append((number, found.contributions, found.values.tolist()))
            time.sleep(0.05)

    def is_done(self):
        """Whether every window was collected, by both collectors."""
        both = range(len(self.site.servers))
        return all({one for one, _, _ in found} == set(both) for found in self.collected.values())


def killed_under_load(tmp_path, kills, windows, each, servers=2):
    chance = random.Random(len(kills))
    with running_cluster() as cluster:
        site = ScaledSite(tmp_path, cluster, servers=servers, length=8, epsilon=0.5)
        try:
            site.start()
            load = Load(site, windows, each)
            with ThreadPoolExecutor(6) as pool, site.deployment.giving_up():
                running = [pool.submit(load.devices, first, 2) for first in range(2)]
                running += [pool.submit(load.collectors, number) for number in range(len(site.servers))]
                running += [pool.submit(load.administrator, windows)]
                for what in kills:
                    time.sleep(chance.uniform(0.05, 1.0))
                    site.kill(what, chance)
                    print(f"{time.strftime('%X')} killed: {what}")
                site.deployment.wait_for(
                    lambda: load.is_done() or any(one.done() and one.exception() for one in running), "all sums"
                )
                site.deployment.wait_for(lambda: len(load.listed) == windows, "all articles")
                load.stop.set()
                for one in running:
                    one.result()
            for number in range(len(site.servers)):
                site.wait_ready(number)
                site.deployment.wait_for(
                    lambda number=number: catalogue(site.urls[number]) >= {*load.listed, "F0"}, "the catalogue"
                )
        finally:
            site.stop()
    return load


def catalogue(url):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    found = httpx.get(f"{url}/v1/admin/articles?state=listed&limit=1000", headers=headers, timeout=20)
    return {one["id"] for one in found.json()["articles"]} if found.status_code == 200 else set()


def check(load):
    assert load.refused == []
    for window, found in load.collected.items():
        sums = {(contributions, tuple(values)) for _, contributions, values in found}
        assert len(sums) == 1, f"window {window} was released more than once"
        assert sums.pop()[0] == load.each, "each acknowledged report counts once"


@pytest.mark.timeout(900)
@pytest.mark.slow
def test_some_kills_under_load(tmp_path):
    kills = ["worker", "helper", "database", "worker", "database"]
    check(killed_under_load(tmp_path, kills, windows=4, each=24, servers=1))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_kills_under_load(tmp_path):
    kills = random.Random(7).choices(["worker", "server", "helper", "database"], [2, 1, 1, 1], k=100)
    check(killed_under_load(tmp_path, kills, windows=50, each=60))
