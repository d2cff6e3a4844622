"""The engine in the process. Start with `engine.py`; `ladder.py` is the sorted list underneath."""
