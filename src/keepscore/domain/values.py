"""Values that callers send: player ids, names, idempotency keys, times. Each check says what was wrong and what would be right. Pure."""

from __future__ import annotations

import re
from datetime import datetime

from keepscore.errors import BadInput, InvalidField, InvalidPlayer, InvalidTime

__all__ = ["MAX_ID_BYTES", "TEXT_PATTERN", "check_key", "check_name", "check_player", "check_reason", "check_text", "moment_of"]

#: Bytes of a player id, of a game id, of an idempotency key.
MAX_ID_BYTES = 128
#: Bytes of a reason.
MAX_REASON_BYTES = 1000
#: What a text is made of: anything but control characters.
TEXT_PATTERN = r"[^\u0000-\u001f\u007f-\u009f]+"

_text = re.compile(TEXT_PATTERN)


def check_player(player: object) -> str:
    """Check that a player id can be used: text of 1 to 128 bytes without control characters."""
    if not isinstance(player, str):
        raise InvalidPlayer(f"player_id = {player!r} is not a text")
    # Nearly all ids are short and printable ASCII, which needs no encoding to be measured.
    if player.isascii() and player.isprintable() and 0 < len(player) <= MAX_ID_BYTES:
        return player
    return check_text("player_id", player)


def check_text(what: str, text: str, error: type[BadInput] = InvalidPlayer) -> str:
    """Return a text that can be kept and shown: 1 to 128 bytes without control characters."""
    shown = f"{what} = {text[:40]!r}{'…' if len(text) > 40 else ''}"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise error(f"{shown} holds half a surrogate pair, which is not a character") from None
    if not 0 < size <= MAX_ID_BYTES:
        raise error(f"{shown} has {size} bytes: give it 1 to {MAX_ID_BYTES}")
    if not _text.fullmatch(text):
        raise error(f"{shown} holds a control character")
    return text


def check_reason(reason: str) -> str:
    """Return a reason that can be kept and shown."""
    try:
        size = len(reason.encode())
    except UnicodeEncodeError:
        raise InvalidField("reason holds half a surrogate pair, which is no character: write it again") from None
    if not reason.strip() or size > MAX_REASON_BYTES or "\0" in reason:
        raise InvalidField(f"reason is missing, empty, longer than {MAX_REASON_BYTES} bytes or holds a NUL: say why you do this")
    return reason


def check_name(name: str | None) -> str | None:
    """Check that a player's name can be shown."""
    return None if name is None else check_text("name", name)


def check_key(key: str | None) -> str | None:
    """Check that an idempotency key can be used."""
    if key is not None and (not 0 < len(key.encode("utf-8", "replace")) <= MAX_ID_BYTES or not key.isprintable()):
        raise InvalidField(f"idempotency_key = {key[:40]!r} is empty, longer than {MAX_ID_BYTES} bytes or holds a control character")
    return key


def moment_of(at: datetime | str, what: str = "at") -> int:
    """Convert a time with an offset to milliseconds since 1970."""
    try:
        moment = datetime.fromisoformat(at) if isinstance(at, str) else at
        if moment.tzinfo is None:
            raise InvalidTime(f"{what} = {str(at)!r} has no offset: write it as in '2026-11-15T19:30:00Z'")
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError, TypeError):
        raise InvalidTime(f"{what} = {str(at)!r} is not a time: write it as in '2026-11-15T19:30:00Z'") from None
