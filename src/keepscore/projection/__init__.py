"""From the ledger to the engine: live boards, folds, replay, loading, roll-ups, partial rankings, and what the parts of a process share.

Imports `storage` ports and `domain`. Start with `live_boards` (what a board means now) and `replay` (events become states). All that is
special about roll-ups is in `rollups`, and about `keep_top` in `partial_rankings`.
"""
