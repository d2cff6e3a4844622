-- The moment whose events a checkpoint includes.
ALTER TABLE checkpoints ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;
