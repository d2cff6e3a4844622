"""Honest rankings: moderation that is recorded, explained and can be undone.

A decision of a moderator becomes verdicts (`domain.verdicts`), which are events like all others, and the players whom they reach are
restated by the code that restates late events. So the write path knows nothing of moderation.

May import lifecycle and all below it. Start with `moderation`, the namespace of the library; `voids` records and takes back decisions,
`selection` finds the events that they are about, `effects` says what they change. `audit` shows who did what, and proves
that nobody has changed that. `rules`, `anomalies` and `addresses`
serve the write path; `review`, `evidence`, `appeals` and `back_testing` the moderators.
"""
