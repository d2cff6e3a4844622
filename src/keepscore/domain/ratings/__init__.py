"""Ratings: how a match changes the numbers that say how strong players are. Pure.

Imports `domain` and `errors` only. Start with `matches` (what a match becomes); `definition` is the field `rating` of a board.
"""
