"""Marks of network addresses: the same for the same address, and nobody gets the address back from one. Pure."""

from __future__ import annotations

import hashlib
from ipaddress import IPv6Address, ip_address, ip_network

__all__ = ["address_mark", "network_of"]

#: Bytes of a mark.
MARK_BYTES = 8


def network_of(text: str) -> str:
    """Return what stands for one household: an IPv4 address, or the /64 network of an IPv6 address. A ValueError for anything else.

    >>> network_of("192.0.2.7"), network_of("::ffff:192.0.2.7"), network_of("2001:db8:1:2:3::4")
    ('192.0.2.7', '192.0.2.7', '2001:db8:1:2::/64')
    """
    found = ip_address(text.strip())
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ip_network((int(found), 64), strict=False))
    return str(found)


def address_mark(secret: bytes, text: str) -> str:
    """Return the mark of an address: a hash with a secret, without which nobody can try all addresses.

    >>> address_mark(b"secret", "192.0.2.7") == address_mark(b"secret", "::ffff:192.0.2.7")
    True
    """
    return hashlib.blake2b(network_of(text).encode(), key=secret[:64], digest_size=MARK_BYTES, person=b"address").hexdigest()
