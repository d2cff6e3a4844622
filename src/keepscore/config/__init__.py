"""Settings: `keepscore.toml`, overridden by `KEEPSCORE_…` variables, overridden by flags. `table` says what each may be.

Imports `access`, `domain` and `errors`. Start with `table` (every setting); this module reads files and variables.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from keepscore.access.environments import engine_url_for, ledger_url_for
from keepscore.config.table import SETTINGS, Setting, checked
from keepscore.domain.boards import Board, board_from_dict
from keepscore.domain.caps import Caps, LiveCaps
from keepscore.domain.mirrors import MirrorKeys
from keepscore.domain.outside_channels import OFF, OutsideChannels
from keepscore.domain.webhooks import WebhookTarget, webhook_target
from keepscore.errors import ConfigError, InvalidBoard

__all__ = ["SETTINGS", "Setting", "Settings", "boards_from_file", "load_settings"]

#: The file that is read where none is named and it exists.
DEFAULT_FILE = "keepscore.toml"

#: Variables that are no settings: the command line reads them.
COMMAND_VARIABLES = ("KEEPSCORE_CONFIG", "KEEPSCORE_URL", "KEEPSCORE_KEY")


class Settings(NamedTuple):
    """All settings, checked."""

    host: str
    port: int
    workers: int
    auth: str
    environment: str
    insecure: bool
    stop_timeout: str
    max_connections: int
    max_connections_per_address: int
    idle_timeout: str
    body_timeout: str
    cache_bytes: int
    allowed_hosts: list[str]
    cors_origins: list[str]
    page: str
    embed_origins: list[str]
    default_board: str
    log_level: str
    log_format: str
    access_log: bool
    engine: str
    ledger: str
    keep_events: str
    keep_keys: str
    friends: str
    #: Keys in Redis that other services read.
    mirror: MirrorKeys
    #: Rates by subject, and units by cost.
    rates: dict[str, str]
    units: dict[str, int]
    caps: Caps
    live_interval: str
    live_heartbeat: str
    live_caps: LiveCaps
    channels: OutsideChannels
    #: Where messages about rewards go, if they go anywhere.
    webhook: WebhookTarget | None
    boards: list[Board]


def load_settings(
    file: str | None = None, overrides: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """Load the settings from a file, the environment and flags (`overrides`, by names such as `server.port`)."""
    environment = os.environ if environment is None else environment
    file = file or environment.get("KEEPSCORE_CONFIG") or (DEFAULT_FILE if Path(DEFAULT_FILE).exists() else None)
    data = _read(file) if file else {}
    values = {name: setting.default for name, setting in SETTINGS.items()}
    values |= _from_file(file or "", data)
    values |= _from_environment(environment)
    values |= {name: checked(name, value, "a flag") for name, value in (overrides or {}).items() if value is not None}
    environment_name = values["server.environment"]
    try:
        engine = engine_url_for(values["engine.url"], environment_name)
    except ValueError as exc:
        raise ConfigError(f"server.environment = {environment_name!r} cannot be used: {exc}") from None
    try:
        boards = [board_from_dict(board) for board in _board_tables(file or "", data)]
    except InvalidBoard as exc:
        raise ConfigError(f"{file}: {exc}") from None
    return Settings(
        host=values["server.host"],
        port=values["server.port"],
        workers=values["server.workers"],
        auth=values["server.auth"],
        environment=environment_name,
        insecure=values["server.insecure"],
        stop_timeout=values["server.stop_timeout"],
        max_connections=values["server.max_connections"],
        max_connections_per_address=values["server.max_connections_per_address"],
        idle_timeout=values["server.idle_timeout"],
        body_timeout=values["server.body_timeout"],
        cache_bytes=values["server.cache_bytes"],
        allowed_hosts=values["server.allowed_hosts"],
        cors_origins=values["server.cors_origins"],
        page=values["server.page"],
        embed_origins=values["server.embed_origins"],
        default_board=values["server.default_board"],
        log_level=values["server.log_level"],
        log_format=values["server.log_format"],
        access_log=values["server.access_log"],
        engine=engine,
        ledger=ledger_url_for(values["ledger.url"], environment_name),
        keep_events=values["ledger.keep_events"],
        keep_keys=values["ledger.keep_keys"],
        friends=values["players.friends"],
        mirror=MirrorKeys(values["players.key"], values["players.friends_key"]),
        rates={subject: values[f"limits.{subject}"] for subject in ("key", "player", "address", "board")},
        units={cost: values[f"limits.{cost}"] for cost in ("light", "normal", "heavy")},
        caps=Caps(**{name: values[f"limits.{name}"] for name in Caps._fields}),
        webhook=_webhook(values),
        live_interval=values["live.interval"],
        live_heartbeat=values["live.heartbeat"],
        live_caps=LiveCaps(values["live.max_per_connection"], values["live.max_per_key"], values["live.max_per_address"]),
        channels=_channels(values, engine),
        boards=boards,
    )


def _channels(values: Mapping[str, Any], engine: str) -> OutsideChannels:
    """Return the channels for programs outside, which are those of the engine's Redis."""
    for name in ("live.updates_channel", "live.reset_channel"):
        if values[name] != OFF and engine == "embedded://":
            raise ConfigError(f"{name} = {values[name]!r} is a channel of Redis: use an engine on Redis, or leave it out")
    return OutsideChannels(values["live.updates_channel"], values["live.reset_channel"])


