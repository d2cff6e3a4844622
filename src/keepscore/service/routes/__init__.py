"""The routes of the API, one module for each part.

They import `leaderboards` and `service.http`. Start with `boards`; `bodies` and `stated` say what requests may contain.
"""
