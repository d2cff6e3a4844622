"""`keepscore keys`: create, list, revoke and rotate API keys, on the ledger itself or over a service."""

from __future__ import annotations

from typing import Annotated

import typer

from keepscore.cli.options import Config, Json, Url, cell, err, new_table, out, print_json, reach
from keepscore.domain.results.access import KeyList, NewKey

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Create, list, revoke and rotate API keys.")

KeyId = Annotated[str, typer.Argument(metavar="ID", help="The key's id, as 'keepscore keys list' shows it.")]


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for, such as 'game server'.")],
    scope: Annotated[str, typer.Option(metavar="SCOPE", help="read, submit, moderate or admin; each includes the ones before it.")],
    board: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Boards it is for, such as 'season-*'. Repeatable. Default: all.")
    ] = None,
    expires: Annotated[str | None, typer.Option(metavar="TIME", help="When it ends: 90d, or a time. Default: never.")] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Create an API key. It is shown once: the ledger keeps a hash only."""
    # The first key may come before the first start of a service.
    with reach(url, config, may_create=True) as boards:
        key = boards.keys.create(name, scope, boards=board or None, expires=expires)
    _print_new(key, json)


@app.command("list")
def list_keys(url: Url = None, config: Config = None, json: Json = False) -> None:
    """List all API keys, without their secrets."""
    with reach(url, config) as boards:
        keys = boards.keys.all()
    if json:
        return print_json(KeyList(keys))
    table = new_table("id", "name", "scope", "boards", "state", "created", "expires", "last used", "replaces")
    # It is copied from here.
    table.columns[0].no_wrap, table.columns[0].min_width = True, 12
    for key in keys:
        row = key.id, key.name, key.scope, ", ".join(key.boards), key.state, key.created, key.expires, key.last_used, key.replaces
        table.add_row(*map(cell, row))
    return out.print(table)


@app.command()
def revoke(key_id: KeyId, url: Url = None, config: Config = None) -> None:
    """End an API key, and the player tokens that it signed."""
    with reach(url, config) as boards:
        boards.keys.revoke(key_id)
    out.print(f"key {key_id} is revoked")


@app.command()
def rotate(
    key_id: KeyId,
    overlap: Annotated[str, typer.Option(metavar="DURATION", help="How long the old key stays valid.")] = "24h",
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Replace a key by a new one. The old one stays valid for a while."""
    with reach(url, config) as boards:
        key = boards.keys.rotate(key_id, overlap=overlap)
    _print_new(key, json)


def _print_new(key: NewKey, json: bool) -> None:
    if json:
        return print_json(key)
    for warning in key.warnings or ():
        err.print(f"Note: {warning}.", style="yellow")
    if isinstance(key.replaces, str):
        err.print(f"It replaces {key.replaces}, which can be used until {cell(key.replaced_expires)}.")
    err.print(f"Key {key.id} ({key.scope}, boards: {', '.join(key.boards)}). Keep it safe: it is not shown again.")
    # Alone on standard output, so that a script can take it.
    return out.print(key.key)
