"""What callers get: one struct for each answer, the same in the library, the HTTP API, the client and stored answers.

Imports `domain` only. Start with `standings`.
"""
