"""The ledger in PostgreSQL. Start with `ledger.py`; SQL is in `queries/`, the schema in `migrations/`."""
