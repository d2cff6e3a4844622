-- Processes that share a ledger ask each other for new names.
CREATE INDEX players_by_time ON players (updated);
