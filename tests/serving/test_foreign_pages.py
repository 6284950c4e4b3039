"""Pages of other origins: who may ask, what, and what everybody may load."""

import base64
import hashlib
import json
import subprocess
from pathlib import Path

import httpx
import pytest
from served_world import serving, small_service
from tools import tool

from discreet.cli import run
from discreet.errors import DiscreetError
from discreet.serving.bundle import Bundle, bundle, integrity_of
from discreet.serving.foreign_pages import ForeignPages, checked_origin
from discreet.version import __version__

OURS, OTHERS = "https://www.news.example", "https://evil.example"
PACKAGE = Path(__file__).parents[2] / "packages" / "browser"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    service = small_service(tmp_path_factory.mktemp("foreign"), ranking="local")
    with serving(service, foreign=ForeignPages([f"{OURS}/"]), admin_token="t" * 32) as url:
        yield url


def allowed(answer):
    return answer.headers.get("access-control-allow-origin")


def test_only_named_origins_may_ask_and_only_what_devices_ask(base):
    for path in ("/v1/model", "/v1/catalogue", "/v1/notice"):
        assert allowed(httpx.get(base + path, headers={"Origin": OURS})) == OURS
        assert allowed(httpx.get(base + path, headers={"Origin": OTHERS})) is None
        assert allowed(httpx.get(base + path)) is None
        assert "Origin" in httpx.get(base + path).headers.get_list(
            "vary"
        )  # no cache gives one origin's answer to another
    for path in ("/v1/admin/articles", "/metrics", "/", "/docs", "/web/page.js"):
        assert allowed(httpx.get(base + path, headers={"Origin": OURS})) is None
    asked = {"Origin": OURS, "Access-Control-Request-Method": "POST"}
    first = httpx.options(f"{base}/v1/reports", headers=asked)
    assert (first.status_code, allowed(first)) == (204, OURS)
    assert first.headers["access-control-allow-headers"] == "Content-Type"
    assert allowed(httpx.options(f"{base}/v1/admin/articles", headers=asked)) is None
    assert allowed(httpx.options(f"{base}/v1/reports", headers={**asked, "Origin": OTHERS})) is None


def test_without_permission_no_page_may_ask(tmp_path):
    assert ForeignPages().headers({"path": "/v1/model", "headers": [(b"origin", OURS.encode())]}) == []
    for wrong in ("*", "null", "www.news.example", "https://news.example/page", "ftp://news.example", "https://a:b:c"):
        with pytest.raises(DiscreetError, match="takes an origin"):
            checked_origin(wrong)
    assert checked_origin("HTTPS://News.Example:443") == "https://news.example"
    assert checked_origin("http://127.0.0.1:8000/") == "http://127.0.0.1:8000"


def test_everybody_may_load_the_script_and_embed_names_its_hash(base, tmp_path, capsys):
    answer = httpx.get(f"{base}/discreet.js", headers={"Origin": OTHERS})
    assert (allowed(answer), answer.headers["content-encoding"]) == ("*", "gzip")
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.content == bundle() == httpx.get(f"{base}/discreet.js", headers={"Accept-Encoding": ""}).content
    digest = "sha384-" + base64.b64encode(hashlib.sha384(answer.content).digest()).decode()
    assert run(["embed", base, "--write", str(tmp_path / "own.js")]) == 0
    script, element = capsys.readouterr().out.splitlines()
    assert script == f'<script type="module" src="own.js" integrity="{digest}" crossorigin></script>'
    assert element == f'<discreet-front-page server="{base}"></discreet-front-page>'  # no sums, so no helper
    assert (tmp_path / "own.js").read_bytes() == answer.content
    assert run(["embed", base, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["same_version"] is True
    assert run(["embed", f"{base}/nowhere"]) == 2
    assert "404" in capsys.readouterr().err


def test_a_bundle_is_the_same_every_time_and_has_every_module_once():
    again = Bundle()
    again.add("element/main.js")
    assert len(set(again.names.values())) == len(again.names) > 30
    assert "import " not in "".join(line for line in again.text().splitlines() if line.startswith("import"))
    assert integrity_of(b"").startswith("sha384-OLBgp1GsljhM2TJ")


def test_the_package_has_the_script_and_types_that_name_what_it_has(tmp_path):
    node = tool("node")
    script = tmp_path / "discreet.mjs"
    script.write_bytes(bundle())
    code = f"""
      const found = await import({json.dumps(script.as_uri())});
      const device = await found.openDevice({{ database: null, fetch: async () => {{ throw new Error("away") }} }});
      const names = Object.getOwnPropertyNames(Object.getPrototypeOf(device)).filter((name) => name !== "constructor");
      const {{ problem }} = await device.refresh();
      console.log(JSON.stringify({{ exported: Object.keys(found), names, problem }}));"""
    command = [node, "--input-type=module", "--eval", code]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    types = (PACKAGE / "discreet.d.ts").read_text(encoding="utf-8")
    assert all(f" {name}" in types for name in found["exported"])
    inner = {"load", "budget", "joinSums"}  # not promised to other pages
    assert [name for name in found["names"] if f"  {name}(" not in types and name not in inner] == []
    assert "away" in found["problem"]
    listed = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    assert listed["version"] == __version__


@pytest.mark.long
def test_the_types_are_typescript(tmp_path):
    tsc = tool("tsc", "tsc is not installed; npm install --global typescript")
    use = 'import { openDevice } from "./discreet";\nconst ids: Promise<string[]> = openDevice({ url: "" }).then((d) =>'
    (tmp_path / "discreet.d.ts").write_text((PACKAGE / "discreet.d.ts").read_text(encoding="utf-8"))
    (tmp_path / "use.ts").write_text(f"{use} d.here(5).articles.map((a) => a.id));\nexport {{ ids }};\n")
    flags = ["--noEmit", "--strict", "--target", "es2022", "--moduleResolution", "bundler", "--module", "es2022"]
    subprocess.run([tsc, *flags, "use.ts"], cwd=tmp_path, check=True)
