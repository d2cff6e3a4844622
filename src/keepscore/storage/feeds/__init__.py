"""Feeds: a process that writes tells the others which rankings changed. `base.py` is the port, `memory.py` and `redis.py` are its adapters.

Feeds import `domain`, the engines' port and, for `redis.py`, how Redis is reached. Start with `base.py`.
"""
