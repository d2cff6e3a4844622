"""What the process counts and logs about itself, for any room to use. Imports nothing of Keepscore.

Start with `counters`; `service/metrics.py` shows them.
"""
