"""Profiles: what is known of players beside their scores, and how changes apply to it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, cast, get_args
from urllib.parse import urlsplit

import msgspec

from keepscore.domain.values import check_name
from keepscore.errors import InvalidField

__all__ = [
    "ATTRIBUTES_BYTES",
    "MAX_LEVEL",
    "NO_CARD",
    "PROFILE_FIELDS",
    "TEXT_BYTES",
    "URL_BYTES",
    "VISIBILITIES",
    "Card",
    "Visibility",
    "card_of",
    "changed_profile",
    "check_profile",
]

#: Who sees who a player is. See `docs/people.md`.
Visibility = Literal["public", "friends", "pseudonym", "hidden"]
VISIBILITIES: tuple[str, ...] = get_args(Visibility)

#: Bytes of a region, a country or a team, which may be the value of a segment; and of the address of an avatar.
TEXT_BYTES, URL_BYTES = 64, 2048
#: Bytes of all attributes, as JSON; and how many there may be.
ATTRIBUTES_BYTES, MAX_ATTRIBUTES = 4096, 50
#: The highest level.
MAX_LEVEL = 2**53 - 1

PROFILE_FIELDS = ("name", "avatar_url", "region", "country", "level", "team", "attributes", "visibility")


#: Fields that segments can come from; so can attributes that are called otherwise.
TRAITS = ("region", "country", "level", "team")


class Card(NamedTuple):
    """What lists show of a player."""

    name: str | None = None
    avatar_url: str | None = None
    visibility: Visibility = "public"
    #: What segments can come from: region, country, level, team and attributes, by name.
    traits: Mapping[str, object] = MappingProxyType({})
    #: How often the profile has changed.
    version: int = 0


#: The card of a player of whom nothing is known.
NO_CARD = Card()


def card_of(profile: Mapping[str, Any], version: int) -> Card:
    """Return what lists show of a player with this profile, which has changed so often."""
    traits = {**profile.get("attributes", {}), **{name: profile[name] for name in TRAITS if name in profile}}
    visibility = cast("Visibility", profile.get("visibility", "public"))
    return Card(profile.get("name"), profile.get("avatar_url"), visibility, traits, version)


def check_profile(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a profile, checked. None stands for a field that is to be removed.

    >>> check_profile({"name": "Ada", "level": None})
    {'name': 'Ada', 'level': None}
    """
    for name, value in fields.items():
        if name not in PROFILE_FIELDS:
            raise InvalidField(f"a profile has no field {name[:40]!r}: it has {', '.join(PROFILE_FIELDS)}")
        if value is not None:
            _CHECKS[name](name, value)
    return dict(fields)


def changed_profile(profile: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a profile with some fields changed. Attributes are changed one by one, and None removes what it stands for.

    >>> changed_profile({"name": "Ada", "attributes": {"a": 1, "b": 2}}, {"name": None, "attributes": {"a": None, "c": 3}})
    {'attributes': {'b': 2, 'c': 3}}
    """
    merged = {**profile, **changes}
    if isinstance(changes.get("attributes"), Mapping):
        attributes = {**profile.get("attributes", {}), **changes["attributes"]}
        merged["attributes"] = {name: value for name, value in attributes.items() if value is not None} or None
        if merged["attributes"] is not None:
            _check_attributes("attributes", merged["attributes"])
    return {name: value for name, value in merged.items() if value is not None and not (name == "visibility" and value == "public")}


def _check_name(field: str, value: Any) -> None:
    if not isinstance(value, str):
        raise InvalidField(f"{field} = {value!r} is not a text")
    check_name(value)


def _check_text(field: str, value: Any) -> None:
    if not isinstance(value, str):
        raise InvalidField(f"{field} = {str(value)[:40]!r} is not a text")
    if not 0 < len(value.encode("utf-8", "replace")) <= TEXT_BYTES or not value.isprintable():
        raise InvalidField(f"{field} = {value[:40]!r} is empty, longer than {TEXT_BYTES} bytes or not printable")


def _check_url(field: str, value: Any) -> None:
    shown = f"{field} = {str(value)[:60]!r}"
    if not isinstance(value, str) or not value.isprintable() or " " in value or len(value.encode("utf-8", "replace")) > URL_BYTES:
        raise InvalidField(f"{shown} is not an address of up to {URL_BYTES} bytes without spaces")
    try:
        parts = urlsplit(value)
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in ("http", "https") or not parts.netloc:
        raise InvalidField(f"{shown} is not the address of a picture: write it as in 'https://example.org/ada.png'")


def _check_level(field: str, value: Any) -> None:
    if type(value) is not int or not 0 <= value <= MAX_LEVEL:
        raise InvalidField(f"{field} = {str(value)[:40]} is not a whole number from 0 to {MAX_LEVEL}")


def _check_attributes(field: str, value: Any) -> None:
    if not isinstance(value, Mapping) or len(value) > MAX_ATTRIBUTES:
        raise InvalidField(f"{field} is not an object of up to {MAX_ATTRIBUTES} attributes")
    for name, own in value.items():
        if not isinstance(name, str) or not 0 < len(name.encode("utf-8", "replace")) <= TEXT_BYTES or not name.isprintable():
            raise InvalidField(f"{field}: the name {str(name)[:40]!r} is empty, longer than {TEXT_BYTES} bytes or not printable")
        if own is not None and not isinstance(own, str | int | float | bool):
            raise InvalidField(f"{field}: {name} = {str(own)[:40]!r} is not a text, a number, true or false")
        if isinstance(own, str) and ("\0" in own or own != own.encode("utf-8", "replace").decode()):
            raise InvalidField(f"{field}: {name} holds a NUL or half a surrogate pair")
    if len(msgspec.json.encode(value)) > ATTRIBUTES_BYTES:
        raise InvalidField(f"{field} is larger than {ATTRIBUTES_BYTES} bytes of JSON")


def _check_visibility(field: str, value: Any) -> None:
    if value not in VISIBILITIES:
        raise InvalidField(f"{field} = {str(value)[:40]!r} is not a visibility: allowed are {', '.join(VISIBILITIES)}")


_CHECKS = {
    "name": _check_name,
    "avatar_url": _check_url,
    "region": _check_text,
    "country": _check_text,
    "level": _check_level,
    "team": _check_text,
    "attributes": _check_attributes,
    "visibility": _check_visibility,
}
