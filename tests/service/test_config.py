"""Where a setting comes from, and that each is documented."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from keepscore.cli import app
from keepscore.config import SETTINGS, load_settings
from keepscore.domain.board_fields import TABLES
from keepscore.errors import ConfigError

ROOT = Path(__file__).parents[2]


def commands_of(group: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Give every command of the command line, with the group that it is in."""
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from commands_of(command, (*path, name))
        elif not command.hidden:
            yield " ".join((*path, name))


COMMANDS = list(commands_of(typer.main.get_command(app)))


def configured(directory: Path, text: str) -> str:
    file = directory / "settings.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load_settings(environment={})
    assert (settings.host, settings.port, settings.workers, settings.insecure) == ("127.0.0.1", 8080, 1, False)
    assert (settings.engine, settings.ledger, settings.boards) == ("embedded://", "sqlite:///data/keepscore.db", [])


def test_a_file_is_overridden_by_variables_and_these_by_flags(tmp_path: Path) -> None:
    file = configured(tmp_path, '[server]\nhost = "127.0.0.2"\nport = 1001\nworkers = 2\n[ledger]\nurl = "sqlite:///a.db"\n')
    variables = {"KEEPSCORE_SERVER_PORT": "1002", "KEEPSCORE_SERVER_WORKERS": "3"}
    settings = load_settings(file, {"server.workers": 4, "server.port": None}, variables)
    assert (settings.host, settings.port, settings.workers, settings.ledger) == ("127.0.0.2", 1002, 4, "sqlite:///a.db")


def test_the_file_may_be_named_by_a_variable_or_lie_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keepscore.toml").write_text("[server]\nport = 1001\n")
    file = configured(tmp_path, "[server]\nport = 1002\n")
    assert load_settings(environment={}).port == 1001
    assert load_settings(environment={"KEEPSCORE_CONFIG": file}).port == 1002
    assert load_settings(file, environment={"KEEPSCORE_CONFIG": "elsewhere.toml"}).port == 1002


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("True", True), ("false", False), ("0", False)])
def test_a_variable_that_is_true_or_false(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, value: bool) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings(environment={"KEEPSCORE_SERVER_INSECURE": text}).insecure is value


#: A webhook needs an address and a secret together.
WEBHOOKS = {"KEEPSCORE_WEBHOOKS_URL": "https://game.example.com/hooks", "KEEPSCORE_WEBHOOKS_SECRET": f"whsec_{'A' * 32}"}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    variable = f"KEEPSCORE_{name.replace('.', '_').upper()}"
    words = {"ledger.keep_keys": "45d", "ledger.keep_events": "45d", "server.stop_timeout": "45s"}
    words |= {"server.log_level": "debug", "server.log_format": "json", "server.idle_timeout": "45s", "server.body_timeout": "45s"}
    words |= {"server.allowed_hosts": "scores.example.com, play.example.com", "server.cors_origins": "https://play.example.com"}
    words |= {"live.interval": "45s", "live.heartbeat": "45s", "live.updates_channel": "to:{player}"}
    words |= {"server.auth": "off", "server.environment": "test", "players.friends": "mutual"}
    words |= {"players.key": "p:{player_id}", "players.friends_key": "friends:{player_id}"}
    words |= {"server.page": "off", "server.embed_origins": "https://club.example.com", "webhooks.allow": "game.example.com"}
    words |= {"webhooks.url": "https://other.example.com/hooks", "webhooks.secret": f"whsec_{'C' * 32}"}
    words |= {f"limits.{subject}": "7/1m" for subject in ("key", "player", "address", "board")}
    text = words.get(name) or {int: "77", bool: "true", str: "text"}[SETTINGS[name].kind]
    base = dict(WEBHOOKS) if name.startswith("webhooks.") else {}
    if name == "webhooks.secret_file":
        # One secret, from here or from there.
        (tmp_path / "text").write_text(f"whsec_{'B' * 32}")
        del base["KEEPSCORE_WEBHOOKS_SECRET"]
    if name.endswith("_channel"):
        base = {"KEEPSCORE_ENGINE_URL": "redis://127.0.0.1"}
    plain = load_settings(environment=dict(WEBHOOKS) if name.startswith("webhooks.") else base)
    changed = load_settings(environment={**base, variable: text})
    # Another environment has another ledger, too.
    assert sum(before != after for before, after in zip(plain, changed, strict=True)) == (2 if name == "server.environment" else 1)


@pytest.mark.parametrize("value", ["30d", "4w", "1h", "13 months", "", "never", "4000d"])
def test_how_long_events_are_kept_is_a_month_or_more(tmp_path: Path, value: str) -> None:
    file = configured(tmp_path, f'[ledger]\nkeep_events = "{value}"\n')
    with pytest.raises(ConfigError, match=r"ledger.keep_events = .* cannot be used; allowed: forever, or a duration from 31d"):
        load_settings(file, environment={})
    for good in ("forever", "31d", "60w"):
        assert load_settings(configured(tmp_path, f'[ledger]\nkeep_events = "{good}"\n'), environment={}).keep_events == good


def named(page: str) -> set[str]:
    """All that stands in backquotes, or in blocks of code, on a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return set(re.findall(r"`([^`\n]+)`", text))


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_documented(name: str) -> None:
    found = named("docs/configuration.md")
    assert name in found
    assert f"KEEPSCORE_{name.replace('.', '_').upper()}" in found


def test_the_tables_of_board_fields_are_those_of_the_source() -> None:
    done = subprocess.run([sys.executable, "tools/write_docs.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    for name, fields in TABLES.items():
        assert all(f"| `{field}` |" in page for field in fields), name


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command: str) -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert any(re.search(rf"keepscore {command}\b", page.read_text(encoding="utf-8")) for page in pages)


def test_the_demo_configuration_is_right() -> None:
    settings = load_settings(str(ROOT / "examples" / "demo.toml"), environment={})
    boards = {board.name: board for board in settings.boards}
    behind = boards[settings.default_board]
    assert behind.operator == "last"
    assert {"daily", "weekly", "monthly", "all_time"} <= set(behind.periods)
    assert "region" in behind.segments


@pytest.mark.parametrize(
    "url", ["https://bot:hunter2@example.com/x", "https://bot:hunter2/@example.com", f"https://bot:{'hunter2' * 30}@example.com"]
)
def test_the_password_of_a_webhook_url_is_not_shown(url: str) -> None:
    with pytest.raises(ConfigError, match=r"…@example\.com") as caught:
        load_settings(None, {}, {**WEBHOOKS, "KEEPSCORE_WEBHOOKS_URL": url})
    assert "hunter2" not in str(caught.value)
