-- Names as they are looked for: without the difference of small and capital letters.
ALTER TABLE players ADD COLUMN sought text COLLATE "C";
UPDATE players SET sought = lower(name) WHERE name IS NOT NULL;
CREATE INDEX players_by_name ON players (sought, player COLLATE "C");
