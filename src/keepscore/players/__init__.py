"""Players as people, beside their scores: profiles and friends.

Imports `lifecycle`, `reading`, `writing` and below. Start with `profiles`.
"""
