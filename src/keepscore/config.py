"""Settings: `keepscore.toml`, overridden by `KEEPSCORE_…` variables, overridden by flags."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from keepscore.boards import Board, board_from_dict
from keepscore.durations import duration_ms
from keepscore.errors import ConfigError, InvalidBoard

__all__ = ["SETTINGS", "Setting", "Settings", "boards_from_file", "load_settings"]

#: The file that is read where none is named and it exists.
DEFAULT_FILE = "keepscore.toml"
#: A day, in milliseconds.
DAY = 86_400_000


class Setting(NamedTuple):
    """One setting: its type, its default, what it means and what is allowed."""

    kind: type
    default: Any
    meaning: str
    allowed: str


#: All settings but boards, by section and key. The variable of `server.port` is KEEPSCORE_SERVER_PORT.
SETTINGS: dict[str, Setting] = {
    "server.host": Setting(str, "127.0.0.1", "the address on which the service listens", "an IP address or host name"),
    "server.port": Setting(int, 8080, "the port on which the service listens", "1 to 65535"),
    "server.workers": Setting(int, 1, "how many processes serve", "1 to 256; with the embedded engine, 1"),
    "server.insecure": Setting(
        bool,
        False,
        "whether the service may listen on other addresses than this machine's own, open to everybody",
        "true or false",
    ),
    "server.default_board": Setting(str, "global", "the board behind the routes /api/v1/leaderboard/…", "the name of a board"),
    "engine.url": Setting(
        str, "embedded://", "where rankings are kept", "embedded://, redis://…, rediss://…, redis+sentinel://… or redis+cluster://…"
    ),
    "ledger.url": Setting(
        str, "sqlite:///data/keepscore.db", "where events are kept", "sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE"
    ),
    "ledger.keep_events": Setting(
        str,
        "forever",
        "how long events are kept after they have come; then they are folded and dropped, a month at a time",
        "forever, or a duration from 31d, such as '400d'",
    ),
    "ledger.keep_keys": Setting(str, "7d", "how long idempotency keys are remembered", "a duration from 1m to 3650d, such as '7d'"),
}


class Settings(NamedTuple):
    """All settings, checked."""

    host: str
    port: int
    workers: int
    insecure: bool
    default_board: str
    engine: str
    ledger: str
    keep_events: str
    keep_keys: str
    boards: list[Board]


def load_settings(
    file: str | None = None, overrides: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """The settings from a file, the environment and flags (`overrides`, by names such as `server.port`)."""
    environment = os.environ if environment is None else environment
    file = file or environment.get("KEEPSCORE_CONFIG") or (DEFAULT_FILE if Path(DEFAULT_FILE).exists() else None)
    data = _read(file) if file else {}
    values = {name: setting.default for name, setting in SETTINGS.items()}
    values |= _from_file(file or "", data)
    values |= _from_environment(environment)
    values |= {name: _checked(name, value, "a flag") for name, value in (overrides or {}).items() if value is not None}
    try:
        boards = [board_from_dict(board) for board in _board_tables(file or "", data)]
    except InvalidBoard as exc:
        raise ConfigError(f"{file}: {exc}") from None
    return Settings(
        host=values["server.host"],
        port=values["server.port"],
        workers=values["server.workers"],
        insecure=values["server.insecure"],
        default_board=values["server.default_board"],
        engine=values["engine.url"],
        ledger=values["ledger.url"],
        keep_events=values["ledger.keep_events"],
        keep_keys=values["ledger.keep_keys"],
        boards=boards,
    )


def boards_from_file(file: str) -> list[dict[str, Any]]:
    """The board definitions of a TOML or JSON file, unchecked."""
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
            values[name] = _checked(name, value, file)
    return values


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    known = {f"KEEPSCORE_{name.replace('.', '_').upper()}": name for name in SETTINGS}
    values: dict[str, Any] = {}
    for variable, text in environment.items():
        if variable.startswith("KEEPSCORE_") and variable not in ("KEEPSCORE_CONFIG", "KEEPSCORE_URL"):
            if variable not in known:
                raise ConfigError(f"unknown variable {variable}; allowed: {', '.join(known)}, KEEPSCORE_CONFIG, KEEPSCORE_URL")
            values[known[variable]] = _checked(known[variable], _typed(known[variable], text), variable)
    return values


def _typed(name: str, text: str) -> Any:
    kind = SETTINGS[name].kind
    if kind is int and text.isdecimal():
        return int(text)
    if kind is bool and text.lower() in ("true", "1", "false", "0"):
        return text.lower() in ("true", "1")
    return text


def _checked(name: str, value: Any, where: str) -> Any:
    setting = SETTINGS[name]
    right = type(value) is setting.kind
    if name == "server.port":
        right = right and 1 <= value <= 65535
    elif name == "server.workers":
        right = right and 1 <= value <= 256
    elif name == "ledger.keep_keys":
        right = right and _is_duration(value, 60_000)
    elif name == "ledger.keep_events":
        right = right and (value == "forever" or _is_duration(value, 31 * DAY))
    elif setting.kind is str:
        right = right and bool(value)
    if not right:
        raise ConfigError(f"{where}: {name} = {value!r} cannot be used; allowed: {setting.allowed}. It is {setting.meaning}")
    return value


def _is_duration(text: str, least: int) -> bool:
    try:
        return least <= duration_ms(text) <= 3650 * DAY
    except ValueError:
        return False
