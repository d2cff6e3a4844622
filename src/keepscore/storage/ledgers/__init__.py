"""Ledgers: `base.py` is the port, composed of roles in the files beside it; `sqlite/` and `postgres/` are its adapters, a file a role."""
