"""A feed's server cannot lead this one into a private network: by a redirect, by its name, or by a proxy."""

import datetime
import ipaddress
import socket
import ssl
from types import SimpleNamespace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from feed_site import feed_site, rss

from discreet.serving.database_tables import open_engine
from discreet.serving.feeds import checked_connection as module
from discreet.serving.feeds.fetch import FetchError, Version, fetch
from discreet.serving.feeds.follow import Feeds, FeedSettings
from discreet.serving.feeds.formats import read_feed
from discreet.serving.server_store import ServerStore

PUBLIC, OTHER = "93.184.216.34", "2606:4700::6810:84e5"


class Network:
    """Names, each with its addresses, one list for each time that it is resolved; the last one stays."""

    def __init__(self):
        self.names, self.dialed = {}, []

    def getaddrinfo(self, host, port, **_):
        answers = self.names.get(host, [[host]])
        places = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            (socket.AF_INET6 if ":" in one else socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port))
            for one in places
        ]


@pytest.fixture
def network(monkeypatch):
    """All addresses lead to this machine, and which were dialed is noted."""
    network = Network()

    class Socket(socket.socket):
        def __init__(self, *_):
            super().__init__(socket.AF_INET, socket.SOCK_STREAM)

        def connect(self, place):
            network.dialed.append(place[0])
            super().connect(("127.0.0.1", place[1]))

    fake = SimpleNamespace(getaddrinfo=network.getaddrinfo, socket=Socket, SOCK_STREAM=socket.SOCK_STREAM)
    monkeypatch.setattr(module, "socket", fake)
    return network


@pytest.fixture
def site(monkeypatch):
    with feed_site() as site:
        site.body, site.port, site.to = rss("A"), site.url.split(":")[2].partition("/")[0], None
        plain = site.answer

        def answer(path, headers):
            if path == "/moved" and site.to is not None:
                return 302, {"Location": site.to.replace("PORT", site.port)}, b""
            return plain(path, headers)

        site.answer = answer
        yield site


def got(site, host, path="feed.xml", **options):
    return fetch(f"http://{host}:{site.port}/{path}", Version(), **options)


@pytest.mark.parametrize(
    "place",
    [
        "127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "100.64.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1",
        "::1", "fd00::1", "fe80::1", "::", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::", "::127.0.0.1", "fec0::1", "ff0e::1",
    ],
)  # fmt: skip
def test_a_public_feed_leads_to_no_private_address(site, network, place):
    network.names = {"feeds.example": [[PUBLIC]], "inside.example": [[place]], "both.example": [[PUBLIC, place]]}
    literal = f"[{place}]" if ":" in place else place
    for host in ("inside.example", "both.example", literal):
        site.to, network.dialed = f"http://{host}:PORT/feed.xml", []
        with pytest.raises(FetchError, match="no address of the public internet"):
            got(site, "feeds.example", "moved")
        assert network.dialed == [PUBLIC]


