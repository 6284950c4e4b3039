"""Reading a feed in a process of its own, so that a large or hostile one takes neither time nor memory from readers.

{ echo ADDRESS; cat FEED; } | python -m discreet.serving.feeds.apart NOW

The address may hold a key, and so is no argument, which all users of a machine can see.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys

from discreet.errors import DiscreetError
from discreet.serving.api_messages import NewArticle
from discreet.serving.feeds.feed_articles import Feed, FeedProblem
from discreet.serving.feeds.fetch import shown_feed
from discreet.serving.feeds.formats import read_feed

SECONDS = 300.0
"""How long reading may take; a feed of 4 MiB takes some 10 seconds."""
_MAX_MEMORY = 2 << 30
_NICENESS = 5


def read_apart(body: bytes, address: str, now: int) -> Feed:
    """`read_feed`, in a process of its own.

    Raises:
        DiscreetError: It cannot be read, or takes too long or too much memory.
    """
    command = [sys.executable, "-P", "-m", __name__, str(now)]
    try:
        done = subprocess.run(
            command, input=address.encode() + b"\n" + body, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise DiscreetError(f"{shown_feed(address)}: could not be read within {SECONDS:g} seconds") from None
    if done.returncode:
        raise DiscreetError(f"{shown_feed(address)}: cannot be read (its process ended with code {done.returncode})")
    found = json.loads(done.stdout)
    if "error" in found:
        raise DiscreetError(found["error"])
    articles = [NewArticle(**one) for one in found["articles"]]
    return Feed(found["kind"], articles, [FeedProblem(**one) for one in found["problems"]], found["whole"])


def main(now: str) -> None:
    """Read an address and its feed from standard input, and write what was found as JSON."""
    os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    address = sys.stdin.buffer.readline().decode().removesuffix("\n")
    try:
        feed = read_feed(sys.stdin.buffer.read(), address, int(now))
    except DiscreetError as error:
        json.dump({"error": str(error)}, sys.stdout)
        return
    articles = [one.model_dump() for one in feed.articles]
    json.dump({**vars(feed), "articles": articles, "problems": [vars(one) for one in feed.problems]}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
