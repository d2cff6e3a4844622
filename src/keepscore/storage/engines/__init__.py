"""Ranking engines: `base.py` is the port, `embedded/` and `redis/` are its adapters."""
