"""Live connections: server-sent events and WebSockets on top of the hub in `reading/live/`.

Imports `access` and the HTTP edge. Start with `streams` and `sockets`.
"""
