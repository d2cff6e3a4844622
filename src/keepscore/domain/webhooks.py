"""Webhooks: where messages may go, how they are signed (Standard Webhooks), and how long to wait after a failure. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

__all__ = ["SECRET_PREFIX", "WebhookTarget", "is_public", "pause_ms", "signed_headers", "webhook_target"]

SECRET_PREFIX = "whsec_"
#: The least and most bytes of a secret, as Standard Webhooks has it.
MIN_SECRET_BYTES, MAX_SECRET_BYTES = 24, 64
MAX_URL = 2000
#: Seconds between tries; after the last, always that long.
PAUSES_S = (5, 30, 120, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600)

_HOST = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?|[0-9a-f:]*:[0-9a-f:.]*")
#: Networks in which an IPv4 address hides: it may be a private one.
_HIDING = ("64:ff9b:", "2002:", "2001:0:", "100:")


class WebhookTarget(NamedTuple):
    """Where webhooks go: a URL that was checked, and the secret that signs them."""

    host: str
    port: int
    path: str
    is_encrypted: bool
    secret: bytes
    #: Whether the host is allowed by name: it may have a private address, and need not be encrypted.
    is_allowed: bool

    @property
    def shown(self) -> str:
        """The URL without its path, which may hold a secret."""
        return f"{'https' if self.is_encrypted else 'http'}://{self.authority}"

    @property
    def authority(self) -> str:
        """What the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_encrypted else 80) else f"{host}:{self.port}"


def webhook_target(url: str, secret: str, allow: Sequence[str]) -> WebhookTarget:
    """Return where webhooks go, or raise a ValueError that says what is wrong, without the secret.

    >>> webhook_target("https://hooks.example.com/score", "whsec_" + "a" * 32, []).authority
    'hooks.example.com'
    """
    if len(url) > MAX_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("it is too long, or holds characters that a URL has not")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise ValueError("it is no URL: write one such as 'https://game.example.com/hooks'") from None
    if parts.scheme not in ("https", "http") or not _HOST.fullmatch(host) or port == 0:
        raise ValueError("it is no URL: write one such as 'https://game.example.com/hooks'")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise ValueError("it has a user, a password or a fragment: webhooks are signed instead")
    is_allowed = host in [one.lower() for one in allow]
    if parts.scheme != "https" and not is_allowed:
        raise ValueError(f"it is not https: encrypt it, or allow the host by name: webhooks.allow = ['{host}']")
    if not is_allowed and (host == "localhost" or host.endswith(".localhost") or not _is_public_literal(host)):
        raise ValueError(f"{host} is a private address: allow it by name, if it is meant: webhooks.allow = ['{host}']")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    is_encrypted = parts.scheme == "https"
    return WebhookTarget(host, port or (443 if is_encrypted else 80), path, is_encrypted, _secret(secret), is_allowed)


def _secret(text: str) -> bytes:
    wrong = ValueError(f"the secret is {SECRET_PREFIX} and {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} random bytes in base64")
    try:
        found = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise wrong from None
    if not text.startswith(SECRET_PREFIX) or not MIN_SECRET_BYTES <= len(found) <= MAX_SECRET_BYTES:
        raise wrong
    return found


def _is_public_literal(host: str) -> bool:
    """Return whether a host is a name, or a public address. Numbers in other forms are addresses to some resolvers."""
    try:
        return is_public(ip_address(host))
    except ValueError:
        last = host.rstrip(".").rpartition(".")[2]
        return not (last.isdecimal() or re.fullmatch(r"0x[0-9a-f]*", last))


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address is one of the public Internet.

    >>> [is_public(ip_address(text)) for text in ("1.1.1.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "2002:7f00:1::")]
    [True, False, False, False, False, False]
    """
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address.compressed.startswith(_HIDING) or address.teredo is not None or address.scope_id is not None:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def signed_headers(message_id: str, seconds: int, body: bytes, secret: bytes) -> dict[str, str]:
    """Return the headers of a message, as Standard Webhooks has them."""
    signed = b"%b.%d.%b" % (message_id.encode(), seconds, body)
    signature = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    return {"webhook-id": message_id, "webhook-timestamp": str(seconds), "webhook-signature": f"v1,{signature}"}


def pause_ms(attempts: int) -> int:
    """Return how long to wait after so many tries, in milliseconds.

    >>> pause_ms(1), pause_ms(2), pause_ms(100)
    (5000, 30000, 43200000)
    """
    return PAUSES_S[min(max(attempts, 1), len(PAUSES_S)) - 1] * 1000
