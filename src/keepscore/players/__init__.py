"""Players as people, beside their scores: profiles.

Imports `lifecycle`, `reading`, `writing` and below. Start with `profiles`.
"""
