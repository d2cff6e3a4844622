"""The table of settings: what each means, what it may be, and the check of a value."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from keepscore.access.environments import ENVIRONMENTS
from keepscore.access.gate import AUTH_MODES
from keepscore.access.rates import rate_of
from keepscore.domain.caps import DEFAULT_CAPS, DEFAULT_LIVE_CAPS
from keepscore.domain.durations import duration_ms
from keepscore.domain.friends import FRIEND_MODES, MAX_FRIENDS
from keepscore.domain.mirrors import FRIENDS_FIELDS, PLAYER_FIELDS, check_mirror_key
from keepscore.domain.outside_channels import OFF, is_channel_template
from keepscore.errors import ConfigError

__all__ = ["SETTINGS", "Setting", "checked"]

#: An hour and a day, in milliseconds.
HOUR, DAY = 3_600_000, 86_400_000


class Setting(NamedTuple):
    """One setting: its type, its default, what it means and what is allowed."""

    kind: type
    default: Any
    meaning: str
    allowed: str


#: What rates, units and counts may be.
RATE, UNITS, COUNT = "a number and a time, such as '600/1m', or 'off'", "1 to 1000000", "1 to 1000000000"
#: All settings but boards, by section and key. The variable of `server.port` is KEEPSCORE_SERVER_PORT.
SETTINGS: dict[str, Setting] = {
    "server.host": Setting(str, "127.0.0.1", "the address to listen on", "an IP address or host name"),
    "server.port": Setting(int, 8080, "the port to listen on", "1 to 65535"),
    "server.workers": Setting(int, 1, "how many processes serve", "1 to 256; with the embedded engine, 1"),
    "server.auth": Setting(
        str,
        "auto",
        "whether requests need an API key or a token: auto asks for none, on this machine's own addresses, until the first key is created",
        "auto, required or off",
    ),
    "server.environment": Setting(
        str, "live", "which boards, keys and events are served: live or test, which are separate", "live or test"
    ),
    "server.insecure": Setting(
        bool,
        False,
        "whether the service may run without keys on an address that other machines can reach",
        "true or false",
    ),
    "server.stop_timeout": Setting(
        str,
        "10s",
        "how long the service may take to finish running requests when it stops",
        "a duration from 1s to 1h, such as '10s'",
    ),
    "server.max_connections": Setting(
        int,
        10_000,
        "how many connections each process holds at once; more wait until others are closed",
        "64 to 1000000",
    ),
    "server.max_connections_per_address": Setting(
        int,
        5000,
        "how many connections each process holds with one client address (an IPv6 network of 64 bits counts as one); more are closed",
        "0 (no limit) to 1000000",
    ),
    "server.idle_timeout": Setting(
        str,
        "30s",
        "how long a connection may be idle, take to send a request's headers, or leave an answer unread, before it is closed",
        "a duration from 1s to 1h, such as '30s'",
    ),
    "server.body_timeout": Setting(
        str,
        "30s",
        "how long a request's body may take to arrive before the request is refused",
        "a duration from 1s to 1h, such as '30s'",
    ),
    "server.cache_bytes": Setting(
        int,
        64 << 20,
        "how much memory each process uses for encoded pages of rankings, in bytes",
        "0 (none are kept) to 1099511627776",
    ),
    "server.allowed_hosts": Setting(
        list,
        [],
        "the host names that the service answers to, besides localhost; on a loopback address, no others are answered",
        "host names without a port, such as ['scores.example.com'], or ['*'] for all",
    ),
    "server.cors_origins": Setting(
        list,
        [],
        "other origins whose web pages may read and write here",
        "origins such as ['https://game.example.com'], or ['*'] for all",
    ),
    "server.page": Setting(
        str,
        "public",
        "the pages for visitors: demo also lets them play, and shows made-up players on a board of their own",
        "demo, public or off",
    ),
    "server.embed_origins": Setting(
        list,
        [],
        "other origins whose web pages may show /embed/{board} in a frame",
        "origins such as ['https://club.example.com'], or ['*'] for all",
    ),
    "server.default_board": Setting(str, "global", "the board behind the routes /api/v1/leaderboard/…", "the name of a board"),
    "server.log_level": Setting(str, "info", "the lowest level that is logged", "debug, info, warning or error"),
    "server.log_format": Setting(str, "text", "the format of the log", "text or json"),
    "server.access_log": Setting(bool, False, "whether every request is logged and its answer has an X-Request-Id", "true or false"),
    "live.interval": Setting(str, "100ms", "how often a live subscription gets a message, at most", "a duration from 10ms to 1m"),
    "live.heartbeat": Setting(str, "15s", "how long a live connection is silent before a sign of life", "a duration from 1s to 10m"),
    "live.max_per_connection": Setting(
        int, DEFAULT_LIVE_CAPS.per_connection, "how many subscriptions one WebSocket may have", "1 to 10000"
    ),
    "live.max_per_key": Setting(int, DEFAULT_LIVE_CAPS.per_key, "how many live subscriptions one API key has in each process", COUNT),
    "live.max_per_address": Setting(
        int, DEFAULT_LIVE_CAPS.per_address, "how many live subscriptions one client address has in each process", COUNT
    ),
    "live.updates_channel": Setting(
        str,
        OFF,
        "the channel of Redis on which programs outside hear that a player's score has changed the player's rank",
        "a template with {player}, such as 'leaderboard:updates:{player}', and {board} and {window} where wanted, or 'off'",
    ),
    "live.reset_channel": Setting(
        str,
        OFF,
        "the channel of Redis on which programs outside hear that a window was closed, or a board reset",
        "a template such as 'leaderboard:reset', with {board} and {window} where wanted, or 'off'",
    ),
    "engine.url": Setting(
        str, "embedded://", "where rankings are kept", "embedded://, redis://…, rediss://…, redis+sentinel://… or redis+cluster://…"
    ),
    "ledger.url": Setting(
        str, "sqlite:///data/keepscore.db", "where events are kept", "sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE"
    ),
    "ledger.keep_events": Setting(
        str,
        "forever",
        "how long events are kept after they arrive; then they are folded and dropped, a month at a time",
        "forever, or a duration from 31d, such as '400d'",
    ),
    "ledger.keep_keys": Setting(str, "7d", "how long idempotency keys are remembered", "a duration from 1m to 3650d, such as '7d'"),
    "players.friends": Setting(
        str, "one-way", "whether a friendship is on the list of one player, or mutual: on the lists of both", "one-way or mutual"
    ),
    "players.key": Setting(
        str,
        "",
        "the key of a hash in Redis with what is known about a player, for other services",
        "a template such as 'player:{player_id}'",
    ),
    "players.friends_key": Setting(
        str,
        "",
        "the key of a sorted set in Redis with a player's friends, for other services",
        "a template such as 'leaderboard:friends:{player_id}'",
    ),
    "limits.key": Setting(str, "100000/1s", "how many units the requests of one API key may cost", RATE),
    "limits.player": Setting(str, "6000/1m", "how many units the requests with one player's tokens may cost", RATE),
    "limits.address": Setting(str, "60000/1m", "how many units the requests from one address without an API key may cost", RATE),
    "limits.board": Setting(str, "200000/1s", "how many units the requests about one board may cost", RATE),
    "limits.light": Setting(int, 1, "how many units a light request costs, such as one player's rank", UNITS),
    "limits.normal": Setting(int, 2, "how many units a normal request costs, such as a score or a page", UNITS),
    "limits.heavy": Setting(int, 20, "how many units a heavy request costs, such as a batch or a rebuild", UNITS),
    "limits.boards": Setting(int, DEFAULT_CAPS.boards, "how many boards there may be", COUNT),
    "limits.segment_values": Setting(
        int, DEFAULT_CAPS.segment_values, "how many values a segment may have in one window of a board; each has its own ranking", COUNT
    ),
    "limits.groups": Setting(int, DEFAULT_CAPS.groups, "how many private groups there may be", COUNT),
    "limits.group_members": Setting(int, DEFAULT_CAPS.group_members, "how many members a group may have", "1 to 5000"),
    "limits.player_groups": Setting(int, DEFAULT_CAPS.player_groups, "how many groups a player may be in", "1 to 5000"),
    "webhooks.url": Setting(str, "", "where messages about rewards go", "a URL such as 'https://game.example.com/hooks'"),
    "webhooks.secret": Setting(str, "", "the secret that signs webhooks", "whsec_ and 24 to 64 random bytes in base64"),
    "webhooks.secret_file": Setting(str, "", "a file with that secret", "the path of a file"),
    "webhooks.allow": Setting(
        list, [], "hosts that may have private addresses and need no https", "host names or addresses, such as ['hooks.internal']"
    ),
}


#: Settings that are one of a few words.
CHOICES = {"server.log_level": ("debug", "info", "warning", "error"), "server.log_format": ("text", "json")}
CHOICES |= {"players.friends": FRIEND_MODES, "server.auth": AUTH_MODES, "server.environment": ENVIRONMENTS}
CHOICES["server.page"] = ("demo", "public", "off")
#: Settings that are numbers: the least and the most.
RANGES = {
    "server.port": (1, 65535),
    "server.workers": (1, 256),
    "server.max_connections": (64, 1_000_000),
    "server.max_connections_per_address": (0, 1_000_000),
    "server.cache_bytes": (0, 1 << 40),
    "live.max_per_connection": (1, 10_000),
    "limits.group_members": (1, MAX_FRIENDS),
    "limits.player_groups": (1, MAX_FRIENDS),
}
#: Settings that are durations: the shortest and the longest, in milliseconds.
DURATIONS = {
    "server.stop_timeout": (1000, HOUR),
    "server.idle_timeout": (1000, HOUR),
    "server.body_timeout": (1000, HOUR),
    "live.interval": (10, 60_000),
    "live.heartbeat": (1000, 600_000),
    "ledger.keep_keys": (60_000, 3650 * DAY),
    "ledger.keep_events": (31 * DAY, 3650 * DAY),
}
#: Settings that are templates of keys: what they may hold.
TEMPLATES = {"players.key": PLAYER_FIELDS, "players.friends_key": FRIENDS_FIELDS}
#: Settings that are lists: what each part is.
PARTS = {
    "server.allowed_hosts": re.compile(r"\*|[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*"),
    "webhooks.allow": re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*"),
    "server.cors_origins": re.compile(r"\*|[a-z][a-z0-9+.-]*://[^/\s?#@]+"),
    "server.embed_origins": re.compile(r"\*|[a-z][a-z0-9+.-]*://[^/\s?#@;,']+"),
}


def checked(name: str, value: Any, where: str) -> Any:
    """Return the value of a setting, or raise the error that says where it stands and what is allowed."""
    setting = SETTINGS[name]
    right = type(value) is setting.kind
    if name in RANGES:
        right = right and RANGES[name][0] <= value <= RANGES[name][1]
    elif setting.allowed is RATE:
        right = right and _is_rate(value)
    elif setting.allowed in (UNITS, COUNT):
        right = right and 1 <= value <= (1_000_000 if setting.allowed is UNITS else 1_000_000_000)
    elif name in CHOICES:
        right = right and value in CHOICES[name]
    elif name in PARTS:
        right = right and all(isinstance(part, str) and PARTS[name].fullmatch(part) for part in value)
    elif name in DURATIONS:
        right = right and (_is_duration(value, *DURATIONS[name]) or (name == "ledger.keep_events" and value == "forever"))
    elif name.endswith("_channel"):
        right = right and is_channel_template(value, "updates" if name == "live.updates_channel" else "resets")
    elif name in TEMPLATES:
        right = right and (not value or _is_template(TEMPLATES[name], value))
    elif setting.kind is str:
        right = right and bool(value)
    if not right:
        value = "…" if name == "webhooks.secret" else value
        raise ConfigError(f"{where}: {name} = {value!r} cannot be used; allowed: {setting.allowed}. It is {setting.meaning}")
    return value


def _is_template(fields: tuple[str, ...], text: str) -> bool:
    try:
        check_mirror_key(fields, text)
    except ValueError:
        return False
    return True


def _is_rate(text: str) -> bool:
    try:
        rate_of(text)
    except ValueError:
        return False
    return True


def _is_duration(text: str, least: int, most: int) -> bool:
    try:
        return least <= duration_ms(text) <= most
    except ValueError:
        return False
