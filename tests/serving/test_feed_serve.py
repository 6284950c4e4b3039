"""A publisher with a feed and no clicks: `discreet serve --feed` as a process, over a site that changes."""

import json
import subprocess

import httpx
import pytest
from feed_server import DISCREET, PATIENCE, catalogue, discreet_serve, until
from feed_site import feed_site, rss

from discreet.cli import run
from discreet.edge.reader.reader_client import ReaderClient
from discreet.serving.feeds.fetch import shown_feed
from discreet.serving.public_model import PublicModel

TITLES = ["Harbour opens a new pier", "Striker scores twice in the derby", "Council debates the harbour budget"]
SPORTS = [f"{who} scores in the derby" for who in ("Keeper", "Captain", "Striker", "Rookie")]


def titles_of(base):
    return set(catalogue(base).values())


def discreet(folder, *arguments):
    done = subprocess.run([*DISCREET, *arguments], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def site():
    with feed_site() as running:
        running.body = rss(*TITLES, more="<item><guid>nothing</guid></item>")
        yield running


@pytest.mark.long
@pytest.mark.parametrize("workers", ["1", "2"])
def test_keys_in_a_feeds_address_show_nowhere(site, tmp_path, workers):
    (tmp_path / "token").write_text("t" * 32)
    site.body = site.body.replace(
        b"</channel>", b"<item><title>Ferry</title><link>/ferry?page=2</link></item></channel>"
    )
    keyed = site.url.replace("feed.xml", "s3cret-path/feed.xml?key=s3cret-query")
    code, out, errors = discreet(tmp_path, "serve", "--check", "--feed", keyed)
    assert code == 0, errors
    said = out + errors
    flags = ["--feed", keyed, "--every", "1s", "--text", "hashed", "--admin-token-file", "token", "--workers", workers]
    with discreet_serve(tmp_path, *flags) as base, httpx.Client(base_url=base, timeout=PATIENCE) as client:
        admin = {"Authorization": "Bearer " + "t" * 32}
        until(lambda: "Ferry" in titles_of(base), "article")
        site.body = b"<html>down for maintenance</html>"
        until(lambda: "a feed could not be read" in (tmp_path / "log").read_text(), "failure")
        pages = [f"/v1/catalogue/{page['name']}" for page in client.get("/v1/catalogue").json()["pages"]]
        for path in ("/v1/model", "/v1/catalogue", "/v1/notice", "/readyz", "/openapi.json", "/", "/metrics", *pages):
            said += client.get(path).text
        assert "Ferry" in said
        shown = client.get("/metrics", headers=admin).text
        assert f'feed="{shown_feed(keyed)}"' in shown
        said += shown + client.get("/v1/admin/status", headers=admin).text
    said += (tmp_path / "log").read_text()
    assert "s3cret" not in said
    assert "127.0.0.1 (" in said
    assert all(json.loads(line) for line in (tmp_path / "log").read_text().splitlines())


@pytest.mark.parametrize(
    "address", ["http://u:s3cret@news.example/", "ftp://news.example/s3cret", "http://[s3cret", "http:///s3cret"]
)
def test_a_feeds_address_that_is_refused_is_not_repeated(address, capsys):
    assert run(["serve", "--feed", address, "--check"]) == 2
    assert "s3cret" not in capsys.readouterr().err


@pytest.mark.long
def test_what_a_server_says_at_its_start_has_no_key(site, tmp_path):
    keyed = site.url + "?s3cret"
    command = [*DISCREET, "serve", "--feed", keyed, "--text", "hashed", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        line = server.stdout.readline()
        server.terminate()
    assert line.startswith(f"Serving {shown_feed(keyed)} at ")


def test_two_feeds_of_one_host_have_two_names():
    one, other = (shown_feed(f"https://news.example/feed?key={key}") for key in "ab")
    assert one != other
    assert one.startswith("news.example (")


@pytest.mark.long
def test_from_a_feed_to_a_front_page_without_a_click(site, tmp_path):
    (tmp_path / "token").write_text("t" * 32)
    flags = ["--feed", site.url, "--every", "1s", "--text", "hashed", "--admin-token-file", "token"]
    with discreet_serve(tmp_path, *flags) as base:
        assert titles_of(base) == set(TITLES)
        model = httpx.get(f"{base}/v1/model").json()
        assert (model["ranking"], model["reports"], model["kind"]) == ("local", False, "public")
        assert model["epsilon"] == {"sketch": 0.0, "label": 0.0, "lifetime": 0.0}
        assert [one["name"] for one in model["rankings"]] == ["local"]
        assert '"entry": "entry 4"' in (tmp_path / "log").read_text()

        asked = len(site.asked)  # the version that is known is not sent again
        until(lambda: len(site.asked) > asked, "second request")
        assert {status for _, _, status in site.asked[1:]} == {304}

        site.body = rss(*TITLES, "Ferry returns to the harbour")  # a new article
        until(lambda: "Ferry returns to the harbour" in titles_of(base), "new article")
        assert len(titles_of(base)) == 4

        site.body, asked = b"<html>down for maintenance</html>", len(site.asked)  # a broken feed keeps the old
        until(lambda: "is no feed that is known" in (tmp_path / "log").read_text(), "refusal in the log")
        assert len(titles_of(base)) == 4
        assert httpx.get(f"{base}/metrics").status_code == 401
        admin = {"Authorization": "Bearer " + "t" * 32}
        failures = f'discreet_feed_failures{{feed="{shown_feed(site.url)}"}} 0.0'
        until(lambda: failures not in httpx.get(f"{base}/metrics", headers=admin).text, "failure in the metrics")
        site.body = rss(*TITLES, *SPORTS)
        until(lambda: titles_of(base) >= set(SPORTS), "news after the repair")

        client = ReaderClient(base, tmp_path / "reader")  # a device ranks by itself, and sends nothing
        client.refresh()
        assert client.status.problem is None
        before = {ranked.article.title: ranked.article for ranked in client.front(20).articles}
        assert len(before) == 7
        client.clicked(before[TITLES[0]].id, None)  # about the harbour
        client.send_due()
        after = client.front(20).articles
        assert max(after, key=lambda ranked: ranked.personal).article.title == TITLES[2]
        assert client.status.problem is None

        administration = ["--server", base, "--admin-token-file", "token"]  # scripts, through the server
        (tmp_path / "more.csv").write_text("id,title\nx1,Choir sings in the square\n,\n")
        code, out, error = discreet(tmp_path, "articles", "add", "more.csv", *administration)
        assert (code, out) == (0, "1 articles were added.\n"), error
        assert error == "line 3: has neither title nor text; left out\n"
        until(lambda: "Choir sings in the square" in titles_of(base), "added article")
        assert discreet(tmp_path, "articles", "expire", "x1", *administration)[:2] == (0, "x1: expired\n")
        until(lambda: "Choir sings in the square" not in titles_of(base), "expired article")
        code, _, error = discreet(tmp_path, "articles", "expire", "nobody", *administration)
        assert (code, error.count("\n")) == (2, 1)
        assert "no article has the id 'nobody'" in error
        (tmp_path / "other").write_text("o" * 32)
        wrong = (*administration[:-1], "other")
        assert "this is not the administrator's token" in discreet(tmp_path, "articles", "list", *wrong)[2]

        _, out, _ = discreet(tmp_path, "articles", "list", "--json")  # and in its database
        states = {one["title"]: one["state"] for one in json.loads(out)["articles"]}
        assert states["Choir sings in the square"] == "expired"
        assert states[TITLES[0]] == "listed"
        assert discreet(tmp_path, "articles", "expire", "https://news.example/1")[0] == 0
        until(lambda: TITLES[0] not in titles_of(base), "expired article")
    version = model["model"]
    site.status = 500  # a restart needs no feed, and keeps the model
    with discreet_serve(tmp_path, *flags) as base:
        assert TITLES[1] in titles_of(base)
        assert TITLES[0] not in titles_of(base)
        assert httpx.get(f"{base}/v1/model").json()["model"] == version


def test_a_file_instead_of_flags(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "feed.csv").write_text("id,title\n1,One\n2,\n")
    config = tmp_path / "settings" / "my.toml"
    config.write_text('feed = "feed.csv"\nport = 0\nevery = "2m"\ntext = "hashed"\nreports = false\nrate = 10\n')
    assert run(["serve", "--config", str(config), "--check", "--json"]) == 0
    (feed,) = json.loads(capsys.readouterr().out)["feeds"]
    assert feed == {
        "feed": str(tmp_path / "settings" / "feed.csv"),
        "kind": "csv",
        "articles": 1,
        "problems": ["line 3: has neither title nor text; left out"],
    }
    assert run(["serve", "--config", str(config), "--check", "--feed", "none.csv"]) == 2, "a flag wins"
    assert "none.csv" in capsys.readouterr().err
    for flags, why in (
        (["--database", "none/s.sqlite"], "its folder does not exist"),
        (["--helper", "embedded", "--host", "0.0.0.0"], "a trial on one machine"),
    ):
        assert run(["serve", "--config", str(config), "--check", *flags]) == 2
        assert why in capsys.readouterr().err
    config.rename("discreet.toml")
    (tmp_path / "settings" / "feed.csv").rename("feed.csv")
    assert run(["serve", "--check"]) == 0, "discreet.toml is found here"
    assert "The settings of discreet.toml are good." in capsys.readouterr().out
    assert not list(tmp_path.glob("*.sqlite")), "checking writes nothing"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("feeds = []", "'feeds' is no setting; did you mean 'feed'?"),
        ("admin-token-file = 'x'", "'admin-token-file' is no setting; did you mean 'admin_token_file'?"),
        ("zzzzz = 1", "'zzzzz' is no setting; there are run, feed, every,"),
        ("check = true", "'check' is no setting"),
        ("[experimnt]", "'experimnt' is no setting; did you mean 'experiment'?"),
        ("port = 70000", "port: 70000 is not in the range"),
        ("port = true", "port is not true or false"),
        ("reports = 1", "reports is true or false"),
        ("port = [1]", "port takes one value"),
        ("every = '10'", "every: '10' is no duration"),
        ("ranking = 'best'", "ranking: 'best' is not one of"),
        ("port = ", "cannot be read as TOML"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(tmp_path, capsys, text, why):
    config = tmp_path / "discreet.toml"
    config.write_text(text)
    assert run(["serve", "--config", str(config), "--check"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"discreet: {config}: ")
    assert why in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "the catalogue is empty; fill it from a feed with --feed"),
        (["--feed", "none.xml"], "none.xml: cannot be fetched (No such file or directory)"),
        (["--feed", "ftp://news.example/"], "a feed is a file, or an http or https address"),
        (["--feed", "x.csv", "--ranking", "server"], "--ranking server needs a RUN"),
        (["--config", "none.toml"], "none.toml: there is no such file"),
    ],
)
def test_what_cannot_be_served_is_one_clear_line(tmp_path, monkeypatch, capsys, arguments, why):
    monkeypatch.chdir(tmp_path)
    assert run(["serve", "--port", "0", *arguments]) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert why in told


@pytest.mark.long
def test_articles_added_to_a_new_database_can_be_served(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "1", "title": "One"}\n{"id": "2", "title": "Two"}\n')
    assert discreet(tmp_path, "articles", "list")[0] == 2, "there is no database yet"
    assert discreet(tmp_path, "articles", "add", "a.jsonl")[0] == 0
    with discreet_serve(tmp_path, "--text", "hashed") as base:
        assert titles_of(base) == {"One", "Two"}


def test_titles_that_come_later_are_encoded_as_the_first_were():
    model = PublicModel(tuple(TITLES + SPORTS), "hashed")
    together, alone = model.title_vectors([*TITLES, "", *SPORTS]), model.title_vectors(TITLES[:1])
    assert abs(float(together[0] @ alone[0])) > 0.95
    assert not together[3].any()
    assert model.version == PublicModel(model.reference, "hashed").version
    assert model.version != PublicModel(tuple(TITLES), "hashed").version
    assert len(PublicModel(("",), "hashed").space) >= 2
