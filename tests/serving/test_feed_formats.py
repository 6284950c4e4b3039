"""Feeds of all kinds, whole and broken: each entry that can be an article is one, and the others are told why not."""

import contextlib
import csv
import io
import json

import pytest
from feed_site import rss
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.protocol.check import check
from discreet.serving.feeds import apart
from discreet.serving.feeds.feed_articles import MAX_ABSTRACT, articles_of, plain_text
from discreet.serving.feeds.fetch import shown_feed
from discreet.serving.feeds.formats import read_feed

NOW = 1_800_000_000
HOME = "https://news.example/feeds/rss.xml"
ATOM = b"""<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://news.example/x/">
<title>N</title><entry><id>tag:news.example,2026:1</id><title type="html">Tom &amp;amp; &lt;i&gt;Jerry&lt;/i&gt;</title>
<link href="one"/><updated>2026-11-02T08:00:00+01:00</updated><category term="c" label="Culture"/>
<summary>Two friends.</summary></entry></feed>"""
SITEMAP = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
xmlns:n="http://www.google.com/schemas/sitemap-news/0.9" xmlns:i="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc>https://news.example/1</loc><n:news><n:publication><n:name>News</n:name></n:publication>
<n:title>Harbour opens</n:title><n:publication_date>2026-11-02</n:publication_date>
<n:keywords>sea, port</n:keywords></n:news>
<i:image><i:loc>https://news.example/1.jpg</i:loc></i:image>
<i:image><i:loc>https://news.example/2.jpg</i:loc></i:image></url>
<url><loc>https://news.example/about</loc></url></urlset>"""


def read(body, address=HOME):
    return read_feed(body, address, NOW)


def only(body, address=HOME):
    feed = read(body, address)
    assert len(feed.articles) == 1, feed.problems
    return feed.articles[0]


def item(inside):
    return rss(more=f"<item>{inside}</item>")


def test_rss():
    one = only(rss("Harbour opens"))
    assert (one.id, one.title, one.url) == ("https://news.example/1", "Harbour opens", "https://news.example/1")
    assert (one.category, one.published) == ("local", 1_793_606_460)


def test_atom_with_its_own_base_and_html_in_the_title():
    one = only(ATOM)
    assert (one.id, one.title, one.url) == ("tag:news.example,2026:1", "Tom & Jerry", "https://news.example/x/one")
    assert (one.category, one.abstract, one.published) == ("Culture", "Two friends.", 1_793_602_800)


def test_a_news_sitemap():
    feed = read(SITEMAP)
    assert feed.kind == "news sitemap"
    (one,) = feed.articles
    assert (one.id, one.title, one.category) == ("https://news.example/1", "Harbour opens", "sea")
    assert one.image == "https://news.example/1.jpg"
    assert [str(problem) for problem in feed.problems] == ["entry 2: has neither title nor text; left out"]


def test_an_index_of_sitemaps_names_one_to_use():
    index = (
        SITEMAP.replace(b"urlset", b"sitemapindex").replace(b"<url>", b"<sitemap>").replace(b"</url>", b"</sitemap>")
    )
    with pytest.raises(DiscreetError, match=r"index of sitemaps"):
        read(index)


def test_json_feed():
    one = {"id": 7, "title": "A", "url": "/7", "tags": ["b", "c"], "date_published": "2026-11-02T08:00:00Z"}
    feed = read(json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": [one, 3]}, indent=1).encode())
    (article,) = feed.articles
    assert (article.id, article.url, article.category, article.section) == ("7", "https://news.example/7", "b", "c")
    assert [str(problem) for problem in feed.problems] == ["entry 2: is no JSON object; left out"]


def test_json_lines_and_csv_say_which_line():
    feed = read(b'{"id": "a", "title": "A"}\n{"id": \n{"id": "b", "title": "B", "published": "soon"}\n')
    assert [one.id for one in feed.articles] == ["a", "b"]
    assert [problem.where for problem in feed.problems] == ["line 2", "line 3"]
    feed = read("\ufefftitle;id\n\u00c4pfel;1\n;2\n".encode())
    assert [(one.id, one.title) for one in feed.articles] == [("1", "\u00c4pfel")]
    assert [problem.where for problem in feed.problems] == ["line 3"]


@pytest.mark.parametrize(
    ("inside", "title"),
    [
        ("<title>Ben &amp;amp; Jerry</title>", "Ben & Jerry"),
        ("<title>&lt;b&gt;Bold&lt;/b&gt; claim</title>", "Bold claim"),
        ("<title><![CDATA[A <script>alert(1)</script>day]]></title>", "A day"),
        ("<title>5 &lt; 6 &gt; 4</title>", "5 < 6 > 4"),
        ("<title>  two\n lines\u202e </title>", "two lines"),
        ("<description>No title at all</description>", "No title at all"),
    ],
)
def test_titles_are_plain_text(inside, title):
    assert only(item(inside)).title == title


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("/a", "https://news.example/a"),
        ("b c", "https://news.example/feeds/b%20c"),
        ("https://other.example/x", "https://other.example/x"),
        ("//cdn.example/x", "https://cdn.example/x"),
        ("HTTPS://other.example/X", "https://other.example/X"),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("http://[::1", ""),
    ],
)
def test_links_are_absolute_and_http(link, url):
    assert only(item(f"<title>A</title><guid isPermaLink='false'>1</guid><link>{link}</link>")).url == url


