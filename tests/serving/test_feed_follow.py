"""A catalogue that follows its feeds: what is new comes, what has left expires, what fails changes nothing."""

import json
import subprocess

import pytest
from feed_site import feed_site, rss

from discreet.errors import DiscreetError
from discreet.serving.api_messages import NewArticle
from discreet.serving.database_tables import open_engine
from discreet.serving.feeds.apart import read_apart
from discreet.serving.feeds.feed_store import waiting
from discreet.serving.feeds.fetch import shown_feed
from discreet.serving.feeds.follow import MAX_BACKOFF, Feeds, FeedSettings
from discreet.serving.feeds.formats import read_feed
from discreet.serving.logs import JsonLines
from discreet.serving.server_store import DELETED, EXPIRED, Encoded, ServerStore

EVERY, KEEP, HOUR = 600, 7200, 3600


class World:
    """A site, a store, and a clock that tests set."""

    def __init__(self, database, site, addresses=None):
        self.site, self.now = site, 1_794_000_000
        self.store = ServerStore(open_engine(database))
        self.feeds = self.follow(addresses or (site.url,))

    def follow(self, addresses, every=EVERY):
        return Feeds(self.store, FeedSettings(tuple(addresses), every, KEEP), clock=lambda: self.now, reader=read_feed)

    def poll(self, body=None, later=EVERY, **fields):
        """Let time pass, and read what is due; the ids that are listed afterwards."""
        if body is not None:
            self.site.body = body
        for name, value in fields.items():
            setattr(self.site, name, value)
        self.now += later
        self.feeds.step()
        return self.listed()

    def listed(self):
        """Encode what waits; the numbers of the articles that are listed."""
        self.new = [article.id.rpartition("/")[2] for _, article in self.store.waiting(100)]
        encoded = [(n, article, Encoded(0, 0.0, b"", b"")) for n, article in self.store.waiting(100)]
        if encoded:
            self.store.publish("m", encoded)
        return [row.id.rpartition("/")[2] for row in self.store.listing("listed", "", 100)]

    def take_down(self, number, state=EXPIRED):
        assert self.store.take_down(f"https://news.example/{number}", state)


@pytest.fixture
def world(database):
    with feed_site() as site:
        world = World(database, site)
        yield world
        world.store.close()


def test_what_is_new_or_has_changed_comes_and_nothing_else(world):
    assert world.poll(rss("A", "B")) == ["1", "2"]
    assert world.poll(rss("A", "B", "C")) == ["1", "2", "3"]
    assert world.new == ["3"]
    world.poll(rss("A", "B, corrected", "C"))
    assert world.new == ["2"]
    world.poll()
    assert world.new == []
    assert [status for _, _, status in world.site.asked] == [200, 200, 200, 304]


def test_without_validators_unchanged_bytes_are_known(world):
    world.poll(rss("A"), validates=False)
    world.poll()
    assert world.new == []


def test_it_is_not_asked_before_its_time(world):
    world.poll(rss("A"))
    world.poll(later=EVERY - 1)
    assert len(world.site.asked) == 1
    world.poll(later=1)
    assert len(world.site.asked) == 2
    world.follow([world.site.url]).step()  # another server, or a restart
    assert len(world.site.asked) == 2
    world.follow([world.site.url], every=60).step()  # a shorter interval counts at once
    assert len(world.site.asked) == 3


def test_an_article_that_left_stays_a_while_then_expires_and_comes_back_with_the_feed(world):
    world.poll(rss("A", "B"))
    assert world.poll(rss("B", first=2)) == ["1", "2"]
    assert world.poll(later=KEEP - 1) == ["1", "2"]
    assert world.poll() == ["2"]
    assert world.poll(rss("A", "B")) == ["1", "2"]
    assert world.poll(later=KEEP) == ["1", "2"]


@pytest.mark.parametrize(
    "bad",
    [
        {"status": 500},
        {"status": 404},
        {"body": b"<html>maintenance</html>"},
        {"body": rss()},
        {"body": b""},
        {"body": rss("B", first=2)[:-20]},
    ],
    ids=["500", "404", "html", "no entries", "empty", "cut off"],
)
def test_a_broken_feed_keeps_the_old_however_long(world, bad):
    world.poll(rss("A", "B"))
    assert world.poll(later=EVERY, **bad) == ["1", "2"]
    for _ in range(3):
        assert world.poll(later=100 * HOUR) == ["1", "2"]
    assert world.poll(rss("A", "C", first=2), later=100 * HOUR, status=200) == ["1", "2", "3"]
    assert world.poll(later=KEEP) == ["2", "3"]


