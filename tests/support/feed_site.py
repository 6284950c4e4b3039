"""A publisher's site for tests: serves one feed that can be changed, and notes how it is asked for it."""

import contextlib
import gzip
import hashlib
import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FeedSite:
    """What is answered to every request, and what was asked: `asked` has (path, headers, status)."""

    def __init__(self):
        self.body, self.status, self.headers = b"", 200, {}
        self.packed, self.validates = False, True
        self.asked = []
        self.url = ""

    def answer(self, path, headers):
        if self.status != 200:
            return self.status, dict(self.headers), b"no"
        etag = f'"{hashlib.sha256(self.body).hexdigest()[:16]}"'
        if self.validates and headers.get("If-None-Match") == etag:
            return 304, {"ETag": etag}, b""
        body = gzip.compress(self.body) if self.packed else self.body
        known = {"ETag": etag, "Last-Modified": formatdate(0, usegmt=True)} if self.validates else {}
        return 200, {**known, **({"Content-Encoding": "gzip"} if self.packed else {}), **self.headers}, body


@contextlib.contextmanager
def feed_site(context=None):
    """A running site; with a TLS context it speaks TLS."""
    site = FeedSite()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, headers, body = site.answer(self.path, self.headers)
            site.asked.append((self.path, dict(self.headers), status))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    site.url = f"http://127.0.0.1:{server.server_port}/feed.xml"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


def rss(*titles, first=1, more=""):
    """A feed of RSS 2.0 with these titles; ids count on from `first`."""
    items = "".join(
        f"<item><title>{title}</title><link>https://news.example/{number}</link><guid>https://news.example/{number}</guid>"
        f"<pubDate>Mon, 02 Nov 2026 08:{number % 60:02}:00 GMT</pubDate><category>local</category></item>"
        for number, title in enumerate(titles, first)
    )
    head = '<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel><title>News</title>'
    return f"{head}<link>https://news.example/</link>{items}{more}</channel></rss>".encode()
