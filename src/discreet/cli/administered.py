"""Options of commands that administer a server: through its address, or in its database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.serving.administration import Administration

Server = Annotated[
    str | None,
    typer.Option(metavar="URL", help="A running server, such as http://127.0.0.1:8000; needs --admin-token-file."),
]
TokenFile = Annotated[Path | None, typer.Option(metavar="FILE", help="The file with the administrator's token.")]
Database = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The server's database instead (by default serving.sqlite here)."),
]


def administration(
    server: str | None, token_file: Path | None, database: str | None, *, must_exist: bool = True
) -> Administration:
    """The server or the database that these options name."""
    from discreet.serving.administration import OfDatabase, OfServer
    from discreet.serving.server import DATABASE, read_token

    if server is None:
        if token_file is not None:
            raise DiscreetError("--admin-token-file goes with --server")
        return OfDatabase(database or DATABASE, must_exist=must_exist)
    if database is not None:
        raise DiscreetError("name a --server or a --database, not both")
    if token_file is None:
        raise DiscreetError("--server needs --admin-token-file")
    return OfServer(server, read_token(token_file))
