"""What happens with time: the keeper and its jobs, archiving, definitions, resets, verify, rebuild, retention.

Imports `reading`, `writing` and below. Start with `keeper`.
"""