@pytest.mark.parametrize("form", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1"])
def test_other_forms_of_an_address_are_judged_as_what_they_resolve_to(site, network, monkeypatch, form):
    real = socket.getaddrinfo
    fake = network.getaddrinfo
    monkeypatch.setattr(
        module.socket, "getaddrinfo", lambda host, port, **o: (real if host == form else fake)(host, port, **o)
    )
    network.names = {"feeds.example": [[PUBLIC]]}
    site.to = f"http://{form}:PORT/feed.xml"
    with pytest.raises(FetchError, match=r"no address of the public internet"):
        got(site, "feeds.example", "moved")
    assert network.dialed == [PUBLIC]


def test_redirects_between_public_addresses_are_followed(site, network):
    for place in (OTHER, "64:ff9b::5db8:d822"):  # the second is PUBLIC, where a network has IPv6 alone
        network.names, network.dialed = {"feeds.example": [[PUBLIC]], "cdn.example": [[place]]}, []
        site.to = "http://cdn.example:PORT/feed.xml"
        found = got(site, "feeds.example", "moved", may_be_private=False)
        assert (found.body, found.is_private) == (site.body, False)
        assert network.dialed == [PUBLIC, place]


def test_a_name_that_changes_its_address_after_the_check_gains_nothing(site, network):
    network.names = {"feeds.example": [[PUBLIC], ["127.0.0.1"]]}
    assert got(site, "feeds.example").body == site.body
    assert network.dialed == [PUBLIC]
    network.names = {"feeds.example": [[PUBLIC], ["127.0.0.1"]]}
    site.to = "http://feeds.example:PORT/feed.xml"
    with pytest.raises(FetchError, match="no address of the public internet"):
        got(site, "feeds.example", "moved")


def test_the_operator_may_name_a_private_feed_and_it_may_redirect_to_itself_or_outside(site, network):
    network.names = {"intranet": [["10.0.0.5"]], "news.intranet": [["10.0.0.5"]], "cdn.example": [[OTHER]]}
    for site.to in ("http://news.intranet:PORT/feed.xml", "http://cdn.example:PORT/feed.xml", "/feed.xml"):
        assert got(site, "intranet", "moved").is_private


@pytest.mark.parametrize("place", ["10.0.0.6", "127.0.0.1", "169.254.169.254", "::1"])
def test_a_private_feed_leads_to_no_other_private_address(site, network, place):
    network.names = {"intranet": [["10.0.0.5"]], "inside": [[place]]}
    site.to = "http://inside:PORT/feed.xml"
    with pytest.raises(FetchError, match="no address of the public internet"):
        got(site, "intranet", "moved")
    assert network.dialed == ["10.0.0.5"]


def test_a_public_server_cannot_send_back_to_the_private_one_before_it(site, network, monkeypatch):
    network.names = {"intranet": [["10.0.0.5"]], "cdn.example": [[OTHER]]}
    plain = site.answer
    site.to = "http://cdn.example:PORT/back"
    back = {"Location": f"http://intranet:{site.port}/feed.xml"}
    site.answer = lambda path, headers: (302, back, b"") if path == "/back" else plain(path, headers)
    with pytest.raises(FetchError, match="no address of the public internet"):
        got(site, "intranet", "moved")
    assert network.dialed == ["10.0.0.5", OTHER]


@pytest.mark.parametrize(
    "place", ["169.254.169.254", "0.0.0.0", "fe80::1", "::", "224.0.0.1", "::ffff:169.254.169.254"]
)
def test_not_even_the_operator_names_an_address_where_no_feed_can_be(site, network, place):
    network.names = {"feeds.example": [[place]], "mixed.example": [["10.0.0.5", PUBLIC]]}
    for host in ("feeds.example", "mixed.example"):
        with pytest.raises(FetchError, match="no address of the public internet"):
            got(site, host)
    assert network.dialed == []


def test_a_feed_that_was_public_is_not_read_from_a_private_address(site, network):
    network.names = {"feeds.example": [["10.0.0.5"]]}
    with pytest.raises(FetchError, match="no address of the public internet"):
        got(site, "feeds.example", may_be_private=False)
    assert network.dialed == []


@pytest.mark.parametrize(("first", "is_private"), [(PUBLIC, False), ("10.0.0.5", True)])
def test_where_a_feed_was_first_counts_for_as_long_as_it_is_followed(site, network, database, first, is_private):
    store, now = ServerStore(open_engine(database)), 1_794_000_000
    url = f"http://feeds.example:{site.port}/feed.xml"
    for place in (first, "10.0.0.5", OTHER, "10.0.0.5"):
        network.names, network.dialed, now = {"feeds.example": [[place]]}, [], now + 600
        feeds = Feeds(store, FeedSettings((url,)), clock=lambda now=now: now, reader=read_feed)
        if is_private or place != "10.0.0.5":
            feeds.read(url)
        else:
            with pytest.raises(FetchError, match="no address of the public internet"):
                feeds.read(url)
            assert network.dialed == []
        site.body = rss(f"A {now}")
    store.close()


def test_a_proxy_of_the_environment_is_not_used(site, network, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    network.names = {"feeds.example": [[PUBLIC]]}
    assert got(site, "feeds.example").body == site.body
    assert network.dialed == [PUBLIC]


def test_the_next_address_is_tried_where_one_does_not_answer(site, network, monkeypatch):
    network.names = {"feeds.example": [[OTHER, PUBLIC]]}
    answering = module.socket.socket.connect

    def connect(connection, place):
        if place[0] == OTHER:
            raise ConnectionRefusedError
        answering(connection, place)

    monkeypatch.setattr(module.socket.socket, "connect", connect)
    assert got(site, "feeds.example").body == site.body


def test_a_certificate_must_be_for_the_name(site, network, tmp_path, monkeypatch):
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "feeds")]), datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("feeds.example"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
        .not_valid_before(now - datetime.timedelta(1)).not_valid_after(now + datetime.timedelta(1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "pem").write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pem")
    network.names = {"feeds.example": [[PUBLIC]], "other.example": [[PUBLIC]]}
    with feed_site(context) as site:
        site.body = rss("A")
        place = site.url.removeprefix("http://127.0.0.1")
        with pytest.raises(FetchError, match="certificate verify failed"):
            fetch(f"https://feeds.example{place}", Version())
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "pem"))
        assert fetch(f"https://feeds.example{place}", Version()).body == site.body
        with pytest.raises(FetchError, match=r"certificate verify failed.*other\.example"):
            fetch(f"https://other.example{place}", Version())
