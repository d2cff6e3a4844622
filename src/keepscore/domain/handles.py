"""Invented names for players who do not want to be known. Pure."""

from __future__ import annotations

import hmac

__all__ = ["handle_of"]

_ADJECTIVES_TEXT = """
amber bold brave bright brisk calm clever cosmic crimson daring deft eager early fair fancy fast fierce fleet gentle giant glad golden
grand happy hardy hidden honest humble icy jolly keen kind late lively loyal lucky lunar merry mighty misty modest noble olive patient
plucky polar proud quick quiet rapid royal rusty shy silent silver sleepy sly solar steady sunny swift tidy tiny witty
"""
_ANIMALS_TEXT = """
badger bear beaver bison camel cat cobra crab crane crow deer dingo dolphin dove duck eagle elk falcon ferret finch fox frog gecko goat
goose hare hawk heron horse ibex jackal jaguar koala lemur leopard lion llama lynx magpie marten mole moose moth newt otter owl panda
panther parrot pigeon puffin puma rabbit raven robin seal shark sloth stork swan tiger turtle viper walrus wolf wombat wren zebra
"""
_ADJECTIVES, _ANIMALS = _ADJECTIVES_TEXT.split(), _ANIMALS_TEXT.split()
#: How many numbers there are behind an animal.
NUMBERS = 1_000_000


def handle_of(secret: bytes, player: str) -> str:
    """Return the invented name of a player, which is always the same under one secret, and tells nothing of the id.

    >>> handle_of(b"secret", "ada") == handle_of(b"secret", "ada") != handle_of(b"other", "ada")
    True
    """
    number = int.from_bytes(hmac.digest(secret, b"handle:" + player.encode("utf-8", "surrogatepass"), "sha256")[:12])
    number, adjective = divmod(number, len(_ADJECTIVES))
    number, animal = divmod(number, len(_ANIMALS))
    return f"{_ADJECTIVES[adjective]}-{_ANIMALS[animal]}-{number % NUMBERS}"
