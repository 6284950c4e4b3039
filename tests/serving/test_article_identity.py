"""One page is one article, however its address is written; and no feed takes another's articles."""

import json

import pytest
from addresses import OTHERS, WRITTEN
from sqlalchemy import select

from discreet.errors import DiscreetError
from discreet.serving.administration import OfDatabase
from discreet.serving.api_messages import NewArticle
from discreet.serving.article_names import resolve, take_down
from discreet.serving.canonical_address import canonical, plain_id
from discreet.serving.database_tables import exposure, open_engine
from discreet.serving.feeds.feed_store import FeedStore, feed_name
from discreet.serving.feeds.formats import read_feed
from discreet.serving.learning.logged_exposure import LoggedSlate, add_slates
from discreet.serving.server_store import DELETED, EXPIRED, Encoded, ServerStore

KEEP = 7200
HONEST, RIVAL, LIAR = "https://news.example/rss", "https://rival.example/rss", "https://liar.example/rss"
ONE, TWO = "https://news.example/1", "https://news.example/2"


class Catalogue:
    """A catalogue that follows feeds, without a network, with a clock that goes on by a minute at each reading."""

    def __init__(self, database, *addresses):
        self.store, self.now = ServerStore(open_engine(database)), 1_794_000_000
        self.follow(*addresses)

    def follow(self, *addresses):
        self.kept = FeedStore(self.store)
        self.kept.begin([feed_name(address) for address in addresses], self.now)

    def read(self, address, *entries, whole=True, later=60):
        """A feed with (guid, link, title); what is listed then, as link to title."""
        self.now += later
        found = [NewArticle(id=guid, url=link, title=title) for guid, link, title in entries]
        self.kept.take(address, found, self.now, whole=whole)
        self.kept.expire(self.now - KEEP)
        return self.listed()

    def add(self, *entries):
        self.kept.put_by_hand([NewArticle(id=name, url=link, title=title) for name, link, title in entries], self.now)
        return self.listed()

    def listed(self):
        encoded = [(number, one, Encoded(0, 0.0, b"", b"")) for number, one in self.store.waiting(100)]
        self.renewed = {one.id for _, one, _ in encoded}
        if encoded:
            self.store.publish("m", encoded)
        rows = self.store.listing("listed", "", 100)
        assert len({row.url for row in rows if row.url}) == len([row for row in rows if row.url]), "an address twice"
        return {row.url or row.id: row.title for row in rows}

    def ids(self):
        return {row.id for row in self.store.listing("listed", "", 100)}


@pytest.fixture
def catalogue(database):
    catalogue = Catalogue(database, LIAR, HONEST, RIVAL)
    yield catalogue
    catalogue.store.close()


@pytest.mark.parametrize("written", WRITTEN)
def test_an_address_has_one_form(written):
    assert canonical(written) == "https://news.example/a/b?id=7&x=%C3%BC"
    assert canonical(canonical(written)) == canonical(written)


@pytest.mark.parametrize("other", OTHERS)
def test_other_pages_have_other_forms(other):
    assert canonical(other) != canonical("https://news.example/a/b?id=7")


def test_hosts_in_other_scripts_have_one_form():
    for host in ("bücher.example", "BÜCHER.example", "b%C3%BCcher.example"):
        assert canonical(f"https://{host}/ä") == canonical("https://xn--bcher-kva.example/%c3%a4")
    assert canonical("https://हिन्दी.example/").startswith("https://xn--")


@pytest.mark.parametrize(
    "odd",
    ["https://\udcff/", "https://", "https://[::1", f"https://{'a' * 70}.example/", "http://a:b:c/", "https://?", "https://./",
     "https://reader@news.example/", "https://evil.example\\@news.example/", "https://news.example%2F.evil.example/"],
)  # fmt: skip
def test_what_is_no_address_of_a_page_alone_is_still_a_name(odd):
    with pytest.raises(ValueError, match=r"."):
        canonical(odd)
    assert plain_id(odd).startswith("sha256:")


def test_a_guid_counts_within_its_feed_only(catalogue):
    catalogue.read(HONEST, ("1", ONE, "Harbour"))
    assert catalogue.read(LIAR, ("1", "https://liar.example/1", "Casino")) == {
        ONE: "Harbour",
        "https://liar.example/1": "Casino",
    }
    catalogue.read(HONEST, ("7", "", "Without a link"), ("1", ONE, "Harbour"))
    shown = catalogue.read(LIAR, ("7", "", "Another without a link"))
    assert {"Without a link", "Another without a link"} <= set(shown.values())


