"""The keeper's jobs, one module for each.

They import `reading`, `writing` and below, as all of `lifecycle` does. Start with `base` (what a job is) and `closing` (the largest one).
"""
