"""Pure rules, no I/O: boards, windows, scoring, order, keys, values and results.

Imports nothing of Keepscore but `errors`. Start with `boards` (what can be defined) and `scoring` (how events become a state).
"""