def test_in_a_file_links_start_at_the_feeds_page_and_no_path_of_the_machine_shows():
    one = only(item("<title>A</title><guid>7</guid><link>/a</link>"), "/srv/secret/feed.xml")
    assert one.url == "https://news.example/a"
    assert "secret" not in one.model_dump_json()


@pytest.mark.parametrize("when", ["", "nonsense", "Mon, 02 Nov 2126 08:00:00 GMT", "Mon, 02 Nov 1926 08:00:00 GMT"])
def test_a_date_that_cannot_be_is_unknown(when):
    assert only(item(f"<title>A</title><pubDate>{when}</pubDate>")).published is None


def test_ids_come_from_the_link_or_the_title_and_each_is_taken_once():
    body = rss(
        more="<item><title>A</title></item><item><title>B</title><link>https://news.example/b</link></item>"
        f"<item><title>C</title><guid isPermaLink='false'>{'x' * 300}</guid></item><item><title>A</title></item>"
    )
    feed = read(body)
    ids = [one.id for one in feed.articles]
    assert ids[1] == "https://news.example/b"
    assert all(name.startswith("sha256:") for name in (ids[0], ids[2]))
    assert [one.id for one in read(body).articles] == ids
    assert [problem.where for problem in feed.problems] == ["entry 4"]


@pytest.mark.parametrize("body", [rss("A", "B", "C"), SITEMAP, ATOM])
def test_a_feed_that_breaks_off_gives_what_came_before_and_is_not_whole(body):
    assert read(body).whole
    feed = read(body[: body.rindex(b"</")])
    assert not feed.whole
    assert feed.articles
    assert feed.problems[0].where == "the feed"


BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("body", [rss("&b;"), SITEMAP.replace(b"Harbour", b"&b;")])
def test_entities_are_refused(body, encoding):
    text = body.decode().replace('encoding="utf-8"', "")
    place = text.index("?>") + 2
    with pytest.raises(DiscreetError, match=r"declares XML entities|no feed that is known"):
        read((text[:place] + BOMB + text[place:]).encode(encoding))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "is empty"),
        (b"<html><body>Not found</body></html>", "is no feed that is known"),
        (b"hello", "as csv it has no column 'title'"),
        (b"title,autor\n", "as csv it has the column 'autor'"),
        (b'{"a": 1, ', "is JSON, but neither"),
        (b"[" * 100_000, "is JSON, but neither"),
        (bytes(range(256)), "no feed"),
    ],
)
def test_what_is_no_feed_is_one_clear_line(body, why):
    with pytest.raises(DiscreetError, match=why) as caught:
        read(body)
    assert str(caught.value).startswith(shown_feed(HOME))
    assert "\n" not in str(caught.value)


def test_text_without_end_is_cut_after_a_word():
    assert plain_text("word " * 10_000, MAX_ABSTRACT).endswith(" word…")
    assert len(plain_text("x" * 10_000, 500)) == 500
    assert len(plain_text("<!--" * 50_000, 500)) <= 500


values = st.one_of(
    st.none(), st.text(max_size=40), st.integers(), st.floats(), st.lists(st.text(max_size=3), max_size=2)
)
fields = st.dictionaries(
    st.sampled_from(["id", "title", "abstract", "category", "section", "url", "image", "published"]), values
)


@settings(max_examples=150, deadline=None)
@given(st.lists(fields, max_size=5))
def test_whatever_entries_hold_articles_are_what_devices_take(entries):
    feed = articles_of("any", ((f"entry {n}", one) for n, one in enumerate(entries, 1)), HOME, NOW)
    assert len({one.id for one in feed.articles}) == len(feed.articles)
    left_out = {problem.where for problem in feed.problems if problem.left_out}
    assert len(feed.articles) + len(left_out) == len(entries)
    for one in feed.articles:
        check("page", {"articles": [{**one.model_dump(), "topic": 0, "vector": ""}]})


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"", b"<rss>", b"{", b"title\n", b"<urlset>", rss("A", "B")]))
def test_whatever_bytes_come_they_are_read_or_refused(body, start):
    with contextlib.suppress(DiscreetError):
        assert read(start + body).kind


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="&<"), min_size=1), max_size=6))
def test_titles_survive_csv_and_json_lines(titles):
    rows = [{"id": str(number), "title": title} for number, title in enumerate(titles)]
    table = io.StringIO()
    writer = csv.DictWriter(table, ["id", "title"])
    writer.writeheader()
    writer.writerows(rows)
    for body in (table.getvalue(), "\n".join(map(json.dumps, rows))):
        if rows:
            assert [one.title for one in read(body.encode()).articles] == titles


def test_a_feed_is_read_the_same_in_a_process_of_its_own(monkeypatch):
    body = rss("A", "B", more="<item><guid>x</guid></item>")
    assert apart.read_apart(body, HOME, NOW) == read(body)
    with pytest.raises(DiscreetError, match="is no feed that is known"):
        apart.read_apart(b"<html></html>", HOME, NOW)
    monkeypatch.setattr(apart, "SECONDS", 0.01)
    with pytest.raises(DiscreetError, match=r"could not be read within 0\.01 seconds"):
        apart.read_apart(body, HOME, NOW)