BAD = {
    "html": {"body": b"<html>maintenance</html>"},
    "empty": {"body": b""},
    "no entries": {"body": rss()},
    "other JSON": {"body": b"{}"},
    "entities": {"body": b'<!DOCTYPE a [<!ENTITY b "c">]><rss version="2.0"><channel>&b;</channel></rss>'},
    "index": {"body": b"<sitemapindex><sitemap><loc>https://news.example/s3cret</loc></sitemap></sitemapindex>"},
    "badly packed": {"body": b"\x1f\x8b no"},
    "500": {"status": 500},
    "other scheme": {"status": 302, "headers": {"Location": "ftp://news.example/s3cret"}},
    "bad redirect": {"status": 302, "headers": {"Location": "http://[s3cret"}},
    "redirect with spaces": {"status": 302, "headers": {"Location": "/s3cret\x01?s3cret"}},
    "redirect in a circle": {"status": 302, "headers": {"Location": "?s3cret"}},
}


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("bad", BAD)
def test_whatever_is_wrong_with_a_feed_its_address_is_not_logged(tmp_path, bad, apart, caplog):
    with feed_site() as site:
        world = World(tmp_path / "s.sqlite", site, (site.url.replace("feed", "s3cret/feed?s3cret&"),))
        if apart:
            world.feeds._reader = read_apart
        world.poll(later=0, **BAD[bad])
        world.store.close()
    lines = [JsonLines().format(record) for record in caplog.records]
    assert any('"feed": "127.0.0.1 (' in line for line in lines)
    assert not [line for line in lines if "s3cret" in line]


def test_the_address_of_a_feed_is_no_argument_of_a_process(monkeypatch):
    commands = []
    ran = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda command, **more: (commands.append(command), ran(command, **more))[1])
    feed = read_apart(rss("A"), "https://news.example/s3cret?s3cret", 0)
    assert len(feed.articles) == 1
    assert "s3cret" not in str(commands)


@pytest.mark.parametrize("link", ["#top", "?page=2", "/2", "//news.example/2"])
@pytest.mark.parametrize("kind", ["rss", "json"])
def test_relative_links_do_not_carry_the_feeds_user_or_query(link, kind):
    entry = {"id": "1", "title": "A", "url": link, "image": link}
    body = json.dumps({"version": "https://jsonfeed.org/version/1", "items": [entry]}).encode()
    if kind == "rss":
        body = f"<rss version='2.0'><channel><item><title>A</title><link>{link}</link></item></channel></rss>".encode()
    (article,) = read_feed(body, "https://s3cret:s3cret@news.example/feed?s3cret", 0).articles
    assert article.url.startswith("https://news.example/")
    assert "s3cret" not in article.model_dump_json()


def test_failures_back_off_and_a_server_is_obeyed(world):
    world.poll(rss("A"), status=500)
    waits = []
    for _ in range(8):
        (state,) = world.feeds.states().values()
        waits.append(state.next_at - world.now)
        world.poll(later=waits[-1])
    assert waits == [1200, 2400, 4800, 9600, 19200, MAX_BACKOFF, MAX_BACKOFF, MAX_BACKOFF]
    world.poll(later=MAX_BACKOFF, headers={"Retry-After": "50000"})
    (state,) = world.feeds.states().values()
    assert state.next_at == world.now + 50_000
    asked = len(world.site.asked)
    world.poll(later=49_999, status=200, headers={})
    assert len(world.site.asked) == asked
    assert world.poll(later=1) == ["1"]
    (state,) = world.feeds.states().values()
    assert (state.failures, state.read_at) == (0, world.now)


@pytest.mark.parametrize("state", [EXPIRED, DELETED])
def test_what_was_taken_down_by_hand_stays_down(world, state):
    world.poll(rss("A", "B"))
    world.take_down(1, state)
    assert world.poll(rss("A, corrected", "B", "C")) == ["2", "3"]
    world.poll(rss("C", first=3))
    assert world.poll(rss("A", "B", "C")) == ["2", "3"]


def test_an_article_of_two_feeds_stays_until_it_has_left_both(world, tmp_path):
    other = tmp_path / "other.xml"
    other.write_bytes(rss("A"))
    world.feeds = world.follow([world.site.url, str(other)])
    assert world.poll(rss("A", "B")) == ["1", "2"]
    world.poll(rss("B", first=2))
    assert world.poll(later=KEEP) == ["1", "2"]
    other.write_bytes(rss("D", first=4))
    world.poll()
    assert world.poll(later=KEEP) == ["2", "4"]
    world.feeds = world.follow([world.site.url])  # the other is not followed any more
    assert world.poll(later=KEEP) == ["2"]


def test_a_catalogue_is_filled_at_once_or_refused_in_one_line(world, tmp_path):
    world.site.status = 500
    with pytest.raises(DiscreetError, match="answered 500"):
        world.feeds.fill()
    good = tmp_path / "good.csv"
    good.write_text("id,title\nhttps://news.example/9,Nine\n")
    feeds = world.follow([world.site.url, str(good)])
    feeds.fill()
    assert world.listed() == ["9"]


def test_every_problem_is_told_with_its_entry(world, caplog):
    with caplog.at_level("WARNING", "discreet.serving"):
        world.poll(rss("A", more="<item><guid>x</guid></item>" * 30))
    told = [record.fields for record in caplog.records]
    assert told[0] == {
        "feed": shown_feed(world.site.url),
        "entry": "entry 2",
        "why": "has neither title nor text",
        "left_out": True,
    }
    assert told[-1] == {"feed": shown_feed(world.site.url), "more_problems": 10}


def test_a_list_of_articles_comes_in_pages_with_states(world):
    world.poll(rss("A", "B", "C"))
    world.take_down(2)
    new = NewArticle(id="z", title="Z")
    world.store.put_articles([waiting(new, new.id, world.now)])
    rows = world.store.listing(None, "", 2)
    rows += world.store.listing(None, rows[-1].id, 10)
    assert [row.state for row in rows] == ["listed", "expired", "listed", "waiting"]
    assert [row.title for row in world.store.listing("waiting", "", 10)] == ["Z"]
