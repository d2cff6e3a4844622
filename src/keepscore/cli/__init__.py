"""The command line. Commands talk to a running service, or use the ledger that the configuration names.

May import every room; no room imports it. Start with `options` (how a command reaches boards) and `rankings`.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.text import Text

from keepscore import __version__
from keepscore.access.environments import LIVE
from keepscore.cli import (
    accounts,
    appeals,
    audit,
    boards,
    explanations,
    exports,
    files,
    friends,
    groups,
    history,
    keeper,
    keys,
    leagues,
    ledgers,
    matches,
    moderation,
    players,
    prizes,
    rankings,
    resets,
    restrictions,
    review,
    rule_tests,
    scores,
    teams,
    verification,
    watching,
    webhooks,
)
from keepscore.cli.common_options import add_common_options
from keepscore.cli.options import Config, err, out
from keepscore.config import load_settings
from keepscore.errors import KeepscoreError

__all__ = ["main"]

app = typer.Typer(
    help="Real-time leaderboards. Start with 'keepscore serve', then open the page it prints.",
    # Help is plain text: markup would take [[board]] for a style.
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"keepscore {__version__}")
        raise typer.Exit


@app.callback()
def keepscore(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    """Take the options that come before a command."""


@app.command()
def serve(
    config: Config = None,
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Address to listen on. Default: 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(metavar="N", help="Port to listen on. Default: 8080.")] = None,
    engine: Annotated[str | None, typer.Option(metavar="URL", help="Where to keep rankings. Default: embedded://.")] = None,
    ledger: Annotated[str | None, typer.Option(metavar="URL", help="Where to keep events. Default: sqlite:///data/keepscore.db.")] = None,
    workers: Annotated[int | None, typer.Option(metavar="N", help="Number of processes. Default: 1.")] = None,
    log_level: Annotated[str | None, typer.Option(metavar="LEVEL", help="debug, info, warning or error. Default: info.")] = None,
    log_format: Annotated[str | None, typer.Option(metavar="FORMAT", help="text or json. Default: text.")] = None,
    access_log: Annotated[bool, typer.Option("--access-log", help="Log every request, and return its id in X-Request-Id.")] = False,
    auth: Annotated[str | None, typer.Option(metavar="WHEN", help="When to ask for keys: auto (once some exist), required or off.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Allow an address that other machines can reach, without keys.")] = False,
) -> None:
    """Run the service: web page, HTTP API and API reference."""
    from keepscore.service.serve import run_service

    flags = {"server.host": host, "server.port": port, "server.workers": workers, "engine.url": engine, "ledger.url": ledger}
    flags |= {"server.log_level": log_level, "server.log_format": log_format}
    flags |= {"server.auth": auth, "server.insecure": insecure or None, "server.access_log": access_log or None}
    settings = load_settings(config, flags)

    def started(url: str) -> None:
        ready = (f"Keepscore {__version__}", "bold"), " is ready at ", (url, "bold"), f"  (API reference: {url}/docs)"
        err.print(Text.assemble(*ready))
        if settings.environment != LIVE:
            own = "Environment: ", (settings.environment, "bold"), ", with boards, keys and events of its own."
            err.print(Text.assemble(*own))
        if settings.insecure:
            err.print("--insecure: until there are keys, anyone who can reach this machine can read and write.", style="yellow")

    run_service(settings, started)


app.add_typer(boards.app, name="boards")
app.add_typer(scores.app)
app.add_typer(rankings.app)
app.command()(explanations.needs)
app.command()(explanations.why)
app.add_typer(watching.app)
app.add_typer(friends.app, name="friends")
app.add_typer(groups.app, name="groups")
app.command()(friends.view)
app.command()(teams.team)
app.add_typer(verification.app)
app.add_typer(history.app)
app.add_typer(files.app)
app.add_typer(exports.app)
app.add_typer(ledgers.app)
app.add_typer(keeper.app, name="keeper")
app.command()(keeper.revise)
app.add_typer(resets.app)
app.add_typer(moderation.app)
app.add_typer(review.app, name="queue")
app.add_typer(appeals.app, name="appeals")
app.add_typer(rule_tests.app, name="rules")
app.add_typer(players.app, name="players")
app.add_typer(matches.app, name="match")
app.add_typer(leagues.app, name="leagues")
app.add_typer(restrictions.app)
app.add_typer(prizes.app, name="prizes")
app.add_typer(prizes.certificates, name="certificates")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(accounts.app)
app.add_typer(keys.app, name="keys")
app.add_typer(audit.app, name="audit")


@app.command()
def version() -> None:
    """Print the version."""
    out.print(f"keepscore {__version__}")


add_common_options(app)


def main() -> None:
    """Run the command line. An error is one sentence, with exit code 2."""
    try:
        app()
    except KeepscoreError as exc:
        err.print(Text(f"Error: {exc}", style="red"))
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(1)
