"""The way in: checks, queue, plan, recorder, writer, applier, healing, spool, idempotency, receipts.

Imports `projection` and below; `protocols` says what it asks of other rooms. Start with `writer` (the path of one group of submissions),
then `recorder` (into the ledger), `applier` (into the engine) and `healing` (what the engine lacks).
"""
