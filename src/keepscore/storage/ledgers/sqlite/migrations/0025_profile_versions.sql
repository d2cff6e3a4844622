-- How often a profile has changed: a score that was planned with an earlier one is not recorded.
ALTER TABLE players ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
