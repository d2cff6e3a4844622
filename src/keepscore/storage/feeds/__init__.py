"""Feeds: who writes says which rankings changed. `base.py` is the port, `memory.py` and `redis.py` are its adapters."""
