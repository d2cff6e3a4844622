"""Live subscriptions of one process: what is followed (`specs`), once for all who follow the same (`channels`), by whom (`mailboxes`).

Imports what `reading` may import, and its reader. Start with `hub`.
"""
