"""The way out: reader, views, cursors, archives, stale reads, movement, history, as-of.

Imports `projection` and below. Start with `reader`.
"""
