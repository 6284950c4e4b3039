"""What names an article: its canonical address, and for people any way to write it.

An article's id, on the wire and in the database, is its canonical address, or a digest where that is too long. Where
articles are put in by hand, the id that was given stays, and the address is another name of it. An article without an
address has the id that its feed gave, after the name of that feed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import select

from discreet.errors import DiscreetError
from discreet.serving.canonical_address import is_address, plain_id
from discreet.serving.database_tables import article_names, articles, pending
from discreet.serving.server_store import ServerStore, parts_of


def resolve(store: ServerStore, names: Iterable[str]) -> dict[str, str]:
    """Return the id of the article that each name means, whether there is such an article or not."""
    plain = {name: plain_id(name) for name in names}
    chosen = _chosen(store, plain.values())
    return {name: chosen.get(one, one) for name, one in plain.items()}


def take_down(store: ServerStore, name: str, state: str) -> str:
    """Expire or delete the article that a name means; its id.

    Raises:
        DiscreetError: There is none.
    """
    article = resolve(store, [name])[name]
    if not store.take_down(article, state):
        raise DiscreetError(f"no article has the {'address' if is_address(name) else 'id'} '{name}'")
    return article


def name_by_hand(store: ServerStore, given: Iterable[tuple[str, str]]) -> list[str]:
    """Return the ids of articles that are put in by hand, each with the id that it was given, and an address or "".

    An article with this address keeps the id that it has; a new one gets the given id. From now on both name it.
    """
    pairs = [(plain_id(name), plain_id(address)) for name, address in given]
    plain = {one for pair in pairs for one in pair if one}
    meant = {one: one for one in plain} | _chosen(store, plain)
    known = _known(store, set(meant.values()))
    ids = []
    for name, address in pairs:
        article = (
            meant[name] if not address or (meant[address] not in known and not is_address(name)) else meant[address]
        )
        meant |= {one: article for one in (name, address) if one and one not in known}
        known.add(article)
        ids.append(article)
    _note(store, {name: article for name, article in meant.items() if name != article})
    return ids


def _chosen(store: ServerStore, plain: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    with store.engine.connect() as connection:
        for part in parts_of(sorted(set(plain))):
            rows = connection.execute(select(article_names).where(article_names.c.name.in_(part)))
            found |= {row.name: row.article for row in rows}
    return found


def _known(store: ServerStore, ids: set[str]) -> set[str]:
    found: set[str] = set()
    with store.engine.connect() as connection:
        for part in parts_of(sorted(ids)):
            for table in (articles, pending):
                found |= set(connection.execute(select(table.c.id).where(table.c.id.in_(part))).scalars())
    return found


def _note(store: ServerStore, names: Mapping[str, str]) -> None:
    add = store.insert(article_names)
    upsert = add.on_conflict_do_update(index_elements=["name"], set_={"article": add.excluded.article})
    with store.engine.begin() as connection:
        for part in parts_of([{"name": name, "article": article} for name, article in names.items()]):
            connection.execute(upsert, part)
