"""Leagues: cohorts of one tier in each window, and who moves up or down when it closes. Pure.

Imports `domain` and `errors` only. Start with `cohorts` (who is where); `definition` is the field `league` of a board.
"""
