"""Fetching a feed: politely, within limits, and from nowhere else than the operator said."""

import gzip
import os

import pytest
from feed_site import feed_site, rss

from discreet.errors import DiscreetError
from discreet.serving.feeds import fetch as module
from discreet.serving.feeds.fetch import USER_AGENT, FetchError, Version, fetch, require_address


@pytest.fixture
def site():
    with feed_site() as running:
        running.body = rss("A")
        yield running


def test_a_version_that_is_known_is_not_sent_again(site):
    first = fetch(site.url, Version())
    assert first.body == site.body
    assert fetch(site.url, first.version) is None
    site.body = rss("A", "B")
    assert fetch(site.url, first.version).body == site.body
    (_, asked, _), (_, again, status), _ = site.asked
    assert "If-None-Match" not in asked
    assert again["If-None-Match"] == first.version.etag
    assert again["If-Modified-Since"] == first.version.modified
    assert status == 304
    assert {headers["User-Agent"] for _, headers, _ in site.asked} == {USER_AGENT}


def test_packed_feeds_are_unpacked_whatever_the_header_says(site):
    site.packed = True
    assert fetch(site.url, Version()).body == site.body
    site.packed, site.body = False, gzip.compress(rss("B"))
    assert fetch(site.url, Version()).body == rss("B")
    site.body = site.body[:-10]
    with pytest.raises(FetchError, match="gzip and ended too early"):
        fetch(site.url, Version())


def test_what_is_too_large_is_not_read(site, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 1 << 20)
    for site.body in (b"a" * (2 << 20), gzip.compress(b"a" * (2 << 20))):
        with pytest.raises(FetchError, match="larger than 1 MiB"):
            fetch(site.url, Version())


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:text/plain,x"])
def test_redirects_to_other_schemes_are_not_followed(site, place):
    site.status, site.headers = 302, {"Location": place}
    with pytest.raises(FetchError, match=r"cannot be fetched|answered 302"):
        fetch(site.url, Version())


def test_redirects_end(site):
    site.status, site.headers = 302, {"Location": site.url}
    with pytest.raises(FetchError):
        fetch(site.url, Version())
    assert len(site.asked) <= 7


def test_https_is_not_given_up():
    handler = module._Redirects()
    with pytest.raises(module.URLError, match="from https to http"):
        handler.redirect_request(module.Request("https://news.example/"), None, 302, "", {}, "http://news.example/")


@pytest.mark.parametrize(("given", "seconds"), [("120", 120), ("soon", None), ("Thu, 01 Jan 1970 00:00:00 GMT", 0)])
def test_a_server_says_when_to_come_back(site, given, seconds):
    site.status, site.headers = 503, {"Retry-After": given}
    with pytest.raises(FetchError, match="answered 503") as caught:
        fetch(site.url, Version())
    assert caught.value.retry_after == seconds


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/s3cret\x01", "http://127.0.0.1:1/\u00e9?s3cret"])
def test_an_address_that_http_cannot_send_is_not_repeated(address):
    with pytest.raises(FetchError) as caught:
        fetch(address, Version())
    assert "s3cret" not in str(caught.value)


def test_who_does_not_go_on_is_given_up(site, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 0.2)
    site.headers = {"Content-Length": "100000"}  # before the true one: the rest never comes
    with pytest.raises(FetchError):
        fetch(site.url, Version())


def test_a_file_is_read_when_it_has_changed(tmp_path):
    path = tmp_path / "feed.xml"
    path.write_bytes(rss("A"))
    first = fetch(str(path), Version())
    assert fetch(str(path), first.version) is None
    path.write_bytes(rss("A", "B"))
    os.utime(path, (1, 1))
    assert fetch(str(path), first.version).body == rss("A", "B")
    with pytest.raises(FetchError, match="No such file"):
        fetch(str(tmp_path / "none"), Version())


@pytest.mark.parametrize(
    "address", ["ftp://a.example/", "file:///etc/passwd", "http://", "https://a b/", "https://u:p@a.example/"]
)
def test_addresses_that_cannot_be_are_refused(address):
    with pytest.raises(DiscreetError):
        require_address(address)
