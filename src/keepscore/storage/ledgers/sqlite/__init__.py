"""The ledger in one SQLite file. Start with `ledger.py`; SQL is in `queries/`, the schema in `migrations/`."""
