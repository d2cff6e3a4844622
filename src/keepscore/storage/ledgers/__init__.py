"""Ledgers: where events are recorded. `base.py` is the port, composed of the roles in the files beside it.

The port imports `domain` only. `sqlite/` and `postgres/` are its adapters, with a file for each role. Start with `base.py` and `events.py`.
"""
