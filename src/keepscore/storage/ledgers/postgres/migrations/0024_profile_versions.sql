-- How often a profile has changed: a score that was planned with an earlier one is not recorded.
ALTER TABLE players ADD COLUMN version bigint NOT NULL DEFAULT 0;
