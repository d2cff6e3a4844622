"""Options that every command has which talks to a service or opens a ledger. They are added to all at once, so that none is forgotten."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from keepscore.access.environments import ENVIRONMENTS

__all__ = ["KEY_VARIABLE", "add_common_options", "api_key"]

KEY_VARIABLE, ENVIRONMENT_VARIABLE = "KEEPSCORE_KEY", "KEEPSCORE_SERVER_ENVIRONMENT"

ApiKeyOption = Annotated[
    str | None,
    typer.Option("--api-key", metavar="KEY", envvar=KEY_VARIABLE, help="An API key or a player token, for --url. Safer in the variable."),
]
Environment = Annotated[
    str | None,
    typer.Option(
        "--environment",
        metavar="NAME",
        envvar=ENVIRONMENT_VARIABLE,
        help=f"Whose boards, keys and events: {' or '.join(ENVIRONMENTS)}. Default: live.",
    ),
]


def add_common_options(app: typer.Typer) -> None:
    """Give all commands the options that they lack."""
    for group in app.registered_groups:
        if group.typer_instance is not None:
            add_common_options(group.typer_instance)
    for part in (*app.registered_commands, app.registered_callback):
        if part is not None and part.callback is not None:
            part.callback = _with_options(part.callback)


def api_key() -> str | None:
    """Return the key for a service, if one was given."""
    return os.environ.get(KEY_VARIABLE) or None


def _with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with the options. Each is the same as its variable: whoever needs it reads that."""
    signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    added = {}
    if "url" in signature.parameters:
        added["api_key"] = (KEY_VARIABLE, ApiKeyOption)
    if "config" in signature.parameters:
        added["environment"] = (ENVIRONMENT_VARIABLE, Environment)

    @functools.wraps(command)
    def called(**values: Any) -> Any:
        for name, (variable, _) in added.items():
            if (value := values.pop(name)) is not None:
                os.environ[variable] = value
        return command(**values)

    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [parameter.replace(annotation=hints[name], kind=kind) for name, parameter in signature.parameters.items()]
    parameters += [inspect.Parameter(name, kind, default=None, annotation=hint) for name, (_, hint) in added.items()]
    called.__signature__ = signature.replace(parameters=parameters, return_annotation=None)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called
