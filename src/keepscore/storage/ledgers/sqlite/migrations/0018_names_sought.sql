-- Names as they are looked for: without the difference of small and capital letters.
ALTER TABLE players ADD COLUMN sought TEXT;
UPDATE players SET sought = lower(name) WHERE name IS NOT NULL;
CREATE INDEX players_by_name ON players (sought, player);
