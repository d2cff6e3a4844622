"""The HTTP service: the fast edge, routes, pages.

Imports `leaderboards` and below. Start with `app` (everything in one ASGI application) and `routes/`.
"""
