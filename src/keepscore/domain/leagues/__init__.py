"""Leagues: cohorts of one tier in each window, and who moves up or down when it closes."""
