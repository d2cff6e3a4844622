-- The moment whose events a checkpoint includes.
ALTER TABLE checkpoints ADD COLUMN taken bigint NOT NULL DEFAULT 0;
