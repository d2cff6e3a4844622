"""The fast edge: a thin ASGI layer with declared routes, typed bodies, problem+json, streams and WebSockets.

Start with `layer`.
"""
