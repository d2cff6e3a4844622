"""The fast edge: a thin ASGI layer with declared routes, typed bodies, problem+json, streams and WebSockets.

Imports `errors` and nothing about boards. Start with `layer`, then `table` (what a `Route` declares).
"""
