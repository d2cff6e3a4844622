"""Ranking engines: a fast index over the ledger. `base.py` is the port, composed of `roles.py`; `capabilities.py` is what only some can do.

The port imports `domain` only; `embedded/` and `redis/` are its adapters. Start with `base.py` and `values.py`.
"""
