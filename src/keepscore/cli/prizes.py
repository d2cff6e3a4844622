"""`keepscore prizes` and `keepscore certificates`: winners, rewards, and what was signed about them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from keepscore.cli.options import BoardName, Config, Json, PlayerArgument, Url, Yes, cell, confirm, err, new_table, out, print_json, reach
from keepscore.domain.certificates import verified
from keepscore.domain.nouns import counted
from keepscore.domain.results.prizes import PrizeStatus, RewardStatus
from keepscore.errors import ConfigError, InvalidField

__all__ = ["app", "certificates"]

app = typer.Typer(no_args_is_help=True, help="Prizes: winners, windows to decide, rewards.")
certificates = typer.Typer(no_args_is_help=True, help="Certificates of final ranks: get and verify them.")

WindowArgument = Annotated[str, typer.Argument(metavar="WINDOW", help="Window: daily, weekly, monthly, yearly, all_time or season.")]
WindowIdArgument = Annotated[str, typer.Argument(metavar="ID", help="Which one, such as 2026-W46.")]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why. It is kept in the audit.")]
#: Bytes of a file with a statement or a key.
MAX_FILE_BYTES = 1 << 20


@app.command()
def winners(
    board: BoardName,
    window: WindowArgument,
    window_id: WindowIdArgument,
    limit: Annotated[int, typer.Option(metavar="N", help="How many to show, up to 1,000.")] = 100,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Where the page before ended.")] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List the winners of a window, and how far their rewards are."""
    with reach(url, config) as boards:
        found = boards.prizes.winners(board, window, window_id, limit=limit, cursor=cursor)
    if json:
        return print_json(found)
    table = new_table("rank", "player", "score", "reward", "state")
    for one in found.winners:
        table.add_row(*map(cell, (one.rank, one.player_id, one.score, one.reward, one.reward_state)))
    out.print(table)
    until = f" until {cell(found.review_until)}" if found.state == "provisional" else ""
    out.print(f"{board} · {window} {window_id}: {found.state}{until}, {counted(found.total_winners, 'winner')}")
    if found.next_cursor is not None:
        err.print(f"There are more: --cursor {found.next_cursor}")
    return None


@app.command()
def close(
    board: BoardName,
    window: WindowArgument,
    window_id: WindowIdArgument,
    reason: Reason,
    yes: Yes = False,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Close a window before its end. It takes no more scores."""
    confirm(f"Close the {window} window {window_id} of board {board}? It will take no more scores.", yes)
    with reach(url, config) as boards:
        found = boards.prizes.close(board, window, window_id, reason)
    _print_status(found, json)


@app.command()
def finalize(
    board: BoardName,
    window: WindowArgument,
    window_id: WindowIdArgument,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why now. It is kept in the audit.")] = None,
    yes: Yes = False,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Decide the winners of a closed window now. Nothing changes them afterwards, and rewards go out."""
    confirm(f"Decide the winners of the {window} window {window_id} of board {board}? This cannot be undone.", yes)
    with reach(url, config) as boards:
        found = boards.prizes.finalize(board, window, window_id, reason)
    _print_status(found, json)


@app.command()
def hold(
    board: BoardName,
    window: WindowArgument,
    window_id: WindowIdArgument,
    player: PlayerArgument,
    reason: Reason,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Hold the reward of a winner back."""
    with reach(url, config) as boards:
        found = boards.prizes.hold(board, window, window_id, player, reason)
    _print_reward(found, json)


@app.command()
def release(
    board: BoardName,
    window: WindowArgument,
    window_id: WindowIdArgument,
    player: PlayerArgument,
    reason: Reason,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Release a reward that was held back."""
    with reach(url, config) as boards:
        found = boards.prizes.release(board, window, window_id, player, reason)
    _print_reward(found, json)


@app.command()
def claim(
    board: BoardName,
    window: WindowArgument,
    window_id: WindowIdArgument,
    player: PlayerArgument,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Claim the reward of a winner. It can be claimed once."""
    with reach(url, config) as boards:
        found = boards.prizes.claim(board, window, window_id, player)
    _print_reward(found, json)


@app.command()
def verify(
    board: BoardName, window: WindowArgument, window_id: WindowIdArgument, url: Url = None, config: Config = None, json: Json = False
) -> None:
    """Prove that the final list of a window is the one that was signed. The exit code is 1 if it is not."""
    with reach(url, config) as boards:
        found = boards.prizes.verify(board, window, window_id)
    if json:
        print_json(found)
    elif found.ok:
        out.print(f"{board} · {window} {window_id}: the list of {counted(found.winners, 'winner')} is the one that was signed")
    else:
        err.print(f"{board} · {window} {window_id}: {found.problem}", style="red")
    if not found.ok:
        raise typer.Exit(1)


@certificates.command("get")
def get_certificate(
    board: BoardName,
    window: WindowArgument,
    window_id: WindowIdArgument,
    player: PlayerArgument,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Print the certificate of a final rank."""
    with reach(url, config) as boards:
        found = boards.prizes.certificate(board, window, window_id, player)
    if json:
        return print_json(found)
    return out.print(found.certificate)


@certificates.command("key")
def key(url: Url = None, config: Config = None, json: Json = False) -> None:
    """Print the public key that verifies certificates, receipts and final lists."""
    with reach(url, config) as boards:
        found = boards.prizes.public_key()
    if json:
        return print_json(found)
    return out.print(found.pem.rstrip())


@certificates.command("verify")
def verify_certificate(
    file: Annotated[str, typer.Argument(metavar="FILE", help="File with a certificate, a receipt or a final list.")],
    key: Annotated[str, typer.Option("--key", metavar="FILE", help="File with the public key, or the key itself.")],
    json: Json = False,
) -> None:
    """Verify a certificate, a receipt or a final list, without asking the service. The exit code is 1 if it cannot be trusted."""
    statement = _read(file)
    if statement.lstrip().startswith("{"):
        statement = _statement_in(statement)
    try:
        kind, claims = verified(statement, _read(key) if len(key) < 1000 and Path(key).is_file() else key)
    except InvalidField as exc:
        err.print(str(exc), style="red")
        raise typer.Exit(1) from None
    if json:
        return print_json({"kind": kind, **claims})
    out.print(f"The {kind} is genuine:")
    for name, value in claims.items():
        out.print(f"  {name}: {value}")
    return None


def _read(file: str) -> str:
    try:
        with open(file, "rb") as opened:
            return opened.read(MAX_FILE_BYTES).decode()
    except OSError as exc:
        raise ConfigError(f"{file} cannot be read: {exc.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is no text") from None


def _statement_in(text: str) -> str:
    """Return the statement in the JSON of an answer."""
    try:
        found = msgspec.json.decode(text, type=dict[str, object])
    except msgspec.DecodeError:
        found = {}
    return next((str(found[name]) for name in ("certificate", "receipt", "statement") if isinstance(found.get(name), str)), text)


def _print_status(found: PrizeStatus, json: bool) -> None:
    if json:
        return print_json(found)
    place = f"{found.board} · {found.window} {found.window_id}"
    rewards = f", {found.settled} of {counted(found.rewards, 'reward')} settled" if found.rewards else ""
    return out.print(f"{place}: {found.state}, {counted(found.total_winners, 'winner')}{rewards}")


def _print_reward(found: RewardStatus, json: bool) -> None:
    if json:
        return print_json(found)
    return out.print(f"{found.player_id}: rank {found.rank}, {found.reward}, {found.reward_state} ({found.reward_id})")
