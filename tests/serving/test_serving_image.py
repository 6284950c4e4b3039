"""The container files, without a daemon: all that they name exists, and the image's command serves from PostgreSQL."""

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import httpx
import pytest
import yaml
from postgres_cluster import running_cluster
from served_world import free_port
from sqlalchemy import create_engine, text

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
COMPOSE_TEXT = (ROOT / "compose.yaml").read_text()
COMPOSE = yaml.safe_load(COMPOSE_TEXT)
SERVER, DATABASE = COMPOSE["services"]["discreet"], COMPOSE["services"]["database"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PATIENCE = 120


def instructions(name):
    return [line.partition(" ")[2] for line in DOCKERFILE.splitlines() if line.startswith(f"{name} ")]


def option(name):
    return next(one.partition("=")[2] for one in SERVER["command"] if one.startswith(f"--{name}="))


def pins(path):
    lines = [line.split()[0] for line in (ROOT / path).read_text().splitlines() if not line.startswith("#")]
    return {name.lower().replace("_", "-"): version for name, _, version in (line.partition("==") for line in lines)}


def pin_image():
    spec = importlib.util.spec_from_file_location("pin_image", ROOT / ".ci" / "pin_image.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_copied_exists_and_is_sent_to_the_daemon():
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [path for line in instructions("COPY") for path in line.split()[:-1]]
    assert copied
    for path in copied:
        assert (ROOT / path).exists()
        assert path in allowed


def needs_of(extra):
    """What an extra brings, with the extras that it names in turn."""
    for one in PROJECT["optional-dependencies"][extra]:
        if inner := re.fullmatch(r"discreet\[([a-z,]+)\]", one):
            yield from (need for name in inner.group(1).split(",") for need in needs_of(name))
        else:
            yield one


def test_the_image_has_what_serving_from_postgres_needs():
    extras = pin_image().image_extras(DOCKERFILE)[2:-1].split(",")
    assert {"serve", "postgres", "lm"} <= set(extras) <= set(PROJECT["optional-dependencies"])
    needed = PROJECT["dependencies"] + [one for extra in extras for one in needs_of(extra)]
    names = {re.match(r"[\w-]+", one).group().lower().replace("_", "-") for one in needed}
    pinned = pins("requirements-image.txt")
    assert names <= set(pinned), "run .ci/pin_image.py"
    assert "psycopg-binary" in pinned
    assert pinned["torch"].endswith("+cpu")
    assert not [name for name in pinned if name.startswith(("nvidia", "triton"))]


def test_pinned_versions_are_those_of_the_tests_and_each_has_a_hash():
    tested, pinned = pins("constraints.txt"), pins("requirements-image.txt")
    differing = {name for name, version in pinned.items() if tested.get(name, version) != version.partition("+")[0]}
    assert not differing, "run .ci/pin_image.py"
    lines = [line for line in (ROOT / "requirements-image.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.search(r" --hash=sha256:[0-9a-f]{64}$", line) for line in lines)
    assert "--require-hashes" in DOCKERFILE


def test_the_notice_names_each_package_of_the_image_and_says_what_copyleft_asks():
    notice = (ROOT / "NOTICE").read_text()
    about, _, table = notice.partition("Packages of the image:")
    named = dict(line.strip().split(": ", 1) for line in table.splitlines() if line.strip())
    assert set(named) == set(pins("requirements-image.txt")), "write NOTICE again"
    assert all(named.values())
    for name in named:
        found = metadata(name)
        told = [found.get("License-Expression", ""), found.get("License", ""), *found.get_all("Classifier", [])]
        if re.search(r"\b(L?GPL|MPL)\b|Lesser General|Mozilla Public", " ".join(told)) or "GPL" in named[name]:
            assert re.search(rf"\b{name}\b", about), f"NOTICE does not say what the licence of {name} asks"
    assert "NOTICE" in " ".join(instructions("COPY"))


def item(name, version, **info):
    return {"metadata": {"name": name, "version": version}, "download_info": info}


def test_pins_are_written_from_what_pip_reports():
    by_hash = {"archive_info": {"hashes": {"sha256": "a" * 64}}}
    report = {
        "environment": {"python_version": "3.11"},
        "install": [
            item("Zeta_x", "2.0", **by_hash),
            item("discreet", "0.1.0", dir_info={}),
            item("a", "1", **by_hash),
        ],
    }
    head, *lines = pin_image().pinned(report).splitlines()
    assert "3.11" in head
    assert lines == [f"a==1 --hash=sha256:{'a' * 64}", f"zeta-x==2.0 --hash=sha256:{'a' * 64}"]
    report["install"].append(item("unknown", "1", archive_info={}))
    with pytest.raises(SystemExit, match="unknown"):
        pin_image().pinned(report)


def test_every_secret_is_declared_made_in_the_head_comment_and_given_to_its_user():
    declared = COMPOSE["secrets"]
    used = {name for service in COMPOSE["services"].values() for name in service["secrets"]}
    assert used == set(declared)
    head = COMPOSE_TEXT.partition("services:")[0]
    for secret in declared.values():
        assert f"> {secret['file'].removeprefix('./')}" in head
    uid = re.search(r"--uid (\d+)", DOCKERFILE).group(1)
    assert f"chown {uid} secrets/admin secrets/pgpass" in head
    assert f"chown {DATABASE['user'].partition(':')[0]} secrets/postgres" in head
    paths = [f"{option('database').partition('passfile=')[2]}", option("admin-token-file")]
    assert {Path(path).name for path in paths} == set(SERVER["secrets"])
    assert all(Path(path).parent == Path("/run/secrets") for path in paths)


def test_containers_may_do_little():
    for service in (SERVER, DATABASE):
        assert service["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in service["security_opt"]
        assert service["read_only"] is True
        assert service["mem_limit"]
        assert service["pids_limit"]
    written = [value for line in instructions("ENV") for value in re.findall(r"=(/\S+)", line)]
    assert written
    assert all(path.startswith(tuple(SERVER["tmpfs"])) for path in written)
    assert instructions("USER") == ["discreet"]


def test_only_this_machine_is_a_trusted_proxy():
    network = COMPOSE["networks"]["default"]["ipam"]["config"][0]
    assert option("trusted-proxy") == network["gateway"]
    assert all(port.startswith("127.0.0.1:") for port in SERVER["ports"])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A world and a run, made as the how-to says."""
    folder = tmp_path_factory.mktemp("image")
    for command in (
        ["data", "synth", "world", "--readers", "60"],
        ["train", "world", "--method", "click_reports", "--text", "hashed", "--out", "run"],
    ):
        subprocess.run([sys.executable, "-m", "discreet", *command], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.long
def test_the_images_command_serves_from_postgres_with_a_passfile(trained, tmp_path):
    port, password = free_port(), "a-password"
    place = {"/run-folder": trained / "run", "/world": trained / "world", "/run/secrets": tmp_path}
    (tmp_path / "postgres").write_text(password)
    (tmp_path / "admin").write_text("x" * 64)
    head = COMPOSE_TEXT.partition("services:")[0]
    line = next(one for one in head.splitlines() if "secrets/pgpass" in one).removeprefix("#").replace("secrets/", "")
    subprocess.run(["sh", "-c", f"umask 077; {line}"], cwd=tmp_path, check=True)  # as the comment says
    assert (tmp_path / "pgpass").read_text().strip() == f"database:5432:discreet:discreet:{password}"
    (tmp_path / "pgpass").write_text((tmp_path / "pgpass").read_text().replace("5432", str(port)))

    def placed(argument):
        for inside, outside in place.items():
            argument = argument.replace(inside, str(outside))
        return argument

    with running_cluster(password=password, port=port) as cluster:
        engine = create_engine(
            cluster.address.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
        )
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {DATABASE['environment']['POSTGRES_USER']}"))
        engine.dispose()
        entry = json.loads(instructions("ENTRYPOINT")[0])
        assert entry[0] in PROJECT["scripts"]
        command = [sys.executable, "-m", *entry, "--port", "0", "--json", *map(placed, SERVER["command"])]
        settings = dict(one.partition("=")[::2] for line in instructions("ENV") for one in shlex.split(line))
        settings |= {"PGHOSTADDR": "127.0.0.1", "PGPORT": str(port)}  # where 'database' is here
        server = subprocess.Popen(command, env={**os.environ, **settings}, stdout=subprocess.PIPE, text=True)
        guard = threading.Timer(PATIENCE, server.kill)
        guard.start()
        try:
            shown = server.stdout.read(1)
            while shown and not shown.rstrip().endswith("}"):
                shown += server.stdout.readline()
            base = json.loads(shown)["url"].replace("0.0.0.0", "127.0.0.1")
            while httpx.get(f"{base}/readyz", timeout=PATIENCE).status_code != 200:
                time.sleep(0.1)
            assert httpx.get(f"{base}/v1/model", timeout=PATIENCE).status_code == 200
        finally:
            guard.cancel()
            server.terminate()
            server.wait(60)
            server.stdout.close()