def _webhook(values: Mapping[str, Any]) -> WebhookTarget | None:
    """Return where webhooks go; None: nowhere. Errors never tell the secret."""
    url, secret, file = values["webhooks.url"], values["webhooks.secret"], values["webhooks.secret_file"]
    if not url:
        return None
    if bool(secret) == bool(file):
        raise ConfigError("webhooks.url needs a secret: give webhooks.secret or webhooks.secret_file, one of the two")
    try:
        return webhook_target(url, secret or _bytes(file).decode("ascii", "replace").strip(), values["webhooks.allow"])
    except ValueError as exc:
        # Whatever is before an @ may be a password.
        shown = re.sub("//.*@", "//…@", url)[:100]
        raise ConfigError(f"webhooks.url = {shown!r} cannot be used with its secret: {exc}") from None


def boards_from_file(file: str) -> list[dict[str, Any]]:
    """Read the board definitions of a TOML or JSON file, unchecked."""
    if file.endswith(".json"):
        try:
            data = msgspec.json.decode(_bytes(file))
        except msgspec.DecodeError as exc:
            raise ConfigError(f"{file} is not JSON: {exc}") from None
        boards = data if isinstance(data, list) else data.get("board", [data]) if isinstance(data, dict) else None
        if not isinstance(boards, list):
            raise ConfigError(f"{file} holds no board: write an object, or a list of objects, each with a name")
        return boards
    boards = _board_tables(file, _read(file))
    if not boards:
        raise ConfigError(f"{file} defines no board: write one as [[board]] with a name")
    return boards


def _bytes(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as exc:
        raise ConfigError(f"{file} cannot be read: {exc.strerror}") from None


def _read(file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(_bytes(file).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{file} is not TOML: {exc}") from None


def _board_tables(file: str, data: dict[str, Any]) -> list[dict[str, Any]]:
    boards = data.get("board", [])
    if not isinstance(boards, list):
        raise ConfigError(f"{file}: board is not a list of tables: write each board as [[board]]")
    return boards


def _from_file(file: str, data: dict[str, Any]) -> dict[str, Any]:
    values = {}
    sections = sorted({name.partition(".")[0] for name in SETTINGS})
    for section, content in data.items():
        if section == "board":
            continue
        if section not in sections or not isinstance(content, dict):
            raise ConfigError(f"{file}: unknown section [{section}]; allowed: {', '.join(f'[{s}]' for s in sections)}, [[board]]")
        for key, value in content.items():
            name = f"{section}.{key}"
            if name not in SETTINGS:
                known = ", ".join(known.partition(".")[2] for known in SETTINGS if known.startswith(f"{section}."))
                raise ConfigError(f"{file}: unknown key {key!r} in [{section}]; allowed: {known}")
            values[name] = checked(name, value, file)
    return values


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    known = {f"KEEPSCORE_{name.replace('.', '_').upper()}": name for name in SETTINGS}
    values: dict[str, Any] = {}
    for variable, text in environment.items():
        if variable.startswith("KEEPSCORE_") and variable not in COMMAND_VARIABLES:
            if variable not in known:
                raise ConfigError(f"unknown variable {variable}; allowed: {', '.join((*known, *COMMAND_VARIABLES))}")
            values[known[variable]] = checked(known[variable], _typed(known[variable], text), variable)
    return values


def _typed(name: str, text: str) -> Any:
    kind = SETTINGS[name].kind
    if kind is int and text.isdecimal():
        return int(text)
    if kind is bool and text.lower() in ("true", "1", "false", "0"):
        return text.lower() in ("true", "1")
    if kind is list:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text