def test_an_address_in_two_feeds_is_one_article(catalogue):
    many = [(str(n), f"https://news.example/{n}", f"Title {n}") for n in range(50)]
    catalogue.read(HONEST, *many)
    shown = catalogue.read(RIVAL, *((f"r{guid}", f"{link}?utm_source=rival#top", title) for guid, link, title in many))
    assert shown == {link: title for _, link, title in many}


@pytest.mark.parametrize("liar_first", [True, False])
@pytest.mark.parametrize("link", [ONE, "http://news.example/1", f"{ONE}?utm_source=x", f"{ONE}#login"])
def test_title_and_link_come_from_the_feed_at_the_links_host(catalogue, liar_first, link):
    steps = [(LIAR, ("x", link, "Win a car")), (HONEST, ("1", ONE, "Harbour")), (RIVAL, ("9", link, "Lies"))]
    for feed, entry in steps if liar_first else steps[1:] + steps[:1]:
        shown = catalogue.read(feed, entry)
    assert shown == {ONE: "Harbour"}
    for title in ("Win a bike", "Win a boat"):
        assert catalogue.read(LIAR, ("x", link, title)) == {ONE: "Harbour"}
        assert not catalogue.renewed
    assert catalogue.read(HONEST, ("1", ONE, "Harbour, corrected")) == {ONE: "Harbour, corrected"}


def test_without_a_feed_of_the_host_the_first_one_decides(catalogue):
    catalogue.follow(LIAR, RIVAL)
    catalogue.read(RIVAL, ("1", ONE, "Harbour"))
    assert catalogue.read(LIAR, ("1", ONE, "Win a car")) == {ONE: "Harbour"}
    assert catalogue.read(RIVAL, ("1", ONE, "Harbour, corrected")) == {ONE: "Harbour, corrected"}


def test_of_two_feeds_of_the_host_the_first_that_is_named_decides(catalogue):
    sports, all_news = "https://news.example/sports", "https://news.example/all"
    catalogue.follow(all_news, sports)
    catalogue.read(sports, ("1", ONE, "Short title"))
    assert catalogue.read(all_news, ("1", ONE, "Long title")) == {ONE: "Long title"}
    assert catalogue.read(sports, ("1", ONE, "Other title")) == {ONE: "Long title"}


def test_a_server_at_another_port_is_not_the_same_site(catalogue):
    link, near, same = "http://127.0.0.1:81/1", "http://127.0.0.1:82/rss", "http://127.0.0.1:81/rss"
    catalogue.follow(LIAR, near, same)
    assert catalogue.read(LIAR, ("1", link, "Win a car")) == {link: "Win a car"}
    assert catalogue.read(near, ("1", link, "Near")) == {link: "Near"}
    assert catalogue.read(same, ("1", link, "Same")) == {link: "Same"}
    assert catalogue.read(near, ("1", link, "Nearer")) == {link: "Same"}


def test_it_decides_also_after_the_article_has_left_it(catalogue):
    catalogue.read(HONEST, ("1", ONE, "Harbour"))
    catalogue.read(LIAR, ("x", ONE, "Win a car"))
    catalogue.read(HONEST, ("2", TWO, "Market"))
    assert catalogue.read(LIAR, ("x", ONE, "Win a bike"), later=2 * KEEP) == {ONE: "Harbour", TWO: "Market"}
    catalogue.read(LIAR, ("y", "https://liar.example/y", "Casino"))
    assert ONE not in catalogue.read(HONEST, ("2", TWO, "Market"), later=2 * KEEP)
    assert catalogue.read(LIAR, ("x", ONE, "Win a boat"))[ONE] == "Harbour", "it comes back as it was"


def test_no_feed_takes_down_what_another_has(catalogue):
    catalogue.read(HONEST, ("1", ONE, "Harbour"))
    catalogue.read(LIAR, ("x", ONE, "Harbour"))
    catalogue.read(LIAR, ("x", "https://liar.example/x", "Casino"))  # the same guid at another address
    assert catalogue.read(LIAR, ("z", "https://liar.example/z", "Casino"), later=2 * KEEP)[ONE] == "Harbour"


