"""The command line. Commands speak to a running service, or work on the ledger that the configuration names."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.text import Text

from keepscore import __version__
from keepscore.cli import boards, care, exports, files, keeper, ledgers, past, rankings, resets, scores
from keepscore.cli.options import Config, err, out
from keepscore.config import load_settings
from keepscore.errors import KeepscoreError

__all__ = ["main"]

app = typer.Typer(
    help="Real-time leaderboards. Start with [bold]keepscore serve[/bold], then open the page that it names.",
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def serve(
    config: Config = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on. Default: 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. Default: 8080.")] = None,
    engine: Annotated[str | None, typer.Option(metavar="URL", help="Where rankings are kept. Default: embedded://.")] = None,
    ledger: Annotated[str | None, typer.Option(metavar="URL", help="Where events are kept. Default: sqlite:///data/keepscore.db.")] = None,
    workers: Annotated[int | None, typer.Option(help="How many processes serve. Default: 1.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Listen on other addresses than this machine's own.")] = False,
) -> None:
    """Run the service: the page, the HTTP API and its reference at /docs."""
    from keepscore.web.serve import run_service

    flags = {"server.host": host, "server.port": port, "server.workers": workers, "engine.url": engine, "ledger.url": ledger}
    settings = load_settings(config, {**flags, "server.insecure": True if insecure else None})

    def started(url: str) -> None:
        err.print(f"[bold]Keepscore {__version__}[/bold] is ready at [bold]{url}[/bold]  (API reference: {url}/docs)")
        if settings.insecure:
            err.print("[yellow]--insecure: everybody who reaches this machine can read and write.[/yellow]")

    run_service(settings, started)


app.add_typer(boards.app, name="boards")
app.add_typer(scores.app)
app.add_typer(rankings.app)
app.add_typer(care.app)
app.add_typer(past.app)
app.add_typer(files.app)
app.add_typer(exports.app)
app.add_typer(ledgers.app)
app.add_typer(keeper.app, name="keeper")
app.command()(keeper.revise)
app.add_typer(resets.app)


@app.command()
def version() -> None:
    """Print the version."""
    out.print(f"keepscore {__version__}")


def main() -> None:
    """Run the command line; errors are told in a sentence, with exit code 2."""
    try:
        app()
    except KeepscoreError as exc:
        err.print(Text(f"Error: {exc}", style="red"))
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(1)
