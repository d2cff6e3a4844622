"""Players as people, beside their scores: profiles, friends and groups.

Imports `lifecycle`, `reading`, `writing` and below. Start with `profiles`.
"""