def test_two_liars_take_nothing_from_an_honest_feed(catalogue):
    """They list its articles before it, leave them, and reuse guids, in turns."""
    honest = [("1", ONE, "Harbour"), ("2", TWO, "Market")]
    links = {link: title for _, link, title in honest}
    for turn in range(4):
        catalogue.read(LIAR, ("1", ONE, f"Lie {turn}"), ("2", f"{TWO}?utm_id={turn}", "Lie"))
        catalogue.read(RIVAL, ("1", TWO, f"Lie {turn}"), ("2", f"http://news.example/1#{turn}", "Lie"))
        shown = catalogue.read(HONEST, *honest, later=KEEP // 2)
        assert shown == links
        catalogue.read(LIAR, ("1", TWO, "Lie"), ("2", "https://liar.example/", "Casino"))
        assert {link: catalogue.read(RIVAL, ("9", ONE, "Lie"), ("1", "", "Lie"))[link] for link in links} == links
    assert {plain_id(ONE), plain_id(TWO)} <= catalogue.ids()


def test_a_guid_that_changes_is_the_same_article(catalogue):
    catalogue.read(HONEST, ("1", ONE, "Harbour"))
    assert catalogue.read(HONEST, ("tag:1", ONE, "Harbour")) == {ONE: "Harbour"}
    assert not catalogue.renewed


def test_an_address_that_changes_under_a_guid_was_corrected(catalogue):
    catalogue.read(HONEST, ("1", f"{ONE}-harbor", "Harbour"), ("2", TWO, "Market"))
    assert catalogue.read(HONEST, ("1", ONE, "Harbour"), ("2", TWO, "Market")) == {ONE: "Harbour", TWO: "Market"}
    catalogue.read(HONEST, ("1", f"{ONE}0", "Ten"), ("2", TWO, "Market"), whole=False)
    assert ONE in catalogue.listed(), "a feed that was not read to its end corrects nothing"


def test_one_guid_for_all_entries_says_nothing(catalogue):
    catalogue.read(HONEST, ("0", ONE, "Harbour"), ("0", TWO, "Market"))
    assert set(catalogue.read(HONEST, ("0", TWO, "Market"), ("0", f"{ONE}0", "Ten"))) == {ONE, TWO, f"{ONE}0"}


def test_a_feed_that_is_followed_no_more_decides_no_more(catalogue):
    catalogue.follow(LIAR, RIVAL)
    catalogue.read(LIAR, ("1", ONE, "Win a car"))
    catalogue.read(RIVAL, ("1", ONE, "Harbour"))
    catalogue.kept.succeeded(feed_name(RIVAL), catalogue.kept.state(feed_name(RIVAL)).version, "digest", catalogue.now)
    catalogue.follow(RIVAL)
    assert catalogue.kept.state(feed_name(RIVAL)).digest == "", "it is read anew"
    assert catalogue.read(RIVAL, ("1", ONE, "Harbour")) == {ONE: "Harbour"}
    catalogue.follow(RIVAL, HONEST)
    assert catalogue.read(HONEST, ("1", ONE, "Pier")) == {ONE: "Pier"}
    catalogue.follow(RIVAL)
    assert catalogue.read(RIVAL, ("1", ONE, "Harbour")) == {ONE: "Harbour"}


@pytest.mark.parametrize("state", [EXPIRED, DELETED])
@pytest.mark.parametrize("name", [ONE, "http://NEWS.example/1?utm_source=mail#top"])
def test_what_was_taken_down_by_its_address_stays_down(catalogue, state, name):
    catalogue.read(HONEST, ("1", ONE, "Harbour"), ("2", TWO, "Market"))
    assert take_down(catalogue.store, name, state) == ONE
    for feed in (HONEST, LIAR):
        assert catalogue.read(feed, ("1", f"{ONE}?fbclid=1", "Again"), ("2", TWO, "Market")) == {TWO: "Market"}
    catalogue.read(LIAR, ("2", TWO, "Market"))
    for _ in range(3):
        catalogue.read(HONEST, ("2", TWO, "Market"), later=2 * KEEP)
    assert catalogue.read(HONEST, ("1", ONE, "Harbour"), ("2", TWO, "Market"), later=2 * KEEP) == {TWO: "Market"}


def test_what_had_expired_and_is_taken_down_by_hand_stays_down(catalogue):
    catalogue.read(HONEST, ("1", ONE, "Harbour"))
    catalogue.read(HONEST, ("2", TWO, "Market"))
    assert catalogue.read(HONEST, ("2", TWO, "Market"), later=2 * KEEP) == {TWO: "Market"}
    take_down(catalogue.store, ONE, EXPIRED)
    assert catalogue.read(HONEST, ("1", ONE, "Harbour"), ("2", TWO, "Market")) == {TWO: "Market"}


def test_an_unknown_address_is_one_clear_line(catalogue):
    with pytest.raises(DiscreetError, match=r"no article has the address 'https://news\.example/9'"):
        take_down(catalogue.store, "https://news.example/9", EXPIRED)


def test_what_was_put_in_by_hand_is_changed_by_hand_alone(catalogue):
    assert catalogue.add(("N1", f"{ONE}?utm_source=cms", "Harbour")) == {f"{ONE}?utm_source=cms": "Harbour"}
    assert catalogue.ids() == {"N1"}
    catalogue.read(HONEST, ("1", ONE, "From the feed"))
    catalogue.read(HONEST, ("2", TWO, "Market"))
    assert set(catalogue.read(HONEST, ("2", TWO, "Market"), later=2 * KEEP).values()) == {"Harbour", "Market"}
    assert catalogue.add(("M2", TWO, "Market, by hand"))[TWO] == "Market, by hand"
    assert catalogue.read(HONEST, ("2", TWO, "Market"), ("1", ONE, "x"))[TWO] == "Market, by hand"
    assert catalogue.ids() == {"N1", TWO}, "a known address keeps its id"
    assert resolve(catalogue.store, ["N1", ONE, "M2", TWO, "9"]) == {
        "N1": "N1",
        ONE: "N1",
        "M2": TWO,
        TWO: TWO,
        "9": "9",
    }
    assert catalogue.add(("N1", "https://news.example/moved", "Harbour"))["https://news.example/moved"] == "Harbour"
    assert take_down(catalogue.store, "https://news.example/moved", EXPIRED) == "N1"
    assert take_down(catalogue.store, "M2", DELETED) == TWO


def test_an_address_twice_in_what_is_put_in_is_one_article(catalogue):
    catalogue.add(("N1", ONE, "Harbour"), ("N2", f"{ONE}#b", "Harbour again"), (f"{TWO}#old", f"{TWO}#new", "Market"))
    assert catalogue.ids() == {"N1", TWO}
    catalogue.add(("N1", TWO, "Market, by another name"))
    assert resolve(catalogue.store, ["N1", TWO]) == {"N1": "N1", TWO: TWO}, (
        "a name that an article has is not another's"
    )
    catalogue.add(("https://news.example/?p=3", "https://news.example/3", "Three"))
    assert catalogue.ids() == {"N1", TWO, "https://news.example/3"}, "of two addresses the link is the article's"
    catalogue.read(LIAR, ("N1", "https://liar.example/N1", "Casino"), ("N2", "", "Casino"))
    assert resolve(catalogue.store, ["N1", "N2"]) == {"N1": "N1", "N2": "N1"}


def test_scripts_name_articles_by_address(catalogue, database):
    catalogue.read(HONEST, ("1", ONE, "Harbour"), ("2", TWO, "Market"))
    OfDatabase(database, must_exist=False).expire(f"{ONE}#top")
    assert catalogue.listed() == {TWO: "Market"}


def test_slates_that_were_shown_name_articles_by_address(catalogue):
    catalogue.add(("N1", ONE, "Harbour"))
    add_slates(catalogue.store, [LoggedSlate((f"{ONE}#top", "N1", TWO), 10), LoggedSlate((f"{TWO}?utm_id=1",), 4)])
    with catalogue.store.engine.connect() as connection:
        assert dict(connection.execute(select(exposure)).all()) == {"N1": 5.0, TWO: 9.0}


@pytest.mark.parametrize("kind", ["csv", "lines", "feed"])
def test_an_id_that_is_an_address_is_the_address_where_none_is_given(kind):
    entries = [{"id": ONE, "title": "A"}, {"id": "x", "title": "B"}, {"id": ONE, "title": "C", "url": TWO}]
    bodies = {
        "csv": "id,title,url\n" + "".join(f"{one['id']},{one['title']},{one.get('url', '')}\n" for one in entries),
        "lines": "\n".join(map(json.dumps, entries)),
        "feed": json.dumps({"version": "1.1", "items": entries}),
    }
    feed = read_feed(bodies[kind].encode(), "feed", 1_794_000_000)
    assert [one.url for one in feed.articles] == [ONE, "", TWO]


def test_a_guid_that_is_no_permanent_link_is_no_address():
    def items(link):
        guid = f"<guid isPermaLink='{link}'>{ONE}</guid>"
        return f"<rss version='2.0'><channel><item><title>A</title>{guid}</item></channel></rss>".encode()

    assert [read_feed(items(link), LIAR, 0).articles[0].url for link in ("true", "false")] == [ONE, ""]


def test_one_address_twice_in_a_feed_is_taken_once():
    body = f"id,title,url\n1,A,{ONE}\n2,B,{ONE}?utm_source=x\n1,C,{TWO}\n3,D,https://reader@news.example/3\n".encode()
    feed = read_feed(body, "feed", 0)
    assert [one.title for one in feed.articles] == ["A", "C", "D"]
    assert feed.articles[2].url == "", "a link that names a user is left out"
    assert [problem.where for problem in feed.problems] == ["line 3", "line 5"]
