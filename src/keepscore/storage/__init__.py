"""Where things are kept: engines (rankings), ledgers (events) and feeds (notices), each a port with its adapters.

Ports import `domain` only; adapters import their port. Only `keepscore.connect` imports adapters. Start with `ledgers/base.py`.
"""
