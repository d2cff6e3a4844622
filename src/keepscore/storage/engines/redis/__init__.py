"""The engine in Redis. Start with `engine.py` and `layouts.py`; what happens in Redis is in `lua/`."""
